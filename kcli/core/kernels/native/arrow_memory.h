/* Buffers of Arrow columns: memory that several owners share, and that any thread may give back at any time.
 *
 * Foreign libraries release what they were given in threads of their own, even while the interpreter ends. So the memory
 * is no Python object: its owners are counted atomically, and the last one frees it, without the GIL.
 */
#ifndef KCLI_ARROW_MEMORY_H
#define KCLI_ARROW_MEMORY_H

#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { ALIGNMENT = 64 }; /* as Arrow recommends: a cache line, and the widest registers */

struct memory {
    atomic_size_t owners;
    int64_t size;
    _Alignas(ALIGNMENT) uint8_t bytes[];
};

/* Memory with one owner; its content is garbage. NULL where there is none. Needs no GIL, as the next two. */
struct memory *make_memory(int64_t size);

/* One owner more. */
struct memory *share_memory(struct memory *memory);

/* One owner less. NULL is let pass. */
void drop_memory(struct memory *memory);

/* The type ``_Buffer``, through which Python reads such memory. */
PyObject *make_buffer_type(void);

/* A ``_Buffer`` that becomes the owner; the memory is dropped where that fails. NULL with an exception then. */
PyObject *buffer_object(struct memory *memory);

/* The memory of a ``_Buffer``, shared; that of any other object with bytes, copied. NULL with an exception. */
struct memory *memory_of(PyObject *object);

#endif
