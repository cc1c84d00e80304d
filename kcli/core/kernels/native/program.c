#include "program.h"

static bool take_operation(struct operation *operation, PyObject *one, Py_ssize_t columns, bool of_header);

static bool
is_tuple(PyObject *object)
{
    if (PyTuple_Check(object))
        return true;
    PyErr_Format(PyExc_TypeError, "a tuple is needed, not %R", (PyObject *)Py_TYPE(object));
    return false;
}

/* An argument of an operation, borrowed. */
static PyObject *
argument(PyObject *one, Py_ssize_t index)
{
    if (index < PyTuple_Size(one))
        return PyTuple_GetItem(one, index);
    return PyErr_Format(PyExc_IndexError, "%R has too few arguments", one);
}

/* A small number; one that is none of ``count`` is a ValueError in the words of ``why``. */
static bool
take_choice(PyObject *one, Py_ssize_t index, int count, const char *why, int *choice)
{
    PyObject *object = argument(one, index);
    int64_t number;
    if (object == NULL || (PyLong_Check(object) && !take_limit(object, &number)))
        return false;
    if (!PyLong_Check(object) || number < 0 || number >= count) {
        PyErr_Format(PyExc_ValueError, why, object);
        return false;
    }
    *choice = (int)number;
    return true;
}

/* Bytes that the tuple keeps alive. */
static bool
take_text(PyObject *one, Py_ssize_t index, struct span *text)
{
    PyObject *object = argument(one, index);
    if (object == NULL)
        return false;
    if (!PyBytes_Check(object)) {
        PyErr_Format(PyExc_TypeError, "bytes are needed, not %R", (PyObject *)Py_TYPE(object));
        return false;
    }
    *text = (struct span){(const uint8_t *)PyBytes_AsString(object), (size_t)PyBytes_Size(object)};
    return true;
}

static bool
take_texts(struct operation *operation, PyObject *one, Py_ssize_t first, Py_ssize_t count)
{
    for (Py_ssize_t index = 0; index < count; index++)
        if (!take_text(one, first + index, &operation->texts[index]))
            return false;
    return true;
}

static bool
take_operations(struct program *program, PyObject *operations, Py_ssize_t columns, bool of_header)
{
    if (!is_tuple(operations))
        return false;
    const Py_ssize_t count = PyTuple_Size(operations);
    program->operations = PyMem_Calloc((size_t)count + 1, sizeof *program->operations);
    if (program->operations == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (program->count = 0; program->count < count;) {
        PyObject *one = PyTuple_GetItem(operations, program->count);
        if (!take_operation(&program->operations[program->count++], one, columns, of_header))
            return false;
    }
    return true;
}

static bool
take_number(struct operation *operation, PyObject *one, bool of_header)
{
    if (!take_choice(one, 1, VALUE_LENGTH + 1, "there is no number %R", &operation->which))
        return false;
    if (of_header && operation->which < KEY_LENGTH) {
        PyErr_Format(PyExc_ValueError, "%R is not for headers", one);
        return false;
    }
    return PyTuple_Size(one) < 3 || take_text(one, 2, &operation->texts[0]);
}

static bool
take_field(struct operation *operation, PyObject *one)
{
    return take_choice(one, 1, VALUE + 1, "there is no field %R", &operation->which);
}

static bool
take_headers(struct operation *operation, PyObject *one, Py_ssize_t columns)
{
    if (!take_choice(one, 1, HEADERS_EACH + 1, "there is no form of headers %R", &operation->which))
        return false;
    if (operation->which == HEADERS_FLAT)
        return take_texts(operation, one, 2, 2);
    if (operation->which != HEADERS_EACH)
        return true;
    PyObject *inner = argument(one, 2);
    return inner != NULL && take_operations(&operation->inner, inner, columns, true);
}

static bool
take_extra(struct operation *operation, PyObject *one, Py_ssize_t columns)
{
    PyObject *index = argument(one, 1);
    int64_t column;
    if (index == NULL || !take_limit(index, &column))
        return false;
    if (column < 0 || column >= columns) {
        PyErr_Format(PyExc_IndexError, "there is no column %R of extras", index);
        return false;
    }
    operation->column = (Py_ssize_t)column;
    if (PyTuple_Size(one) < 3)
        return true;
    PyObject *inner = PyTuple_Pack(1, PyTuple_GetItem(one, 2));
    const bool taken = inner != NULL && take_operations(&operation->inner, inner, columns, false);
    Py_XDECREF(inner); /* the operation itself is kept by ``one`` */
    return taken;
}

static bool
take_arguments(struct operation *operation, PyObject *one, Py_ssize_t columns, bool of_header)
{
    switch (operation->code) {
    case LITERAL:
        return take_texts(operation, one, 1, 1);
    case NUMBER:
        return take_number(operation, one, of_header);
    case TIME:
    case TIMESTAMP_TYPE:
        return take_texts(operation, one, 1, 3);
    case BYTES:
        return take_field(operation, one)
               && take_choice(one, 2, NOT_TEXT + 1, "there is no form of bytes %R", &operation->form)
               && take_texts(operation, one, 3, 2);
    case LENGTH:
        return take_field(operation, one);
    case HEADERS:
        return take_headers(operation, one, columns);
    default:
        return take_extra(operation, one, columns);
    }
}

static bool
take_operation(struct operation *operation, PyObject *one, Py_ssize_t columns, bool of_header)
{
    int code;
    if (!is_tuple(one) || !take_choice(one, 0, EXTRA + 1, "there is no operation %R", &code))
        return false;
    operation->code = (enum operation_code)code;
    if (of_header && code != LITERAL && code != NUMBER && code != BYTES && code != LENGTH) {
        PyErr_Format(PyExc_ValueError, "%R is not for headers", one);
        return false;
    }
    if (Py_EnterRecursiveCall(" in a render program"))
        return false;
    const bool taken = take_arguments(operation, one, columns, of_header);
    Py_LeaveRecursiveCall();
    return taken;
}

bool
take_program(struct program *program, PyObject *operations, Py_ssize_t columns)
{
    return take_operations(program, operations, columns, false);
}

bool
has_extras(const struct program *program)
{
    for (Py_ssize_t index = 0; index < program->count; index++)
        if (program->operations[index].code == EXTRA)
            return true;
    return false;
}

void
drop_program(struct program *program)
{
    for (Py_ssize_t index = 0; index < program->count; index++)
        drop_program(&program->operations[index].inner);
    PyMem_Free(program->operations);
    *program = (struct program){NULL, 0};
}
