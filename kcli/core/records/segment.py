"""A segment of a log, a ``.log`` file, mapped read-only: its batches as the same views that a fetch gives.

    with Segment.open("/data/kafka/orders-3/00000000000000000000.log") as segment:
        for position, batch in segment.batches():
            print(position, batch.base_offset, batch.count)

Nothing is copied, and no more than some megabytes stay mapped: pages that were passed are given back. A view of a batch
stays valid as long as it is kept, also after ``close``. What is at the end of the file and is no whole batch, with none
after it, is the tail (``Segment.tail``): a broker that was killed, or that is writing right now, leaves one.
"""

import errno
import mmap
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from struct import Struct
from types import TracebackType
from typing import Self

from kcli.core.classes import NamedTuple
from kcli.core.errors import (
    ClosedError,
    CorruptRecordsError,
    DamagedFileError,
    FileGoneError,
    UnreadableFileError,
    printable,
)
from kcli.core.kernels.active import scan_batches
from kcli.core.kernels.shapes import Scanned
from kcli.core.kernels.varint import INT64_MAX
from kcli.core.records.batch import HEADER_SIZE, LENGTH_END, MAGIC, RecordBatch
from kcli.core.records.legacy import LegacyBatch
from kcli.core.records.run import RUN_BYTES, plain_run
from kcli.core.records.view import BatchView

PIECE = 4 << 20
"""Bytes that are mapped in at once, and given back once they were passed."""
_NAME = re.compile(r"(\d{20})(-[A-Za-z0-9_-]{22})?\.log(?:\.swap|\.deleted|\.cleaned)?", re.ASCII)
_FRAME = Struct(">qi")
_MAGIC_AT = 16
_SMALLEST = {0: 26, 1: 34, MAGIC: HEADER_SIZE}
_POPULATE_READ = 22  # of Linux 5.14 and later; Python has no name for it
_LINUX = sys.platform == "linux"


def unreadable(path: str, error: OSError) -> UnreadableFileError:
    """The error for a file that the system does not give."""
    kind = FileGoneError if error.errno in (errno.ENOENT, errno.ESTALE) else UnreadableFileError
    return kind(printable(path), why=error.strerror or str(error))


