/* Columns of Arrow, in memory of exactly their size: measured first, then filled. Knows no Python object but in what it
 * includes; needs no GIL.
 */
#ifndef KCLI_ARROW_FILL_H
#define KCLI_ARROW_FILL_H

#include "arrow_memory.h"
#include "arrow_rows.h"

/* As in arrow_ops.py. */
enum arrow_column {
    ARROW_OFFSET,
    ARROW_TIMESTAMP,
    ARROW_TIMESTAMP_TYPE,
    ARROW_KEY,
    ARROW_VALUE,
    ARROW_KEY_TEXT,
    ARROW_VALUE_TEXT,
    ARROW_HEADERS,
    ARROW_HEADERS_PACKED,
    ARROW_LEADER_EPOCH,
    ARROW_TOPIC,
    ARROW_PARTITION,
    ARROW_COLUMNS,
};

enum { HEADER_ARRAYS = 4, MOST_BUFFERS = 3 };

/* Validity (NULL where nothing is null), then offsets or data, or both, as Arrow's layouts have them. */
struct array {
    int64_t length;
    int64_t nulls;
    int buffer_count;
    struct memory *buffers[MOST_BUFFERS];
};

/* The array of a column; that of headers is a list of structs of names and values, in this order. */
struct column {
    enum arrow_column code;
    struct array arrays[HEADER_ARRAYS];
};

/* What is the same in all rows. */
struct constants {
    struct span topic;
    int32_t partition;
};

/* What went wrong: the bytes of a column that is too large, or the offset of a record. */
struct fill_fault {
    long long number;
};

/* Fills the column whose code is set. What was made so far is in it whatever the verdict. */
enum verdict fill_column(struct column *column, const struct rows *rows, const struct constants *constants,
                         struct fill_fault *fault);

void drop_column(struct column *column);

#endif
