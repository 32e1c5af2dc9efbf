/* timelake create and import: new tables, from a schema or from the columns of files. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/guess.h"
#include "cli/ingest.h"
#include "cli/schema_text.h"
#include "cli/spool.h"
#include "cli/stop.h"

/* Standard input is read twice when types are guessed: it is kept, and becomes descriptor 0 again. */
static tl_status keep_stdin(const tl_paths *paths, bool *kept, tl_error *err) {
    *kept = false;
    for (size_t i = 0; i < paths->n; i++) {
        if (strcmp(paths->paths[i], "-") != 0) {
            continue;
        }
        int fd;
        uint64_t size;
        TL_TRY(tl_spool_stdin(&fd, &size, err));
        tl_status status = dup2(fd, 0) == 0 ? TL_OK : tl_fail(err, TL_IO, "standard input: %s", strerror(errno));
        (void)close(fd);
        *kept = true;
        return status;
    }
    return TL_OK;
}

static void rewind_stdin(bool kept) {
    if (kept) {
        (void)lseek(0, 0, SEEK_SET);
    }
}

/* --prop, and --policy as the property that it is. */
static const char **properties_of(tl_cli *cli, size_t *n) {
    const char *policy = tl_value(cli, "policy");
    const char **given = tl_values(cli, "prop", n);
    const char **all = given && policy ? tl_calloc(*n + 2, sizeof *all) : NULL;
    if (!given || !policy) {
        return given;
    }
    for (size_t i = 0; all && i < *n; i++) {
        all[i + 1] = given[i];
    }
    if (all) {
        all[0] = strcmp(policy, "upsert") == 0 ? "write-policy=upsert" : "write-policy=append";
        (*n)++;
    }
    tl_free((void *)(uintptr_t)given);
    return all;
}

/* Wrong usage is told before anything is done. */
static tl_status check_policy(tl_cli *cli, tl_error *err) {
    const char *policy = tl_value(cli, "policy");
    return !policy || strcmp(policy, "upsert") == 0 || strcmp(policy, "append") == 0
               ? TL_OK
               : tl_usage(cli, err, "--policy is append or upsert, not \"%s\"", policy);
}

static tl_status create_from(tl_cli *cli, const char *name, const struct ArrowSchema *schema, tl_error *err) {
    size_t n;
    const char **properties = properties_of(cli, &n);
    if (!properties) {
        return tl_fail_memory(err, 8);
    }
    tl_table_spec spec = {
        .time_column = tl_value(cli, "time-column"),
        .series_key = tl_value(cli, "series-key"),
        .chunk = tl_value(cli, "chunk"),
        .retention = tl_value(cli, "retention"),
        .no_dedup = tl_has(cli, "no-dedup"),
        .no_ingest_time = tl_has(cli, "no-ingest-time"),
        .properties = properties,
    };
    tl_status status = tl_create(cli->lake, name, schema, &spec, err);
    tl_free((void *)(uintptr_t)properties);
    return status;
}

/* The schema of the files, whose rows are read where their text must be guessed from. */
static tl_status schema_of_files(tl_cli *cli, const tl_paths *paths, const tl_input_options *options,
                                 struct ArrowSchema *out, tl_error *err) {
    return tl_guess_schema(paths, options, tl_value(cli, "time-column"), out, err);
}

static tl_status create_schema(tl_cli *cli, struct ArrowSchema *out, tl_error *err) {
    const char *text = tl_value(cli, "schema"), *from = tl_value(cli, "from");
    if (!text == !from) {
        return tl_usage(cli, err, "give the columns with --schema \"name:type,...\" or --from FILE");
    }
    if (text) {
        return tl_schema_from_text(text, out, err);
    }
    tl_input_options options;
    tl_paths paths = {0};
    bool kept;
    TL_TRY(tl_ingest_options(cli, &options, err));
    tl_status status = tl_paths_find(&from, 1, &paths, err);
    if (status == TL_OK) {
        status = keep_stdin(&paths, &kept, err);
    }
    if (status == TL_OK) {
        status = schema_of_files(cli, &paths, &options, out, err);
    }
    tl_paths_free(&paths);
    tl_ingest_options_free(&options);
    return status;
}

static tl_status run_create(tl_cli *cli, tl_error *err) {
    char *name = NULL;
    struct ArrowSchema schema = {0};
    TL_TRY(check_policy(cli, err));
    TL_TRY(tl_cli_full_name(cli->operands[0], &name, err));
    tl_status status = create_schema(cli, &schema, err);
    if (status == TL_OK) {
        status = tl_cli_lake(cli, false, err);
    }
    if (status == TL_OK) {
        status = create_from(cli, name, &schema, err);
    }
    tl_table *table = NULL;
    if (status == TL_OK) {
        status = tl_lake_table(cli->lake, name, &table, err);
    }
    if (status == TL_OK) {
        printf("created %s at %s\n", name, table->location);
    }
    tl_table_release(table);
    if (schema.release) {
        schema.release(&schema);
    }
    tl_free(name);
    return status;
}

/* ---- import ---- */

/* Takes back a table that was made for nothing: only while nobody has committed to it. */
static void undo_create(tl_cli *cli, const char *name) {
    tl_table *table = NULL;
    if (tl_lake_table(cli->lake, name, &table, NULL) == TL_OK && table->version == 1 &&
        !tl_metadata_current(&table->metadata)) {
        tl_table_release(table);
        (void)tl_drop(cli->lake, name, NULL);
        return;
    }
    tl_table_release(table);
}

