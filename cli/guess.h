/*
 * Types for text columns, from all of their values: only `create` and `import` guess. Comes in: texts. Goes out: the
 * narrowest type of which every value is a plain spelling. "007" stays text: its zeros would be lost. Pure.
 */
#ifndef TL_CLI_GUESS_H
#define TL_CLI_GUESS_H

#include "cli/input.h"

/* What a column may still be. */
typedef enum tl_guess_bit {
    TL_GUESS_LONG = 1,
    TL_GUESS_DOUBLE = 2,
    TL_GUESS_BOOL = 4,
    TL_GUESS_TIME = 8,
    TL_GUESS_DATE = 16,
    TL_GUESS_TIMESTAMP = 32,
    TL_GUESS_TIMESTAMPTZ = 64,
    TL_GUESS_ALL = 127
} tl_guess_bit;

/* Which of the types in `among` a text is a spelling of. */
unsigned tl_guess_text(tl_bytes text, unsigned among);

typedef struct tl_guess_column {
    char *name;
    unsigned possible; /* of TL_GUESS_ALL */
    bool seen;         /* a value that is not null */
} tl_guess_column;

typedef struct tl_guess {
    tl_guess_column *columns;
    int32_t n, cap;
} tl_guess;

void tl_guess_free(tl_guess *g);
/* The column of that name, made when it is new; NULL when memory ends. `hint` = where it is likely to be. */
tl_guess_column *tl_guess_find(tl_guess *g, tl_bytes name, int32_t hint);

/* Reads the NDJSON file to its end into the guess (input_json.c). */
tl_status tl_guess_json(const char *path, tl_guess *g, tl_error *err) TL_CHECKED;

/* The Arrow schema of the files: guessed from all rows of text files, else the first file's own. `time_column` (may be
 * NULL) is made a timestamp where its values are dates. Caller releases. */
tl_status tl_guess_schema(const tl_paths *paths, const tl_input_options *options, const char *time_column,
                          struct ArrowSchema *out, tl_error *err) TL_CHECKED;

#endif
