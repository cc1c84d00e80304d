/* Lines of text from a template whose gaps are filled with the cells of columns. Its twin is pure/fill.py. */
#include "module.h"
#include "output.h"

#include <stdio.h>
#include <string.h>

/* What cannot be filled in: a cell that is no text, or has a byte that is refused. */
enum filled { FILLED, UNFIT, FAILED };

struct filling {
    struct output output;
    bool refused[256];
};

static enum filled
put(struct filling *filling, struct span bytes)
{
    if (put_bytes(&filling->output, bytes))
        return FILLED;
    PyErr_NoMemory();
    return FAILED;
}

static enum filled
put_text(struct filling *filling, PyObject *text)
{
    Py_ssize_t size;
    const char *data = PyUnicode_AsUTF8AndSize(text, &size);
    if (data == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return FAILED;
        PyErr_Clear();
        return UNFIT;
    }
    for (Py_ssize_t place = 0; place < size; place++)
        if (filling->refused[(uint8_t)data[place]])
            return UNFIT;
    return put(filling, (struct span){(const uint8_t *)data, (size_t)size});
}

static enum filled
put_number(struct filling *filling, PyObject *number)
{
    int overflow;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow) {
        PyObject *text = PyObject_Str(number);
        const enum filled filled = text == NULL ? FAILED : put_text(filling, text);
        Py_XDECREF(text);
        return filled;
    }
    uint8_t digits[20];
    size_t at = sizeof digits;
    unsigned long long rest = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
    do {
        digits[--at] = (uint8_t)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        digits[--at] = '-';
    return put(filling, (struct span){digits + at, sizeof digits - at});
}

static enum filled
put_cell(struct filling *filling, PyObject *cell)
{
    if (PyLong_CheckExact(cell))
        return put_number(filling, cell);
    return PyUnicode_CheckExact(cell) ? put_text(filling, cell) : UNFIT;
}

static enum filled
put_piece(struct filling *filling, PyObject *piece)
{
    if (!PyBytes_Check(piece)) {
        PyErr_Format(PyExc_TypeError, "bytes are needed, not %R", (PyObject *)Py_TYPE(piece));
        return FAILED;
    }
    return put(filling, (struct span){(const uint8_t *)PyBytes_AsString(piece), (size_t)PyBytes_Size(piece)});
}

/* ``columns`` has a text or a tuple for each. */
static enum filled
fill(struct filling *filling, PyObject *pieces, PyObject *columns)
{
    const Py_ssize_t width = PyTuple_Size(columns), gaps = PyTuple_Size(pieces) - 1;
    enum filled filled = put_piece(filling, PyTuple_GetItem(pieces, 0));
    for (Py_ssize_t gap = 0; filled == FILLED && gap < gaps; gap++) {
        PyObject *column = PyTuple_GetItem(columns, gap % width);
        PyObject *cell = PyTuple_Check(column) ? PyTuple_GetItem(column, gap / width) : column;
        filled = put_cell(filling, cell);
        if (filled == FILLED)
            filled = put_piece(filling, PyTuple_GetItem(pieces, gap + 1));
    }
    return filled;
}

/* The columns as texts and tuples of one size; NULL with an exception. */
static PyObject *
take_columns(PyObject *given, Py_ssize_t pieces)
{
    PyObject *columns = PySequence_List(given);
    if (columns == NULL)
        return NULL;
    const Py_ssize_t width = PyList_Size(columns), rows = width ? (pieces - 1) / width : 0;
    bool good = pieces == rows * width + 1;
    if (!good)
        PyErr_Format(PyExc_ValueError, "%zd pieces do not fit %zd columns", pieces, width);
    for (Py_ssize_t place = 0; good && place < width; place++) {
        PyObject *column = PyList_GetItem(columns, place);
        if (PyUnicode_CheckExact(column))
            continue;
        PyObject *cells = PySequence_Tuple(column);
        good = cells != NULL && PyTuple_Size(cells) == rows;
        if (cells != NULL && !good)
            PyErr_Format(PyExc_ValueError, "a column has %zd cells for %zd rows", PyTuple_Size(cells), rows);
        if (cells != NULL)
            PyList_SetItem(columns, place, cells);
    }
    PyObject *found = good ? PyList_AsTuple(columns) : NULL;
    Py_DECREF(columns);
    return found;
}

PyObject *
fill_lines(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct span refused;
    PyObject *kept = keep_some_bytes(Py_NewRef(args[2]), &refused);
    PyObject *pieces = kept ? PySequence_Tuple(args[0]) : NULL;
    PyObject *columns = pieces ? take_columns(args[1], PyTuple_Size(pieces)) : NULL;
    PyObject *found = NULL;
    if (columns != NULL) {
        struct filling filling = {0};
        for (size_t place = 0; place < refused.size; place++)
            filling.refused[refused.data[place]] = true;
        enum filled filled = open_output(&filling.output) ? fill(&filling, pieces, columns) : FAILED;
        if (filled == FILLED)
            found = PyBytes_FromStringAndSize(
                filling.output.scratch.memory, (Py_ssize_t)output_size(&filling.output));
        else if (filled == UNFIT)
            found = Py_NewRef(Py_None);
        else if (!PyErr_Occurred())
            PyErr_NoMemory();
        drop_output(&filling.output);
    }
    Py_XDECREF(columns);
    Py_XDECREF(pieces);
    Py_XDECREF(kept);
    return found;
}
