/* The tables inside a head (spec b.1), as the writer and the reader of it know them. */
#ifndef TL_TABLE_HEAD_INTERNAL_H
#define TL_TABLE_HEAD_INTERNAL_H

#include "table/head.h"

#include "nanoarrow/nanoarrow.h"

enum { TL_HEAD_FILE_COLUMNS = 10, TL_HEAD_STATS_COLUMNS = 8 };

typedef struct tl_head_column {
    const char *name;
    enum ArrowType type;
    bool nullable;
} tl_head_column;

extern const tl_head_column tl_head_file_columns[];
extern const tl_head_column tl_head_stats_columns[];
extern const tl_head_column tl_head_metadata_columns[];

#endif
