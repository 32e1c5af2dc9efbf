/* tl_maintain and tl_upgrade: the work is done in src/maintain. */
#include "maintain/maintain.h"
#include "api/lake.h"
#include "maintain/upgrade.h"

tl_status tl_maintain(tl_lake *lake, const char *name, const tl_maintain_params *params, tl_maintain_result *result,
                      tl_error *err) {
    static const tl_maintain_params none = {0};
    tl_maintain_result mine;
    tl_table *table = NULL;
    result = result ? result : &mine;
    *result = (tl_maintain_result){0};
    TL_TRY(tl_lake_table(lake, name, &table, err));
    tl_pool *pool = tl_lake_pool_take(lake);
    tl_status status = tl_maintain_table(&table, params ? params : &none, pool, result, err);
    tl_lake_pool_give(lake, pool);
    tl_lake_remember(lake, table);
    tl_table_release(table);
    return status;
}

tl_status tl_upgrade(tl_lake *lake, const char *name, const tl_upgrade_params *params, tl_upgrade_result *result,
                     tl_error *err) {
    static const tl_upgrade_params none = {0};
    tl_upgrade_result mine;
    tl_table *table = NULL;
    result = result ? result : &mine;
    *result = (tl_upgrade_result){0};
    TL_TRY(tl_lake_table(lake, name, &table, err));
    tl_pool *pool = tl_lake_pool_take(lake);
    tl_status status = tl_upgrade_table(&table, params ? params : &none, pool, result, err);
    tl_lake_pool_give(lake, pool);
    tl_lake_remember(lake, table);
    tl_table_release(table);
    return status;
}
