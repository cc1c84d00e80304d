/* Records of a region's lines, for one partition.
 *
 * Each line is written as soon as it is found, while the processor still has it in its cache. So how much memory the
 * records need is only known in the end: it is estimated by the first lines, and grows where that was too little. Lines
 * are written without the GIL. Those that are nothing but a value have a way of their own: all but the offset and the
 * value is the same in their records.
 */
#include "module.h"

enum {
    AT_ONCE = 32,     /* bytes of a value that are copied together, where what follows is overwritten afterwards */
    SHORT_FIELD = 16, /* the same for a key, and for what is in front of the offset */
    SAMPLE = 32,      /* lines by which the size of all is estimated */
};

struct lot {
    struct text text;
    struct fields common; /* what is the same in all records */
    int64_t first_delta;
    int64_t room;
    int64_t count;
    int64_t size;   /* of all records, in bytes */
    int64_t needed; /* the same with the one that did not fit */
};

enum state { COMPLETE, TOO_SMALL };

/* A line that is longer cannot be in a record that fits; null markers may be long and write nothing. */
static void
limit_lines(struct lot *lot)
{
    const struct cut *cut = &lot->text.cut;
    int64_t most = lot->room;
    if (__builtin_add_overflow(most, (int64_t)cut->key_delimiter.size, &most)
        || __builtin_add_overflow(most, 2 * (int64_t)cut->null_marker.size, &most))
        return;
    if (most < lot->text.region.longest)
        lot->text.region.longest = most;
}

/* --- lines of any kind ------------------------------------------------------------------------------- */

/* The record of the line with that many others of this call in front of it, without its headers' end in mind. */
static struct fields
fields_of(const struct lot *lot, const struct region *region, int64_t size, int64_t index)
{
    struct fields fields = lot->common;
    const struct span line = {region->text + region->at, (size_t)size};
    cut_line(&lot->text.cut, line, &fields.key, &fields.value);
    fields.offset_delta = lot->first_delta + index;
    return fields;
}

/* Writes the records of further lines behind those that there are. */
static enum state
write_lines(struct lot *lot, uint8_t *memory, int64_t capacity)
{
    struct region *region = &lot->text.region;
    int64_t size;
    while ((size = line_size(region)) >= 0) {
        const struct fields fields = fields_of(lot, region, size, lot->count);
        const size_t body = body_size(&fields);
        const int64_t record = (int64_t)record_size(body);
        if (record > lot->room - lot->size)
            return COMPLETE;
        if (record > capacity - lot->size) {
            lot->needed = lot->size + record;
            return TOO_SMALL;
        }
        write_record(memory + lot->size, &fields, body);
        lot->size += record;
        lot->count += 1;
        region->at = behind_line(region, size);
    }
    return COMPLETE;
}

/* --- lines that are values --------------------------------------------------------------------------- */

/* What is the same in all records: in front of the offset, and between it and the length of the value. */
struct frame {
    uint8_t front[SHORT_FIELD];
    uint8_t key[SHORT_FIELD];
    size_t front_size;
    size_t key_size;
    uint8_t last; /* the headers: none */
};

/* False where not all of it is short. */
static bool
make_frame(const struct lot *lot, struct frame *frame)
{
    const struct cut *cut = &lot->text.cut;
    const struct fields *common = &lot->common;
    if (cut->key_delimiter.data != NULL || cut->null_marker.data != NULL || cut->empty_is_null)
        return false;
    if (cut->key.size >= SHORT_FIELD || common->headers.size != 1) /* a byte is for the length */
        return false;
    frame->key_size = field_size(cut->key);
    write_field(frame->key, cut->key);
    frame->front[0] = 0; /* attributes */
    frame->front_size = (size_t)(write_varint(frame->front + 1, common->timestamp_delta) - frame->front);
    frame->last = common->headers.data[0];
    return true;
}

/* Copies ``size`` bytes, and up to AT_ONCE more. */
static inline void
copy_beyond(uint8_t *to, const uint8_t *from, size_t size)
{
    if (size > WORTH_A_CALL) {
        memcpy(to, from, size);
        return;
    }
    for (size_t copied = 0; copied < size; copied += AT_ONCE) {
        memcpy(to + copied, from + copied, 16);
        memcpy(to + copied + 16, from + copied + 16, 16);
    }
}

/* As write_lines, as long as all numbers are small and the text does not end. Locals, as bytes that are written could be
 * those of any field of a struct. */
