#include "reader.h"

static const char RECORD_CUT[] = "the payload ends inside a record";
static const char HEADER_CUT[] = "the payload ends inside a header";

bool
refuse(struct reader *reader, int64_t position, const char *why, long long first, long long second)
{
    reader->fault = (struct corruption){position, why, first, second};
    return false;
}

bool
read_long_varint(struct reader *reader, int limit, int bits, int64_t *value)
{
    const int64_t start = reader->at;
    uint64_t raw = 0, spilled = 0;
    for (int index = 0; index < limit; index++) {
        if (start + index >= reader->size)
            return refuse(reader, reader->item, reader->cut, 0, 0);
        const uint8_t byte = reader->data[start + index];
        const uint64_t digits = byte & 0x7F;
        const int shift = 7 * index;
        raw |= digits << shift;
        if (shift > 64 - 7) /* the tenth byte, of which one bit fits */
            spilled = digits >> (64 - shift);
        if (byte < 0x80) {
            if (spilled || (bits < 64 && raw >> bits))
                break;
            *value = unzigzag(raw);
            reader->at = start + index + 1;
            return true;
        }
    }
    return refuse(reader, start, "the varint does not fit %lld bits", bits, 0);
}

bool
check_count(struct reader *reader, int64_t count)
{
    if (count >= 0 && count <= reader->size / SMALLEST_RECORD)
        return true;
    return refuse(reader, 0, "%lld records do not fit into %lld bytes", count, reader->size);
}

bool
check_end(struct reader *reader)
{
    const int64_t left = reader->size - reader->at;
    return left == 0 || refuse(reader, reader->at, "%lld bytes are left behind the last record", left, 0);
}

/* A key or value: its length, then its bytes. ``why`` is the message for a length that cannot be. */
static bool
read_bytes(struct reader *reader, int64_t record_end, int64_t *start, int64_t *end, const char *why)
{
    const int64_t field = reader->at;
    int32_t length;
    if (!read_varint(reader, &length))
        return false;
    if (length == -1) {
        *start = *end = -1;
        return true;
    }
    const int64_t left = record_end - reader->at; /* negative when the length stood behind the record */
    if (length < 0 || length > left)
        return refuse(reader, field, why, length, left);
    *start = reader->at;
    *end = reader->at += length;
    return true;
}

static bool
read_all_headers(struct reader *reader, int64_t end, int32_t *count)
{
    if (!read_header_count(reader, end, count))
        return false;
    struct header unused;
    for (int32_t index = 0; index < *count; index++)
        if (!read_header(reader, end, &unused))
            return false;
    return true;
}

bool
check_headers(struct reader *reader, int64_t end)
{
    int32_t count;
    return read_all_headers(reader, end, &count) && reader->at == end;
}

bool
read_record(struct reader *reader, struct record *record)
{
    const int64_t start = reader->at;
    reader->item = start;
    reader->cut = RECORD_CUT;

    int32_t length;
    if (!read_varint(reader, &length))
        return false;
    const int64_t left = reader->size - reader->at;
    if (length < 0 || length > left)
        return refuse(reader, start, "the record length is %lld, %lld bytes are left", length, left);
    record->end = reader->at + length;
    reader->at += 1; /* attributes: none are defined, and Java ignores them too */

    if (!read_varlong(reader, &record->timestamp_delta) || !read_varint(reader, &record->offset_delta))
        return false;
    if (!read_bytes(reader, record->end, &record->key, &record->key_end,
                    "the key length is %lld, %lld bytes are left in the record"))
        return false;
    if (!read_bytes(reader, record->end, &record->value, &record->value_end,
                    "the value length is %lld, %lld bytes are left in the record"))
        return false;
    record->headers = reader->at;
    if (!read_all_headers(reader, record->end, &record->header_count))
        return false;
    if (reader->at != record->end)
        return refuse(reader, start, "the record ends at byte %lld, its fields at %lld", record->end,
                      reader->at);
    return true;
}

bool
read_header_count(struct reader *reader, int64_t end, int32_t *count)
{
    const int64_t start = reader->at;
    reader->item = start;
    reader->cut = HEADER_CUT;
    if (!read_varint(reader, count))
        return false;
    const int64_t left = end - reader->at; /* negative when the count stood behind the record */
    if (*count == 0 || (*count > 0 && left > 0 && *count <= left / SMALLEST_HEADER))
        return true;
    return refuse(reader, start, "%lld headers do not fit into %lld bytes", *count, left);
}

bool
read_header(struct reader *reader, int64_t end, struct header *header)
{
    const int64_t start = reader->at;
    reader->item = start;

    int32_t size;
    if (!read_varint(reader, &size))
        return false;
    if (size < 0)
        return refuse(reader, start, "the length of a header name is %lld", size, 0);
    header->name = reader->at;
    header->name_end = reader->at += size; /* may be behind the payload: then the next read fails */

    if (!read_varint(reader, &size))
        return false;
    if (size < -1)
        return refuse(reader, start, "the length of a header value is %lld", size, 0);
    header->value = size < 0 ? -1 : reader->at;
    header->value_end = reader->at += size < 0 ? 0 : size;
    if (reader->at > end)
        return refuse(reader, start, "the header ends at byte %lld, its record at %lld", reader->at, end);
    return true;
}
