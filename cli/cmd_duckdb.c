/* timelake duckdb: the SQL with which a DuckDB of one's own reads a table. */
#include <string.h>

#include "cli/commands.h"
#include "cli/duck.h"

static tl_status run_duckdb(tl_cli *cli, tl_error *err) {
    tl_table *table = NULL;
    TL_TRY(tl_cli_lake(cli, true, err));
    TL_TRY(tl_lake_table(cli->lake, cli->operands[0], &table, err));
    const tl_snapshot *current = tl_metadata_current(&table->metadata);
    const char *index = current ? tl_snapshot_summary(current, "timelake.last-value-index") : NULL;
    tl_buf out = {0};
    tl_status status = tl_buf_add_text(&out, "INSTALL iceberg;\nLOAD iceberg;\n"
                                             "-- the rows as they are in the files; older copies of a key too\n"
                                             "SET unsafe_enable_version_guessing = true;\n"
                                             "SELECT * FROM iceberg_scan(");
    if (status == TL_OK) {
        status = tl_duck_quote_text(&out, table->location);
    }
    if (status == TL_OK) {
        status = tl_buf_add_text(&out, ");\n");
    }
    if (status == TL_OK && index) {
        status = tl_buf_add_text(&out, "-- the newest row of every series\nSELECT * FROM read_parquet(");
        if (status == TL_OK) {
            status = tl_duck_quote_path(&out, index);
        }
        if (status == TL_OK) {
            status = tl_buf_add_text(&out, ");\n");
        }
    }
    if (status == TL_OK) {
        (void)fwrite(out.data, 1, out.len, stdout);
    } else {
        status = tl_fail_memory(err, out.len);
    }
    tl_buf_free(&out);
    tl_table_release(table);
    return status;
}

static const tl_flag flags[] = {{0}};

const tl_command tl_command_duckdb = {
    .name = "duckdb",
    .operands = "TABLE",
    .summary = "print the SQL with which DuckDB itself reads the table",
    .text = "For DuckDB with its iceberg extension. Prints only; nothing is run.",
    .flags = flags,
    .least = 1,
    .most = 1,
    .run = run_duckdb,
};
