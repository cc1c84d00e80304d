"""The structures of Arrow's C data interface and C stream interface, and the capsules that carry them.

https://arrow.apache.org/docs/format/CDataInterface.html and …/CDataInterface/PyCapsuleInterface.html
"""

import ctypes
from typing import Any

DICTIONARY_ORDERED, NULLABLE, MAP_KEYS_SORTED = 1, 2, 4
"""Flags of a schema."""


class ArrowSchema(ctypes.Structure):
    """The type of a column or, with children, of a table. ``release`` is NULL in one that was released or moved."""


class ArrowArray(ctypes.Structure):
    """The values of a column or, with children, of a table."""


class ArrowArrayStream(ctypes.Structure):
    """Tables with one schema, one after the other; the last one is followed by an array that is released."""


SchemaRelease = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))
ArrayRelease = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))
StreamRelease = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArrayStream))
GetSchema = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowSchema))
GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowArray))
GetLastError = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(ArrowArrayStream))

ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),
    ("release", SchemaRelease),
    ("private_data", ctypes.c_void_p),
]
ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", ArrayRelease),
    ("private_data", ctypes.c_void_p),
]
ArrowArrayStream._fields_ = [
    ("get_schema", GetSchema),
    ("get_next", GetNext),
    ("get_last_error", GetLastError),
    ("release", StreamRelease),
    ("private_data", ctypes.c_void_p),
]

SCHEMA_CAPSULE, ARRAY_CAPSULE, STREAM_CAPSULE = b"arrow_schema", b"arrow_array", b"arrow_array_stream"

pointer_in_capsule = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
"""``pointer_in_capsule(capsule, name)``: the address; ValueError for another kind of capsule or none at all."""

view_of_memory: Any = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)
"""``view_of_memory(address, size, flags)``: a memoryview that keeps nothing alive."""

READ_ONLY = 0x100  # PyBUF_READ
