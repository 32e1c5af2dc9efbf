/*
 * A pipe that never ends into commits: `append TABLE - --commit-every 10s`. Comes in: lines or Arrow batches on
 * standard input, whenever. Goes out: a commit every so often or when there is enough, bad lines to a file. Memory is
 * bounded by the writer's buffer (tl_writer): when commits cannot keep up the pipe is not read, and its writer waits.
 */
#ifndef TL_CLI_CONTINUOUS_H
#define TL_CLI_CONTINUOUS_H

#include "cli/input.h"

/* Whether the command line asks for it. */
bool tl_continuous_wanted(const tl_cli *cli);

/* Checks the options. */
tl_status tl_continuous_check(tl_cli *cli, const tl_input_options *options, tl_error *err) TL_CHECKED;

/* Runs until the input ends, or SIGINT or SIGTERM: then what was read is committed. TL_OK in both cases. */
tl_status tl_continuous(tl_cli *cli, const char *full_name, tl_input_options *options, tl_error *err) TL_CHECKED;

#define TL_CONTINUOUS_FLAGS                                                                                            \
    {"commit-every", 0, "DURATION",                                                                                    \
     "From standard input, for as long as it lasts: commits what has come every so often (10s, 5m; 60s when only one " \
     "of these three options is given)."},                                                                             \
        {"commit-bytes", 0, "SIZE", "... or as soon as so much has come (16MiB; default: 128MB)."}, {                  \
        "rejects", 0, "FILE",                                                                                          \
            "... and adds lines that do not fit to FILE, as JSON with line, column, reason and text, instead of "      \
            "stopping at the first one."                                                                               \
    }

#endif
