"""``.snapshot`` of a partition: the producers and their open transactions at the offset of the file's name. Pure.

A version (int16, 1), a CRC-32C of what follows, and an array of producers.
"""

from struct import Struct

from kcli.core.classes import NamedTuple
from kcli.core.errors import DamagedFileError
from kcli.core.kernels.active import crc32c

SUFFIX = ".snapshot"
_HEAD = Struct(">hIi")
_ENTRY = Struct(">qhiqiqiq")
_CRC_START = 6


class ProducerState(NamedTuple):
    """A producer as its snapshot has it; ``first_offset`` is that of its open transaction, −1 without one."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    first_offset: int


def parse_producer_snapshot(data: bytes | memoryview, where: str) -> tuple[ProducerState, ...]:
    """The producers."""
    if len(data) < _HEAD.size:
        raise DamagedFileError(where, 0, why=f"{len(data)} bytes are no snapshot")
    version, crc, count = _HEAD.unpack_from(data)
    if version != 1:
        raise DamagedFileError(where, 0, why=f"version {version}, and 1 is known")
    actual = crc32c(memoryview(data)[_CRC_START:])
    if actual != crc:
        raise DamagedFileError(where, 2, why=f"its checksum is {actual:08x}, it says {crc:08x}")
    if count < 0 or len(data) != _HEAD.size + count * _ENTRY.size:
        raise DamagedFileError(where, _CRC_START, why=f"{count} producers in {len(data)} bytes")
    return tuple(ProducerState(*fields) for fields in _ENTRY.iter_unpack(memoryview(data)[_HEAD.size :]))
