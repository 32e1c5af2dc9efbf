/* tl_check: the work is done in src/maintain. */
#include <string.h>

#include "api/lake.h"
#include "maintain/check.h"
#include "maintain/orphans.h"

/* A grace period as given: 0 = the usual, -1 = none. */
static int64_t grace_of(int64_t given) {
    return given == 0 ? TL_ORPHAN_GRACE_US : given < 0 ? 0 : given;
}

/* A table whose metadata cannot be read has one finding. */
static tl_status report_unreadable(const tl_check_params *p, tl_status status, const tl_error *why,
                                   tl_check_result *result, tl_error *err) {
    if (status != TL_CORRUPT && status != TL_UNSUPPORTED) {
        return tl_fail(err, status, "%s", why->message);
    }
    result->findings = 1;
    if (p->found) {
        const tl_finding finding = {.kind = "metadata", .message = why->message};
        p->found(p->ctx, &finding);
    }
    return TL_OK;
}

tl_status tl_check(tl_lake *lake, const char *name, const tl_check_params *params, tl_check_result *result,
                   tl_error *err) {
    static const tl_check_params none = {0};
    const tl_check_params *p = params ? params : &none;
    tl_check_result mine;
    result = result ? result : &mine;
    *result = (tl_check_result){0};
    tl_table *table = NULL;
    tl_error why = {{0}};
    tl_status status = tl_lake_table(lake, name, &table, &why);
    if (status != TL_OK) {
        return report_unreadable(p, status, &why, result, err);
    }
    tl_check_options options = {.pool = tl_lake_pool_take(lake),
                                .no_data = p->no_data != 0,
                                .grace_us = grace_of(p->grace_us),
                                .found = p->found,
                                .progress = p->progress,
                                .ctx = p->ctx};
    status = tl_check_table(table, &options, result, err);
    tl_lake_pool_give(lake, options.pool);
    tl_table_release(table);
    return status;
}
