#include "arrow_fill.h"

#include <string.h>

#include "copy.h"
#include "utf8.h"

enum {
    KEY_NOT_TEXT = 1,
    VALUE_NOT_TEXT = 2,
};

static const struct span TYPE_NAMES[] = {
    {(const uint8_t *)"CreateTime", 10},
    {(const uint8_t *)"LogAppendTime", 13},
};

static struct memory *
add_buffer(struct array *array, int64_t size)
{
    struct memory *memory = make_memory(size);
    array->buffers[array->buffer_count++] = memory;
    return memory;
}

/* --- Validity ---------------------------------------------------------------------------------------- */

/* The first buffer of an array: nothing where there are no nulls, else a bit of 1 for each entry. */
static bool
add_validity(struct array *array)
{
    if (!array->nulls) {
        array->buffers[array->buffer_count++] = NULL;
        return true;
    }
    struct memory *memory = add_buffer(array, (array->length + 7) / 8);
    if (memory == NULL)
        return false;
    memset(memory->bytes, 0xFF, (size_t)memory->size);
    if (array->length % 8)
        memory->bytes[memory->size - 1] = (uint8_t)((1 << array->length % 8) - 1);
    return true;
}

static inline void
set_null(struct array *array, int64_t index)
{
    array->buffers[0]->bytes[index / 8] &= (uint8_t)~(1 << index % 8);
}

/* --- Numbers ----------------------------------------------------------------------------------------- */

static enum verdict
fill_offsets(struct array *array, const struct rows *rows)
{
    struct memory *memory = NULL;
    if (add_validity(array))
        memory = add_buffer(array, rows->count * (int64_t)sizeof(int64_t));
    if (memory == NULL)
        return NO_MEMORY;
    int64_t *numbers = (int64_t *)memory->bytes;
    for (int64_t index = 0; index < rows->count; index++)
        numbers[index] = rows->items[index].offset;
    return GOOD;
}

static enum verdict
fill_timestamps(struct array *array, const struct rows *rows)
{
    for (int64_t index = 0; index < rows->count; index++)
        array->nulls += rows->items[index].timestamp == NO_TIMESTAMP;
    struct memory *memory = NULL;
    if (add_validity(array))
        memory = add_buffer(array, rows->count * (int64_t)sizeof(int64_t));
    if (memory == NULL)
        return NO_MEMORY;
    int64_t *numbers = (int64_t *)memory->bytes;
    for (int64_t index = 0; index < rows->count; index++) {
        const int64_t timestamp = rows->items[index].timestamp;
        const bool null = timestamp == NO_TIMESTAMP;
        numbers[index] = null ? 0 : timestamp;
        if (null)
            set_null(array, index);
    }
    return GOOD;
}

static enum verdict
fill_leader_epochs(struct array *array, const struct rows *rows)
{
    for (int64_t index = 0; index < rows->count; index++)
        array->nulls += rows->items[index].leader_epoch == NO_EPOCH;
    struct memory *memory = NULL;
    if (add_validity(array))
        memory = add_buffer(array, rows->count * (int64_t)sizeof(int32_t));
    if (memory == NULL)
        return NO_MEMORY;
    int32_t *numbers = (int32_t *)memory->bytes;
    for (int64_t index = 0; index < rows->count; index++) {
        const int32_t epoch = rows->items[index].leader_epoch;
        const bool null = epoch == NO_EPOCH;
        numbers[index] = null ? 0 : epoch;
        if (null)
            set_null(array, index);
    }
    return GOOD;
}

static enum verdict
fill_partitions(struct array *array, int32_t partition)
{
    struct memory *memory = NULL;
    if (add_validity(array))
        memory = add_buffer(array, array->length * (int64_t)sizeof(int32_t));
    if (memory == NULL)
        return NO_MEMORY;
    int32_t *numbers = (int32_t *)memory->bytes;
    for (int64_t index = 0; index < array->length; index++)
        numbers[index] = partition;
    return GOOD;
}

/* --- Bytes ------------------------------------------------------------------------------------------- */

/* Validity, and memory for ``length + 1`` offsets and ``size`` bytes. */
static enum verdict
add_bytes(struct array *array, int64_t size, struct fill_fault *fault)
{
    if (size > INT32_MAX) {
        fault->number = size;
        return TOO_LARGE;
    }
    if (add_validity(array) && add_buffer(array, (array->length + 1) * (int64_t)sizeof(int32_t)) != NULL
        && add_buffer(array, size) != NULL)
        return GOOD;
    return NO_MEMORY;
}

