"""Record bytes with mistakes in them, and memory in which reading one byte too far ends the process."""

import ctypes
import mmap
import os
import random
from collections.abc import Iterator

from tests.parity import plain

# A run that searches takes fifty times as many: make sanitize.
TRIALS = int(os.environ.get("KCLI_MUTATIONS", "5000"))
ODD_BYTES = (0, 1, 2, 3, 0x7F, 0x80, 0x81, 0xFE, 0xFF)
LARGE = ((1 << 31) - 1, 1 << 31, (1 << 63) - 1, -(1 << 31), -2)
BLOCKS = tuple(
    plain.header_block(headers)
    for headers in (
        (),
        (("h", b"v"),),
        (("name", None), ("é", b""), (b"\xff\xfe", bytes(70))),
    )
)
_PROT_NONE = 0


class GuardedMemory:
    """A copy of some bytes, flush against memory that must not be touched."""

    def __init__(self, room: int) -> None:
        self._size = -(-room // mmap.PAGESIZE) * mmap.PAGESIZE
        self._map = mmap.mmap(-1, self._size + mmap.PAGESIZE)
        self._view = memoryview(self._map)
        libc = ctypes.CDLL(None, use_errno=True)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        guard = ctypes.c_void_p(start + self._size)
        if libc.mprotect(guard, ctypes.c_size_t(mmap.PAGESIZE), _PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect")

    def hold(self, data: bytes | bytearray) -> memoryview:
        """Valid until the next call."""
        view = self._view[self._size - len(data) : self._size]
        view[:] = data
        return view


def payloads(seeded: random.Random) -> list[tuple[bytes, int]]:
    """Payloads of all shapes that the kernels know, each with its number of records."""
    equal = [(None, b"%010d" % index, b"\0", 3) for index in range(20)]
    keyed = [(b"k%d" % index, bytes(index * 9), b"\0", index * 40) for index in range(12)]
    nulls = [(seeded.choice([None, b"", b"k"]), seeded.choice([None, b"", b"v"]), b"\0", 0) for _ in range(9)]
    headed = [(b"k", b"v" * index, BLOCKS[index % 3], -index << 34) for index in range(7)]
    wide = [(bytes(200), bytes(9000), BLOCKS[1], 1 << 62), (None, bytes(8192), b"\0", -(1 << 63))]
    return [
        (b"".join(plain.record(*row[:3], first + at, row[3]) for at, row in enumerate(rows)), len(rows))
        for rows in (equal, keyed, nulls, headed, wide)
        for first in (0, 60, 8190)
    ]


def mutations(seed: object, trials: int) -> Iterator[tuple[bytes, int]]:
    """Payloads with changed, lost and doubled bytes; the count is nearly always the one from before."""
    seeded = random.Random(repr(seed))
    good = payloads(seeded)
    for trial in range(trials):
        payload, count = good[trial % len(good)]
        mutated = bytearray(payload)
        for _ in range(seeded.randrange(1, 4)):
            _mutate(mutated, seeded)
        yield bytes(mutated), count + seeded.choice((0, 0, 0, 0, 0, 0, 0, -1, 1))


def _mutate(data: bytearray, seeded: random.Random) -> None:
    if not data:
        return
    at = seeded.randrange(len(data))
    match seeded.randrange(12):
        case 0:
            del data[at:]
        case 1:
            del data[at]
        case 2:
            data.insert(at, seeded.choice(ODD_BYTES))
        case 3:  # a number that says a lot
            data[at : at + 1] = plain.varint(seeded.choice(LARGE))
        case 4:
            data[at] ^= 1 << seeded.randrange(8)
        case 5 | 6 | 7:
            data[at] = seeded.choice(ODD_BYTES)
        case _:
            data[at] = seeded.randrange(256)
