/* Opening and closing lakes; the cache of newest known table versions. */
#include "api/lake.h"

#include <string.h>

#include "base/mem.h"

const char *tl_version(void) {
    return TL_BUILD_VERSION;
}

tl_status tl_lake_open(const char *location, const tl_lake_options *options, tl_lake **out, tl_error *err) {
    *out = NULL;
    if (!location || !*location) {
        return tl_fail(err, TL_INVALID, "no lake was named: give a folder, file:// or memory:// location");
    }
    tl_lake *lake = tl_calloc(1, sizeof *lake);
    if (!lake) {
        return tl_fail_memory(err, sizeof *lake);
    }
    bool create = !options || !options->must_exist;
    tl_status status = tl_store_open(location, create, tl_env_default(), &lake->store, err);
    if (status == TL_OK) {
        status = tl_pool_create(options ? options->threads : 0, &lake->pool, err);
    }
    if (status != TL_OK) {
        if (lake->store) {
            tl_store_close(lake->store);
        }
        tl_free(lake);
        return status;
    }
    tl_lock_init(&lake->lock);
    tl_lock_init(&lake->pool_lock);
    tl_reads_init(&lake->reads);
    tl_upkeep_init(&lake->upkeep);
    lake->workspace = tl_append_workspace_create();
    lake->references = 1;
    *out = lake;
    return TL_OK;
}

tl_lake *tl_lake_retain(tl_lake *lake) {
    lake->references++;
    return lake;
}

void tl_lake_release(tl_lake *lake) {
    if (!lake || --lake->references > 0) {
        return;
    }
    tl_upkeep_free(&lake->upkeep);
    for (size_t i = 0; i < lake->n_tables; i++) {
        tl_table_release(lake->tables[i]);
    }
    tl_free(lake->tables);
    tl_reads_end(&lake->reads, lake->store);
    tl_append_workspace_free(lake->workspace);
    tl_pool_free(lake->pool);
    tl_store_close(lake->store);
    tl_lock_free(&lake->lock);
    tl_lock_free(&lake->pool_lock);
    tl_free(lake);
}

void tl_lake_settle(tl_lake *lake) {
    tl_upkeep_wait(&lake->upkeep);
}

void tl_lake_close(tl_lake *lake) {
    if (lake) {
        tl_lake_settle(lake);
    }
    tl_lake_release(lake);
}

/* Index of a table in the cache, or n_tables. The lock is held. */
static size_t find(const tl_lake *lake, const char *full_name) {
    size_t i = 0;
    while (i < lake->n_tables && strcmp(lake->tables[i]->name, full_name) != 0) {
        i++;
    }
    return i;
}

void tl_lake_remember(tl_lake *lake, tl_table *table) {
    tl_table *old = NULL;
    tl_lock_take(&lake->lock);
    size_t i = find(lake, table->name);
    if (i < lake->n_tables) {
        if (lake->tables[i]->version < table->version ||
            strcmp(lake->tables[i]->metadata_key, table->metadata_key) != 0) {
            old = lake->tables[i];
            lake->tables[i] = tl_table_retain(table);
        }
    } else {
        tl_table **grown = tl_grow(lake->tables, &lake->cap_tables, lake->n_tables + 1, 8, sizeof *grown, NULL);
        if (grown) {
            lake->tables = grown;
            lake->tables[lake->n_tables++] = tl_table_retain(table);
        }
    }
    tl_lock_give(&lake->lock);
    tl_table_release(old);
}

void tl_lake_forget(tl_lake *lake, const char *full_name) {
    tl_table *old = NULL;
    tl_lock_take(&lake->lock);
    size_t i = find(lake, full_name);
    if (i < lake->n_tables) {
        old = lake->tables[i];
        lake->tables[i] = lake->tables[--lake->n_tables];
    }
    tl_lock_give(&lake->lock);
    tl_table_release(old);
}

static tl_status load(tl_lake *lake, const char *ns, const char *table, tl_table **out, tl_error *err) {
    TL_TRY(tl_table_load(lake->store, ns, table, out, err));
    tl_lake_remember(lake, *out);
    return TL_OK;
}

tl_status tl_lake_table(tl_lake *lake, const char *name, tl_table **out, tl_error *err) {
    *out = NULL;
    char ns[256], table[256];
    TL_TRY(tl_table_name_parse(name, "default", ns, table, err));
    char *full = tl_format("%s.%s", ns, table);
    if (!full) {
        return tl_fail_memory(err, strlen(ns) + strlen(table) + 2);
    }
    tl_lock_take(&lake->lock);
    size_t i = find(lake, full);
    tl_table *known = i < lake->n_tables ? tl_table_retain(lake->tables[i]) : NULL;
    tl_lock_give(&lake->lock);
    tl_status status;
    if (!known) {
        status = load(lake, ns, table, out, err);
    } else {
        status = tl_table_refresh(known, out, err);
        if (status == TL_NOT_FOUND) { /* dropped, and perhaps made anew, by somebody else */
            tl_lake_forget(lake, full);
            status = load(lake, ns, table, out, err);
        } else if (status == TL_OK && *out != known) {
            tl_lake_remember(lake, *out);
        }
        tl_table_release(known);
    }
    tl_free(full);
    return status;
}

tl_pool *tl_lake_pool_take(tl_lake *lake) {
#ifdef TL_NO_THREADS
    return lake->pool;
#else
    return pthread_mutex_trylock(&lake->pool_lock) == 0 ? lake->pool : NULL;
#endif
}

void tl_lake_pool_give(tl_lake *lake, tl_pool *pool) {
    if (pool) {
        tl_lock_give(&lake->pool_lock);
    }
}
