/*
 * Check (DESIGN 7): is a table what it says it is? Comes in: a table. Goes out: findings, one call each; none = every
 * retained snapshot can be read, and the current one is true in every statement that readers rely on.
 *
 * Nothing is changed. What cannot be read is a finding, not a failure of the check.
 */
#ifndef TL_MAINTAIN_CHECK_H
#define TL_MAINTAIN_CHECK_H

#include "base/pool.h"
#include "table/table.h"

typedef struct tl_check_options {
    tl_pool *pool;    /* NULL = the caller's thread */
    bool no_data;     /* data and delete files are not opened, only looked for */
    int64_t grace_us; /* objects that nothing refers to are told once they are older */
    /* Calls come one at a time, perhaps from other threads. */
    void (*found)(void *ctx, const tl_finding *finding);                /* NULL = none */
    void (*progress)(void *ctx, int64_t done_bytes, int64_t all_bytes); /* NULL = none */
    void *ctx;
} tl_check_options;

/* TL_OK also with findings: `result` counts them. Others: the check itself could not go on (memory, cancelled). */
tl_status tl_check_table(tl_table *t, const tl_check_options *options, tl_check_result *result,
                         tl_error *err) TL_CHECKED;

#endif
