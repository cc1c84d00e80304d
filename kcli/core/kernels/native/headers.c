/* Header blocks: a count, then a name and a value for each. Python objects all through, so the GIL stays. */
#include "module.h"
#include "reader.h"

/* A name that is not UTF-8 stays bytes. */
static PyObject *
name_object(const char *name, Py_ssize_t size)
{
    PyObject *text = PyUnicode_DecodeUTF8(name, size, NULL);
    if (text != NULL || !PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        return text;
    PyErr_Clear();
    return PyBytes_FromStringAndSize(name, size);
}

static PyObject *
value_object(const char *data, const struct header *header)
{
    if (header->value < 0)
        return Py_NewRef(Py_None);
    return PyBytes_FromStringAndSize(data + header->value, (Py_ssize_t)(header->value_end - header->value));
}

static PyObject *
header_object(const char *data, const struct header *header)
{
    PyObject *name = name_object(data + header->name, (Py_ssize_t)(header->name_end - header->name));
    PyObject *value = name ? value_object(data, header) : NULL;
    PyObject *pair = value ? PyTuple_Pack(2, name, value) : NULL;
    Py_XDECREF(name);
    Py_XDECREF(value);
    return pair;
}

/* Reads the headers of a block whose count was read. The tuple is made before, as the count has been checked. */
static bool
fill_headers(PyObject *headers, struct reader *reader)
{
    const Py_ssize_t count = PyTuple_Size(headers);
    struct header header;
    for (Py_ssize_t index = 0; index < count; index++) {
        if (!read_header(reader, reader->size, &header)) {
            raise_corruption(&reader->fault);
            return false;
        }
        PyObject *pair = header_object((const char *)reader->data, &header);
        if (pair == NULL || PyTuple_SetItem(headers, index, pair) < 0)
            return false;
    }
    if (reader->at == reader->size)
        return true;
    refuse(reader, reader->at, "bytes are left behind the last header", 0, 0);
    raise_corruption(&reader->fault);
    return false;
}

/* The block from ``reader->at`` to the end of the reader. */
static PyObject *
decode(struct reader *reader)
{
    int32_t count;
    if (!read_header_count(reader, reader->size, &count))
        return raise_corruption(&reader->fault);
    PyObject *headers = PyTuple_New(count);
    if (headers != NULL && !fill_headers(headers, reader))
        Py_CLEAR(headers);
    return headers;
}

/* decode_headers(payload, start, end) */
PyObject *
decode_headers(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    Py_ssize_t start, end;
    Py_buffer view;
    if (!take_start(args[1], &start) || !take_start(args[2], &end))
        return NULL;
    if (start == end)
        return PyTuple_New(0); /* formats before magic 2 have no header block */
    if (PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    struct reader reader = open_reader(view.buf, end < view.len ? end : view.len);
    reader.at = start;
    PyObject *headers = decode(&reader);
    PyBuffer_Release(&view);
    return headers;
}

/* One header to be written and the objects its bytes belong to. */
struct pair {
    PyObject *owners[2];
    struct span name;
    struct span value;
};

static PyObject *
keep_name(PyObject *name, struct span *bytes)
{
    if (name == NULL || !PyUnicode_Check(name))
        return keep_some_bytes(name, bytes);
    PyObject *encoded = PyUnicode_AsUTF8String(name);
    Py_DECREF(name);
    return keep_some_bytes(encoded, bytes);
}

static bool
take_pair(PyObject *header, struct pair *pair)
{
    const Py_ssize_t size = PySequence_Size(header);
    if (size != 2) {
        if (size >= 0)
            PyErr_Format(PyExc_ValueError, "a header has a name and a value, not %zd fields", size);
        return false;
    }
    pair->owners[0] = keep_name(PySequence_GetItem(header, 0), &pair->name);
    if (pair->owners[0] != NULL)
        pair->owners[1] = keep_bytes(PySequence_GetItem(header, 1), &pair->value);
    return pair->owners[1] != NULL;
}

static bool
take_pairs(PyObject *headers, struct pair *pairs, Py_ssize_t count)
{
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *header = PySequence_GetItem(headers, index);
        const bool taken = header != NULL && take_pair(header, &pairs[index]);
        Py_XDECREF(header);
        if (!taken)
            return false;
    }
    return true;
}

static PyObject *
write_block(const struct pair *pairs, Py_ssize_t count)
{
    size_t size = varint_size(count);
    for (Py_ssize_t index = 0; index < count; index++)
        size += field_size(pairs[index].name) + field_size(pairs[index].value);
    PyObject *block = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (block == NULL)
        return NULL;
    uint8_t *at = write_varint((uint8_t *)PyBytes_AsString(block), count);
    for (Py_ssize_t index = 0; index < count; index++)
        at = write_field(write_field(at, pairs[index].name), pairs[index].value);
    return block;
}

static void
put_down(const struct pair *pairs, Py_ssize_t count)
{
    for (Py_ssize_t index = 0; index < count; index++) {
        Py_XDECREF(pairs[index].owners[0]);
        Py_XDECREF(pairs[index].owners[1]);
    }
}

PyObject *
encode_headers(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    PyObject *headers = args[0];
    const Py_ssize_t count = PySequence_Size(headers);
    if (count < 0)
        return NULL;
    struct pair *pairs = PyMem_Calloc((size_t)count, sizeof *pairs);
    if (pairs == NULL)
        return PyErr_NoMemory();
    PyObject *block = take_pairs(headers, pairs, count) ? write_block(pairs, count) : NULL;
    put_down(pairs, count);
    PyMem_Free(pairs);
    return block;
}
