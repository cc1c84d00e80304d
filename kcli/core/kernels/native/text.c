#include "text.h"

bool
keep_for_text(struct text *text, PyObject *object, bool optional, struct span *bytes)
{
    Py_INCREF(object);
    PyObject *kept = optional ? keep_bytes(object, bytes) : keep_some_bytes(object, bytes);
    if (kept == NULL)
        return false;
    text->owners[text->owned++] = kept;
    return true;
}

static bool
take_delimiters(struct text *text, PyObject *delimiter, PyObject *key_delimiter)
{
    if (!keep_for_text(text, delimiter, false, &text->region.delimiter)
        || !keep_for_text(text, key_delimiter, true, &text->cut.key_delimiter))
        return false;
    if (text->region.delimiter.size && (text->cut.key_delimiter.data == NULL || text->cut.key_delimiter.size))
        return true;
    PyErr_SetString(PyExc_ValueError, "a delimiter is empty");
    return false;
}

bool
take_region(struct text *text, PyObject *const *args)
{
    Py_ssize_t start, end;
    if (PyObject_GetBuffer(args[0], &text->view, PyBUF_SIMPLE) < 0)
        return false;
    if (!take_start(args[1], &start) || !take_start(args[2], &end)
        || !take_delimiters(text, args[3], args[4]))
        return false;
    if (end > text->view.len) {
        PyErr_Format(PyExc_ValueError, "the region ends at byte %zd, the text at %zd", end, text->view.len);
        return false;
    }
    text->region.text = text->view.buf;
    text->region.at = start;
    text->region.end = end;
    return true;
}

bool
take_nulls(struct text *text, PyObject *null_marker, PyObject *empty_is_null)
{
    const int empty = PyObject_IsTrue(empty_is_null);
    text->cut.empty_is_null = empty > 0;
    return empty >= 0 && keep_for_text(text, null_marker, true, &text->cut.null_marker);
}

void
drop_text(struct text *text)
{
    while (text->owned)
        Py_DECREF(text->owners[--text->owned]);
    if (text->view.obj != NULL)
        PyBuffer_Release(&text->view);
}
