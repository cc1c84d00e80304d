#include "forms.h"

#include "base64.h"
#include "decimal.h"
#include "json.h"
#include "utf8.h"

enum { NULL_TEXT, SUFFIX }; /* texts of BYTES */

bool
put_form(struct output *output, const struct operation *operation, struct span bytes)
{
    bool is_text;
    if (bytes.data == NULL)
        return put_bytes(output, operation->texts[NULL_TEXT]);
    switch ((enum bytes_form)operation->form) {
    case RAW:
        return put_bytes(output, bytes);
    case HEX:
        return put_hex(output, bytes);
    case BASE64:
        return put_base64(output, bytes);
    case JSON:
        return put_json(output, bytes, &is_text) && (is_text || put_bytes(output, operation->texts[SUFFIX]));
    case JSON_ESCAPED:
        return put_json_escaped(output, bytes);
    case JSON_AS_IS:
        return put_json_as_is(output, bytes);
    case CSV:
        return put_csv(output, bytes);
    default:
        return is_utf8(bytes.data, bytes.size) || put_bytes(output, operation->texts[SUFFIX]);
    }
}

bool
put_length(struct output *output, struct span bytes)
{
    const uint32_t length = bytes.data == NULL ? UINT32_MAX : (uint32_t)bytes.size;
    if (!make_room(output, 4))
        return false;
    for (int shift = 24; shift >= 0; shift -= 8)
        *output->at++ = (uint8_t)(length >> shift);
    return true;
}

bool
put_length_number(struct output *output, const struct operation *operation, struct span bytes)
{
    if (bytes.data == NULL && operation->texts[0].data != NULL)
        return put_bytes(output, operation->texts[0]);
    if (!make_room(output, MOST_DIGITS))
        return false;
    output->at = write_number(output->at, bytes.data == NULL ? -1 : (int64_t)bytes.size);
    return true;
}

/* --- headers ------------------------------------------------------------------------------------------- */

/* Reads the next header as spans; they are good, as the record was read before. */
static bool
next_header(struct reader *reader, int64_t end, struct span fields[2])
{
    struct header header;
    if (!read_header(reader, end, &header))
        return false;
    fields[0] = (struct span){reader->data + header.name, (size_t)(header.name_end - header.name)};
    fields[1] = (struct span){NULL, 0};
    if (header.value >= 0)
        fields[1] = (struct span){reader->data + header.value, (size_t)(header.value_end - header.value)};
    return true;
}

/* name=value */
static bool
put_text_header(struct output *output, const struct span fields[2])
{
    return put_bytes(output, fields[0]) && put_byte(output, '=')
           && (fields[1].data == NULL ? PUT_TEXT(output, "NULL") : put_bytes(output, fields[1]));
}

/* ["name","value"], with the encodings of both where they are no text */
static bool
put_json_header(struct output *output, const struct span fields[2])
{
    bool name = true, value = true;
    if (!put_byte(output, '[') || !put_json(output, fields[0], &name) || !put_byte(output, ','))
        return false;
    if (!(fields[1].data == NULL ? PUT_TEXT(output, "null") : put_json(output, fields[1], &value)))
        return false;
    if (!value && !PUT_TEXT(output, ",\"base64\""))
        return false;
    if (!name && !(value ? PUT_TEXT(output, ",null,\"base64\"") : PUT_TEXT(output, ",\"base64\"")))
        return false;
    return put_byte(output, ']');
}

/* "name","value" */
static bool
put_flat_header(struct output *output, const struct span fields[2])
{
    return put_json_as_is(output, fields[0]) && put_byte(output, ',')
           && (fields[1].data == NULL ? PUT_TEXT(output, "null") : put_json_as_is(output, fields[1]));
}

static bool
put_each_header(struct output *output, const struct program *program, const struct span fields[2])
{
    for (Py_ssize_t index = 0; index < program->count; index++) {
        const struct operation *operation = &program->operations[index];
        bool good;
        if (operation->code == LITERAL)
            good = put_bytes(output, operation->texts[0]);
        else if (operation->code == BYTES)
            good = put_form(output, operation, fields[operation->which]);
        else if (operation->code == LENGTH)
            good = put_length(output, fields[operation->which]);
        else
            good = put_length_number(output, operation, fields[operation->which - KEY_LENGTH]);
        if (!good)
            return false;
    }
    return true;
}

static bool
put_header(struct output *output, const struct operation *operation, const struct span fields[2])
{
    switch ((enum headers_form)operation->which) {
    case HEADERS_TEXT:
        return put_text_header(output, fields);
    case HEADERS_FLAT:
        return put_flat_header(output, fields);
    case HEADERS_EACH:
        return put_each_header(output, &operation->inner, fields);
    default:
        return put_json_header(output, fields);
    }
}

static bool
put_all_headers(struct output *output, const struct operation *operation, const struct reader *source,
                const struct record *record)
{
    struct reader reader = open_reader(source->data, record->end);
    reader.at = record->headers;
    int32_t count;
    struct span fields[2];
    if (!read_header_count(&reader, record->end, &count))
        return false;
    for (int32_t index = 0; index < count; index++) {
        if (index && operation->which != HEADERS_EACH && !put_byte(output, ','))
            return false;
        if (!next_header(&reader, record->end, fields) || !put_header(output, operation, fields))
            return false;
    }
    return true;
}

bool
put_headers(struct output *output, const struct operation *operation, const struct reader *reader,
            const struct record *record)
{
    const bool some = record->header_count > 0;
    switch ((enum headers_form)operation->which) {
    case HEADERS_TEXT:
    case HEADERS_EACH:
        return !some || put_all_headers(output, operation, reader, record);
    case HEADERS_FLAT:
        return !some
               || (put_bytes(output, operation->texts[0]) && put_byte(output, '[')
                   && put_all_headers(output, operation, reader, record) && put_byte(output, ']')
                   && put_bytes(output, operation->texts[1]));
    default:
        break;
    }
    if (!some)
        return PUT_TEXT(output, "[]");
    const size_t start = output_size(output);
    if (!put_byte(output, '[') || !put_all_headers(output, operation, reader, record)
        || !put_byte(output, ']'))
        return false;
    return operation->which != HEADERS_CSV || quote_csv(output, start);
}
