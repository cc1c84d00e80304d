#include "module.h"
#include "checksum.h"

/* A thread switch costs less than this many bytes take: a tenth of a microsecond. */
enum { WORTH_RELEASING_CRC = 2048 };

typedef uint32_t extend_function(uint32_t crc, const uint8_t *data, size_t size);

static bool
take_checksum(PyObject *number, uint32_t *crc)
{
    const unsigned long value = PyLong_AsUnsignedLongMask(number);
    *crc = (uint32_t)value;
    return value != (unsigned long)-1 || !PyErr_Occurred();
}

static uint32_t
extend_releasing(extend_function *extend, uint32_t crc, const Py_buffer *data)
{
    if (data->len < WORTH_RELEASING_CRC)
        return extend(crc, data->buf, (size_t)data->len);
    Py_BEGIN_ALLOW_THREADS
    crc = extend(crc, data->buf, (size_t)data->len);
    Py_END_ALLOW_THREADS
    return crc;
}

static PyObject *
checksum_of(extend_function *extend, PyObject *const *args, Py_ssize_t count)
{
    uint32_t crc = 0;
    Py_buffer data;
    if (count > 1 && !take_checksum(args[1], &crc))
        return NULL;
    if (PyObject_GetBuffer(args[0], &data, PyBUF_SIMPLE) < 0)
        return NULL;
    crc = extend_releasing(extend, crc, &data);
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(crc);
}

PyObject *
crc32c(PyObject *const *args, Py_ssize_t count)
{
    return checksum_of(extend_checksum, args, count);
}

/* What processors without the instructions get; apart, so that a test reaches it on every machine. */
PyObject *
crc32c_tables(PyObject *const *args, Py_ssize_t count)
{
    return checksum_of(extend_checksum_by_tables, args, count);
}

static bool
checksum_buffer(PyObject *object, uint32_t *crc, Py_ssize_t *size)
{
    Py_buffer data;
    if (PyObject_GetBuffer(object, &data, PyBUF_SIMPLE) < 0)
        return false;
    *crc = extend_releasing(extend_checksum, 0, &data);
    *size = data.len;
    PyBuffer_Release(&data);
    return true;
}

/* crc32c_patch(crc, old, new, tail). Inverting cancels out in the difference of two checksums of one length. */
PyObject *
crc32c_patch(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    uint32_t crc, old, new;
    Py_ssize_t old_size, new_size;
    int64_t tail;
    if (!take_checksum(args[0], &crc)
        || !checksum_buffer(args[1], &old, &old_size) || !checksum_buffer(args[2], &new, &new_size)
        || !take_int64(args[3], &tail))
        return NULL;
    if (old_size != new_size)
        return PyErr_Format(PyExc_ValueError, "%zd bytes cannot replace %zd", new_size, old_size);
    if (tail < 0)
        return PyErr_Format(PyExc_ValueError, "%lld bytes cannot follow", (long long)tail);
    return PyLong_FromUnsignedLong(crc ^ shift_difference(old ^ new, (uint64_t)tail));
}
