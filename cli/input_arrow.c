/* Arrow IPC, files and streams. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "arrow/stream.h"
#include "cli/input.h"
#include "cli/stop.h"

typedef struct arrow {
    tl_input base;
    char *name;
    FILE *file;    /* closed here: its position is the progress */
    bool standard; /* it is stdin, and stays open */
    uint64_t size;
    struct ArrowArrayStream stream;
} arrow;

static tl_status arrow_schema(tl_input *self, struct ArrowSchema *out, tl_error *err) {
    arrow *a = (arrow *)self;
    tl_status status = tl_stream_schema(&a->stream, out, err);
    if (status != TL_OK) {
        tl_error_prefix(err, "%s: ", a->name);
    }
    return status;
}

static tl_status arrow_next(tl_input *self, int64_t max_rows, struct ArrowArray *out, tl_error *err) {
    arrow *a = (arrow *)self;
    (void)max_rows;
    for (;;) {
        tl_status status = tl_stream_next(&a->stream, out, err);
        if (status != TL_OK) {
            tl_error_prefix(err, "%s: ", a->name);
        }
        if (status != TL_OK || !out->release || out->length > 0) {
            return status;
        }
        out->release(out); /* a batch without rows is nothing to the append path */
    }
}

static void arrow_progress(const tl_input *self, uint64_t *done, uint64_t *size) {
    const arrow *a = (const arrow *)self;
    off_t at = a->size ? ftello(a->file) : 0;
    *done = at > 0 ? (uint64_t)at : 0;
    *size = a->size;
}

static void arrow_close(tl_input *self) {
    arrow *a = (arrow *)self;
    if (a->stream.release) {
        a->stream.release(&a->stream);
    }
    if (a->file && !a->standard) {
        (void)fclose(a->file);
    }
    tl_free(a->name);
    tl_free(a);
}

static const tl_input_ops arrow_ops = {arrow_schema, arrow_next, NULL, arrow_progress, arrow_close};

static tl_status open_stream(arrow *a, const char *path, tl_error *err) {
    struct stat st;
    if (!a->file) {
        return errno == ENOENT ? tl_fail(err, TL_NOT_FOUND, "%s: no such file", path)
                               : tl_fail(err, TL_IO, "%s: %s", path, strerror(errno));
    }
    int fd = fileno(a->file) >= 0 ? fileno(a->file) : 0;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        return tl_fail(err, TL_INVALID, "%s: this is a directory", path);
    }
    a->size = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    int first = fgetc(a->file);
    if (first == EOF) {
        return tl_stopped() ? tl_stop_fail(err) : tl_fail(err, TL_INVALID, "%s: the file is empty", a->name);
    }
    (void)ungetc(first, a->file);
    tl_status status = tl_ipc_read(a->file, false, &a->stream, err);
    if (status != TL_OK) {
        tl_error_prefix(err, "%s: ", a->name);
        return status;
    }
    struct ArrowSchema schema = {0};
    TL_TRY(arrow_schema(&a->base, &schema, err)); /* a file that is none is told now */
    schema.release(&schema);
    return TL_OK;
}

tl_status tl_input_open_arrow(const char *path, tl_input **out, tl_error *err) {
    *out = NULL;
    arrow *a = tl_calloc(1, sizeof *a);
    if (!a) {
        return tl_fail_memory(err, sizeof *a);
    }
    a->standard = strcmp(path, "-") == 0;
    a->base.ops = &arrow_ops;
    a->name = tl_strdup(a->standard ? "standard input" : path);
    a->base.name = a->name;
    tl_status status = a->name ? TL_OK : tl_fail_memory(err, strlen(path));
    if (status == TL_OK) {
        struct stat st;
        bool piped = a->standard && fstat(0, &st) == 0 && !S_ISREG(st.st_mode);
        /* reads of a pipe may take for ever, and are given up when it is time to stop */
        a->file = piped ? tl_stop_file(0) : a->standard ? stdin : fopen(path, "rbe");
        a->standard = a->standard && !piped;
        status = open_stream(a, path, err);
    }
    if (status != TL_OK) {
        arrow_close(&a->base);
        return status;
    }
    *out = &a->base;
    return TL_OK;
}
