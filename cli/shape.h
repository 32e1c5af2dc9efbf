/*
 * What a statement asks of a table, where its text alone shows it beyond doubt. Comes in: a statement. Goes out: one of
 * a few shapes that can be answered from less than the whole table; anything else is TL_SHAPE_OTHER. Pure.
 *
 *     select count(*) from t                                            from the counts of rows
 *     select ... from t qualify row_number() over (
 *                       partition by <key> order by <time> desc) = 1    from the last-value index
 *     select ... from t order by <time> desc limit k                    from the newest files
 *     select ... from t where <time> >= ... and <key> = ...             from the files of that span and key
 *
 * In all of them `t` is the only table, named once. Names are checked against the table by the caller.
 */
#ifndef TL_CLI_SHAPE_H
#define TL_CLI_SHAPE_H

#include "base/buf.h"

typedef enum tl_shape_kind {
    TL_SHAPE_OTHER,
    TL_SHAPE_COUNT,
    TL_SHAPE_LATEST,
    TL_SHAPE_NEWEST,
    TL_SHAPE_WHERE
} tl_shape_kind;

enum { TL_SHAPE_NAMES = 3, TL_SHAPE_KEYS = 16, TL_SHAPE_TERMS = 16, TL_SHAPE_TEXT = 256 };

typedef struct tl_shape_name {
    char text[TL_SHAPE_TEXT];
} tl_shape_name;

/* column <op> value, one of those that `where` joins by AND. */
typedef struct tl_shape_term {
    tl_shape_name column;
    char op[3];          /* "=", "<", "<=", ">", ">=" */
    tl_shape_name value; /* the text of its literal */
} tl_shape_term;

typedef struct tl_shape {
    tl_shape_kind kind;
    tl_shape_name table[TL_SHAPE_NAMES]; /* as written: [catalog.][schema.]table */
    int n_table;
    tl_shape_name alias;               /* of count(*); "" = none */
    tl_shape_name keys[TL_SHAPE_KEYS]; /* partition by */
    int n_keys;
    tl_shape_name order; /* order by ... desc */
    int64_t limit;
    tl_shape_term terms[TL_SHAPE_TERMS];
    int n_terms;
    tl_shape_name renamed[TL_SHAPE_KEYS]; /* other names that the select list gives */
    int n_renamed;
} tl_shape;

void tl_shape_of(tl_bytes statement, tl_shape *out);

#endif