/* The bytes of a row in a column; NULL for a null. ``code`` is a constant where this is inlined. */
static inline struct span
bytes_of(const struct row *row, enum arrow_column code, const struct constants *constants)
{
    switch (code) {
    case ARROW_KEY:
        return (struct span){row->key, (size_t)row->key_size};
    case ARROW_VALUE:
        return (struct span){row->value, (size_t)row->value_size};
    case ARROW_KEY_TEXT:
        return row->not_text & KEY_NOT_TEXT ? (struct span){NULL, 0}
                                            : (struct span){row->key, (size_t)row->key_size};
    case ARROW_VALUE_TEXT:
        return row->not_text & VALUE_NOT_TEXT ? (struct span){NULL, 0}
                                              : (struct span){row->value, (size_t)row->value_size};
    case ARROW_HEADERS_PACKED:
        return (struct span){row->headers, (size_t)row->headers_size};
    case ARROW_TIMESTAMP_TYPE:
        return row->timestamp_type == NO_TIMESTAMP ? (struct span){NULL, 0} : TYPE_NAMES[row->timestamp_type];
    default:
        return constants->topic;
    }
}

static inline enum verdict
fill_bytes(struct array *array, const struct rows *rows, enum arrow_column code,
           const struct constants *constants, struct fill_fault *fault)
{
    int64_t size = 0;
    for (int64_t index = 0; index < rows->count; index++) {
        const struct span bytes = bytes_of(&rows->items[index], code, constants);
        array->nulls += bytes.data == NULL;
        size += (int64_t)bytes.size;
    }
    const enum verdict verdict = add_bytes(array, size, fault);
    if (verdict != GOOD)
        return verdict;
    int32_t *offsets = (int32_t *)array->buffers[1]->bytes;
    uint8_t *start = array->buffers[2]->bytes, *at = start;
    for (int64_t index = 0; index < rows->count; index++) {
        const struct span bytes = bytes_of(&rows->items[index], code, constants);
        offsets[index] = (int32_t)(at - start);
        if (bytes.data != NULL)
            copy_bytes(at, bytes.data, bytes.size);
        else
            set_null(array, index);
        at += bytes.size;
    }
    offsets[rows->count] = (int32_t)(at - start);
    return GOOD;
}

/* Marks the rows whose key or value is not UTF-8. */
static void
mark_text(const struct rows *rows, bool key)
{
    for (int64_t index = 0; index < rows->count; index++) {
        struct row *row = &rows->items[index];
        const uint8_t *data = key ? row->key : row->value;
        const int32_t size = key ? row->key_size : row->value_size;
        if (data != NULL && !is_utf8(data, (size_t)size))
            row->not_text |= key ? KEY_NOT_TEXT : VALUE_NOT_TEXT;
    }
}

/* --- Headers ----------------------------------------------------------------------------------------- */

struct header_sizes {
    int64_t count;
    int64_t names;
    int64_t values;
    int64_t nulls;
};

/* The headers of a row, which were checked when the row was read. */
static inline struct reader
open_headers(const struct row *row)
{
    struct reader reader = open_reader(row->headers, row->headers_size);
    int32_t count;
    read_header_count(&reader, reader.size, &count);
    return reader;
}

static enum verdict
measure_headers(struct header_sizes *sizes, const struct rows *rows, struct fill_fault *fault)
{
    struct header header;
    for (int64_t index = 0; index < rows->count; index++) {
        const struct row *row = &rows->items[index];
        if (!row->header_count)
            continue;
        struct reader reader = open_headers(row);
        for (int32_t number = 0; number < row->header_count; number++) {
            if (!read_header(&reader, reader.size, &header))
                return CORRUPT; /* never, as it was checked */
            const size_t size = (size_t)(header.name_end - header.name);
            if (!is_utf8(reader.data + header.name, size)) {
                fault->number = row->offset;
                return BAD_NAME;
            }
            sizes->names += (int64_t)size;
            sizes->values += header.value < 0 ? 0 : header.value_end - header.value;
            sizes->nulls += header.value < 0;
        }
        sizes->count += row->header_count;
    }
    return GOOD;
}

/* The arrays of a column of headers: list, struct, name, value. */
enum { LIST, PAIR, NAME, CONTENT };