def open_file(path: str) -> int:
    """A descriptor of a file, to be read only. A pipe or a device in its place is an OSError, not a call that waits."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file")
    return descriptor


class Placed(NamedTuple):
    """A batch, and the byte of the file at which it begins."""

    position: int
    batch: BatchView


class Tail(NamedTuple):
    """Bytes at the end of a segment that are no whole batch, from ``position`` on. ``offset`` is that of the next record.

    ``kind``: ``cut`` is a batch whose end is missing, ``zeros`` are preallocated bytes or such that a crashed machine did
    not write, ``checksum`` is a last batch whose checksum is wrong, ``foreign`` is none of them.
    """

    position: int
    size: int
    offset: int
    kind: str
    why: str


class Segment:
    """A segment that is open. ``base_offset`` is that of its name; ``size`` is what it had when it was opened.

    A file of a broker that runs may grow: what is added is not seen before ``grown`` opens it anew.
    """

    def __init__(self, path: str, descriptor: int, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self._descriptor = -1
        self.size = os.fstat(descriptor).st_size
        self._map = mmap.mmap(descriptor, self.size, prot=mmap.PROT_READ) if self.size else None
        self._data = memoryview(self._map) if self._map is not None else memoryview(b"")
        self._descriptor = descriptor

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, base_offset: int | None = None) -> Self:
        """Opens the file, read-only. Its name says the base offset, unless it is given.

        FileGoneError if there is no such file, UnreadableFileError if the system does not let it be read.
        """
        name = os.fspath(path)
        if base_offset is None:
            base_offset = base_offset_of(os.path.basename(name))
        try:
            descriptor = open_file(name)
        except OSError as error:
            raise unreadable(name, error) from error
        try:
            return cls(name, descriptor, max(0, base_offset))
        except (OSError, ValueError) as error:
            os.close(descriptor)
            why = error if isinstance(error, OSError) else OSError(errno.EINVAL, str(error))
            raise unreadable(name, why) from error

    def close(self) -> None:
        """Closes the file; views of batches stay valid."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._map, self._data = None, memoryview(b"")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def __repr__(self) -> str:
        return f"Segment({self.path!r}, base_offset={self.base_offset}, size={self.size})"

    def fileno(self) -> int:
        """The open file, for ``os.sendfile``."""
        return self._descriptor

    def view(self, start: int, stop: int) -> memoryview:
        """The bytes from ``start`` up to, not including, ``stop``: the map itself, not a copy.

        They are in memory afterwards: a disk that fails, or a file that was cut meanwhile, is an UnreadableFileError here
        and not the death of the process.
        """
        stop = min(stop, self.size)
        if start >= stop:
            return memoryview(b"")
        self._fill(start, stop)
        return self._data[start:stop]

    def forget(self, start: int, stop: int) -> None:
        """Gives the pages from ``start`` up to ``stop`` back that were mapped in for a look; views of them stay valid."""
        page = mmap.PAGESIZE
        low = start // page * page
        if self._map is not None and stop > low:
            with suppress(OSError):
                self._map.madvise(mmap.MADV_DONTNEED, low, min(stop, self.size) - low)

    def batches(
        self, start: int = 0, stop: int | None = None, *, verify: bool = False, after: int = -1
    ) -> Iterator[Placed]:
        """The batches that begin from the position ``start`` on, where one must begin, and before ``stop``.

        A DamagedFileError says what is no batch though one follows it, or begins below the offset ``after`` or the end of
        the one before it; the tail ends the iteration. With ``verify``, checksums are compared.
        """
        at, then = start, after
        stop = self.size if stop is None else min(stop, self.size)
        passed = filled = start
        while at < stop:
            if filled - at < HEADER_SIZE:
                passed, filled = at, self._move_on(passed, at)
            size = self._batch_size(self._data[at:filled], at)
            if at + size > filled:
                passed, filled = at, self._move_on(passed, at, size)
            batch = self._batch_at(self._data[at : at + size], then, verify) if size else None
            if batch is None:
                self.tail(at, then)
                return
            yield Placed(at, batch)
            at += size
            then = batch.next_offset

    def scan(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        verify: bool = False,
        after: int = -1,
        until: int = INT64_MAX,
        since: int = INT64_MAX,
    ) -> Iterator[Scanned]:
        """What the headers of these batches say, in stretches of some megabytes and of one leader epoch; see ``Scanned``.

        Without an object per batch: for whole files. It ends before the first batch that begins below the offset
        ``after``, has its last offset at ``until`` or later, or a timestamp of ``since`` or later. A DamagedFileError as
        for ``batches``.
        """
        at, then = start, after
        stop = self.size if stop is None else min(stop, self.size)
        passed = filled = start
        while at < stop:
            if filled - at < HEADER_SIZE:
                passed, filled = at, self._move_on(passed, at)
            size = self._batch_size(self._data[at:filled], at)
            if at + size > filled:
                passed, filled = at, self._move_on(passed, at, size)
            enough = min(stop, filled) - at
            headers = scan_batches(self._data[:filled], at, enough, then, until, since, verify)
            found = Scanned._make(headers)
            if not found.batches:
                batch = self._batch_at(self._data[at : at + size], then, verify) if size else None
                if batch is None:
                    self.tail(at, then)
                    return
                if batch.last_offset >= until or INT64_MAX > since <= batch.max_timestamp:
                    return
                found = _scanned(batch, at)  # of an older format
            yield found
            at, then = found.end, found.next_offset

    def runs(
        self, start: int = 0, stop: int | None = None, *, verify: bool = False, enough: int = RUN_BYTES
    ) -> Iterator[Placed]:
        """Like ``batches``; adjacent plain batches of about ``enough`` bytes are one view (``records/run.py``)."""
        at, then = start, -1
        stop = self.size if stop is None else min(stop, self.size)
        passed = filled = start
        while at < stop:
            if filled - at < enough:
                passed, filled = at, self._move_on(passed, at, 2 * enough)
            data, most = self._data[:filled], min(enough, stop - at)
            view: BatchView | None = plain_run(data, at, transactional=True, verify=verify, enough=most)
            if view is None or view.base_offset < then:
                placed = next(self.batches(at, at + 1, verify=verify, after=then), None)
                if placed is None:
                    return
                view = placed.batch
            yield Placed(at, view)
            at, then = at + view.size, view.next_offset

    def batch_at(self, position: int, *, verify: bool = True) -> BatchView | None:
        """The batch that begins at ``position``; None if none does. Whatever is there, this never raises for it."""
        if not 0 <= position < self.size:
            return None
        size = self._batch_size(self.view(position, position + HEADER_SIZE), position)
        return self._batch_at(self.view(position, position + size), -1, verify) if size else None

    def tail(self, position: int, offset: int = -1) -> Tail | None:
        """What is at ``position``, where the last batch ends: None at the end of the file. ``offset`` comes next.

        DamagedFileError if a whole batch follows further on, or is there with an offset that was before: that is no tail.
        """
        if position >= self.size:
            return None
        size = self.size - position
        head = self.view(position, position + HEADER_SIZE)
        if self._zeros_from(position):
            return Tail(position, size, offset, "zeros", f"{size} bytes are zero")
        follows = self.resync(position + 1, offset)
        if follows is not None or self.batch_at(position) is not None:
            why = self._what_is_wrong(position, offset)
            if follows is not None:
                why += f"; the next whole batch begins at byte {follows.position}"
            then = -1 if follows is None else follows.batch.base_offset
            raise DamagedFileError(self.path, position, why=why, offset=offset, next_offset=then)
        if len(head) < LENGTH_END:
            return Tail(position, size, offset, "cut", f"{size} bytes of a batch's header")
        base, length = _FRAME.unpack_from(head)
        magic = head[_MAGIC_AT] if len(head) > _MAGIC_AT else 0
        plausible = magic in _SMALLEST and length + LENGTH_END >= _SMALLEST[magic] and base >= max(0, offset)
        if plausible and length + LENGTH_END > size:
            return Tail(position, size, offset, "cut", f"{size} of {length + LENGTH_END} bytes of a batch")
        why = self._what_is_wrong(position, offset)
        kind = "checksum" if plausible and length + LENGTH_END == size else "foreign"
        return Tail(position, size, offset, kind, why)

    def resync(self, position: int, offset: int = -1) -> Placed | None:
        """The first whole batch with a right checksum that begins at ``position`` or later; None without any.

        Its base offset is at least ``offset``. For what follows damage. Formats of before Kafka 0.11 are looked for only
        where the file begins with one.
        """
        magic = self._data[_MAGIC_AT] if self.size > _MAGIC_AT else MAGIC
        pattern = _beginning(max(offset, self.base_offset), old=magic < MAGIC)
        at = position
        while at + LENGTH_END < self.size:
            piece = self.view(at, at + PIECE + HEADER_SIZE)
            found = pattern.search(piece)
            while found and found.start() < PIECE:
                batch = self.batch_at(at + found.start())
                if batch is not None and batch.base_offset >= max(offset, self.base_offset):
                    return Placed(at + found.start(), batch)
                found = pattern.search(piece, found.start() + 1)
            at += PIECE
        return None

    # --- the map ---

    def _fill(self, start: int, stop: int) -> None:
        page = mmap.PAGESIZE
        low = start // page * page
        if self._map is None:
            raise ClosedError(f"{printable(self.path)} is closed")
        if _LINUX:
            try:
                self._map.madvise(_POPULATE_READ, low, stop - low)
                return
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise self._unreadable(error) from error
        try:  # an old kernel: what it cannot read, it says to a reader
            if os.fstat(self._descriptor).st_size < stop:
                raise self._unreadable(OSError(errno.EFAULT, ""))
            for at in range(start, stop, 1 << 20):
                os.pread(self._descriptor, min(1 << 20, stop - at), at)
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> UnreadableFileError:
        if error.errno == errno.EFAULT:
            why = f"the file was cut below {self.size} bytes while it was read, or its disk fails"
            return UnreadableFileError(printable(self.path), why=why)
        return unreadable(self.path, error)

    def _move_on(self, passed: int, at: int, size: int = PIECE) -> int:
        """Gives the pages from ``passed`` to ``at`` back, and fills those from there; returns where these end."""
        page = mmap.PAGESIZE
        low, high = passed // page * page, at // page * page
        if self._map is not None and high > low:
            with suppress(OSError):
                self._map.madvise(mmap.MADV_DONTNEED, low, high - low)
        stop = min(self.size, at + max(size, PIECE))
        self.view(at, stop)
        return stop

    # --- what is at a place ---

    def _batch_size(self, window: memoryview, at: int) -> int:
        """The size that the header at the beginning of ``window`` gives; 0 if that cannot be."""
        if len(window) < LENGTH_END:
            return 0
        magic = window[_MAGIC_AT] if len(window) > _MAGIC_AT else 0
        size = LENGTH_END + int(_FRAME.unpack_from(window)[1])
        if magic not in _SMALLEST or size < _SMALLEST[magic] or at + size > self.size:
            return 0
        return size

    def _batch_at(self, raw: memoryview, then: int, verify: bool) -> BatchView | None:
        """The batch of these bytes, if it makes sense behind one that ends at the offset ``then``."""
        try:
            return self._strictly(raw, then, verify)
        except CorruptRecordsError:
            return None

    def _strictly(self, raw: memoryview, then: int, verify: bool) -> BatchView:
        batch = RecordBatch(raw) if raw[_MAGIC_AT] == MAGIC else LegacyBatch(raw)
        if verify:
            batch.verify_crc()
        else:
            batch.check()
        if batch.base_offset < then:
            raise CorruptRecordsError(
                "the batch",
                why=f"it begins at offset {batch.base_offset}, the one before it ends at {then - 1}",
            )
        return batch

    def _what_is_wrong(self, at: int, then: int) -> str:
        head = self.view(at, at + HEADER_SIZE)
        if len(head) <= _MAGIC_AT:
            return f"{len(head)} bytes are no batch"
        size = self._batch_size(head, at)
        if not size:
            base, length = _FRAME.unpack_from(head)
            left = self.size - at
            return f"no batch has magic {head[_MAGIC_AT]} and length {length} (offset {base}), {left} bytes are left"
        try:
            self._strictly(self.view(at, at + size), then, True)
        except CorruptRecordsError as error:
            return error.why
        return "the batch is whole"

    def _zeros_from(self, position: int) -> bool:
        for at in range(position, self.size, PIECE):
            piece = self.view(at, at + PIECE)
            if piece != bytes(len(piece)):
                return False
        return True


