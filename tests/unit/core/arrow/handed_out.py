"""Arrow data that a test hands out itself, to count releases and to be inconsistent. Not a test."""

import ctypes
from typing import Any

from kcli.core.arrow.structs import (
    ARRAY,
    GET,
    GET_LAST_ERROR,
    RELEASE,
    SCHEMA,
    STREAM,
    ArrowArray,
    ArrowArrayStream,
    ArrowSchema,
)

_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
EIO = 5

_alive: list[Any] = []
"""All that was handed out: C would not let a collection of garbage take it away before it is released."""


class HandedOut:
    """Values in a column ``value`` of binary, as an array or as a stream of ``parts`` such tables.

    ``released`` counts arrays. ``change(array, child)`` may make the table inconsistent; a stream fails at table
    ``fails``.
    """

    def __init__(self, *values: bytes, change: Any = None, parts: int = 1, fails: int = -1) -> None:
        self.values = values
        self.change = change
        self.parts = parts
        self.fails = fails
        self.released: list[int] = []
        self._kept: list[Any] = []
        _alive.append(self)
        self._next = 0

    def schema(self, kind: bytes = b"+s", name: bytes = b"value", column: bytes = b"z") -> ArrowSchema:
        def release(address: int) -> None:
            ArrowSchema.from_address(address).release = None

        callback = RELEASE(release)
        child = ArrowSchema(format=column, name=name, release=ctypes.cast(callback, ctypes.c_void_p).value)
        children = (ctypes.POINTER(ArrowSchema) * 1)(ctypes.pointer(child))
        self._kept += [callback, child, children]
        whole = ArrowSchema(format=kind, name=b"", n_children=1, children=children)
        whole.release = ctypes.cast(callback, ctypes.c_void_p).value
        self._kept.append(whole)
        return whole

    def array(self) -> ArrowArray:
        number = len(self._kept)

        def release(address: int) -> None:
            ArrowArray.from_address(address).release = None
            self.released.append(number)

        callback = RELEASE(release)
        ends = [0]
        for value in self.values:
            ends.append(ends[-1] + len(value))
        offsets = (ctypes.c_int32 * len(ends))(*ends)
        data = ctypes.create_string_buffer(b"".join(self.values), max(1, ends[-1]))
        buffers = (ctypes.c_void_p * 3)(None, ctypes.addressof(offsets), ctypes.addressof(data))
        pointers = ctypes.cast(buffers, ctypes.POINTER(ctypes.c_void_p))
        child = ArrowArray(length=len(self.values), n_buffers=3, buffers=pointers)
        children = (ctypes.POINTER(ArrowArray) * 1)(ctypes.pointer(child))
        whole = ArrowArray(length=len(self.values), n_buffers=1, n_children=1, children=children)
        whole.buffers = ctypes.cast((ctypes.c_void_p * 1)(None), ctypes.POINTER(ctypes.c_void_p))
        whole.release = ctypes.cast(callback, ctypes.c_void_p).value
        self._kept += [callback, offsets, data, buffers, child, children, whole]
        if self.change is not None:
            self.change(whole, child)
        return whole

    def capsules(self) -> tuple[object, object]:
        return capsule_of(self.schema(), SCHEMA), capsule_of(self.array(), ARRAY)


class AsArray(HandedOut):
    """One table."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self.capsules()


class AsStream(HandedOut):
    """A stream; ``stream_released`` counts its releases."""

    stream_released = 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        def get_schema(_: int, target: int) -> int:
            ctypes.memmove(target, ctypes.addressof(self.schema()), ctypes.sizeof(ArrowSchema))
            return 0

        def get_next(_: int, target: int) -> int:
            if self._next == self.fails:
                return EIO
            done = self._next >= self.parts
            self._next += 1
            source = ArrowArray() if done else self.array()
            ctypes.memmove(target, ctypes.addressof(source), ctypes.sizeof(ArrowArray))
            return 0

        def release(address: int) -> None:
            ArrowArrayStream.from_address(address).release = None
            self.stream_released += 1

        words = ctypes.create_string_buffer("der Datenträger ist voll".encode())
        callbacks = (
            GET(get_schema),
            GET(get_next),
            GET_LAST_ERROR(lambda _: ctypes.addressof(words)),
            RELEASE(release),
        )
        stream = ArrowArrayStream(*(ctypes.cast(one, ctypes.c_void_p).value for one in callbacks))
        self._kept += [words, callbacks, stream]
        return capsule_of(stream, STREAM)


def capsule_of(structure: Any, name: bytes) -> object:
    """A capsule without a destructor: what is not moved out of it stays."""
    return _new(ctypes.addressof(structure), name, None)
