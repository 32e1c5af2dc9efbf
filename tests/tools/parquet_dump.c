/*
 * For the end-to-end tests: shows what the Parquet reader reads. Comes in: a file and options. Goes out, on standard
 * output: an Arrow IPC stream, or with --runs and --int64 one line of text per run or row. A failure is one line on
 * standard error and exit status 1. The last line on standard error is always "maxrss KIB cpu SECONDS".
 *
 *   parquet_dump FILE [--columns 0,2] [--batch ROWS] [--ranges GROUP:FIRST:COUNT[,FIRST:COUNT...]] [--crc]
 *                     [--int96-micros] [--no-map] [--limit BYTES] [--runs LEAF | --int64 LEAF | --meta | --sizes]
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "nanoarrow/nanoarrow_ipc.h"
#include "parquet/reader.h"

#define MANY 4096

typedef struct options {
    const char *file;
    int32_t tops[MANY], n_tops;
    bool has_tops;
    int64_t batch;
    int32_t range_group;
    tl_pq_row_range ranges[MANY];
    int32_t n_ranges;
    bool has_ranges, no_map, meta, sizes;
    int32_t runs_leaf, int64_leaf; /* -1 = not asked for */
    tl_pq_read_options read;
} options;

static tl_status file_read_at(void *ctx, uint64_t offset, size_t len, void *out, tl_error *err) {
    int fd = *(int *)ctx;
    uint8_t *to = out;
    while (len > 0) {
        ssize_t n = pread(fd, to, len, (off_t)offset);
        if (n <= 0) {
            return tl_fail(err, TL_IO, "reading failed: %s", n ? strerror(errno) : "end of file");
        }
        to += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return TL_OK;
}

static const char *parse_columns(options *o, const char *text) {
    o->has_tops = true;
    while (*text && o->n_tops < MANY) {
        char *end;
        o->tops[o->n_tops++] = (int32_t)strtol(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
    }
    return text;
}

static void parse_ranges(options *o, const char *text) {
    char *end;
    o->has_ranges = true;
    o->range_group = (int32_t)strtol(text, &end, 10);
    while (*end && o->n_ranges < MANY) {
        tl_pq_row_range *r = &o->ranges[o->n_ranges++];
        r->first = strtoll(end + 1, &end, 10);
        r->count = *end == ':' ? strtoll(end + 1, &end, 10) : 0;
    }
}

static bool parse(int argc, char **argv, options *o) {
    *o = (options){.runs_leaf = -1, .int64_leaf = -1};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strncmp(a, "--", 2) != 0) {
            o->file = a;
        } else if (!strcmp(a, "--crc")) {
            o->read.check_crc = true;
        } else if (!strcmp(a, "--int96-micros")) {
            o->read.int96_micros = true;
        } else if (!strcmp(a, "--no-map")) {
            o->no_map = true;
        } else if (!strcmp(a, "--meta")) {
            o->meta = true;
        } else if (!strcmp(a, "--sizes")) {
            o->sizes = true;
        } else {
            i++;
            if (!strcmp(a, "--columns")) {
                parse_columns(o, value);
            } else if (!strcmp(a, "--batch")) {
                o->batch = strtoll(value, NULL, 10);
            } else if (!strcmp(a, "--ranges")) {
                parse_ranges(o, value);
            } else if (!strcmp(a, "--limit")) {
                o->read.memory_limit = (size_t)strtoull(value, NULL, 10);
            } else if (!strcmp(a, "--runs")) {
                o->runs_leaf = (int32_t)strtol(value, NULL, 10);
            } else if (!strcmp(a, "--int64")) {
                o->int64_leaf = (int32_t)strtol(value, NULL, 10);
            } else {
                return false;
            }
        }
    }
    return o->file != NULL;
}

/* ---- what can be asked for ---- */

