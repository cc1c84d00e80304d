/* The functions that Python sees. Each is described where its pure twin stands, in the module of the same idea. */
#ifndef KCLI_KERNELS_H
#define KCLI_KERNELS_H

#include <Python.h>

PyObject *crc32c(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *crc32c_patch(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *crc32c_tables(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *decode_columns(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *decode_headers(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *decode_run(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *decode_values(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *encode_headers(PyObject *module, PyObject *headers);
PyObject *encode_keyed(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *encode_lines(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *encode_record(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *encode_rows(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *encode_slices(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *encode_text(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *find_in_records(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *group_slices(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *index_text(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *murmur2(PyObject *module, PyObject *key);
PyObject *partition_keys(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *render_records(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *walk_batches(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
