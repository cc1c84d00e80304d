/* Runs of plain batches: neighbours that need no look at each one, taken through one call. */
#include "module.h"
#include "batch.h"
#include "checksum.h"
#include "values.h"

struct walk {
    const uint8_t *data;
    int64_t size;
    int64_t start;
    int64_t limit;
    uint16_t refused; /* attributes */
    bool verify;
    int64_t at;
    int64_t batches;
    int64_t records;
    int64_t then;  /* the offset behind the last batch */
    int64_t epoch; /* of the leader; all batches have it */
};

/* Is this a plain batch that may follow? ``left``: the bytes from its first one on. */
static bool
is_plain(const struct walk *walk, const struct batch *batch, int64_t left)
{
    if (batch->magic != MAGIC || batch->attributes & walk->refused || batch->length + LENGTH_END > left)
        return false;
    if (walk->batches && batch->leader_epoch != walk->epoch)
        return false;
    const int64_t room = batch->length + LENGTH_END - HEADER_SIZE;
    if (room < 0 || batch->last_delta < 0)
        return false;
    if (batch->count < 0 || batch->count > room / SMALLEST_RECORD || batch->count > batch->last_delta + 1)
        return false;
    return batch->base_offset >= 0 && batch->base_offset >= walk->then
           && batch->base_offset <= INT64_MAX - batch->last_delta - 1;
}

static bool
is_whole(const uint8_t *at, const struct batch *batch)
{
    return extend_checksum(0, at + CRC_START, (size_t)(batch->length + LENGTH_END - CRC_START)) == batch->crc;
}

static void
walk_run(struct walk *walk)
{
    while (walk->at - walk->start < walk->limit && walk->size - walk->at >= HEADER_SIZE) {
        const uint8_t *at = walk->data + walk->at;
        const struct batch batch = load_batch(at);
        if (!is_plain(walk, &batch, walk->size - walk->at) || (walk->verify && !is_whole(at, &batch)))
            break;
        walk->at += batch.length + LENGTH_END;
        walk->then = batch.base_offset + batch.last_delta + 1;
        walk->epoch = batch.leader_epoch;
        walk->batches += 1;
        walk->records += batch.count;
    }
}

static void
walk_releasing(struct walk *walk)
{
    if (!walk->verify || walk->size - walk->start < WORTH_RELEASING) {
        walk_run(walk);
        return;
    }
    Py_BEGIN_ALLOW_THREADS
    walk_run(walk);
    Py_END_ALLOW_THREADS
}

