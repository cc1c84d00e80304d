/* The kernels as Python sees them, their arguments as C values, and Python's errors. All of it needs the GIL. */
#ifndef KCLI_MODULE_H
#define KCLI_MODULE_H

#include <Python.h>

#include "lines.h"
#include "reader.h"

/* Each kernel with the least and the most of its arguments. Its twin of the same name in kernels/pure describes it. */
#define ALL_KERNELS(KERNEL) \
    KERNEL(arrow_columns, 8, 8) \
    KERNEL(check_log, 8, 8) \
    KERNEL(crc32c, 1, 2) \
    KERNEL(crc32c_patch, 4, 4) \
    KERNEL(crc32c_tables, 1, 2) \
    KERNEL(decode_columns, 2, 2) \
    KERNEL(decode_headers, 3, 3) \
    KERNEL(decode_run, 5, 5) \
    KERNEL(decode_values, 6, 6) \
    KERNEL(digest_records, 5, 5) \
    KERNEL(encode_columns, 8, 8) \
    KERNEL(encode_headers, 1, 1) \
    KERNEL(encode_keyed, 7, 7) \
    KERNEL(encode_lines, 7, 7) \
    KERNEL(encode_record, 5, 5) \
    KERNEL(encode_rows, 5, 5) \
    KERNEL(encode_slices, 7, 7) \
    KERNEL(encode_text, 13, 13) \
    KERNEL(fill_lines, 3, 3) \
    KERNEL(find_in_records, 5, 5) \
    KERNEL(group_columns, 7, 7) \
    KERNEL(group_slices, 4, 4) \
    KERNEL(group_values, 5, 5) \
    KERNEL(index_text, 8, 8) \
    KERNEL(join_run, 1, 1) \
    KERNEL(json_texts, 2, 2) \
    KERNEL(mark_lines, 6, 6) \
    KERNEL(mark_runs, 3, 3) \
    KERNEL(measure_columns, 6, 6) \
    KERNEL(murmur2, 1, 1) \
    KERNEL(partition_keys, 2, 2) \
    KERNEL(read_rows, 4, 4) \
    KERNEL(render_records, 9, 9) \
    KERNEL(scan_batches, 7, 7) \
    KERNEL(walk_batches, 5, 5)

/* Not kernels, but what hands on their columns: with an underscore in front, for kcli/core/arrow alone. */
#define ALL_EXPORTERS(KERNEL) \
    KERNEL(arrow_array, 1, 1) \
    KERNEL(arrow_schema, 1, 1) \
    KERNEL(arrow_stream, 1, 1)

#define DECLARE_KERNEL(name, least, most) PyObject *name(PyObject *const *args, Py_ssize_t count);
ALL_KERNELS(DECLARE_KERNEL)
ALL_EXPORTERS(DECLARE_KERNEL)
#undef DECLARE_KERNEL

/* From here on, work without Python objects is worth giving the GIL away for: some 10 us. */
enum { WORTH_RELEASING = 64 * 1024 };

/* An int that must be an int64: OverflowError if not. */
bool take_int64(PyObject *number, int64_t *value);

/* An int that is a limit: one beyond int64 limits no more and no less than the nearest int64. */
bool take_limit(PyObject *number, int64_t *value);

/* The index where a sequence is begun: not negative. */
bool take_start(PyObject *number, Py_ssize_t *value);

/* Bytes, or None as a null span. Takes over a reference to ``object`` (or NULL, where getting it failed) and returns one
 * to what keeps the span alive: the object itself, or a copy of another kind of buffer, which could change while the
 * GIL is away. NULL with an exception otherwise. */
PyObject *keep_bytes(PyObject *object, struct span *bytes);

/* As keep_bytes; None is a TypeError. */
PyObject *keep_some_bytes(PyObject *object, struct span *bytes);

/* Raises CorruptRecordsError in the words of the pure twin. Returns NULL, for the caller to return. */
PyObject *raise_corruption(const struct corruption *fault);

/* The same for a reason that is no format; the reference stays with the caller. */
PyObject *raise_corruption_because(int64_t position, PyObject *why);

/* An entry of a sequence, as take_int64 or take_limit. */
bool take_item(PyObject *sequence, Py_ssize_t index, int64_t *number, bool limit);

/* --- Text ------------------------------------------------------------------------------------------- */

/* A region, and how its lines are cut, with what keeps the bytes alive. All zero is an empty one. */
struct text {
    struct region region;
    struct cut cut;
    Py_buffer view;
    PyObject *owners[4];
    int owned;
};

/* The bytes of ``object``, or None's, kept until the text is dropped. */
bool keep_for_text(struct text *text, PyObject *object, bool optional, struct span *bytes);

/* text, start, end, delimiter, key_delimiter, as the kernels begin with. */
bool take_region(struct text *text, PyObject *const *args);

/* null_marker, empty_is_null, wherever a kernel has them. */
bool take_nulls(struct text *text, PyObject *null_marker, PyObject *empty_is_null);

void drop_text(struct text *text);

/* --- Slices of a text: where its keys and values are ------------------------------------------------ */

/* Positions count from the beginning of the text. */
struct slice {
    int32_t key;
    int32_t key_size; /* -1: null */
    int32_t value;
    int32_t value_size;
};

/* Slices and the text that they are of. */
struct slices {
    Py_buffer text;
    PyObject *owner;
    const uint8_t *data; /* not aligned, perhaps */
    int64_t count;
};

static inline struct slice
get_slice(const struct slices *slices, int64_t index)
{
    struct slice slice;
    memcpy(&slice, slices->data + (size_t)index * sizeof slice, sizeof slice);
    return slice;
}

/* False for positions outside of the text. */
static inline bool
get_bytes(const struct slices *slices, int32_t at, int32_t size, struct span *bytes)
{
    *bytes = (struct span){NULL, 0};
    if (size < 0)
        return true;
    if (at < 0 || (int64_t)at + size > slices->text.len)
        return false;
    *bytes = (struct span){(const uint8_t *)slices->text.buf + at, (size_t)size};
    return true;
}

/* A text and packed slices of it. Needs the GIL, as all that follows. */
bool take_slices(struct slices *slices, PyObject *text, PyObject *packed);

/* To be called wherever take_slices was, or with all zero. */
void drop_slices(struct slices *slices);

/* The ValueError for a slice that is not in the text. */
PyObject *refuse_slice(int64_t index);

#endif