static enum state
write_values(struct lot *lot, const struct frame *same, uint8_t *memory, int64_t capacity)
{
    const struct frame frame = *same;
    struct region region = lot->text.region;
    const size_t fixed = frame.front_size + frame.key_size + 1;
    const int64_t readable = lot->text.view.len - AT_ONCE;
    const int64_t before = lot->first_delta + lot->count;
    uint8_t *at = memory + lot->size;
    int64_t left = (capacity < lot->room ? capacity : lot->room) - lot->size - AT_ONCE;
    int64_t offset = before;
    while ((uint64_t)offset < SHORT_VARINT) {
        const int64_t size = line_size(&region);
        if (size < 0 || size >= SHORT_VARINT / 2 || region.at + size > readable)
            break;
        const struct short_varint number = short_varint((uint32_t)offset);
        const struct short_varint length = short_varint((uint32_t)size);
        const size_t rest = fixed + number.size + length.size + (size_t)size;
        const struct short_varint body = short_varint((uint32_t)rest);
        left -= (int64_t)(body.size + rest);
        if (left < 0)
            break;
        at = write_short(at, body);
        memcpy(at, frame.front, SHORT_FIELD);
        at = write_short(at + frame.front_size, number);
        memcpy(at, frame.key, SHORT_FIELD);
        at = write_short(at + frame.key_size, length);
        copy_beyond(at, region.text + region.at, (size_t)size);
        at[size] = frame.last;
        at += size + 1;
        region.at = behind_line(&region, size);
        offset++;
    }
    lot->text.region.at = region.at;
    lot->count += offset - before;
    lot->size = at - memory;
    return write_lines(lot, memory, capacity); /* what is left over: a few lines, or long ones */
}

/* --- both -------------------------------------------------------------------------------------------- */

/* About how many bytes all records will have, and some more: their first lines stand for all. */
static int64_t
estimate(const struct lot *lot)
{
    struct region region = lot->text.region;
    const int64_t start = region.at, left = region.end - start;
    int64_t index, size, written = 0;
    for (index = 0; index < SAMPLE && (size = line_size(&region)) >= 0; index++) {
        const struct fields fields = fields_of(lot, &region, size, index);
        written += (int64_t)record_size(body_size(&fields));
        region.at = behind_line(&region, size);
    }
    const double factor = region.at > start ? (double)written / (double)(region.at - start) : 1;
    const double all = (double)left * factor * 1.0625 + 4096;
    return all < (double)lot->room ? (int64_t)all : lot->room;
}

static enum state
write_releasing(struct lot *lot, const struct frame *frame, uint8_t *memory, int64_t capacity)
{
    enum state state;
    if (capacity < WORTH_RELEASING)
        return frame ? write_values(lot, frame, memory, capacity) : write_lines(lot, memory, capacity);
    Py_BEGIN_ALLOW_THREADS
    state = frame ? write_values(lot, frame, memory, capacity) : write_lines(lot, memory, capacity);
    Py_END_ALLOW_THREADS
    return state;
}

/* The capacity after one that was too small for the next record. */
static int64_t
larger(const struct lot *lot, int64_t capacity)
{
    const int64_t twice = capacity > lot->room / 2 ? lot->room : 2 * capacity;
    return twice < lot->needed ? lot->needed : twice;
}

static PyObject *
encode(struct lot *lot)
{
    struct frame frame;
    const bool quick = make_frame(lot, &frame);
    int64_t capacity = estimate(lot);
    PyObject *records = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)capacity);
    while (records != NULL) {
        uint8_t *memory = (uint8_t *)PyByteArray_AsString(records);
        const enum state state = write_releasing(lot, quick ? &frame : NULL, memory, capacity);
        capacity = state == COMPLETE ? lot->size : larger(lot, capacity);
        if (PyByteArray_Resize(records, (Py_ssize_t)capacity) < 0)
            Py_CLEAR(records);
        if (state == COMPLETE)
            break;
    }
    return records;
}

static PyObject *
encoded(struct lot *lot)
{
    if (lot->room <= 0)
        lot->room = 0;
    else if (lot->first_delta > INT64_MAX - (lot->text.view.len + 1))
        return PyErr_Format(PyExc_OverflowError, "offset delta %lld is too large",
                            (long long)lot->first_delta);
    if (lot->room > PY_SSIZE_T_MAX / 2)
        lot->room = PY_SSIZE_T_MAX / 2;
    limit_lines(lot);
    PyObject *records = encode(lot);
    if (records == NULL)
        return NULL;
    return Py_BuildValue("(NLL)", records, (long long)lot->count, (long long)lot->text.region.at);
}

/* encode_text(text, start, end, delimiter, key_delimiter, key, headers, null_marker, empty_is_null, first_delta,
 * timestamp_delta, room, longest) */
PyObject *
encode_text(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct lot lot = {0};
    struct text *text = &lot.text;
    PyObject *result = NULL, *key = NULL, *headers = NULL;
    if (take_region(text, args) && (key = keep_bytes(Py_NewRef(args[5]), &text->cut.key)) != NULL
        && (headers = keep_some_bytes(Py_NewRef(args[6]), &lot.common.headers)) != NULL
        && take_nulls(text, args[7], args[8]) && take_int64(args[9], &lot.first_delta)
        && take_int64(args[10], &lot.common.timestamp_delta) && take_limit(args[11], &lot.room)
        && take_limit(args[12], &text->region.longest))
        result = encoded(&lot);
    Py_XDECREF(headers);
    Py_XDECREF(key);
    drop_text(text);
    return result;
}