def _beginning(offset: int, *, old: bool) -> re.Pattern[bytes]:
    """What the header of a batch looks like at this offset or at one that a segment may have after it."""
    parts = {re.escape((number >> 32).to_bytes(4)) for number in (offset, min(offset + (1 << 31), INT64_MAX))}
    length = rb"(?!\x00\x00\x00[\x00-\x0d])[\x00-\x7f].{7}"
    return re.compile(
        b"(?s)(?:" + b"|".join(sorted(parts)) + rb").{4}" + length + (rb"[\x00-\x02]" if old else rb"\x02")
    )


def base_offset_of(name: str) -> int:
    """The base offset that the name of a segment's file says; −1 if it is no such name.

    Tiered segments have the id of the segment behind the offset. A segment has room for 2³¹ offsets, of 64 bits.
    """
    match = _NAME.fullmatch(name)
    return int(match[1]) if match and int(match[1]) + (1 << 31) < 1 << 63 else -1


def is_tiered(name: str) -> bool:
    """Whether the name is that of a segment in tiered storage."""
    match = _NAME.fullmatch(name)
    return match is not None and match[2] is not None


def _scanned(batch: BatchView, at: int) -> Scanned:
    """A batch of an older format as a stretch."""
    codecs, sizes = [0] * 8, [0] * 32
    codecs[batch.codec] = 1
    sizes[batch.size.bit_length() - 1] = 1
    return Scanned(
        at + batch.size, 1, batch.count, 0, batch.base_offset, batch.next_offset, batch.leader_epoch,
        batch.base_timestamp, batch.max_timestamp, at, tuple(codecs), tuple(sizes), b"",
    )  # fmt: skip
