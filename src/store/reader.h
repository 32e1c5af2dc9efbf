/*
 * Random reads of one object. Comes in: a key. Goes out: byte ranges; on a local disk by one open file, elsewhere by
 * ranged gets.
 */
#ifndef TL_STORE_READER_H
#define TL_STORE_READER_H

#include "store/store.h"

typedef struct tl_object_reader tl_object_reader;

/* TL_NOT_FOUND when there is no such object. `*size` = its bytes now. Close with tl_object_reader_close. */
tl_status tl_object_reader_open(tl_store *s, const char *key, tl_object_reader **out, uint64_t *size,
                                tl_error *err) TL_CHECKED;
/* Exactly `len` bytes from `offset`; TL_IO when the object has fewer. May be called from several threads. */
tl_status tl_object_reader_read(tl_object_reader *r, uint64_t offset, size_t len, void *out, tl_error *err) TL_CHECKED;
void tl_object_reader_close(tl_object_reader *r);

#endif
