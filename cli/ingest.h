/*
 * From files to commits: what `append` and `import` share. Comes in: the command line and a table that is there. Goes
 * out: commits, a line for each on stderr, and the closing line.
 */
#ifndef TL_CLI_INGEST_H
#define TL_CLI_INGEST_H

#include "cli/input.h"

/* --format, --null and --delimiter; the texts are the command line's own. Free with tl_ingest_options_free. */
tl_status tl_ingest_options(tl_cli *cli, tl_input_options *out, tl_error *err) TL_CHECKED;
void tl_ingest_options_free(tl_input_options *o);

/* Appends the files to the table. `committed` (may be NULL) = commits made, also when the call fails. */
tl_status tl_ingest(tl_cli *cli, const char *full_name, const tl_paths *paths, tl_input_options *options,
                    int64_t *committed, tl_error *err) TL_CHECKED;

/* What a run of appends came to so far, and its lines of text. */
typedef struct tl_ingested {
    const char *name; /* of the table */
    int64_t begin_us;
    int64_t commits, duplicates, rows, files, bytes, version;
    int64_t rejected; /* lines; -1 = nothing is rejected in this kind of run */
} tl_ingested;
/* Adds a commit, with a line on stderr. */
void tl_ingested_add(tl_ingested *t, int64_t number, const tl_append_result *result);
/* The closing line on stdout. */
tl_status tl_ingested_print(const tl_ingested *t, bool json, tl_error *err) TL_CHECKED;
/* What an error has to say about the commits before it. */
void tl_ingested_prefix(const tl_ingested *t, tl_status status, tl_error *err);

/* Flags for both commands. */
#define TL_INPUT_FLAGS                                                                                                 \
    {"format", 0, "FORMAT",                                                                                            \
     "The files' format: csv, tsv, ndjson, arrow (IPC, file or stream) or parquet. Default: by "                       \
     "the name, .gz and .zst taken off."},                                                                             \
        {"null", 0, "TEXT", "A text that stands for null, besides the empty one; may be repeated."}, {                 \
        "delimiter", 0, "CHAR", "What parts the fields of CSV; \\t is a tab. Default: a comma, in TSV a tab."          \
    }
#define TL_APPEND_FLAGS                                                                                                \
    {"rows-per-commit", 0, "N", "Commits after every N rows; 0 = one commit for each file. Default: 10000000."},       \
        {"batch-id", 0, "ID",                                                                                          \
         "Makes a retry safe: commits are marked ID-0, ID-1, ..., and one that is there already is "                   \
         "not made again."},                                                                                           \
        {"no-maintain", 0, NULL, "No maintenance after the appends."}, {                                               \
        "json", 0, NULL, "The closing line as one JSON object."                                                        \
    }

#endif
