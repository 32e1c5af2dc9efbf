/* Text sources; see source.h. */
#include "cli/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "cli/stop.h"
#include "cli/utf8.h"

enum { BLOCK = 1 << 20 };

typedef enum coding { PLAIN, GZIP, ZSTD } coding;

struct tl_source {
    char *name;
    int fd;
    coding coding;
    uint64_t read, size;
    uint8_t *raw;  /* as in the file */
    bool borrowed; /* raw is the caller's, all of it */
    size_t raw_at, raw_len;
    bool raw_end;
    uint8_t *plain; /* decoded; NULL for plain files */
    z_stream gzip;
    bool gzip_open, member_open; /* inside of a gzip member or zstd frame */
    ZSTD_DStream *zstd;
    tl_utf8 utf8;
    int64_t line;
};

const char *tl_source_name(const tl_source *s) {
    return s->name;
}

void tl_source_progress(const tl_source *s, uint64_t *done, uint64_t *size) {
    *done = s->read;
    *size = s->size;
}

/* Adds what can be read to raw, or finds the end. */
static tl_status read_more(tl_source *s, tl_error *err) {
    ssize_t n = s->fd < 0 ? 0 : tl_stop_read(s->fd, s->raw + s->raw_len, BLOCK - s->raw_len);
    if (n < 0) {
        return errno == ECANCELED ? tl_stop_fail(err) : tl_fail(err, TL_IO, "%s: %s", s->name, strerror(errno));
    }
    s->raw_len += (size_t)n;
    s->raw_end = n == 0;
    s->read += (uint64_t)n;
    return TL_OK;
}

/* Reads at least one byte into raw, or finds the end. */
static tl_status fill(tl_source *s, tl_error *err) {
    s->raw_at = 0;
    s->raw_len = 0;
    return s->raw_end ? TL_OK : read_more(s, err);
}

/* What the first bytes tell, also of a pipe that gives them one by one. */
static tl_status sniff(tl_source *s, tl_error *err) {
    while (s->raw_len < 4 && !s->raw_end) {
        TL_TRY(read_more(s, err));
    }
    const uint8_t *p = s->raw;
    if (s->raw_len == 0) {
        return tl_fail(err, TL_INVALID, "%s: the file is empty", s->name);
    }
    if (s->raw_len >= 2 && p[0] == 0x1f && p[1] == 0x8b) {
        s->coding = GZIP;
        if (inflateInit2(&s->gzip, 15 + 16) != Z_OK) {
            return tl_fail_memory(err, sizeof s->gzip);
        }
        s->gzip_open = true;
        s->member_open = true;
    } else if (s->raw_len >= 4 && tl_load_u32(p) == ZSTD_MAGICNUMBER) {
        s->coding = ZSTD;
        s->zstd = ZSTD_createDStream();
        if (!s->zstd) {
            return tl_fail_memory(err, 1);
        }
    } else if (s->raw_len >= 2 && ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff))) {
        return tl_fail(err, TL_INVALID, "%s: the text is UTF-16; convert it to UTF-8", s->name);
    } else if (s->raw_len >= 4 && (memcmp(p, "PAR1", 4) == 0 || (s->raw_len >= 6 && memcmp(p, "ARROW1", 6) == 0))) {
        return tl_fail(err, TL_INVALID, "%s: this is a %s file, not text; give --format %s", s->name,
                       p[0] == 'P' ? "Parquet" : "Arrow IPC", p[0] == 'P' ? "parquet" : "arrow");
    }
    if (s->coding != PLAIN && !(s->plain = tl_alloc(BLOCK))) {
        return tl_fail_memory(err, BLOCK);
    }
    return TL_OK;
}

