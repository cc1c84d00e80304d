/* The positions of keys and values in a region of lines, as slices. */
#include "module.h"
#include "scratch.h"

struct index {
    struct text text;
    struct scratch scratch;
    int64_t count;
};

/* A text longer than an int32 can say is refused before. */
static inline void
set_place(const struct index *index, struct span bytes, int32_t *at, int32_t *size)
{
    *at = bytes.data == NULL ? 0 : (int32_t)(bytes.data - index->text.region.text);
    *size = bytes.data == NULL ? -1 : (int32_t)bytes.size;
}

/* False without memory. */
static bool
fill_index(struct index *index)
{
    struct region *region = &index->text.region;
    int64_t size;
    while ((size = line_size(region)) >= 0) {
        if ((size_t)index->count >= index->scratch.size / sizeof(struct slice)
            && !grow_scratch(&index->scratch, 256 + 2 * (size_t)index->count, sizeof(struct slice)))
            return false;
        struct slice *slice = (struct slice *)index->scratch.memory + index->count++;
        struct span key, value;
        cut_line(&index->text.cut, (struct span){region->text + region->at, (size_t)size}, &key, &value);
        set_place(index, key, &slice->key, &slice->key_size);
        set_place(index, value, &slice->value, &slice->value_size);
        region->at = behind_line(region, size);
    }
    return true;
}

static bool
fill_releasing(struct index *index)
{
    if (index->text.region.end - index->text.region.at < WORTH_RELEASING)
        return fill_index(index);
    bool good;
    Py_BEGIN_ALLOW_THREADS
    good = fill_index(index);
    Py_END_ALLOW_THREADS
    return good;
}

static PyObject *
index_region(struct index *index)
{
    if (index->text.region.end > INT32_MAX)
        return PyErr_Format(PyExc_OverflowError, "byte %lld of the text is beyond an int32",
                            (long long)index->text.region.end);
    index->scratch = take_scratch();
    PyObject *slices = NULL;
    if (fill_releasing(index))
        slices = PyBytes_FromStringAndSize(index->scratch.memory,
                                           (Py_ssize_t)((size_t)index->count * sizeof(struct slice)));
    else
        PyErr_NoMemory();
    drop_scratch(&index->scratch);
    if (slices == NULL)
        return NULL;
    return Py_BuildValue("(NLL)", slices, (long long)index->count, (long long)index->text.region.at);
}

/* index_text(text, start, end, delimiter, key_delimiter, null_marker, empty_is_null, longest) */
PyObject *
index_text(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct index index = {0};
    PyObject *result = NULL;
    if (take_region(&index.text, args)
        && take_nulls(&index.text, args[5], args[6]) && take_limit(args[7], &index.text.region.longest))
        result = index_region(&index);
    drop_text(&index.text);
    return result;
}
