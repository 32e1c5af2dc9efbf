/* A lake in one page: create a table, append three readings, one of them corrected later, read them back.
 *
 *     cc first.c -ltimelake && ./a.out /tmp/lake
 */
#include <stdio.h>
#include <string.h>
#include <timelake.h>

static void keep(struct ArrowArray *a) {
    a->release = NULL;
} /* the buffers below are static: nothing to free */
static void keep_schema(struct ArrowSchema *s) {
    s->release = NULL;
}

/* One batch of readings as Arrow's C data interface has it: machine utf8, time timestamp[us, UTC], value double. */
static tl_status append(tl_lake *lake, const int32_t *ends, const char *machines, const int64_t *times,
                        const double *values, int64_t n, tl_error *err) {
    struct ArrowSchema fields[3] = {{.format = "u", .name = "machine", .release = keep_schema},
                                    {.format = "tsu:UTC", .name = "time", .release = keep_schema},
                                    {.format = "g", .name = "value", .release = keep_schema}};
    struct ArrowSchema *field[3] = {&fields[0], &fields[1], &fields[2]};
    struct ArrowSchema schema = {.format = "+s", .n_children = 3, .children = field, .release = keep_schema};
    const void *text[3] = {NULL, ends, machines}, *time[2] = {NULL, times}, *value[2] = {NULL, values},
               *none[1] = {NULL};
    struct ArrowArray columns[3] = {{.length = n, .n_buffers = 3, .buffers = text, .release = keep},
                                    {.length = n, .n_buffers = 2, .buffers = time, .release = keep},
                                    {.length = n, .n_buffers = 2, .buffers = value, .release = keep}};
    struct ArrowArray *column[3] = {&columns[0], &columns[1], &columns[2]};
    struct ArrowArray batch = {
        .length = n, .n_buffers = 1, .buffers = none, .n_children = 3, .children = column, .release = keep};
    const tl_table_spec spec = {.time_column = "time", .series_key = "machine"};
    tl_status status = tl_create(lake, "readings", &schema, &spec, err);
    if (status != TL_OK && status != TL_EXISTS) {
        return status;
    }
    struct ArrowArrayStream rows;
    status = tl_stream_of(&schema, &batch, 1, &rows, err);
    return status == TL_OK ? tl_append(lake, "readings", &rows, NULL, NULL, err) : status;
}

static tl_status print(tl_lake *lake, tl_error *err) {
    struct ArrowArrayStream rows;
    struct ArrowArray batch;
    const char *const columns[] = {"time", "value", NULL};
    const tl_scan_params params = {.columns = columns};
    tl_status status = tl_scan(lake, "readings", &params, &rows, err);
    while (status == TL_OK && rows.get_next(&rows, &batch) == 0 && batch.release) {
        const int64_t *time = batch.children[0]->buffers[1];
        const double *value = batch.children[1]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++) {
            printf("%lld  %.1f\n", (long long)time[batch.children[0]->offset + i],
                   value[batch.children[1]->offset + i]);
        }
        batch.release(&batch);
    }
    if (status == TL_OK) {
        rows.release(&rows);
    }
    return status;
}

int main(int argc, char **argv) {
    static const int64_t t[] = {1767225600000000, 1767225601000000, 1767225602000000};
    tl_lake *lake;
    tl_error err = {{0}};
    tl_status status = tl_lake_open(argc > 1 ? argv[1] : "memory://example", NULL, &lake, &err);
    if (status == TL_OK) {
        status = append(lake, (const int32_t[]){0, 2, 4, 6}, "m1m1m2", t, (const double[]){20.5, 21.0, 7.0}, 3, &err);
        if (status == TL_OK) { /* the second reading again, corrected: a reader sees the latest write */
            status = append(lake, (const int32_t[]){0, 2}, "m1", t + 1, (const double[]){22.5}, 1, &err);
        }
        status = status == TL_OK ? print(lake, &err) : status;
        tl_lake_close(lake);
    }
    if (status != TL_OK) {
        (void)fprintf(stderr, "%s: %s\n", tl_status_name(status), err.message);
    }
    return status != TL_OK;
}