static tl_status write_stream(struct ArrowArrayStream *stream, tl_error *err) {
    struct ArrowIpcOutputStream out;
    struct ArrowIpcWriter writer;
    struct ArrowError why = {0};
    if (ArrowIpcOutputStreamInitFile(&out, stdout, 0) != 0 || ArrowIpcWriterInit(&writer, &out) != 0) {
        return tl_fail(err, TL_NO_MEMORY, "no Arrow IPC writer");
    }
    int code = ArrowIpcWriterWriteArrayStream(&writer, stream, &why);
    ArrowIpcWriterReset(&writer);
    return code == 0 ? TL_OK : tl_fail(err, TL_CORRUPT, "%s", why.message);
}

static tl_status dump_stream(tl_pq_reader *r, const options *o, tl_error *err) {
    struct ArrowArrayStream stream;
    TL_TRY(tl_pq_reader_stream(r, o->has_tops ? o->tops : NULL, o->n_tops, NULL, 0, o->batch, &stream, err));
    tl_status status = write_stream(&stream, err);
    stream.release(&stream);
    return status;
}

/* Bytes of text in an array and its children. */
static int64_t text_bytes(const struct ArrowArray *a) {
    int64_t n = a->n_buffers == 3 ? ((const int32_t *)a->buffers[1])[a->length] : 0;
    for (int64_t i = 0; i < a->n_children; i++) {
        n += text_bytes(a->children[i]);
    }
    return n;
}

/* One line a batch. */
static tl_status dump_sizes(tl_pq_reader *r, const options *o, tl_error *err) {
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    int code;
    TL_TRY(tl_pq_reader_stream(r, o->has_tops ? o->tops : NULL, o->n_tops, NULL, 0, o->batch, &stream, err));
    while ((code = stream.get_next(&stream, &array)) == 0 && array.release) {
        printf("rows %" PRId64 " text %" PRId64 "\n", array.length, text_bytes(&array));
        array.release(&array);
    }
    tl_status status = code ? tl_fail(err, TL_CORRUPT, "%s", stream.get_last_error(&stream)) : TL_OK;
    stream.release(&stream);
    return status;
}

static tl_status dump_ranges(tl_pq_reader *r, const options *o, tl_error *err) {
    struct ArrowSchema schema;
    struct ArrowArray array;
    const int32_t *tops = o->has_tops ? o->tops : NULL;
    TL_TRY(tl_pq_reader_read(r, o->range_group, tops, o->n_tops, o->ranges, o->n_ranges, &array, err));
    tl_status status = tl_pq_reader_schema(r, tops, o->n_tops, &schema, err);
    if (status != TL_OK) {
        array.release(&array);
        return status;
    }
    struct ArrowArrayStream stream;
    if (ArrowBasicArrayStreamInit(&stream, &schema, 1) != 0) {
        return tl_fail(err, TL_NO_MEMORY, "no array stream");
    }
    ArrowBasicArrayStreamSetArray(&stream, 0, &array);
    status = write_stream(&stream, err);
    stream.release(&stream);
    return status;
}

static tl_status dump_runs(tl_pq_reader *r, int32_t leaf, tl_error *err) {
    for (int32_t g = 0; g < tl_pq_reader_meta(r)->n_row_groups; g++) {
        tl_pq_runs runs;
        TL_TRY(tl_pq_reader_runs(r, g, leaf, &runs, err));
        for (int64_t i = 0; i < runs.n_runs; i++) {
            printf("%d %" PRId64 " %" PRId64 " ", g, runs.starts[i], runs.starts[i + 1]);
            if (runs.is_null[i]) {
                printf("null");
            }
            for (size_t k = 0; k < runs.values[i].len; k++) {
                printf("%02x", runs.values[i].data[k]);
            }
            printf("\n");
        }
        tl_pq_runs_free(&runs);
    }
    return TL_OK;
}

