"""The kernel ``digest_records`` in Python: a digest of records that detects accidents. It is not cryptographic.

A record is encoded so that no two different ones are alike, as pairs of words of 8 bytes (little-endian). In each
group of 16 pairs a key is added to every word (modulo 2^64), and the products of the pairs are added (modulo 2^128):
the function NH of UMAC (RFC 4418) with words of 64 bits. The digest is the polynomial of these sums by the prime
2^127 − 1, as in VMAC. For any two different sequences of records, at most about one in 2^62 choices of keys and factor
makes their digests equal. The keys are fixed and public, so that digests can be compared: records that have the same
digest can be made by intention, and are not expected otherwise.
"""

from collections.abc import Iterator, Sequence
from operator import mul
from struct import Struct, unpack

from kcli.core.kernels.arrow_ops import FRAMED, ArrowPart
from kcli.core.kernels.pure.arrow import batches_of, check_part, rows_of
from kcli.core.kernels.pure.headers import decode_headers, encode_headers
from kcli.core.kernels.shapes import DIGEST_SIZE, NO_HEADERS, NO_RECORDS, DigestPiece
from kcli.core.kernels.varint import encode_varint

_PRIME = (1 << 127) - 1
_WORD = (1 << 64) - 1
_BLOCK = 16
_HEAD = Struct("<qq")
_NULL = encode_varint(-1)
_GROUP = 16  # pairs


def _splitmix64() -> Iterator[int]:
    """The generator SplitMix64 from 0."""
    state = 0
    while True:
        state = state + 0x9E3779B97F4A7C15 & _WORD
        mixed = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & _WORD
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _WORD
        yield mixed ^ mixed >> 31


_numbers = _splitmix64()
_KEYS = [next(_numbers) for _ in range(2 * _GROUP)]
_FACTOR = (next(_numbers) << 64 | next(_numbers)) >> 2


def digest_records(
    part: ArrowPart, timestamps: bool, digest: bytes, room: int, chunk: int
) -> list[DigestPiece]:
    """The records at the wanted offsets of a batch or run, in chunks of ``chunk`` records.

    ``digest`` is that of the chunk which the first of them belongs to, and which takes ``room`` more; ``NO_RECORDS``
    where it begins one. Returns an entry for each chunk with records of the part.

    A record is its timestamp (int64; 0 unless ``timestamps``) and the length of what follows (int64), and then, as in a
    batch with the shortest varints, key, value and headers, filled up with zeros to a multiple of 16 bytes. Batches,
    compression and offsets make no difference. Each record begins a group of its own.

    All records are validated as in ``arrow_columns``: CorruptRecordsError with the position in the payload of a batch.
    """
    if len(digest) != DIGEST_SIZE:
        raise ValueError(f"a digest of {len(digest)} bytes")
    for records in (room, chunk):
        if records <= 0:
            raise ValueError(f"a chunk of {records} records")
    part = check_part(ArrowPart._make(part))
    rows = [
        row for batch in (batches_of(part) if part.records == FRAMED else (part,)) for row in rows_of(batch)
    ]
    pieces: list[DigestPiece] = []
    start = 0
    while start < len(rows):
        some = rows[start : start + room]
        number = int.from_bytes(digest, "little")
        for row in some:
            encoded = _encoded(row.timestamp if timestamps else 0, row.key, row.value, row.headers)
            number = _added(number, unpack(f"<{len(encoded) // 8}Q", encoded))
        found = number.to_bytes(DIGEST_SIZE, "little")
        pieces.append(DigestPiece(found, len(some), some[0].offset, some[-1].offset))
        start, digest, room = start + len(some), NO_RECORDS, chunk
    return pieces


def _encoded(timestamp: int, key: bytes | None, value: bytes | None, headers: bytes) -> bytes:
    """A record as whole blocks."""
    if headers != NO_HEADERS:
        headers = encode_headers(decode_headers(headers, 0, len(headers)))
    body = b"".join(
        (
            *((_NULL,) if key is None else (encode_varint(len(key)), key)),
            *((_NULL,) if value is None else (encode_varint(len(value)), value)),
            headers,
        )
    )
    return b"".join((_HEAD.pack(timestamp, len(body)), body, bytes(-len(body) % _BLOCK)))


def _added(number: int, words: Sequence[int]) -> int:
    """The digest after a record."""
    for start in range(0, len(words), 2 * _GROUP):
        keyed = [
            word + key & _WORD for word, key in zip(words[start : start + 2 * _GROUP], _KEYS, strict=False)
        ]
        number = (number * _FACTOR + (sum(map(mul, keyed[::2], keyed[1::2])) & (1 << 128) - 1)) % _PRIME
    return number
