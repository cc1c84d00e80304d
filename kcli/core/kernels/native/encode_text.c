/* Records of a region's lines, for one partition.
 *
 * In three steps: find the lines that fit; take exactly the memory that they need; write their records. The first and
 * the last run without the GIL. Lines that are nothing but a value have a way of their own: all but the offset and the
 * value is the same in their records.
 */
#include "module.h"
#include "scratch.h"

/* A line that is taken, with the body size of its record. */
struct entry {
    struct span key;
    struct span value;
    size_t body;
};

struct lot {
    struct text text;
    struct fields common; /* what is the same in all records */
    int64_t first_delta;
    int64_t room;
    bool plain;
    struct scratch scratch;
    int64_t start;
    int64_t count;
    int64_t size; /* of all records, in bytes */
};

/* Room for one item more. */
static inline bool
make_place(struct lot *lot, size_t item_size)
{
    if ((size_t)lot->count < lot->scratch.size / item_size)
        return true;
    return grow_scratch(&lot->scratch, 256 + 2 * (size_t)lot->count, item_size);
}

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

/* --- lines that are values --------------------------------------------------------------------------- */

/* The size of the body without offset, value and value length. */
static size_t
plain_body(const struct fields *common)
{
    return 1 + varint_size(common->timestamp_delta) + field_size(common->key) + common->headers.size;
}

/* False without memory. */
static bool
find_plain(struct lot *lot)
{
    struct region *region = &lot->text.region;
    const size_t fixed = plain_body(&lot->common);
    int64_t size;
    while ((size = line_size(region)) >= 0) {
        const int64_t offset = lot->first_delta + lot->count;
        const size_t body = fixed + varint_size(offset) + length_size((size_t)size) + (size_t)size;
        const int64_t record = (int64_t)record_size(body);
        if (record > lot->room - lot->size)
            break;
        if (!make_place(lot, sizeof size))
            return false;
        ((int64_t *)lot->scratch.memory)[lot->count++] = size;
        lot->size += record;
        region->at = behind_line(region, size);
    }
    return true;
}

static void
write_plain(const struct lot *lot, uint8_t *at)
{
    const int64_t *sizes = lot->scratch.memory;
    const size_t fixed = plain_body(&lot->common), skipped = lot->text.region.delimiter.size;
    const uint8_t *line = lot->text.region.text + lot->start;
    for (int64_t index = 0; index < lot->count; index++) {
        const size_t size = (size_t)sizes[index];
        const int64_t offset = lot->first_delta + index;
        const size_t body = fixed + varint_size(offset) + length_size(size) + size;
        at = write_varint(at, (int64_t)body);
        *at++ = 0; /* attributes */
        at = write_varint(at, lot->common.timestamp_delta);
        at = write_varint(at, offset);
        at = write_field(at, lot->common.key);
        at = write_varint(at, (int64_t)size);
        copy_bytes(at, line, size);
        at = write_bytes(at + size, lot->common.headers);
        line += size + skipped;
    }
}

/* --- lines that are cut ------------------------------------------------------------------------------ */

static bool
find_cut(struct lot *lot)
{
    struct region *region = &lot->text.region;
    struct fields fields = lot->common;
    int64_t size;
    while ((size = line_size(region)) >= 0) {
        const struct span line = {region->text + region->at, (size_t)size};
        cut_line(&lot->text.cut, line, &fields.key, &fields.value);
        fields.offset_delta = lot->first_delta + lot->count;
        const size_t body = body_size(&fields);
        const int64_t record = (int64_t)record_size(body);
        if (record > lot->room - lot->size)
            break;
        if (!make_place(lot, sizeof(struct entry)))
            return false;
        ((struct entry *)lot->scratch.memory)[lot->count++] = (struct entry){fields.key, fields.value, body};
        lot->size += record;
        region->at = behind_line(region, size);
    }
    return true;
}

static void
write_cut(const struct lot *lot, uint8_t *at)
{
    const struct entry *entries = lot->scratch.memory;
    struct fields fields = lot->common;
    for (int64_t index = 0; index < lot->count; index++) {
        fields.key = entries[index].key;
        fields.value = entries[index].value;
        fields.offset_delta = lot->first_delta + index;
        at = write_record(at, &fields, entries[index].body);
    }
}

/* --- both -------------------------------------------------------------------------------------------- */

static bool
find_lot(struct lot *lot)
{
    return lot->plain ? find_plain(lot) : find_cut(lot);
}

static void
write_lot(const struct lot *lot, uint8_t *at)
{
    if (lot->plain)
        write_plain(lot, at);
    else
        write_cut(lot, at);
}

static bool
find_releasing(struct lot *lot)
{
    const int64_t left = lot->text.region.end - lot->text.region.at;
    if ((left < lot->room ? left : lot->room) < WORTH_RELEASING)
        return find_lot(lot);
    bool good;
    Py_BEGIN_ALLOW_THREADS
    good = find_lot(lot);
    Py_END_ALLOW_THREADS
    return good;
}

static PyObject *
records_object(const struct lot *lot)
{
    PyObject *records = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)lot->size);
    if (records == NULL)
        return NULL;
    uint8_t *at = (uint8_t *)PyBytes_AsString(records);
    if (lot->size < WORTH_RELEASING) {
        write_lot(lot, at);
    } else {
        Py_BEGIN_ALLOW_THREADS
        write_lot(lot, at);
        Py_END_ALLOW_THREADS
    }
    return records;
}

static PyObject *
encode(struct lot *lot)
{
    const struct cut *cut = &lot->text.cut;
    lot->plain = cut->key_delimiter.data == NULL && cut->null_marker.data == NULL && !cut->empty_is_null;
    lot->start = lot->text.region.at;
    if (lot->room <= 0)
        return Py_BuildValue("(yLL)", "", 0LL, (long long)lot->start);
    if (lot->first_delta > INT64_MAX - (lot->text.view.len + 1))
        return PyErr_Format(PyExc_OverflowError, "offset delta %lld is too large",
                            (long long)lot->first_delta);
    limit_lines(lot);
    lot->scratch = take_scratch();
    PyObject *records = find_releasing(lot) ? records_object(lot) : PyErr_NoMemory();
    drop_scratch(&lot->scratch);
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
        && take_limit(args[12], &text->region.longest)) {
        lot.common.key = text->cut.key;
        result = encode(&lot);
    }
    Py_XDECREF(headers);
    Py_XDECREF(key);
    drop_text(text);
    return result;
}
