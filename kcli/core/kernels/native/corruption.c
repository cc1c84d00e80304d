#include "corruption.h"

/* Looked up on each error and kept nowhere: an import at the start would cost every command,
 * a static pointer would be shared by subinterpreters. */
static PyObject *
error_type(void)
{
    PyObject *module = PyImport_ImportModule("kcli.core.errors");
    if (module == NULL)
        return NULL;
    PyObject *type = PyObject_GetAttrString(module, "CorruptRecordsError");
    Py_DECREF(module);
    return type;
}

/* CorruptRecordsError(what, why=why); takes the references of both. */
static PyObject *
make_error(PyObject *type, PyObject *what, PyObject *why)
{
    PyObject *error = NULL;
    PyObject *positional = what ? PyTuple_Pack(1, what) : NULL;
    PyObject *keywords = why ? Py_BuildValue("{sO}", "why", why) : NULL;
    if (positional != NULL && keywords != NULL)
        error = PyObject_Call(type, positional, keywords);
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    Py_XDECREF(what);
    Py_XDECREF(why);
    return error;
}

/* Takes the reference of ``why``, which may be NULL with an exception. */
static PyObject *
raise_because(int64_t position, PyObject *why)
{
    PyObject *type = error_type();
    if (type == NULL) {
        Py_XDECREF(why);
        return NULL;
    }
    PyObject *what = PyUnicode_FromFormat("record data at byte %lld", (long long)position);
    PyObject *error = make_error(type, what, why);
    if (error != NULL) {
        PyErr_SetObject(type, error);
        Py_DECREF(error);
    }
    Py_DECREF(type);
    return NULL;
}

PyObject *
raise_corruption(const struct corruption *fault)
{
    /* A format that names fewer numbers leaves the others unread, which C allows. */
    return raise_because(fault->position, PyUnicode_FromFormat(fault->why, fault->first, fault->second));
}

PyObject *
raise_corruption_because(int64_t position, PyObject *why)
{
    return raise_because(position, Py_NewRef(why));
}