static tl_status dump_int64(tl_pq_reader *r, int32_t leaf, tl_error *err) {
    for (int32_t g = 0; g < tl_pq_reader_meta(r)->n_row_groups; g++) {
        int64_t n = tl_pq_reader_meta(r)->row_groups[g].n_rows, nulls;
        int64_t *values = tl_alloc_array((size_t)n, sizeof *values);
        uint8_t *validity = tl_alloc((size_t)n / 8 + 1);
        tl_status status = values && validity ? tl_pq_reader_int64(r, g, leaf, values, validity, &nulls, err)
                                              : tl_fail_memory(err, (size_t)n * 8);
        for (int64_t i = 0; i < n && status == TL_OK; i++) {
            tl_bit(validity, i) ? (void)printf("%" PRId64 "\n", values[i]) : (void)printf("null\n");
        }
        tl_free(values);
        tl_free(validity);
        TL_TRY(status);
    }
    return TL_OK;
}

static tl_status dump_meta(tl_pq_reader *r, tl_error *err) {
    const tl_pq_file_meta *m = tl_pq_reader_meta(r);
    int32_t n_leaves;
    const tl_pq_leaf *leaves = tl_pq_reader_leaves(r, &n_leaves);
    printf("rows %" PRId64 " groups %d leaves %d created_by %s\n", m->n_rows, m->n_row_groups, n_leaves,
           m->created_by ? m->created_by : "-");
    for (int32_t g = 0; g < m->n_row_groups; g++) {
        for (int32_t l = 0; l < n_leaves; l++) {
            tl_pq_offset_index pages;
            tl_pq_column_index bounds;
            bool has_pages, has_bounds;
            TL_TRY(tl_pq_reader_offset_index(r, g, l, &pages, &has_pages, err));
            TL_TRY(tl_pq_reader_column_index(r, g, l, &bounds, &has_bounds, err));
            printf("group %d leaf %d def %d rep %d values %" PRId64 " pages %d bounds %d\n", g, l, leaves[l].max_def,
                   leaves[l].max_rep, m->row_groups[g].columns[l].n_values, has_pages ? pages.n_pages : -1,
                   has_bounds ? bounds.n_pages : -1);
        }
    }
    return TL_OK;
}

static tl_status dump(tl_pq_source source, const options *o, tl_error *err) {
    tl_pq_reader *r;
    TL_TRY(tl_pq_reader_open(source, &o->read, &r, err));
    tl_status status = o->meta              ? dump_meta(r, err)
                       : o->sizes           ? dump_sizes(r, o, err)
                       : o->runs_leaf >= 0  ? dump_runs(r, o->runs_leaf, err)
                       : o->int64_leaf >= 0 ? dump_int64(r, o->int64_leaf, err)
                       : o->has_ranges      ? dump_ranges(r, o, err)
                                            : dump_stream(r, o, err);
    tl_pq_reader_free(r);
    return status;
}

/* The most memory this program had; getrusage would count what its parent had before the exec. */
static long peak_kib(void) {
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            kib = strtol(line + 6, NULL, 10);
        }
    }
    if (f) {
        fclose(f);
    }
    return kib;
}

int main(int argc, char **argv) {
    options o;
    tl_error err = {0};
    struct stat st;
    if (!parse(argc, argv, &o)) {
        fprintf(stderr, "usage: parquet_dump FILE [options], see the head of parquet_dump.c\n");
        return 2;
    }
    int fd = open(o.file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        fprintf(stderr, "%s: %s\n", o.file, strerror(errno));
        return 1;
    }
    tl_pq_source source = {.read_at = file_read_at, .ctx = &fd, .size = (uint64_t)st.st_size};
    void *map =
        o.no_map || st.st_size == 0 ? MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    source.mapped = map == MAP_FAILED ? NULL : map;
    tl_status status = dump(source, &o, &err);
    fflush(stdout);
    if (status != TL_OK) {
        fprintf(stderr, "%s: %s\n", tl_status_name(status), err.message);
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    fprintf(stderr, "maxrss %ld cpu %.3f\n", peak_kib(),
            (double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec +
                1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec));
    if (map != MAP_FAILED) {
        munmap(map, (size_t)st.st_size);
    }
    close(fd);
    return status == TL_OK ? 0 : 1;
}
