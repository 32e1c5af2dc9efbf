/* After a commit: the version hint and the head. Both are only caches; whatever fails here is ignored. */
#include "base/mem.h"
#include "base/num.h"
#include "commit/commit_internal.h"

void tl_commit_publish(tl_table *t) {
    char *key = tl_format("%s/metadata/version-hint.text", t->prefix);
    char text[TL_NUM_TEXT];
    (void)tl_print_i64(t->version, text);
    if (key) {
        (void)!tl_store_put(t->store, key, tl_bytes_of(text), TL_PUT_LATER, NULL);
    }
    tl_free(key);
}
