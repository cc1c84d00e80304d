"""Capsules of Arrow data by ctypes, for installations without the C extension.

A structure refers to its memory by number: ``private_data`` is the key of an entry in ``_kept``, which its release
removes. A consumer may move a structure elsewhere, so its address identifies nothing.

Releasing calls Python, which is not possible once the interpreter has ended: a limit that the C twin does not have. Nor
can ctypes keep an exception that is being raised meanwhile. pyarrow releases a stream and its capsule while it raises
that stream's error; so a stream that fails is released by the callback that fails, only the text of its error is kept,
and its capsule has no destructor from then on.
"""

import ctypes
import itertools
from ctypes import POINTER, PYFUNCTYPE, Structure, byref, c_char_p, c_void_p, cast, memmove, pointer, sizeof
from typing import Any, TypeVar

from kcli.core.arrow.fields import Field
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
    address_in,
)
from kcli.core.kernels.arrow_ops import Array

_FAILED = 5  # EIO

T = TypeVar("T", ArrowSchema, ArrowArray, ArrowArrayStream)

_kept: dict[int, Any] = {}
_numbers = itertools.count(1)  # 0 would be a null pointer


def schema_capsule(field: Field) -> object:
    """See ``export.schema_capsule``."""
    return _capsule(_schema(field), SCHEMA)


def array_capsule(column: Array) -> object:
    """See ``export.array_capsule``."""
    return _capsule(_array(column), ARRAY)


def stream_capsule(source: Any) -> object:
    """See ``export.stream_capsule``."""
    stream = ArrowArrayStream()
    stream.get_schema, stream.get_next = _address(_get_schema_callback), _address(_get_next_callback)
    stream.get_last_error, stream.release = (
        _address(_get_last_error_callback),
        _address(_release_stream_callback),
    )
    streamed = _Streamed(source, ctypes.addressof(stream))
    stream.private_data = _keep(streamed)
    capsule = _capsule(stream, STREAM)
    streamed.capsule = id(capsule)
    return capsule


def _keep(thing: object) -> int:
    number = next(_numbers)
    _kept[number] = thing
    return number


def _address(function: Any) -> int:
    return cast(function, c_void_p).value or 0


# --- schemas and arrays ---------------------------------------------------------------------------------


def _schema(field: Field) -> ArrowSchema:
    schema = ArrowSchema()
    schema.format, schema.name = field.format.encode(), field.name.encode()
    schema.flags, schema.n_children = field.flags, len(field.children)
    children = [_schema(child) for child in field.children]
    pointers = (POINTER(ArrowSchema) * len(children))(*map(pointer, children))
    schema.children = pointers if children else None
    schema.release = _address(_release_schema_callback)
    # The bytes of format and name too: a copy of the structure refers to them, but not their objects.
    schema.private_data = _keep((schema, children, pointers))
    return schema


def _array(column: Array) -> ArrowArray:
    length, nulls, buffers, inner = column
    array = ArrowArray()
    array.length, array.null_count = length, nulls
    array.n_buffers, array.n_children = len(buffers), len(inner)
    kept = [None if buffer is None else bytes(buffer) for buffer in buffers]
    places = [None if data is None else cast(c_char_p(data), c_void_p).value for data in kept]
    addresses = (c_void_p * len(kept))(*places)
    children = [_array(child) for child in inner]
    pointers = (POINTER(ArrowArray) * len(children))(*map(pointer, children))
    array.buffers = addresses
    array.children = pointers if children else None
    array.release = _address(_release_array_callback)
    array.private_data = _keep((kept, addresses, children, pointers))
    return array


_fetch = ctypes.pythonapi.PyErr_Fetch
_aside = (c_void_p(), c_void_p(), c_void_p())
_places = tuple(map(byref, _aside))


def _set_exception_aside() -> None:
    """Drops the exception that the consumer may be raising: while there is one, ctypes calls nothing."""
    _fetch(*_places)


def _release_tree(kind: type[ArrowSchema | ArrowArray], address: int) -> None:
    """Releases the children that were not moved elsewhere, and what the structure keeps."""
    found = kind.from_address(address)
    for index in range(found.n_children):
        child = ctypes.addressof(found.children[index].contents)
        release = kind.from_address(child).release
        if release:
            RELEASE(release)(child)
    _kept.pop(found.private_data or 0, None)
    found.release = None


