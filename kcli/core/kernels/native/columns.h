/* Columns in Arrow's layouts: where the bytes, the number or the headers of a row are.
 *
 * The buffers come from elsewhere, so every position is checked against its data before it is used. Reading needs no
 * GIL; taking columns out of Python's tuples and dropping them does. See kernels/shapes.py for the tuples.
 */
#ifndef KCLI_COLUMNS_H
#define KCLI_COLUMNS_H

#include <Python.h>

#include "reader.h"
#include "writer.h"

enum {
    VIEW = 16,   /* bytes of a view: a length, then the bytes, or some of them, a buffer and a position there */
    INLINE = 12, /* bytes of a value that is in its view */
};

/* A buffer of Python's, held; ``view.obj`` is NULL where there is none. */
struct buffer {
    Py_buffer view;
    const uint8_t *data; /* NULL where there is none; never NULL where it is empty */
    int64_t size;
};

struct bytes_column {
    int64_t width; /* of an offset, or VIEW; 0 where there is no column: all rows are null */
    int64_t start;
    struct buffer valid;
    struct buffer positions;
    struct buffer *data;
    int64_t data_count;
};

struct number_column {
    int64_t width; /* 0 where there is no column: all rows are null */
    int64_t start;
    struct buffer valid;
    struct buffer numbers;
    int64_t times;
    int64_t per;
};

struct headers_column {
    int64_t width; /* 0 where there is no column: no row has headers */
    int64_t start;
    struct buffer valid;
    struct buffer offsets;
    int64_t entries;
    int64_t entries_start;
    struct buffer entries_valid;
    struct bytes_column names;
    struct bytes_column values;
};

struct columns {
    int64_t count;
    struct bytes_column keys;
    struct bytes_column values;
    struct headers_column headers;
    struct bytes_column packed;
    struct number_column timestamps;
};

/* Some rows, in order. */
struct selection {
    struct buffer rows; /* packed int32; none: all rows */
    int64_t count;      /* of the columns' rows */
    int64_t start;
    int64_t stop;
};

/* Headers first to end - 1 of the columns of names and values. */
struct listed {
    int64_t first;
    int64_t end;
};

/* Why a row is refused, in words that begin with its number; ``why`` is NULL while none is. */
struct refusal {
    int64_t row;
    const char *why;
};

#define NO_ROW "row %lld: there is no such row"
#define KEY_OUTSIDE "row %lld: its key is not within the data of its column"
#define VALUE_OUTSIDE "row %lld: its value is not within the data of its column"

bool take_columns(struct columns *columns, PyObject *tuple);
void drop_columns(struct columns *columns);
/* The number of rows and their keys only. */
bool take_keys(struct columns *columns, PyObject *tuple);
bool take_bytes_column(struct bytes_column *column, PyObject *tuple, int64_t count, const char *name);
void drop_bytes_column(struct bytes_column *column);
bool take_number_column(struct number_column *column, PyObject *tuple, int64_t count, const char *name);
void drop_number_column(struct number_column *column);

/* As many rows as packed int32 can number. */
bool take_row_count(PyObject *number, int64_t *count);

/* rows, start, stop of columns with ``count`` rows. */
bool take_selection(struct selection *selection, PyObject *const *args, int64_t count);
void drop_selection(struct selection *selection);

/* The ValueError. Returns NULL, for the caller to return. */
PyObject *refuse_row(const struct refusal *refusal);

/* The row at an index of the selection. False if the columns do not have it. */
static inline bool
get_row(const struct selection *selection, int64_t index, int64_t *row)
{
    *row = index;
    if (selection->rows.data == NULL)
        return true;
    int32_t chosen;
    memcpy(&chosen, selection->rows.data + (size_t)index * sizeof chosen, sizeof chosen);
    *row = chosen;
    return 0 <= chosen && chosen < selection->count;
}

static inline bool
is_valid(const struct buffer *valid, int64_t index)
{
    return valid->data == NULL || (valid->data[index >> 3] >> (index & 7) & 1);
}

/* The offset at an index, and the one that follows. */
static inline void
get_offsets(const struct buffer *offsets, int64_t width, int64_t index, int64_t *at, int64_t *end)
{
    if (width == 4) {
        int32_t pair[2];
        memcpy(pair, offsets->data + index * 4, sizeof pair);
        *at = pair[0];
        *end = pair[1];
    } else {
        int64_t pair[2];
        memcpy(pair, offsets->data + index * 8, sizeof pair);
        *at = pair[0];
        *end = pair[1];
    }
}

/* The bytes of a view. False if they are not within the data. */
static inline bool
get_viewed(const struct bytes_column *column, int64_t index, struct span *bytes)
{
    int32_t view[4];
    const uint8_t *at = column->positions.data + index * VIEW;
    memcpy(view, at, sizeof view);
    if (view[0] >= 0 && view[0] <= INLINE) {
        *bytes = (struct span){at + 4, (size_t)view[0]};
        return true;
    }
    if (view[0] < 0 || view[2] < 0 || view[2] >= column->data_count || view[3] < 0)
        return false;
    const struct buffer *buffer = &column->data[view[2]];
    if (view[3] > buffer->size - view[0])
        return false;
    *bytes = (struct span){buffer->data + view[3], (size_t)view[0]};
    return true;
}

/* The bytes of a row; a null span for a null. False if they are not within the data. */
static inline bool
get_value(const struct bytes_column *column, int64_t row, struct span *bytes)
{
    *bytes = (struct span){NULL, 0};
    const int64_t index = column->start + row;
    if (column->width == 0 || !is_valid(&column->valid, index))
        return true;
    if (column->width == VIEW)
        return get_viewed(column, index, bytes);
    int64_t at, end;
    get_offsets(&column->positions, column->width, index, &at, &end);
    if (at < 0 || end < at || end > column->data->size)
        return false;
    *bytes = (struct span){column->data->data + at, (size_t)(end - at)};
    return true;
}

/* The number of a row, as it is stored. False for a null. */
static inline bool
get_number(const struct number_column *column, int64_t row, int64_t *number)
{
    const int64_t index = column->start + row;
    if (column->width == 0 || !is_valid(&column->valid, index))
        return false;
    if (column->width == 4) {
        int32_t narrow;
        memcpy(&narrow, column->numbers.data + index * 4, sizeof narrow);
        *number = narrow;
    } else {
        memcpy(number, column->numbers.data + index * 8, sizeof *number);
    }
    return true;
}

#endif
