/* Names of tables. */
#include <string.h>

#include "table/table.h"

static bool take_part(const char *text, size_t n, char out[256]) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    if (n == 0 || n >= 256 || strspn(text, allowed) < n) {
        return false;
    }
    memcpy(out, text, n);
    out[n] = '\0';
    return true;
}

tl_status tl_table_name_parse(const char *name, const char *default_namespace, char ns[256], char table[256],
                              tl_error *err) {
    const char *dot = name ? strchr(name, '.') : NULL;
    const char *space = dot ? name : default_namespace;
    size_t space_len = dot ? (size_t)(dot - name) : strlen(default_namespace);
    const char *rest = dot ? dot + 1 : name;
    if (!name || !take_part(space, space_len, ns) || !take_part(rest, strlen(rest), table)) {
        return tl_fail(
            err, TL_INVALID,
            "\"%.200s\" is not the name of a table: name or namespace.name, of letters, digits, '_' and '-', "
            "each at most 255 long",
            name ? name : "");
    }
    return TL_OK;
}
