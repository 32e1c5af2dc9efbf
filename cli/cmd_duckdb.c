/* timelake duckdb: the SQL with which a DuckDB of one's own reads the lake, through our extension or through Iceberg's.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/duck.h"

static const char extension_name[] = "timelake.duckdb_extension";

/* Where the extension lies: beside the command, or in ../lib/timelake from it. "" = it is not there. */
static void find_extension(char out[PATH_MAX]) {
    static const char *const places[] = {"", "../lib/timelake/", "../lib/"};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    out[0] = 0;
    if (n <= 0) {
        return;
    }
    self[n] = 0;
    char *slash = strrchr(self, '/');
    if (slash) {
        slash[1] = 0;
    }
    for (size_t i = 0; i < TL_COUNT(places); i++) {
        char *path = tl_format("%s%s%s", self, places[i], extension_name);
        bool found = path && realpath(path, out);
        tl_free(path);
        if (found) {
            return;
        }
    }
    out[0] = 0;
}

static tl_status copy_file(const char *from, const char *to, tl_error *err) {
    static char block[1 << 16];
    FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
    bool good = in && out;
    for (size_t n; good && (n = fread(block, 1, sizeof block, in)) > 0;) {
        good = fwrite(block, 1, n, out) == n;
    }
    good = good && !ferror(in);
    int why = errno;
    good = !(out && fclose(out) != 0) && good;
    if (in) {
        (void)fclose(in);
    }
    return good ? TL_OK : tl_fail(err, TL_IO, "%s: %s", to, strerror(why));
}

/* Copies the extension into a folder and gives its new place. */
static tl_status install(const char *folder, char path[PATH_MAX], tl_error *err) {
    char *to = tl_format("%s/%s", folder, extension_name);
    if (!to) {
        return tl_fail_memory(err, strlen(folder));
    }
    tl_status status = copy_file(path, to, err);
    if (status == TL_OK && !realpath(to, path)) {
        status = tl_fail(err, TL_IO, "%s: %s", to, strerror(errno));
    }
    tl_free(to);
    return status;
}

/* "file:///data/lake/default/r" -> "/data/lake/default/r" */
static const char *local_path(const char *location) {
    return strncmp(location, "file://", 7) == 0 ? location + 7 : location;
}

static tl_status extension_sql(tl_cli *cli, const tl_table *table, const char *path, tl_buf *out) {
    TL_TRY(tl_buf_add_text(
        out, "-- DuckDB 1.3 to 2.0 that allows unsigned extensions (duckdb -unsigned; in Python\n"
             "-- config={'allow_unsigned_extensions': 'true'}); each (series, time) is seen once\nLOAD "));
    TL_TRY(tl_duck_quote_text(out, path));
    TL_TRY(tl_buf_add_text(out, ";\n"));
    if (!table) {
        TL_TRY(
            tl_buf_add_text(out, "-- run what this gives, then: SELECT ... FROM lake.a_table\nSELECT timelake_mount("));
        char real[PATH_MAX];
        const char *lake = local_path(cli->warehouse);
        TL_TRY(tl_duck_quote_text(out, realpath(lake, real) ? real : lake));
        return tl_buf_add_text(out, ");\n");
    }
    TL_TRY(tl_buf_add_text(out, "SELECT * FROM timelake("));
    TL_TRY(tl_duck_quote_text(out, local_path(table->location)));
    TL_TRY(tl_buf_add_text(out, ");\n-- the newest row of every series\nSELECT * FROM timelake_latest("));
    TL_TRY(tl_duck_quote_text(out, local_path(table->location)));
    return tl_buf_add_text(out, ");\n");
}

static tl_status iceberg_sql(const tl_table *table, tl_buf *out) {
    const tl_snapshot *current = tl_metadata_current(&table->metadata);
    const char *index = current ? tl_snapshot_summary(current, "timelake.last-value-index") : NULL;
    TL_TRY(tl_buf_add_text(out, "INSTALL iceberg;\nLOAD iceberg;\n"
                                "-- the rows as they are in the files; older copies of a key too\n"
                                "SET unsafe_enable_version_guessing = true;\n"
                                "SELECT * FROM iceberg_scan("));
    TL_TRY(tl_duck_quote_text(out, table->location));
    TL_TRY(tl_buf_add_text(out, ");\n"));
    if (!index) {
        return TL_OK;
    }
    TL_TRY(tl_buf_add_text(out, "-- the newest row of every series\nSELECT * FROM read_parquet("));
    TL_TRY(tl_duck_quote_path(out, index));
    return tl_buf_add_text(out, ");\n");
}

static tl_status run_duckdb(tl_cli *cli, tl_error *err) {
    const char *folder = tl_value(cli, "install");
    bool iceberg = tl_has(cli, "iceberg");
    tl_table *table = NULL;
    char path[PATH_MAX] = "";
    if (iceberg && (cli->n_operands == 0 || folder)) {
        return tl_usage(cli, err, "--iceberg wants a table, and no --install");
    }
    if (!iceberg) {
        find_extension(path);
        if (!*path) {
            return tl_fail(err, TL_NOT_FOUND, "%s is not beside the command: build it (ninja extension)",
                           extension_name);
        }
        TL_TRY(folder ? install(folder, path, err) : TL_OK);
    }
    TL_TRY(tl_cli_lake(cli, true, err));
    if (cli->n_operands > 0) {
        TL_TRY(tl_lake_table(cli->lake, cli->operands[0], &table, err));
    }
    tl_buf out = {0};
    tl_status status = iceberg ? iceberg_sql(table, &out) : extension_sql(cli, table, path, &out);
    if (status == TL_OK) {
        (void)fwrite(out.data, 1, out.len, stdout);
    } else {
        status = tl_fail_memory(err, out.len);
    }
    tl_buf_free(&out);
    tl_table_release(table);
    return status;
}

static const tl_flag flags[] = {
    {"install", 0, "FOLDER", "Copies timelake.duckdb_extension there first, and prints the LOAD of that copy."},
    {"iceberg", 0, NULL, "Through DuckDB's own iceberg extension instead: rows as they are, older copies too."},
    {0},
};

const tl_command tl_command_duckdb = {
    .name = "duckdb",
    .operands = "[TABLE]",
    .summary = "print the SQL with which DuckDB itself reads the table",
    .text = "Prints how a DuckDB of your own loads timelake.duckdb_extension and reads the table, or the whole lake; "
            "nothing "
            "is run. docs/duckdb.md says what the extension has.",
    .flags = flags,
    .least = 0,
    .most = 1,
    .run = run_duckdb,
};
