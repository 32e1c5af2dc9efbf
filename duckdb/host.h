/*
 * The DuckDB that the code of this folder runs in. The command links DuckDB and takes duckdb.h; the extension is built
 * from the same files with TL_DUCKDB_EXTENSION and calls the table of functions that its host hands it, the stable C
 * API v1.2.0, which every DuckDB from 1.2 to 2.0 has. Functions beyond that table do not exist there.
 */
#ifndef TL_DUCKDB_HOST_H
#define TL_DUCKDB_HOST_H

/* Before DuckDB's header, so that it takes the Arrow structs as declared there. */
#include "base/buf.h"
#include "base/mem.h"

#ifdef TL_DUCKDB_EXTENSION
#define DUCKDB_EXTENSION_API_VERSION_MAJOR 1
#define DUCKDB_EXTENSION_API_VERSION_MINOR 2
#define DUCKDB_EXTENSION_API_VERSION_PATCH 0
#include <duckdb_extension.h>
DUCKDB_EXTENSION_EXTERN
#else
#include <duckdb.h>
#endif

/* A scalar function with `n` parameters of simple types; the caller gives it what else it needs and registers it. */
duckdb_scalar_function tl_host_function(const char *name, const duckdb_type *types, int n, duckdb_type result,
                                        duckdb_scalar_function_t function, void *extra);
/* Registers `n` functions of one name, which differ in their parameters, and destroys them. */
tl_status tl_host_register(duckdb_connection connection, const char *name, duckdb_scalar_function *functions, size_t n,
                           tl_error *err) TL_CHECKED;

/* "timelake: " and an error's message. */
typedef struct tl_host_message {
    char text[1100];
} tl_host_message;
tl_host_message tl_host_message_of(const tl_error *err);

/* time_functions.c: time_bucket and date_trunc over UTC, under names that begin with `prefix`. */
tl_status tl_host_add_time_functions(duckdb_connection connection, const char *prefix, tl_error *err) TL_CHECKED;

#endif
