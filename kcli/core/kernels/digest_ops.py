"""Arguments and result of ``digest_records``. Tested in ``tests/parity/test_digest.py``."""

from typing import NamedTuple

DIGEST_SIZE = 16
"""Bytes of a digest."""
NO_RECORDS = (1).to_bytes(DIGEST_SIZE, "little")
"""The digest of a chunk before its first record."""


class DigestPiece(NamedTuple):
    """``records`` records of one chunk, from offset ``first`` to ``last``; ``digest`` is that of the chunk after them."""

    digest: bytes
    records: int
    first: int
    last: int
