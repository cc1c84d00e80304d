/* kcli.core.kernels._native: the C twin of the record kernels in kernels/pure, which is the specification.
 *
 * The module keeps no Python object, so subinterpreters and free threads share nothing that changes.
 */
#include "checksum.h"
#include "kernels.h"

/* By way of void (*)(void), the one cast between function types that compilers take as meant. */
#define FROM_ARRAY(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

static PyMethodDef methods[] = {
    {"crc32c", FROM_ARRAY(crc32c), NULL},
    {"crc32c_patch", FROM_ARRAY(crc32c_patch), NULL},
    {"crc32c_tables", FROM_ARRAY(crc32c_tables), NULL},
    {"decode_columns", FROM_ARRAY(decode_columns), NULL},
    {"decode_headers", FROM_ARRAY(decode_headers), NULL},
    {"decode_run", FROM_ARRAY(decode_run), NULL},
    {"decode_values", FROM_ARRAY(decode_values), NULL},
    {"encode_headers", encode_headers, METH_O, NULL},
    {"encode_keyed", FROM_ARRAY(encode_keyed), NULL},
    {"encode_lines", FROM_ARRAY(encode_lines), NULL},
    {"encode_record", FROM_ARRAY(encode_record), NULL},
    {"encode_rows", FROM_ARRAY(encode_rows), NULL},
    {"encode_slices", FROM_ARRAY(encode_slices), NULL},
    {"encode_text", FROM_ARRAY(encode_text), NULL},
    {"find_in_records", FROM_ARRAY(find_in_records), NULL},
    {"group_slices", FROM_ARRAY(group_slices), NULL},
    {"index_text", FROM_ARRAY(index_text), NULL},
    {"murmur2", murmur2, METH_O, NULL},
    {"partition_keys", FROM_ARRAY(partition_keys), NULL},
    {"render_records", FROM_ARRAY(render_records), NULL},
    {"walk_batches", FROM_ARRAY(walk_batches), NULL},
    {NULL, NULL, 0, NULL},
};

static int
execute(PyObject *Py_UNUSED(module))
{
    start_checksum();
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)execute},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "kcli.core.kernels._native",
    .m_doc = "The record kernels in C; see kcli/core/kernels/pure.py for what each does.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