static tl_status import_files(tl_cli *cli, const char *name, const tl_paths *paths, tl_input_options *options,
                              tl_error *err) {
    tl_table *table = NULL;
    tl_error why = {{0}};
    bool created = false, kept = false;
    tl_status status = tl_lake_table(cli->lake, name, &table, &why);
    tl_table_release(table);
    if (status == TL_NOT_FOUND) {
        struct ArrowSchema schema = {0};
        TL_TRY(keep_stdin(paths, &kept, err));
        TL_TRY(schema_of_files(cli, paths, options, &schema, err));
        rewind_stdin(kept);
        status = create_from(cli, name, &schema, err);
        schema.release(&schema);
        created = status == TL_OK;
        status = status == TL_EXISTS ? TL_OK : status; /* somebody was faster */
        TL_TRY(status);
    } else if (status != TL_OK) {
        return tl_fail(err, status, "%s", why.message);
    }
    int64_t commits = 0;
    status = tl_ingest(cli, name, paths, options, &commits, err);
    if (status == TL_OK && created) {
        fprintf(stderr, "created %s\n", name);
    } else if (status != TL_OK && status != TL_UNKNOWN && created && commits == 0) {
        undo_create(cli, name);
    }
    return status;
}

static tl_status run_import(tl_cli *cli, tl_error *err) {
    char *name = NULL;
    tl_input_options options = {0};
    tl_paths paths = {0};
    int64_t rows;
    TL_TRY(check_policy(cli, err));
    TL_TRY(tl_value_count(cli, "rows-per-commit", 0, &rows, err)); /* wrong usage is told first */
    TL_TRY(tl_ingest_options(cli, &options, err));
    tl_status status = tl_cli_full_name(cli->operands[0], &name, err);
    if (status == TL_OK) {
        status = tl_stop_install(err);
    }
    if (status == TL_OK) {
        status = tl_paths_find(cli->operands + 1, (size_t)cli->n_operands - 1, &paths, err);
    }
    if (status == TL_OK) {
        status = tl_cli_lake(cli, false, err);
    }
    if (status == TL_OK) {
        status = import_files(cli, name, &paths, &options, err);
    }
    tl_paths_free(&paths);
    tl_ingest_options_free(&options);
    tl_free(name);
    return status;
}

#define CREATE_FLAGS                                                                                                   \
    {"time-column", 0, "NAME",                                                                                         \
     "The column of the readings' times: a timestamp, or text. Without one the table is "                              \
     "plain: not sorted, no deduplication."},                                                                          \
        {"series-key", 0, "NAMES", "The columns that name a series, parted by commas."},                               \
        {"chunk", 0, "SPAN", "One partition for each hour, day (default) or month, in UTC."},                          \
        {"retention", 0, "DURATION", "Older partitions may be dropped: 90d, 2y, ... Default: keep for ever."},         \
        {"no-dedup", 0, NULL, "Keeps every row, also of equal series and time."},                                      \
        {"no-ingest-time", 0, NULL, "No column _ingest_ts: the last commit of a key wins."},                           \
        {"policy", 0, "POLICY",                                                                                        \
         "append (default): older copies of a key are hidden when Timelake reads. upsert: they are deleted when it "   \
         "writes, so that every engine sees one row per key."},                                                        \
    {                                                                                                                  \
        "prop", 0, "NAME=VALUE", "A setting or table property; may be repeated."                                       \
    }

static const tl_flag create_flags[] = {
    {"schema", 0, "COLUMNS",
     "name:type,... with the types int, bigint, float, double, decimal(p,s), string, bool, date, "
     "time, timestamp, timestamptz, uuid, binary, fixed[n], list<T>, map<K,V>, struct<n:T,...>; "
     "\"not null\" behind a type makes a column required."},
    {"from", 0, "FILE", "Takes the columns from a file; its rows are not added."},
    CREATE_FLAGS,
    TL_INPUT_FLAGS,
    {0},
};
static const tl_flag import_flags[] = {CREATE_FLAGS, TL_INPUT_FLAGS, TL_APPEND_FLAGS, {0}};

const tl_command tl_command_create = {
    .name = "create",
    .operands = "TABLE",
    .summary = "make an empty table",
    .text =
        "The columns come from --schema or from a file. Types of text files are guessed from the whole file: a column "
        "is a number, truth value, date or time when all of its values are plainly written as one (007 is text).\n\n"
        "  timelake create readings --schema \"machine:string,time:timestamptz,temp:double\" \\\n"
        "           --time-column time --series-key machine",
    .flags = create_flags,
    .least = 1,
    .most = 1,
    .run = run_create,
};

const tl_command tl_command_import = {
    .name = "import",
    .operands = "TABLE FILE...",
    .summary = "make a table from files, with their rows",
    .text =
        "create and append in one step: makes the table with the columns of the files when it is not there, and adds "
        "their rows. A table that is there is appended to, its types stand. See `timelake append --help` for the "
        "files.\n\n"
        "  timelake import weather weather.csv --time-column time_hour \\\n"
        "           --series-key origin --null NA",
    .flags = import_flags,
    .least = 2,
    .most = -1,
    .run = run_import,
};
