#include "values.h"

#include "module.h"
#include "quick.h"

bool
make_places(struct values *values, int64_t count)
{
    values->scratch = take_scratch();
    if (!grow_scratch(&values->scratch, (size_t)count, sizeof *values->places)) {
        drop_scratch(&values->scratch);
        return false;
    }
    values->places = values->scratch.memory;
    return true;
}

static inline void
note_value(struct values *values, const uint8_t *data, const struct record *record)
{
    if (record->offset_delta < values->first_delta || record->offset_delta > values->last_delta)
        return;
    struct place *place = &values->places[values->count++];
    place->start = record->value < 0 ? NULL : data + record->value;
    place->size = record->value_end - record->value;
    values->size += (uint64_t)place->size;
    values->nulls += record->value < 0;
}

bool
find_values(struct values *values, struct reader *reader, int64_t count)
{
    if (!check_count(reader, count))
        return false;
    struct record record;
    for (int64_t index = 0; index < count; index++) {
        if (!next_record(reader, &record))
            return false;
        note_value(values, reader->data, &record);
    }
    return check_end(reader);
}

/* False where the output would be larger than an object can be: long delimiters for very many small values. */
static bool
output_size(const struct values *values, Py_ssize_t *size)
{
    size_t delimiters, nulls, all;
    if (__builtin_mul_overflow((size_t)values->count, values->delimiter.size, &delimiters)
        || __builtin_mul_overflow((size_t)values->nulls, values->null.size, &nulls)
        || __builtin_add_overflow(delimiters, nulls, &all)
        || __builtin_add_overflow(all, (size_t)values->size, &all) || all > PY_SSIZE_T_MAX)
        return false;
    *size = (Py_ssize_t)all;
    return true;
}

static void
copy_values(const struct values *values, uint8_t *at)
{
    for (int64_t index = 0; index < values->count; index++) {
        const struct place place = values->places[index];
        const struct span value = {place.start, (size_t)place.size};
        at = write_bytes(at, place.start == NULL ? values->null : value);
        at = write_bytes(at, values->delimiter);
    }
}

PyObject *
values_object(const struct values *values)
{
    Py_ssize_t size;
    if (!output_size(values, &size))
        return PyErr_NoMemory();
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
    if (bytes == NULL)
        return NULL;
    uint8_t *at = (uint8_t *)PyBytes_AsString(bytes);
    if (size < WORTH_RELEASING) {
        copy_values(values, at);
    } else {
        Py_BEGIN_ALLOW_THREADS
        copy_values(values, at);
        Py_END_ALLOW_THREADS
    }
    return Py_BuildValue("(NL)", bytes, (long long)values->count);
}