/* walk_batches(data, start, limit, transactional, verify) */
PyObject *
walk_batches(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    Py_ssize_t start;
    struct walk walk = {.then = -1};
    if (!take_start(args[1], &start) || !take_limit(args[2], &walk.limit))
        return NULL;
    const int transactional = PyObject_IsTrue(args[3]);
    const int verify = transactional < 0 ? -1 : PyObject_IsTrue(args[4]);
    Py_buffer view;
    if (verify < 0 || PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    walk.data = view.buf;
    walk.size = view.len;
    walk.at = walk.start = start;
    walk.refused = CODEC | CONTROL | (transactional ? 0 : TRANSACTIONAL);
    walk.verify = verify;
    walk_releasing(&walk);
    PyBuffer_Release(&view);
    return Py_BuildValue("(LLLL)", (long long)walk.at, (long long)walk.batches, (long long)walk.records,
                         (long long)walk.then);
}

/* --- decode_run ------------------------------------------------------------------------------------- */

struct run {
    const uint8_t *data;
    int64_t size;
    int64_t first_offset;
    int64_t last_offset;
};

/* Is every batch in the data? And how many records can be in them, as far as their sizes allow what they say? */
static bool
check_run(const struct run *run, int64_t *records)
{
    *records = 0;
    for (int64_t at = 0; at < run->size;) {
        if (run->size - at < HEADER_SIZE)
            return false;
        const struct batch batch = load_batch(run->data + at);
        const int64_t size = batch.length + LENGTH_END;
        if (size < HEADER_SIZE || size > run->size - at)
            return false;
        const int64_t most = (size - HEADER_SIZE) / SMALLEST_RECORD;
        if (batch.count > 0)
            *records += batch.count < most ? batch.count : most;
        at += size;
    }
    return true;
}

static int64_t
minus(int64_t one, int64_t other)
{
    int64_t difference;
    if (__builtin_sub_overflow(one, other, &difference))
        return one < 0 ? INT64_MIN : INT64_MAX;
    return difference;
}

/* ``reader`` is left with the fault. */
static bool
find_all_values(const struct run *run, struct values *values, struct reader *reader)
{
    for (int64_t at = 0; at < run->size;) {
        const struct batch batch = load_batch(run->data + at);
        const int64_t size = batch.length + LENGTH_END;
        const int64_t first = minus(run->first_offset, batch.base_offset);
        values->first_delta = first < 0 ? 0 : first;
        values->last_delta = minus(run->last_offset, batch.base_offset);
        *reader = open_reader(run->data + at + HEADER_SIZE, size - HEADER_SIZE);
        if (!find_values(values, reader, batch.count))
            return false;
        at += size;
    }
    return true;
}

static PyObject *
decode(const struct run *run, struct values *values)
{
    int64_t records;
    if (!check_run(run, &records))
        return PyErr_Format(PyExc_ValueError, "the data is no run of batches");
    if (!make_places(values, records))
        return PyErr_NoMemory();
    struct reader reader;
    bool good;
    if (run->size < WORTH_RELEASING) {
        good = find_all_values(run, values, &reader);
    } else {
        Py_BEGIN_ALLOW_THREADS
        good = find_all_values(run, values, &reader);
        Py_END_ALLOW_THREADS
    }
    PyObject *result = good ? values_object(values) : raise_corruption(&reader.fault);
    drop_scratch(&values->scratch);
    return result;
}

static PyObject *
decode_data(PyObject *data, struct run *run, struct values *values)
{
    Py_buffer view;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    run->data = view.buf;
    run->size = view.len;
    PyObject *result = decode(run, values);
    PyBuffer_Release(&view);
    return result;
}

/* decode_run(data, first_offset, last_offset, delimiter, null) */
PyObject *
decode_run(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct values values = {0};
    struct run run;
    if (!take_limit(args[1], &run.first_offset) || !take_limit(args[2], &run.last_offset))
        return NULL;
    PyObject *delimiter = keep_some_bytes(Py_NewRef(args[3]), &values.delimiter);
    PyObject *null = delimiter ? keep_some_bytes(Py_NewRef(args[4]), &values.null) : NULL;
    PyObject *result = null ? decode_data(args[0], &run, &values) : NULL;
    Py_XDECREF(delimiter);
    Py_XDECREF(null);
    return result;
}

/* --- join_run --------------------------------------------------------------------------------------- */

enum { GROWTH = 2 * VARLONG_BYTES + VARINT_BYTES }; /* bytes that a record may gain: longer deltas, a longer length */

struct joined {
    struct scratch scratch;
    uint8_t *at; /* in there */
    int64_t count;
    int64_t base_timestamp;
    int64_t max_timestamp;
    int64_t odd; /* where a record begins whose timestamp is no int64; -1: nowhere */
    bool apart;  /* the timestamps do not fit into one batch */
};

static inline const uint8_t *
skip_varint(const uint8_t *at)
{
    while (*at++ & 0x80)
        continue;
    return at;
}

/* The record at ``start``, which was read: written again with other deltas. */
static void
write_again(struct joined *joined, const struct reader *reader, int64_t start, int64_t delta)
{
    const uint8_t *rest = skip_varint(reader->data + start) + 1; /* behind the length and the attributes */
    rest = skip_varint(skip_varint(rest));
    const size_t size = (size_t)(reader->data + reader->at - rest);
    const size_t body = 1 + varint_size(delta) + varint_size(joined->count) + size;
    uint8_t *at = write_varint(joined->at, (int64_t)body);
    *at++ = 0; /* attributes */
    at = write_varint(write_varint(at, delta), joined->count);
    copy_bytes(at, rest, size);
    joined->at = at + size;
    joined->count += 1;
}

static bool
join_record(struct joined *joined, struct reader *reader, const struct batch *batch)
{
    struct record record;
    const int64_t start = reader->at;
    if (!read_record(reader, &record))
        return false;
    int64_t stamp = batch->max_timestamp, delta;
    if (!(batch->attributes & APPEND_TIME)
        && __builtin_add_overflow(batch->base_timestamp, record.timestamp_delta, &stamp) && joined->odd < 0)
        joined->odd = start;
    if (!joined->count)
        joined->base_timestamp = joined->max_timestamp = stamp;
    if (stamp > joined->max_timestamp)
        joined->max_timestamp = stamp;
    if (__builtin_sub_overflow(stamp, joined->base_timestamp, &delta)) {
        joined->apart = true;
        delta = 0;
    }
    write_again(joined, reader, start, delta);
    return true;
}

/* ``reader`` is left with the fault. */
static bool
join_batches(struct joined *joined, const struct run *run, struct reader *reader)
{
    for (int64_t at = 0; at < run->size;) {
        const struct batch batch = load_batch(run->data + at);
        const int64_t size = batch.length + LENGTH_END;
        *reader = open_reader(run->data + at + HEADER_SIZE, size - HEADER_SIZE);
        if (!check_count(reader, batch.count))
            return false;
        for (int64_t index = 0; index < batch.count; index++)
            if (!join_record(joined, reader, &batch))
                return false;
        if (!check_end(reader))
            return false;
        if (joined->odd >= 0)
            return refuse(reader, joined->odd, "the timestamp is no int64", 0, 0);
        at += size;
    }
    return true;
}

/* (records, count, base timestamp, maximal timestamp), or NULL with an exception. */
static PyObject *
joined_object(const struct joined *joined)
{
    const char *memory = joined->scratch.memory;
    PyObject *records = PyBytes_FromStringAndSize(memory, (const char *)joined->at - memory);
    if (records == NULL)
        return NULL;
    return Py_BuildValue("(NLLL)", records, (long long)joined->count, (long long)joined->base_timestamp,
                         (long long)joined->max_timestamp);
}

static PyObject *
join(const struct run *run)
{
    int64_t records;
    struct joined joined = {.base_timestamp = -1, .max_timestamp = -1, .odd = -1};
    if (!check_run(run, &records))
        return PyErr_Format(PyExc_ValueError, "the data is no run of batches");
    joined.scratch = take_scratch();
    if (!grow_scratch(&joined.scratch, (size_t)run->size + (size_t)records * GROWTH + 1, 1)) {
        drop_scratch(&joined.scratch);
        return PyErr_NoMemory();
    }
    joined.at = joined.scratch.memory;
    struct reader reader;
    bool good;
    Py_BEGIN_ALLOW_THREADS
    good = join_batches(&joined, run, &reader);
    Py_END_ALLOW_THREADS
    PyObject *result = NULL;
    if (!good)
        raise_corruption(&reader.fault);
    else if (joined.apart)
        PyErr_SetString(PyExc_ValueError, "the timestamps are too far apart for one batch");
    else
        result = joined_object(&joined);
    drop_scratch(&joined.scratch);
    return result;
}

/* join_run(data) */
PyObject *
join_run(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    Py_buffer view;
    if (PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    const struct run run = {.data = view.buf, .size = view.len};
    PyObject *result = join(&run);
    PyBuffer_Release(&view);
    return result;
}