static enum verdict
add_header_arrays(struct array *arrays, const struct header_sizes *sizes, struct fill_fault *fault)
{
    if (sizes->count > INT32_MAX) {
        fault->number = sizes->count;
        return TOO_LARGE;
    }
    arrays[PAIR].length = arrays[NAME].length = arrays[CONTENT].length = sizes->count;
    arrays[CONTENT].nulls = sizes->nulls;
    if (!add_validity(&arrays[LIST]) || !add_validity(&arrays[PAIR])
        || add_buffer(&arrays[LIST], (arrays[LIST].length + 1) * (int64_t)sizeof(int32_t)) == NULL)
        return NO_MEMORY;
    const enum verdict verdict = add_bytes(&arrays[NAME], sizes->names, fault);
    return verdict != GOOD ? verdict : add_bytes(&arrays[CONTENT], sizes->values, fault);
}

/* Where the next header is written. */
struct header_place {
    int64_t number;
    int32_t name;
    int32_t value;
};

static inline void
put_header(struct array *arrays, struct header_place *place, const uint8_t *data, const struct header *header)
{
    const size_t name = (size_t)(header->name_end - header->name);
    ((int32_t *)arrays[NAME].buffers[1]->bytes)[place->number] = place->name;
    ((int32_t *)arrays[CONTENT].buffers[1]->bytes)[place->number] = place->value;
    copy_bytes(arrays[NAME].buffers[2]->bytes + place->name, data + header->name, name);
    place->name += (int32_t)name;
    if (header->value < 0) {
        set_null(&arrays[CONTENT], place->number);
    } else {
        const size_t value = (size_t)(header->value_end - header->value);
        copy_bytes(arrays[CONTENT].buffers[2]->bytes + place->value, data + header->value, value);
        place->value += (int32_t)value;
    }
    place->number += 1;
}

static enum verdict
fill_headers(struct array *arrays, const struct rows *rows, struct fill_fault *fault)
{
    struct header_sizes sizes = {0};
    enum verdict verdict = measure_headers(&sizes, rows, fault);
    if (verdict == GOOD)
        verdict = add_header_arrays(arrays, &sizes, fault);
    if (verdict != GOOD)
        return verdict;
    int32_t *starts = (int32_t *)arrays[LIST].buffers[1]->bytes;
    struct header_place place = {0};
    struct header header;
    for (int64_t index = 0; index < rows->count; index++) {
        const struct row *row = &rows->items[index];
        starts[index] = (int32_t)place.number;
        if (!row->header_count)
            continue;
        struct reader reader = open_headers(row);
        for (int32_t number = 0; number < row->header_count && read_header(&reader, reader.size, &header);
             number++)
            put_header(arrays, &place, reader.data, &header);
    }
    starts[rows->count] = (int32_t)place.number;
    ((int32_t *)arrays[NAME].buffers[1]->bytes)[place.number] = place.name;
    ((int32_t *)arrays[CONTENT].buffers[1]->bytes)[place.number] = place.value;
    return GOOD;
}

/* ----------------------------------------------------------------------------------------------------- */

enum verdict
fill_column(struct column *column, const struct rows *rows, const struct constants *constants,
            struct fill_fault *fault)
{
    struct array *array = column->arrays;
    array->length = rows->count;
    switch (column->code) {
    case ARROW_OFFSET:
        return fill_offsets(array, rows);
    case ARROW_TIMESTAMP:
        return fill_timestamps(array, rows);
    case ARROW_TIMESTAMP_TYPE:
        return fill_bytes(array, rows, ARROW_TIMESTAMP_TYPE, constants, fault);
    case ARROW_KEY:
        return fill_bytes(array, rows, ARROW_KEY, constants, fault);
    case ARROW_VALUE:
        return fill_bytes(array, rows, ARROW_VALUE, constants, fault);
    case ARROW_KEY_TEXT:
        mark_text(rows, true);
        return fill_bytes(array, rows, ARROW_KEY_TEXT, constants, fault);
    case ARROW_VALUE_TEXT:
        mark_text(rows, false);
        return fill_bytes(array, rows, ARROW_VALUE_TEXT, constants, fault);
    case ARROW_HEADERS:
        return fill_headers(array, rows, fault);
    case ARROW_HEADERS_PACKED:
        return fill_bytes(array, rows, ARROW_HEADERS_PACKED, constants, fault);
    case ARROW_LEADER_EPOCH:
        return fill_leader_epochs(array, rows);
    case ARROW_TOPIC:
        return fill_bytes(array, rows, ARROW_TOPIC, constants, fault);
    default:
        return fill_partitions(array, constants->partition);
    }
}

void
drop_column(struct column *column)
{
    for (int which = 0; which < HEADER_ARRAYS; which++)
        for (int buffer = 0; buffer < column->arrays[which].buffer_count; buffer++)
            drop_memory(column->arrays[which].buffers[buffer]);
}
