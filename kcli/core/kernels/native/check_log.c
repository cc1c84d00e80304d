/* A log file against its indexes: batches of magic 2 are taken one after the other as long as all agrees. */
#include "module.h"
#include "batch.h"
#include "checksum.h"

enum {
    OFFSET_ENTRY = 8, /* bytes: relative offset, position */
    TIME_ENTRY = 12,  /* bytes: timestamp, relative offset */
};

/* In the order of the state's numbers. */
struct log_state {
    int64_t at;            /* position in the file */
    int64_t then;          /* the offset behind the last batch; -1: any may come first */
    int64_t epoch;         /* of the leader */
    int64_t batches;
    int64_t records;
    int64_t missing;       /* offsets without a record */
    int64_t entry;         /* the next one of the offset index */
    int64_t indexed_at;    /* the position of the one before */
    int64_t time_entry;    /* the next one of the time index */
    int64_t max_timestamp; /* of all batches with records */
};

enum { STATE_FIELDS = sizeof(struct log_state) / sizeof(int64_t) };

struct log {
    const uint8_t *data;
    int64_t size;
    int64_t origin; /* the position of ``data`` in the file */
    struct span entries;
    struct span times;
    int64_t base;   /* offset of the segment */
    bool contiguous;
    int64_t interval;
};

static int64_t
entry_offset(const struct log *log, int64_t index)
{
    return log->base + load_int32(log->entries.data + index * OFFSET_ENTRY);
}

static int64_t
entry_position(const struct log *log, int64_t index)
{
    return load_int32(log->entries.data + index * OFFSET_ENTRY + 4);
}

/* Does the header agree with itself, and with what went before? ``left``: the bytes from its first one on. */
static bool
may_follow(const struct log *log, const struct log_state *state, const struct batch *batch, int64_t left)
{
    const int64_t room = batch->length + LENGTH_END - HEADER_SIZE;
    if (batch->magic != MAGIC || room < 0 || batch->length + LENGTH_END > left)
        return false;
    if (batch->attributes & CONTROL || (batch->attributes & CODEC) > 4 || batch->leader_epoch != state->epoch)
        return false;
    if (batch->count < 0 || batch->last_delta < 0 || batch->count > batch->last_delta + 1)
        return false;
    if (!(batch->attributes & CODEC) && batch->count > room / SMALLEST_RECORD)
        return false;
    if (batch->base_offset < log->base || batch->base_offset < state->then
        || batch->base_offset - log->base > INT32_MAX - batch->last_delta)
        return false;
    return !log->contiguous
           || ((state->then < 0 || batch->base_offset == state->then) && batch->count == batch->last_delta + 1);
}

/* Is the offset index right about this batch, and about none that is no batch? */
static bool
is_indexed(const struct log *log, struct log_state *state, const struct batch *batch)
{
    if (state->entry >= (int64_t)log->entries.size / OFFSET_ENTRY
        || entry_position(log, state->entry) > state->at)
        return state->at - state->indexed_at <= log->interval;
    if (entry_position(log, state->entry) < state->at || entry_offset(log, state->entry) < batch->base_offset)
        return false;
    if (state->entry && entry_offset(log, state->entry - 1) >= batch->base_offset)
        return false;
    state->indexed_at = state->at;
    state->entry += 1;
    return true;
}

/* The same for the time index, whose entries have the highest timestamp up to a batch. */
static bool
is_timed(const struct log *log, struct log_state *state, const struct batch *batch)
{
    if (batch->count && batch->max_timestamp > state->max_timestamp)
        state->max_timestamp = batch->max_timestamp;
    if (state->time_entry >= (int64_t)log->times.size / TIME_ENTRY)
        return true;
    const uint8_t *at = log->times.data + state->time_entry * TIME_ENTRY;
    const int64_t offset = log->base + load_int32(at + 8);
    if (offset > batch->base_offset + batch->last_delta)
        return true;
    const int64_t timestamp = (int64_t)load_big(at, 8);
    if (offset < batch->base_offset || timestamp != state->max_timestamp || timestamp != batch->max_timestamp)
        return false;
    state->time_entry += 1;
    return true;
}

