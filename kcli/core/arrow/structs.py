"""The structures of the Arrow C Data and C Stream Interfaces for ctypes, and access to capsules of them.

Source: https://arrow.apache.org/docs/format/CDataInterface.html, CStreamInterface.html and
CDataInterface/PyCapsuleInterface.html.
"""

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from typing import Any

SCHEMA = b"arrow_schema"
ARRAY = b"arrow_array"
STREAM = b"arrow_array_stream"

NULLABLE = 2
"""The flag ARROW_FLAG_NULLABLE of a field."""


class ArrowSchema(Structure):
    """A type, with the name of a field, and its children."""

    format: bytes
    name: bytes | None
    metadata: int | None
    flags: int
    n_children: int
    children: Any
    dictionary: Any
    release: int | None
    private_data: int | None


class ArrowArray(Structure):
    """An array: pointers to its buffers, and its children."""

    length: int
    null_count: int
    offset: int
    n_buffers: int
    n_children: int
    buffers: Any
    children: Any
    dictionary: Any
    release: int | None
    private_data: int | None


class ArrowArrayStream(Structure):
    """Arrays of one schema, one after the other."""

    get_schema: int | None
    get_next: int | None
    get_last_error: int | None
    release: int | None
    private_data: int | None


# Fields in the order of the C structures: pointers to functions are void pointers where ctypes must not call them.
ArrowSchema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_void_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(ArrowSchema))),
    ("dictionary", POINTER(ArrowSchema)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]
ArrowArray._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(ArrowArray))),
    ("dictionary", POINTER(ArrowArray)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]
ArrowArrayStream._fields_ = [
    ("get_schema", c_void_p),
    ("get_next", c_void_p),
    ("get_last_error", c_void_p),
    ("release", c_void_p),
    ("private_data", c_void_p),
]

RELEASE = CFUNCTYPE(None, c_void_p)
"""``release`` of all three: called with a pointer to the structure."""
GET = CFUNCTYPE(c_int, c_void_p, c_void_p)
"""``get_schema`` and ``get_next``."""
GET_LAST_ERROR = CFUNCTYPE(c_void_p, c_void_p)

_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = c_void_p
_get_pointer.argtypes = [ctypes.py_object, c_char_p]


def address_in(capsule: object, name: bytes) -> int:
    """The pointer in a capsule; ValueError if it is no capsule of that name."""
    return int(_get_pointer(capsule, name))
