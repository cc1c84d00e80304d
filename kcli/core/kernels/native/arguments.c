#include "arguments.h"

bool
check_arguments(const char *function, Py_ssize_t given, Py_ssize_t least, Py_ssize_t most)
{
    if (least <= given && given <= most)
        return true;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd to %zd arguments (%zd given)", function, least, most,
                 given);
    return false;
}

bool
take_int64(PyObject *number, int64_t *value)
{
    *value = PyLong_AsLongLong(number);
    return *value != -1 || !PyErr_Occurred();
}

bool
take_limit(PyObject *number, int64_t *value)
{
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow)
        *value = overflow < 0 ? INT64_MIN : INT64_MAX;
    return *value != -1 || !PyErr_Occurred();
}

bool
take_start(PyObject *number, Py_ssize_t *value)
{
    *value = PyLong_AsSsize_t(number);
    if (*value == -1 && PyErr_Occurred())
        return false;
    if (*value < 0) {
        PyErr_Format(PyExc_ValueError, "the start is %zd", *value);
        return false;
    }
    return true;
}

PyObject *
keep_some_bytes(PyObject *object, struct span *bytes)
{
    if (object == NULL)
        return NULL;
    PyObject *kept = NULL;
    if (PyBytes_Check(object))
        kept = Py_NewRef(object);
    else if (PyObject_CheckBuffer(object))
        kept = PyBytes_FromObject(object);
    else
        PyErr_Format(PyExc_TypeError, "bytes are needed, not %R", (PyObject *)Py_TYPE(object));
    Py_DECREF(object);
    if (kept != NULL) {
        bytes->data = (const uint8_t *)PyBytes_AsString(kept);
        bytes->size = (size_t)PyBytes_Size(kept);
    }
    return kept;
}

PyObject *
keep_bytes(PyObject *object, struct span *bytes)
{
    if (object != Py_None)
        return keep_some_bytes(object, bytes);
    *bytes = (struct span){NULL, 0};
    return object;
}
