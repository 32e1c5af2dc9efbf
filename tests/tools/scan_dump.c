/*
 * For the end-to-end tests: what a program sees that reads through the C API. Comes in: a lake and a table. Goes out,
 * on standard output: the rows as an Arrow IPC stream; a failure is one line on standard error and exit status 1.
 *
 *   scan_dump LAKE TABLE [copies] [strategy=NAME] [latest] [columns=a,b] [from=US] [to=US] [series=column=value]...
 * [snapshot=ID]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/stream.h"
#include "timelake.h"

enum { MOST = 64 };

typedef struct wishes {
    tl_scan_params params;
    const char *columns[MOST + 1], *series[MOST + 1];
    int n_columns, n_series, latest;
} wishes;

static int parse(wishes *w, char *text) {
    if (strcmp(text, "copies") == 0) {
        w->params.keep_copies = 1;
    } else if (strncmp(text, "strategy=", 9) == 0) {
        w->params.dedup_strategy = text + 9;
    } else if (strcmp(text, "latest") == 0) {
        w->latest = 1;
    } else if (strncmp(text, "columns=", 8) == 0) {
        for (char *name = strtok(text + 8, ","); name && w->n_columns < MOST; name = strtok(NULL, ",")) {
            w->columns[w->n_columns++] = name;
        }
        w->params.columns = w->columns;
    } else if (strncmp(text, "series=", 7) == 0 && w->n_series < MOST) {
        w->series[w->n_series++] = text + 7;
        w->params.series = w->series;
    } else if (strncmp(text, "from=", 5) == 0) {
        w->params.from_us = strtoll(text + 5, NULL, 10);
    } else if (strncmp(text, "to=", 3) == 0) {
        w->params.to_us = strtoll(text + 3, NULL, 10);
    } else if (strncmp(text, "snapshot=", 9) == 0) {
        w->params.snapshot_id = strtoll(text + 9, NULL, 10);
    } else {
        return 0;
    }
    return 1;
}

int main(int argc, char **argv) {
    wishes w = {0};
    tl_lake *lake = NULL;
    tl_error err = {{0}};
    struct ArrowArrayStream rows = {0};
    for (int i = 3; i < argc; i++) {
        if (!parse(&w, argv[i])) {
            (void)fprintf(stderr, "Error: what is %s?\n", argv[i]);
            return 2;
        }
    }
    if (argc < 3) {
        (void)fputs("Error: scan_dump LAKE TABLE [OPTION...]\n", stderr);
        return 2;
    }
    tl_status status = tl_lake_open(argv[1], &(tl_lake_options){.must_exist = 1}, &lake, &err);
    if (status == TL_OK) {
        status = w.latest ? tl_latest(lake, argv[2], &rows, &err) : tl_scan(lake, argv[2], &w.params, &rows, &err);
    }
    tl_lake_close(lake); /* the stream stays readable */
    if (status == TL_OK) {
        status = tl_ipc_write(&rows, stdout, false, &err);
    }
    if (rows.release) {
        rows.release(&rows);
    }
    if (status != TL_OK) {
        (void)fprintf(stderr, "Error: %s\n", err.message);
    }
    return status != TL_OK || fflush(stdout) != 0;
}