static bool
is_sound(const uint8_t *at, const struct batch *batch)
{
    return extend_checksum(0, at + CRC_START, (size_t)(batch->length + LENGTH_END - CRC_START)) == batch->crc;
}

static void
check(const struct log *log, struct log_state *state)
{
    for (;;) {
        const int64_t left = log->size - (state->at - log->origin);
        if (left < HEADER_SIZE)
            return;
        const uint8_t *at = log->data + (state->at - log->origin);
        const struct batch batch = load_batch(at);
        struct log_state next = *state;
        if (!may_follow(log, state, &batch, left) || !is_indexed(log, &next, &batch)
            || !is_timed(log, &next, &batch) || !is_sound(at, &batch))
            return;
        next.missing += batch.last_delta + 1 - batch.count;
        if (state->then >= 0)
            next.missing += batch.base_offset - state->then;
        next.at += batch.length + LENGTH_END;
        next.then = batch.base_offset + batch.last_delta + 1;
        next.batches += 1;
        next.records += batch.count;
        *state = next;
    }
}

static bool
take_state(PyObject *numbers, int64_t state[STATE_FIELDS])
{
    if (PySequence_Size(numbers) != STATE_FIELDS) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "the state has %d numbers", (int)STATE_FIELDS);
        return false;
    }
    for (Py_ssize_t index = 0; index < STATE_FIELDS; index++)
        if (!take_item(numbers, index, &state[index], false))
            return false;
    return true;
}

static PyObject *
state_object(const int64_t state[STATE_FIELDS])
{
    PyObject *numbers = PyTuple_New(STATE_FIELDS);
    for (Py_ssize_t index = 0; numbers != NULL && index < STATE_FIELDS; index++) {
        PyObject *number = PyLong_FromLongLong(state[index]);
        if (number == NULL || PyTuple_SetItem(numbers, index, number) < 0) {
            Py_DECREF(numbers);
            return NULL;
        }
    }
    return numbers;
}

static PyObject *
check_all(struct log *log, PyObject *data, PyObject *numbers)
{
    union {
        struct log_state state;
        int64_t numbers[STATE_FIELDS];
    } all;
    Py_buffer view;
    if (!take_state(numbers, all.numbers))
        return NULL;
    if (all.state.entry < 0 || all.state.time_entry < 0 || all.state.then < -1)
        return PyErr_Format(PyExc_ValueError, "the state has negative numbers");
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    log->data = view.buf;
    log->size = view.len;
    PyObject *result;
    if (all.state.at < log->origin || all.state.at - log->origin > log->size) {
        result = PyErr_Format(PyExc_ValueError, "position %lld is not in the data", (long long)all.state.at);
    } else {
        Py_BEGIN_ALLOW_THREADS
        check(log, &all.state);
        Py_END_ALLOW_THREADS
        result = state_object(all.numbers);
    }
    PyBuffer_Release(&view);
    return result;
}

/* check_log(data, origin, state, entries, times, base, contiguous, interval) */
PyObject *
check_log(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct log log = {0};
    Py_ssize_t origin;
    const int contiguous = PyObject_IsTrue(args[6]);
    if (contiguous < 0 || !take_start(args[1], &origin) || !take_int64(args[5], &log.base)
        || !take_limit(args[7], &log.interval))
        return NULL;
    if (log.base < 0 || log.base >= INT64_MAX - INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "the base offset is %lld", (long long)log.base);
    log.origin = origin;
    log.contiguous = contiguous;
    PyObject *entries = keep_some_bytes(Py_NewRef(args[3]), &log.entries);
    PyObject *times = entries ? keep_some_bytes(Py_NewRef(args[4]), &log.times) : NULL;
    PyObject *result = times ? check_all(&log, args[0], args[2]) : NULL;
    Py_XDECREF(entries);
    Py_XDECREF(times);
    return result;
}
