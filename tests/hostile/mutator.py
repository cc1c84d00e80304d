"""Changes valid bytes into invalid ones, the same for the same random numbers. Not a test.

A ``Sample`` knows where its lengths, counts and numbers are, so that most changes hit what a parser believes; the others
are flips, cuts, doublings and splices anywhere. Lengths further on are not corrected: half of the parsers must notice.
"""

import struct
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

ODD_BYTES = (0, 1, 2, 3, 0x7F, 0x80, 0x81, 0xFE, 0xFF)
_WIDTH = {"b": 1, "h": 2, "i": 4, "q": 8}
_OVERLONG = (
    b"\x80\x00",
    b"\x80\x80\x80\x80\x00",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x7f",
    b"\x80\x80\x80\x80\x80\x00",
    b"\xff" * 9 + b"\x01",
    b"\xff" * 9 + b"\x7f",
    b"\x80" * 10 + b"\x00",
    b"\xff" * 12,
)


class Mark(NamedTuple):
    """A number at ``at``: ``b h i q`` as in struct, ``u`` an unsigned varint, ``z`` a zigzag one."""

    at: int
    kind: str


class Sample(NamedTuple):
    """Valid bytes and the positions of their numbers."""

    data: bytes
    marks: tuple[Mark, ...] = ()


def mutate(sample: Sample, rng: Random, others: Sequence[Sample] = ()) -> bytes:
    """``sample`` with one to four changes; ``others`` are what it is spliced with."""
    data = bytearray(sample.data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        if sample.marks and rng.random() < 0.5:
            _change_number(data, rng.choice(sample.marks), rng)
        else:
            _change_anything(data, rng, others)
    return bytes(data)


def numbers(rng: Random, left: int) -> int:
    """A number that a parser may stumble over; ``left`` is how many bytes follow."""
    edges = (-1, -2, 0, 1, 2, left, left + 1, left - 1, 127, 128, 0x7FFF, -0x8000, 0xFFFF)
    large = (0x7FFF_FFFF, -0x8000_0000, 0xFFFF_FFFF, 1 << 24, (1 << 63) - 1, -(1 << 63), 0x4000_0000)
    return rng.choice(edges) if rng.random() < 0.6 else rng.choice(large)


def uvarint(value: int) -> bytes:
    """An unsigned varint of as many bytes as it takes."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> bytes:
    """A signed varint."""
    return uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


def _change_number(data: bytearray, mark: Mark, rng: Random) -> None:
    at, kind = mark
    if at >= len(data):
        return
    value = numbers(rng, len(data) - at)
    width = _WIDTH.get(kind)
    if width:
        cut = value & (1 << 8 * width) - 1
        data[at : at + width] = cut.to_bytes(width, "big")
        return
    end = at
    while end < len(data) - 1 and data[end] >= 0x80:
        end += 1
    if rng.random() < 0.25:
        data[at : end + 1] = rng.choice(_OVERLONG)
    else:
        data[at : end + 1] = uvarint(value & (1 << 64) - 1) if kind == "u" else zigzag(value)


def _change_anything(data: bytearray, rng: Random, others: Sequence[Sample]) -> None:
    if not data:
        data += rng.randbytes(rng.randrange(1, 9))
        return
    at = rng.randrange(len(data))
    match rng.randrange(12):
        case 0 | 1 | 2:
            data[at] ^= 1 << rng.randrange(8)
        case 3 | 4:
            data[at] = rng.choice(ODD_BYTES)
        case 5:
            data[at] = rng.randrange(256)
        case 6:
            del data[at:]
        case 7:
            del data[at : at + rng.randrange(1, 9)]
        case 8:
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
        case 9:
            data[at:at] = data[at : at + rng.randrange(1, 40)] * rng.randrange(1, 4)
        case 10:
            shape = rng.choice("hiq")
            value = numbers(rng, len(data) - at) & (1 << 8 * _WIDTH[shape]) - 1
            data[at : at + _WIDTH[shape]] = value.to_bytes(_WIDTH[shape], "big")
        case _:
            other = rng.choice(others).data if others else bytes(data)
            start = rng.randrange(len(other)) if other else 0
            data[at:] = other[start:]


def packed(shape: str, *values: int) -> bytes:
    """Big-endian numbers."""
    return struct.pack(">" + shape, *values)