def _release_schema(address: int) -> None:
    _release_tree(ArrowSchema, address)


_release_schema_callback = RELEASE(_release_schema)


def _release_array(address: int) -> None:
    _release_tree(ArrowArray, address)


_release_array_callback = RELEASE(_release_array)


# --- streams --------------------------------------------------------------------------------------------


class _Streamed:
    """The source of a stream, and the text of its error. ``capsule`` and ``origin``: the addresses of its capsule, and of
    the structure in it.
    """

    def __init__(self, source: Any, origin: int) -> None:
        self.source = source
        self.error: bytes | None = None
        self.origin = origin
        self.capsule = 0

    def fail(self, text: bytes) -> None:
        """Ends the stream with an error: from now on only the text of the error is asked of Python."""
        self.error = text
        self.close()
        if self.origin in _structures:  # else the capsule is gone
            _set_destructor(self.capsule, None)

    def close(self) -> None:
        """Closes the source, once."""
        source, self.source = self.source, None
        if source is not None:
            source.close()


def _moved(kind: type[Structure], capsule: object, name: bytes, target: int) -> None:
    """Moves the structure of a capsule; without a capsule, the target is marked as released: the end of a stream."""
    if capsule is None:
        ctypes.memset(target, 0, sizeof(kind))
        return
    origin = address_in(capsule, name)
    memmove(target, origin, sizeof(kind))
    kind.from_address(origin).release = None


def _fetched(stream: int, method: str, kind: type[Structure], name: bytes, target: int) -> int:
    streamed: _Streamed = _kept[ArrowArrayStream.from_address(stream).private_data or 0]
    found = getattr(streamed.source, method)()
    if isinstance(found, bytes):
        streamed.fail(found)
        ArrowArrayStream.from_address(stream).release = None
        return _FAILED
    _moved(kind, found, name, target)
    return 0


def _get_schema(stream: int, target: int) -> int:
    return _fetched(stream, "schema", ArrowSchema, SCHEMA, target)


_get_schema_callback = GET(_get_schema)


def _get_next(stream: int, target: int) -> int:
    return _fetched(stream, "next", ArrowArray, ARRAY, target)


_get_next_callback = GET(_get_next)


def _get_last_error(stream: int) -> int | None:
    streamed: _Streamed = _kept[ArrowArrayStream.from_address(stream).private_data or 0]
    return None if streamed.error is None else cast(c_char_p(streamed.error), c_void_p).value


_get_last_error_callback = GET_LAST_ERROR(_get_last_error)


def _release_stream(address: int) -> None:
    _set_exception_aside()
    stream = ArrowArrayStream.from_address(address)
    streamed = _kept.pop(stream.private_data or 0, None)
    if streamed is not None:
        streamed.close()
    stream.release = None


_release_stream_callback = RELEASE(_release_stream)


# --- capsules -------------------------------------------------------------------------------------------

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [c_void_p, c_char_p, c_void_p]
# A capsule that is being destroyed must not become an object again: plain pointers.
_DESTRUCTOR = PYFUNCTYPE(None, c_void_p)
_pointer_of = PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_set_destructor = PYFUNCTYPE(ctypes.c_int, c_void_p, c_void_p)(("PyCapsule_SetDestructor", ctypes.pythonapi))
_structures: dict[int, Structure] = {}


def _capsule(structure: T, name: bytes) -> object:
    address = ctypes.addressof(structure)
    _structures[address] = structure
    return _new_capsule(address, name, _address(_DESTRUCTORS[name]))


def _destructor(kind: type[T], name: bytes) -> Any:
    def destroy(capsule: int) -> None:
        _set_exception_aside()
        address = _pointer_of(capsule, name)
        release = kind.from_address(address).release
        if release:
            RELEASE(release)(address)
        _structures.pop(address, None)

    return _DESTRUCTOR(destroy)


_DESTRUCTORS = {
    SCHEMA: _destructor(ArrowSchema, SCHEMA),
    ARRAY: _destructor(ArrowArray, ARRAY),
    STREAM: _destructor(ArrowArrayStream, STREAM),
}
