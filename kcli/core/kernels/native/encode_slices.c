/* Records of slices: measured first, then written, without the GIL when they are many. */
#include "module.h"
#include "scratch.h"

enum {
    SMALLEST = 6, /* bytes of a record whose header block is empty */
    AHEAD = 6,    /* records */
};

struct parcel {
    struct slices slices;
    struct fields common;
    struct scratch scratch;
    uint64_t *bodies; /* in there: the body size of each record that is taken */
    int64_t start;
    int64_t first_delta;
    int64_t room;
    int64_t count;
    int64_t size; /* of all records, in bytes */
    int64_t refused;
};

static inline bool
get_fields(const struct parcel *parcel, int64_t index, struct fields *fields)
{
    const struct slice slice = get_slice(&parcel->slices, parcel->start + index);
    fields->offset_delta = parcel->first_delta + index;
    return get_bytes(&parcel->slices, slice.key, slice.key_size, &fields->key)
           && get_bytes(&parcel->slices, slice.value, slice.value_size, &fields->value);
}

static void
measure(struct parcel *parcel)
{
    struct fields fields = parcel->common;
    parcel->refused = -1;
    for (int64_t left = parcel->slices.count - parcel->start; parcel->count < left; parcel->count++) {
        if (!get_fields(parcel, parcel->count, &fields)) {
            parcel->refused = parcel->start + parcel->count;
            return;
        }
        const size_t body = body_size(&fields);
        const int64_t record = (int64_t)record_size(body);
        if (record > parcel->room - parcel->size)
            return;
        parcel->bodies[parcel->count] = body;
        parcel->size += record;
    }
}

/* The lines of one partition lie scattered in the text: their bytes are asked for some records ahead. */
static inline void
fetch_ahead(const struct parcel *parcel, int64_t index)
{
    struct fields fields;
    if (index < parcel->count && get_fields(parcel, index, &fields)) {
        const uint8_t *at = fields.key.data == NULL ? fields.value.data : fields.key.data;
        __builtin_prefetch(at);
        __builtin_prefetch(at + 64);
    }
}

static void
write_parcel(const struct parcel *parcel, uint8_t *at)
{
    struct fields fields = parcel->common;
    for (int64_t index = 0; index < parcel->count; index++) {
        fetch_ahead(parcel, index + AHEAD);
        get_fields(parcel, index, &fields);
        at = write_record(at, &fields, parcel->bodies[index]);
    }
}

static PyObject *
records_object(const struct parcel *parcel)
{
    PyObject *records = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)parcel->size);
    if (records == NULL)
        return NULL;
    uint8_t *at = (uint8_t *)PyBytes_AsString(records);
    if (parcel->size < WORTH_RELEASING) {
        write_parcel(parcel, at);
    } else {
        Py_BEGIN_ALLOW_THREADS
        write_parcel(parcel, at);
        Py_END_ALLOW_THREADS
    }
    return Py_BuildValue("(NLL)", records, (long long)parcel->count, (long long)parcel->size);
}

/* So many slices at most can fit: memory is taken for no more. */
static size_t
most_slices(const struct parcel *parcel)
{
    const int64_t left = parcel->slices.count - parcel->start, fitting = parcel->room / SMALLEST + 1;
    return left <= 0 ? 0 : (size_t)(left < fitting ? left : fitting);
}

static PyObject *
encode(struct parcel *parcel)
{
    if (parcel->room < 0)
        parcel->room = 0;
    if (parcel->first_delta > INT64_MAX - parcel->slices.count)
        return PyErr_Format(PyExc_OverflowError, "offset delta %lld is too large",
                            (long long)parcel->first_delta);
    parcel->scratch = take_scratch();
    PyObject *result = NULL;
    if (grow_scratch(&parcel->scratch, most_slices(parcel), sizeof *parcel->bodies)) {
        parcel->bodies = parcel->scratch.memory;
        measure(parcel);
        result = parcel->refused < 0 ? records_object(parcel) : refuse_slice(parcel->refused);
    } else {
        PyErr_NoMemory();
    }
    drop_scratch(&parcel->scratch);
    return result;
}

/* encode_slices(text, slices, start, headers, first_delta, timestamp_delta, room) */
PyObject *
encode_slices(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct parcel parcel = {0};
    Py_ssize_t start;
    if (!take_start(args[2], &start)
        || !take_int64(args[4], &parcel.first_delta) || !take_int64(args[5], &parcel.common.timestamp_delta)
        || !take_limit(args[6], &parcel.room))
        return NULL;
    parcel.start = start;
    PyObject *headers = keep_some_bytes(Py_NewRef(args[3]), &parcel.common.headers);
    PyObject *result = NULL;
    if (headers != NULL && take_slices(&parcel.slices, args[0], args[1]))
        result = encode(&parcel);
    drop_slices(&parcel.slices);
    Py_XDECREF(headers);
    return result;
}
