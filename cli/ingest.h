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
