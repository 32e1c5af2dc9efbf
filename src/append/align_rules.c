/* Which Arrow type converts to which table type. docs/types.md shows this table; a test compares the two. */
#include "append/align_internal.h"

/* Targets, in the order of tl_type_id:
 *     boolean int long float double decimal date time timestamp timestamptz string uuid fixed binary struct list map */
static const tl_rule_row rows[] = {
    {"null", "EEEEEEEEEEEEEEEEE", TL_ARROW_NULL, 0, false},
    {"bool", "EEEEEF----E------", TL_ARROW_BOOL, 0, false},
    {"int8", "FEEEEF--EEE------", TL_ARROW_INT8, 0, false},
    {"int16", "FEEEEF--EEE------", TL_ARROW_INT16, 0, false},
    {"int32", "FEEFEF--EEE------", TL_ARROW_INT32, 0, false},
    {"int64", "FFEFFF--EEE------", TL_ARROW_INT64, 0, false},
    {"uint8", "FEEEEF--EEE------", TL_ARROW_UINT8, 0, false},
    {"uint16", "FEEEEF--EEE------", TL_ARROW_UINT16, 0, false},
    {"uint32", "FFEFEF--EEE------", TL_ARROW_UINT32, 0, false},
    {"uint64", "FFFFFF--FFE------", TL_ARROW_UINT64, 0, false},
    {"float16", "-FFEEF----E------", TL_ARROW_FLOAT16, 0, false},
    {"float32", "-FFEEF----E------", TL_ARROW_FLOAT32, 0, false},
    {"float64", "-FFFEF----E------", TL_ARROW_FLOAT64, 0, false},
    {"decimal32", "-FFFFF----E------", TL_ARROW_DECIMAL32, 0, false},
    {"decimal64", "-FFFFF----E------", TL_ARROW_DECIMAL64, 0, false},
    {"decimal128", "-FFFFF----E------", TL_ARROW_DECIMAL128, 0, false},
    {"decimal256", "-FFFFF----E------", TL_ARROW_DECIMAL256, 0, false},
    {"date32", "------E-FFE------", TL_ARROW_DATE32, 0, false},
    {"date64", "------F-FFE------", TL_ARROW_DATE64, 0, false},
    {"time32[s]", "-------F--E------", TL_ARROW_TIME32, 1, false},
    {"time32[ms]", "-------F--E------", TL_ARROW_TIME32, 1000, false},
    {"time64[us]", "-------F--E------", TL_ARROW_TIME64, 1000000, false},
    {"time64[ns]", "-------F--E------", TL_ARROW_TIME64, 1000000000, false},
    {"timestamp[s]", "------F-FFE------", TL_ARROW_TIMESTAMP, 1, false},
    {"timestamp[ms]", "------F-FFE------", TL_ARROW_TIMESTAMP, 1000, false},
    {"timestamp[us]", "------F-EEE------", TL_ARROW_TIMESTAMP, 1000000, false},
    {"timestamp[ns]", "------F-FFE------", TL_ARROW_TIMESTAMP, 1000000000, false},
    {"timestamp[s, zone]", "---------FE------", TL_ARROW_TIMESTAMP, 1, true},
    {"timestamp[ms, zone]", "---------FE------", TL_ARROW_TIMESTAMP, 1000, true},
    {"timestamp[us, zone]", "---------EE------", TL_ARROW_TIMESTAMP, 1000000, true},
    {"timestamp[ns, zone]", "---------FE------", TL_ARROW_TIMESTAMP, 1000000000, true},
    {"duration", "-----------------", TL_ARROW_DURATION, 0, false},
    {"interval", "-----------------", TL_ARROW_INTERVAL, 0, false},
    {"string", "FFFFFFFFFFEFFE---", TL_ARROW_STRING, 0, false},
    {"large_string", "FFFFFFFFFFEFFE---", TL_ARROW_LARGE_STRING, 0, false},
    {"string_view", "FFFFFFFFFFEFFE---", TL_ARROW_STRING_VIEW, 0, false},
    {"binary", "----------FFFE---", TL_ARROW_BINARY, 0, false},
    {"large_binary", "----------FFFE---", TL_ARROW_LARGE_BINARY, 0, false},
    {"binary_view", "----------FFFE---", TL_ARROW_BINARY_VIEW, 0, false},
    {"fixed_size_binary", "----------FEEE---", TL_ARROW_FIXED_BINARY, 0, false},
    {"list", "---------------E-", TL_ARROW_LIST, 0, false},
    {"large_list", "---------------E-", TL_ARROW_LARGE_LIST, 0, false},
    {"list_view", "---------------E-", TL_ARROW_LIST_VIEW, 0, false},
    {"large_list_view", "---------------E-", TL_ARROW_LARGE_LIST_VIEW, 0, false},
    {"fixed_size_list", "---------------E-", TL_ARROW_FIXED_LIST, 0, false},
    {"struct", "--------------E--", TL_ARROW_STRUCT, 0, false},
    {"map", "----------------E", TL_ARROW_MAP, 0, false},
    {"union", "-----------------", TL_ARROW_UNION, 0, false},
};

const tl_rule_row *tl_rule_rows(size_t *n) {
    *n = TL_COUNT(rows);
    return rows;
}

tl_fit tl_rule(const tl_arrow_type *from, const tl_type *to) {
    while (from->id == TL_ARROW_DICTIONARY || from->id == TL_ARROW_RUN_END) {
        from = from->id == TL_ARROW_DICTIONARY ? &from->children[0] : &from->children[1];
    }
    int32_t target = (int32_t)to->id - TL_TYPE_BOOLEAN;
    for (size_t i = 0; i < TL_COUNT(rows) && target >= 0 && target < TL_RULE_TARGETS; i++) {
        const tl_rule_row *r = &rows[i];
        if (r->id != from->id || (r->per_second && r->per_second != from->per_second) ||
            r->zoned != (from->zone != NULL)) {
            continue;
        }
        /* Fixed lengths are part of the type: one that differs fits no value. */
        if (from->id == TL_ARROW_FIXED_BINARY &&
            ((to->id == TL_TYPE_FIXED && to->length != from->width) || (to->id == TL_TYPE_UUID && from->width != 16))) {
            return TL_FIT_REFUSED;
        }
        return (tl_fit)r->cells[target];
    }
    return TL_FIT_REFUSED;
}
