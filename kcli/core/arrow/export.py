"""Hands data to libraries of Arrow: capsules of the PyCapsule interface, made in C, or by ctypes without the extension.

What the C twin makes may be released in any thread and after the interpreter has ended. What ctypes makes needs the
interpreter for that.
"""

from typing import Protocol

from kcli.core.arrow.fields import Field
from kcli.core.kernels.active import NATIVE
from kcli.core.kernels.arrow_ops import Array


class Source(Protocol):
    """What a stream reads. Its methods are called in any thread, one at a time, and raise nothing."""

    def schema(self) -> object:
        """A capsule of the schema; bytes are the text of an error."""

    def next(self) -> object:
        """A capsule of the next array, None at the end; bytes are the text of an error."""

    def close(self) -> None:
        """Called once, when the stream is released."""


if NATIVE is None:
    from kcli.core.arrow import ctypes_export

    _schema, _array, _stream = (
        ctypes_export.schema_capsule,
        ctypes_export.array_capsule,
        ctypes_export.stream_capsule,
    )
else:
    _schema, _array, _stream = NATIVE._arrow_schema, NATIVE._arrow_array, NATIVE._arrow_stream


def schema_capsule(field: Field) -> object:
    """An ``arrow_schema``."""
    return _schema(field)


def array_capsule(column: Array) -> object:
    """An ``arrow_array``, which shares the memory of the column's buffers where these are from the C kernel."""
    return _array(column)


def stream_capsule(source: Source) -> object:
    """An ``arrow_array_stream`` of what the source returns."""
    return _stream(source)
