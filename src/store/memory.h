/*
 * A store in memory, for tests, simulations and hosts without a disk. Comes in: a name. Goes out: a tl_store.
 */
#ifndef TL_STORE_MEMORY_H
#define TL_STORE_MEMORY_H

#include "store/store.h"

/* Stores of one name share their objects within the process as long as one of them is open; the empty name is private.
 */
tl_status tl_memory_open(const char *name, const tl_env *env, tl_store **out, tl_error *err) TL_CHECKED;

#endif
