/*
 * How a table's columns are written: codec, pages, and which columns come from runs. Comes in: a table's properties and
 * contract. Goes out: a tl_encoder whose encodings are still to be chosen.
 */
#include <strings.h>

#include "append/appender_internal.h"
#include "base/mem.h"
#include "base/num.h"
#include "table/settings.h"

#define PAGE_ROWS_MOST 65536 /* gathered at a time; longer pages are filled in several steps */

static const struct {
    const char *name;
    tl_pq_codec codec;
    int32_t level;
} codecs[] = {
    {"zstd", TL_PQ_ZSTD, 3},
    {"lz4", TL_PQ_LZ4_RAW, INT32_MIN},
    {"lz4_raw", TL_PQ_LZ4_RAW, INT32_MIN},
    {"snappy", TL_PQ_SNAPPY, INT32_MIN},
    {"gzip", TL_PQ_GZIP, 6},
    {"brotli", TL_PQ_BROTLI, 1},
    {"none", TL_PQ_UNCOMPRESSED, INT32_MIN},
    {"uncompressed", TL_PQ_UNCOMPRESSED, INT32_MIN},
};

/* Iceberg's own properties (spec a.3); a wrong one is an error only now that a file is to be written. */
static tl_status read_codec(const tl_metadata *m, tl_pq_codec *codec, int32_t *level, tl_error *err) {
    const char *name = tl_metadata_property(m, "write.parquet.compression-codec");
    const char *level_text = tl_metadata_property(m, "write.parquet.compression-level");
    *codec = TL_PQ_ZSTD;
    *level = 3;
    bool known = !name;
    for (size_t i = 0; name && i < TL_COUNT(codecs) && !known; i++) {
        known = strcasecmp(name, codecs[i].name) == 0;
        if (known) {
            *codec = codecs[i].codec;
            *level = codecs[i].level;
        }
    }
    if (!known) {
        return tl_fail(err, TL_INVALID,
                       "write.parquet.compression-codec: \"%s\" is not one of zstd, lz4, snappy, gzip, "
                       "brotli, none",
                       name);
    }
    if (level_text && *codec != TL_PQ_UNCOMPRESSED) {
        int64_t value;
        if (tl_parse_i64(tl_bytes_of(level_text), &value) != TL_PARSE_OK || value < -128 || value > 127) {
            return tl_fail(err, TL_INVALID, "write.parquet.compression-level: \"%s\" is not a level", level_text);
        }
        *level = (int32_t)value;
    }
    return TL_OK;
}

void tl_encoder_free(tl_encoder *e) {
    tl_free(e->plans);
    tl_free(e->options);
    *e = (tl_encoder){0};
}

tl_status tl_encoder_make(const tl_table *table, const tl_leaves *leaves, const tl_ranker *ranker, tl_encoder *out,
                          tl_error *err) {
    const tl_metadata *m = &table->metadata;
    const tl_schema *schema = tl_metadata_schema(m);
    const tl_contract *c = &table->contract;
    *out = (tl_encoder){.leaves = leaves, .ranker = ranker};
    tl_pq_codec codec;
    int32_t level;
    TL_TRY(read_codec(m, &codec, &level, err));
    int64_t page_rows = tl_setting_int(m, "data-page-rows");
    page_rows = page_rows < 1 ? 1 : page_rows > INT32_MAX ? INT32_MAX : page_rows;
    out->page_rows = (uint32_t)(page_rows > PAGE_ROWS_MOST ? PAGE_ROWS_MOST : page_rows);
    out->plans = tl_calloc((size_t)leaves->n_tops, sizeof *out->plans);
    out->options = tl_alloc_array((size_t)leaves->n_leaves, sizeof *out->options);
    if (!out->plans || !out->options) {
        tl_encoder_free(out);
        return tl_fail_memory(err, (size_t)leaves->n_leaves * sizeof *out->options);
    }
    for (int32_t i = 0; i < leaves->n_leaves; i++) {
        out->options[i] = leaves->options[i];
        out->options[i].codec = codec;
        out->options[i].level = level;
        out->options[i].page_rows = (int32_t)page_rows;
    }
    for (int32_t i = 0; i < leaves->n_tops; i++) {
        out->plans[i].how = tl_type_is_nested(schema->fields[i].type.id) ? TL_HOW_NESTED : TL_HOW_FLAT;
    }
    for (int32_t k = 0; c->time >= 0 && k < c->n_series; k++) {
        out->plans[c->series[k]] = (tl_column_plan){.how = TL_HOW_SERIES, .key = k};
    }
    if (c->time >= 0) {
        out->plans[c->time].how = TL_HOW_TIME;
    }
    return TL_OK;
}
