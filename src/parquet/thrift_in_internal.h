/*
 * The thrift compact form, field by field: what thrift_read.c reads the Parquet structures with.
 *
 * A failure sticks to the input: once `status` is not TL_OK every further read gives 0 and every loop ends, so parsers
 * need no check after each field. Fields of an unexpected wire type are skipped as unknown ones are.
 */
#ifndef TL_PARQUET_THRIFT_IN_INTERNAL_H
#define TL_PARQUET_THRIFT_IN_INTERNAL_H

#include "base/buf.h"
#include "base/mem.h"

enum {
    TL_WIRE_STOP = 0,
    TL_WIRE_TRUE = 1,
    TL_WIRE_FALSE = 2,
    TL_WIRE_BYTE = 3,
    TL_WIRE_I16 = 4,
    TL_WIRE_I32 = 5,
    TL_WIRE_I64 = 6,
    TL_WIRE_DOUBLE = 7,
    TL_WIRE_BINARY = 8,
    TL_WIRE_LIST = 9,
    TL_WIRE_SET = 10,
    TL_WIRE_MAP = 11,
    TL_WIRE_STRUCT = 12,
    TL_WIRE_UUID = 13
};

typedef struct tl_thrift_in {
    const uint8_t *p, *end;
    tl_arena *arena;
    const char *what; /* for messages: "footer", "page header" */
    tl_status status;
    tl_error *err;
} tl_thrift_in;

typedef struct tl_thrift_field {
    int32_t id, last;
    uint8_t wire;
} tl_thrift_field;

void tl_thrift_bad(tl_thrift_in *in, const char *why); /* the input is corrupt */

uint8_t tl_thrift_read_byte(tl_thrift_in *in);
int32_t tl_thrift_read_i32(tl_thrift_in *in);
int64_t tl_thrift_read_i64(tl_thrift_in *in);
/* Copies in the arena, never NULL data, so that "not there" and "empty" differ. */
tl_bytes tl_thrift_read_bytes(tl_thrift_in *in);
const char *tl_thrift_read_text(tl_thrift_in *in);

/* The next field of a struct; false at its end or after a failure. `f` begins zeroed. */
bool tl_thrift_next_field(tl_thrift_in *in, tl_thrift_field *f);
void tl_thrift_skip_field(tl_thrift_in *in, const tl_thrift_field *f);

/* Fields by wire type: each reads when the type is right and skips when it is not; true = read. */
bool tl_thrift_field_i32(tl_thrift_in *in, const tl_thrift_field *f, int32_t *out);
bool tl_thrift_field_i64(tl_thrift_in *in, const tl_thrift_field *f, int64_t *out);
bool tl_thrift_field_bool(tl_thrift_in *in, const tl_thrift_field *f, bool *out);
void tl_thrift_field_text(tl_thrift_in *in, const tl_thrift_field *f, const char **out);
void tl_thrift_field_bytes(tl_thrift_in *in, const tl_thrift_field *f, tl_bytes *out);
/* Room for a list of `wire` elements, each at least `min_bytes` long in the input and `size` in memory; the elements
 * follow in the input. NULL and *n = 0 when there is none. */
void *tl_thrift_field_list(tl_thrift_in *in, const tl_thrift_field *f, uint8_t wire, size_t min_bytes, size_t size,
                           int32_t *n);

/* Enumerations keep their number whatever it is: unknown encodings and codecs are refused where they are used. */
#define TL_THRIFT_ENUM(in, f, out, type)                                                                               \
    do {                                                                                                               \
        int32_t number_ = -1;                                                                                          \
        if (tl_thrift_field_i32((in), (f), &number_)) {                                                                \
            *(out) = (type)number_;                                                                                    \
        }                                                                                                              \
    } while (0)

#endif
