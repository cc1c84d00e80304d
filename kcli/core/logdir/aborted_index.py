"""``.txnindex``: the transactions whose abort marker is in the segment. Pure.

An entry has a version (int16, 0), the producer id, the first and the last offset of the transaction (the last is that of
the marker), and the last stable offset behind it.
"""

from struct import Struct

from kcli.core.classes import NamedTuple
from kcli.core.errors import DamagedFileError

SUFFIX = ".txnindex"
ENTRY = Struct(">hqqqq")


class Aborted(NamedTuple):
    """A transaction that was aborted; ``last_offset`` is that of its marker, ``last_stable_offset`` the one behind it."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def read_aborted_index(data: bytes | memoryview, where: str) -> tuple[list[Aborted], DamagedFileError | None]:
    """The entries before the first that makes no sense, and the error that says so."""
    found: list[Aborted] = []
    whole = len(data) // ENTRY.size * ENTRY.size
    for number, (version, *fields) in enumerate(ENTRY.iter_unpack(memoryview(data)[:whole])):
        entry = Aborted(*fields)
        why = ""
        if version:
            why = f"version {version}, and 0 is known"
        elif entry.producer_id < 0 or not 0 <= entry.first_offset <= entry.last_offset:
            why = f"producer {entry.producer_id} aborted offsets {entry.first_offset} to {entry.last_offset}"
        elif not 0 <= entry.last_stable_offset <= entry.last_offset + 1:
            why = f"the last stable offset is {entry.last_stable_offset} at the marker at {entry.last_offset}"
        elif found and entry.last_offset <= found[-1].last_offset:
            why = f"the marker at offset {entry.last_offset} after the one at {found[-1].last_offset}"
        if why:
            return found, DamagedFileError(where, number * ENTRY.size, why=why)
        found.append(entry)
    if whole < len(data):
        why = f"{len(data) - whole} bytes of an entry of {ENTRY.size}"
        return found, DamagedFileError(where, whole, why=why)
    return found, None