tl_status tl_source_open(const char *path, tl_source **out, tl_error *err) {
    *out = NULL;
    tl_source *s = tl_calloc(1, sizeof *s);
    if (!s) {
        return tl_fail_memory(err, sizeof *s);
    }
    bool standard = strcmp(path, "-") == 0;
    s->fd = standard ? 0 : open(path, O_RDONLY | O_CLOEXEC);
    s->name = tl_strdup(standard ? "standard input" : path);
    s->raw = tl_alloc(BLOCK);
    s->line = 1;
    struct stat st;
    tl_status status = TL_OK;
    if (!s->name || !s->raw) {
        status = tl_fail_memory(err, BLOCK);
    } else if (s->fd < 0) {
        status = errno == ENOENT ? tl_fail(err, TL_NOT_FOUND, "%s: no such file", path)
                                 : tl_fail(err, TL_IO, "%s: %s", path, strerror(errno));
    } else if (fstat(s->fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        status = tl_fail(err, TL_INVALID, "%s: this is a directory", path);
    } else {
        s->size = fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
        status = sniff(s, err);
    }
    if (status != TL_OK) {
        tl_source_close(s);
        return status;
    }
    *out = s;
    return TL_OK;
}

tl_status tl_source_of_text(const char *name, tl_bytes text, tl_source **out, tl_error *err) {
    *out = NULL;
    tl_source *s = tl_calloc(1, sizeof *s);
    if (!s || !(s->name = tl_strdup(name))) {
        tl_free(s);
        return tl_fail_memory(err, sizeof *s);
    }
    s->fd = -1;
    s->borrowed = true;
    s->raw = (uint8_t *)(uintptr_t)text.data; /* not written to */
    s->raw_len = text.len;
    s->raw_end = true;
    s->read = s->size = text.len;
    s->line = 1;
    *out = s;
    return TL_OK;
}

void tl_source_close(tl_source *s) {
    if (!s) {
        return;
    }
    if (s->fd > 0) {
        (void)close(s->fd);
    }
    if (s->gzip_open) {
        (void)inflateEnd(&s->gzip);
    }
    (void)ZSTD_freeDStream(s->zstd);
    tl_free(s->name);
    if (!s->borrowed) {
        tl_free(s->raw);
    }
    tl_free(s->plain);
    tl_free(s);
}

/* Gzip members may follow each other (as `cat a.gz b.gz` makes them). */
static tl_status gunzip(tl_source *s, size_t *len, tl_error *err) {
    *len = 0;
    while (*len == 0) {
        if (s->raw_at == s->raw_len) {
            TL_TRY(fill(s, err));
            if (s->raw_end) {
                return s->member_open ? tl_fail(err, TL_CORRUPT, "%s: the gzip data is cut short", s->name) : TL_OK;
            }
        }
        if (!s->member_open) {
            if (inflateReset(&s->gzip) != Z_OK) {
                return tl_fail(err, TL_INTERNAL, "%s: the gzip decoder cannot be reset", s->name);
            }
            s->member_open = true;
        }
        s->gzip.next_in = s->raw + s->raw_at;
        s->gzip.avail_in = (uInt)(s->raw_len - s->raw_at);
        s->gzip.next_out = s->plain;
        s->gzip.avail_out = BLOCK;
        int code = inflate(&s->gzip, Z_NO_FLUSH);
        s->raw_at = s->raw_len - s->gzip.avail_in;
        *len = BLOCK - s->gzip.avail_out;
        if (code == Z_STREAM_END) {
            s->member_open = false;
        } else if (code != Z_OK && code != Z_BUF_ERROR) {
            return tl_fail(err, TL_CORRUPT, "%s: the gzip data is damaged", s->name);
        }
    }
    return TL_OK;
}

static tl_status unzstd(tl_source *s, size_t *len, tl_error *err) {
    ZSTD_outBuffer out = {s->plain, BLOCK, 0};
    while (out.pos == 0) {
        if (s->raw_at == s->raw_len) {
            TL_TRY(fill(s, err));
            if (s->raw_end) {
                *len = 0;
                return s->member_open ? tl_fail(err, TL_CORRUPT, "%s: the zstd data is cut short", s->name) : TL_OK;
            }
        }
        ZSTD_inBuffer in = {s->raw, s->raw_len, s->raw_at};
        size_t code = ZSTD_decompressStream(s->zstd, &out, &in);
        s->raw_at = in.pos;
        if (ZSTD_isError(code)) {
            return tl_fail(err, TL_CORRUPT, "%s: the zstd data is damaged: %s", s->name, ZSTD_getErrorName(code));
        }
        s->member_open = code != 0;
    }
    *len = out.pos;
    return TL_OK;
}

tl_status tl_source_next(tl_source *s, const uint8_t **data, size_t *len, tl_error *err) {
    if (s->coding == GZIP) {
        TL_TRY(gunzip(s, len, err));
        *data = s->plain;
    } else if (s->coding == ZSTD) {
        TL_TRY(unzstd(s, len, err));
        *data = s->plain;
    } else {
        if (s->raw_at == s->raw_len) {
            TL_TRY(fill(s, err));
        }
        *data = s->raw + s->raw_at;
        *len = s->raw_len - s->raw_at;
        s->raw_at = s->raw_len;
    }
    size_t good = *len ? tl_utf8_check(&s->utf8, *data, *len) : 0;
    if (good < *len || (*len == 0 && !tl_utf8_complete(&s->utf8))) {
        for (size_t i = 0; i < good; i++) {
            s->line += (*data)[i] == '\n';
        }
        return tl_fail(err, TL_INVALID, "%s, line %lld: the text is not UTF-8", s->name, (long long)s->line);
    }
    for (const uint8_t *p = *data, *end = p + *len; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++) {
        s->line++;
    }
    return TL_OK;
}
