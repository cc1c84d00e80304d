"""Decompresses frames in steps under a limit: gzip members, lz4 and zstd frames, one or several in a row.

Peak memory is the limit plus at most 64 MiB, whatever the data declares (``make bombs``): input is fed in pieces, output
is produced in steps into one growing buffer. Up to 45 of the 64 are holes in the heap where the buffer was smaller; a
mapping has none, and is half as fast. Signals are handled between two steps, and a stop that is requested ends it there:
a batch may legitimately decompress to gigabytes under a raised limit, and the handler of a signal only sets a flag.
"""

from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol

from kcli.core.codecs.codec import CapExceededError
from kcli.core.errors import CorruptRecordsError, StoppedError
from kcli.core.kernels.varint import Buffer

stop_requested: ContextVar[Callable[[], object]] = ContextVar("stop_requested", default=lambda: False)
"""Returns something true once this thread is to stop. It belongs to a context, and so to one thread: the threads that
send what is already read are not interrupted.
"""


def check_stop() -> None:
    """Raises StoppedError if this thread is to stop."""
    if stop_requested.get()():
        raise StoppedError("stopped while a batch was decompressed")


GZIP_WINDOW = 31  # window bits of zlib: the largest window, with a gzip header

_PIECE = 1 << 20  # input per step
_FIRST_STEP = 4 << 20  # most batches end within the first step, and are then never copied
_STEP = 1 << 20
_MOST_FRAMES = 4096  # Java writes one; each takes a new decoder and a copy of up to a piece
_FREE_WINDOW = 32 << 20


class Decoder(Protocol):
    """Decompresses one frame: the interface of bz2, lz4 and zstd in Python."""

    def decompress(self, data: Buffer, max_length: int = ...) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes | None: ...


class Inflater:
    """A gzip member behind the same interface, by ISA-L where installed."""

    def __init__(self) -> None:
        self._stream: Any = gzip_library().decompressobj(GZIP_WINDOW)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        """Whether the member's checksum has been read and was correct."""
        return bool(self._stream.eof)

    @property
    def unused_data(self) -> bytes:
        """The input after the member."""
        return bytes(self._stream.unused_data)

    def decompress(self, data: Buffer, max_length: int = 0) -> bytes:
        """The next bytes, at most ``max_length``."""
        out: bytes = self._stream.decompress(data or self._stream.unconsumed_tail, max_length)
        # A full output may leave data inside the decoder, even when all input is consumed.
        self.needs_input = not self._stream.unconsumed_tail and len(out) < max_length
        return out


@lru_cache(maxsize=1)
def gzip_library() -> Any:
    """``isal_zlib`` if the extra ``fast`` is installed, else ``zlib``, which has the same functions."""
    try:
        return import_module("isal.isal_zlib")
    except ImportError:
        return import_module("zlib")


@lru_cache(maxsize=1)
def lz4_library() -> Any:
    """``lz4.frame`` if the library is installed, else None: ``lz4_frame`` beside this module replaces it."""
    try:
        return import_module("lz4.frame")
    except ImportError:
        return None


def decompress_stream(
    new: Callable[[], Decoder],
    data: Buffer,
    limit: int,
    sizes: Callable[[memoryview], tuple[int, int]] | None = None,
) -> bytes | bytearray:
    """The content of all frames in ``data``. ``sizes`` returns what a frame declares: its window and its content.

    Raises CapExceededError above ``limit`` bytes, CorruptRecordsError when the data ends early, and the library's own
    errors.
    """
    view = memoryview(data)
    allowed = _allowance(view, limit, sizes)
    decoder = new()
    head = decoder.decompress(view[:_PIECE], min(_FIRST_STEP, allowed + 1))
    if decoder.eof and len(view) <= _PIECE and not decoder.unused_data and len(head) <= allowed:
        return head
    out = bytearray(head)
    del head
    at = min(_PIECE, len(view))
    for _ in range(_MOST_FRAMES):
        at = _finish_frame(decoder, view, at, out, allowed)
        if at == len(view):
            return out
        allowed = _allowance(view[at:], limit, sizes)
        decoder = new()
    raise CorruptRecordsError("compressed data", why=f"it has more than {_MOST_FRAMES} frames")


def zstd_sizes(frame: memoryview) -> tuple[int, int]:
    """The sizes of the window and of the content that a zstd frame declares (RFC 8878, 3.1.1.1).

    0 for what it does not declare, or if the frame is of another type or truncated.
    """
    if len(frame) < 6 or bytes(frame[:4]) != b"\x28\xb5\x2f\xfd":
        return 0, 0
    descriptor, at, window = frame[4], 5, 0
    single_segment = descriptor & 0x20
    if not single_segment:
        window = (8 + (frame[5] & 7)) << (7 + (frame[5] >> 3))
        at = 6
    at += (0, 1, 2, 4)[descriptor & 3]  # the dictionary id
    width = (1 if single_segment else 0, 2, 4, 8)[descriptor >> 6]
    content = int.from_bytes(frame[at : at + width], "little") + (256 if width == 2 else 0)
    return (content if single_segment else window), content


def _allowance(frame: memoryview, limit: int, sizes: Callable[[memoryview], tuple[int, int]] | None) -> int:
    """The output limit. A decoder's window fills with the output and holds a copy of its end.

    Windows of up to 32 MiB are free (zstd's levels below 21 need no more); anything above counts against the limit.
    Raises CapExceededError for a frame that itself declares more than the limit.
    """
    window, content = sizes(frame) if sizes else (0, 0)
    if content > limit:
        raise CapExceededError
    budget = limit + _FREE_WINDOW
    return min(limit, max(budget - window, budget // 2))


def _finish_frame(decoder: Decoder, view: memoryview, at: int, out: bytearray, allowed: int) -> int:
    """Appends the rest of a frame to ``out``; returns the position after the frame."""
    while not decoder.eof:
        if len(out) > allowed:
            break
        check_stop()
        piece = view[at:at]
        if decoder.needs_input:
            piece = view[at : at + _PIECE]
            if not piece:
                raise CorruptRecordsError("compressed data", why="it ends inside a frame")
            at += len(piece)
        out += decoder.decompress(piece, min(_STEP, allowed + 1 - len(out)))
    if len(out) > allowed:
        raise CapExceededError
    return at - len(decoder.unused_data or b"")
