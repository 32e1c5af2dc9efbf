/* timelake info: what there is to know about a table. */
#include <string.h>
#include <yyjson.h>

#include "base/num.h"
#include "cli/commands.h"

enum { SHOWN = 10, SHOWN_SNAPSHOTS = 5 };

static const char *text_of(yyjson_val *o, const char *key, const char *otherwise) {
    const char *text = yyjson_get_str(yyjson_obj_get(o, key));
    return text ? text : otherwise;
}

static long long number_of(yyjson_val *o, const char *key) {
    return (long long)yyjson_get_sint(yyjson_obj_get(o, key));
}

static void time_text(long long ms, char out[TL_NUM_TEXT]) {
    (void)tl_print_timestamp(ms, 1000, true, out);
}

static void line(const char *name, const char *text) {
    printf("%-13s %s\n", name, text);
}

static void print_schema(yyjson_val *root) {
    size_t i, n;
    yyjson_val *field;
    yyjson_arr_foreach(yyjson_obj_get(root, "schema"), i, n, field) {
        printf("%-13s %s %s%s\n", i ? "" : "schema", text_of(field, "name", ""), text_of(field, "type", ""),
               yyjson_get_bool(yyjson_obj_get(field, "required")) ? " not null" : "");
    }
}

static void print_snapshots(yyjson_val *root) {
    size_t i, n;
    yyjson_val *s;
    printf("%-13s %lld\n", "snapshots", number_of(root, "snapshot_count"));
    yyjson_arr_foreach(yyjson_obj_get(root, "snapshots"), i, n, s) {
        if (i >= SHOWN_SNAPSHOTS) {
            break;
        }
        char when[TL_NUM_TEXT];
        time_text(number_of(s, "timestamp_ms"), when);
        printf("%-13s %s  %s  %s  +%lld rows, +%lld files", "", text_of(s, "id", ""), when, text_of(s, "operation", ""),
               number_of(s, "added_records"), number_of(s, "added_files"));
        if (number_of(s, "deleted_files")) {
            printf(", -%lld rows, -%lld files", number_of(s, "deleted_records"), number_of(s, "deleted_files"));
        }
        printf("\n");
    }
}

static void print_partitions(yyjson_val *root) {
    size_t i, n;
    yyjson_val *p, *list = yyjson_obj_get(root, "partitions");
    printf("%-13s %zu\n", "partitions", yyjson_arr_size(list));
    yyjson_arr_foreach(list, i, n, p) {
        if (i >= SHOWN) {
            printf("%-13s ... and %zu older\n", "", n - SHOWN);
            break;
        }
        const char *label = text_of(p, "partition", "");
        printf("%-13s %s  %lld files, %lld rows, %.1f MB\n", "", *label ? label : "(all)", number_of(p, "files"),
               number_of(p, "rows"), (double)number_of(p, "bytes") / 1e6);
    }
}

static void print_text(yyjson_val *root) {
    printf("%-13s v%lld\n", text_of(root, "name", ""), number_of(root, "version"));
    line("location", text_of(root, "location", ""));
    const char *time = text_of(root, "time_column", NULL);
    if (time) {
        printf("%-13s %s, one partition per %s\n", "time", time, text_of(root, "chunk", "none"));
    } else {
        line("time", "none");
    }
    printf("%-13s ", "series key");
    size_t i, n;
    yyjson_val *key, *keys = yyjson_obj_get(root, "series_key");
    yyjson_arr_foreach(keys, i, n, key) {
        printf("%s%s", i ? ", " : "", yyjson_get_str(key));
    }
    printf("%s\n", yyjson_arr_size(keys) ? "" : "none");
    line("dedup", yyjson_get_bool(yyjson_obj_get(root, "dedup")) ? "on" : "off");
    line("inserted", text_of(root, "ingest_time_column", "none"));
    yyjson_val *retention = yyjson_obj_get(root, "retention_days");
    if (yyjson_is_num(retention)) {
        printf("%-13s %g days\n", "retention", yyjson_get_num(retention));
    } else {
        line("retention", "for ever");
    }
    print_schema(root);
    printf("%-13s %lld rows, %lld files, %.1f MB, %lld manifests\n", "data", number_of(root, "rows"),
           number_of(root, "files"), (double)number_of(root, "bytes") / 1e6, number_of(root, "manifests"));
    printf("%-13s Iceberg %s\n", "format", text_of(root, "format_version", ""));
    print_snapshots(root);
    line("last-value", text_of(root, "last_value_index", "none"));
    print_partitions(root);
}

static tl_status run_info(tl_cli *cli, tl_error *err) {
    char *json = NULL;
    TL_TRY(tl_cli_lake(cli, true, err));
    TL_TRY(tl_info(cli->lake, cli->operands[0], &json, err));
    tl_status status = TL_OK;
    if (tl_has(cli, "json")) {
        printf("%s\n", json);
    } else {
        yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
        if (doc) {
            print_text(yyjson_doc_get_root(doc));
        } else {
            status = tl_fail_memory(err, strlen(json));
        }
        yyjson_doc_free(doc);
    }
    tl_text_free(json);
    return status;
}

static const tl_flag flags[] = {{"json", 0, NULL, "Everything, as one JSON object."}, {0}};

const tl_command tl_command_info = {
    .name = "info",
    .operands = "TABLE",
    .summary = "describe a table",
    .text = "Name and version, where it lies, its time column and series key, columns, data, the newest snapshots and "
            "partitions. Rows are those of the files: older copies of a key are counted too.",
    .flags = flags,
    .least = 1,
    .most = 1,
    .run = run_info,
};
