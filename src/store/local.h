/*
 * The local disk as a store. Comes in: a directory. Goes out: a tl_store whose puts are atomic and, when asked for,
 * durable.
 *
 * What a kill or a power loss can leave behind, and why no reader minds:
 * - An object under its final name is complete: it is written to a temporary file in the same folder ("tl-<hex>#1") and
 *   gets its name by a rename that does not replace (put if absent; by a link where there is no such rename) or by
 *   a plain one (put, writers). Killed before that: a temporary file stays.
 * Listings hide names that end in '#' and digits (Timelake 0.7.0 does so too), tl_store_prune removes them.
 * - TL_PUT_SYNC: contents are on the disk before the name exists, the name before the call returns; so after a power
 * loss a name never stands for half an object, and what was acknowledged is there.
 * - TL_PUT_LATER: both only after tl_store_sync. Nothing may point to such an object before that.
 * - TL_PUT_NEW: as LATER, but written under its final name, which nothing points to yet; killed meanwhile, half of it
 * stays there, as rubbish.
 * - A folder made by anybody counts as durable only once this process has synced the chain of folders above it.
 */
#ifndef TL_STORE_LOCAL_H
#define TL_STORE_LOCAL_H

#include "store/store.h"

/* `path` relative or absolute; its root_uri is that of the directory behind all symbolic links. `create` makes it and
 * its parents. Errors: TL_NOT_FOUND, TL_IO (not a directory, no permission). */
tl_status tl_local_open(const char *path, bool create, const tl_env *env, tl_store **out, tl_error *err) TL_CHECKED;

#endif
