"""Batches that a log confirms and does not keep as they came: what the integrity check of a test must find."""

import struct
from typing import Literal, get_args

from kcli.core.records.batch import RecordBatch

Fault = Literal["lose", "repeat", "swap"]


class Mishaps:
    """What happens to which of the next batches; nothing unless it was planned."""

    def __init__(self) -> None:
        self._planned: dict[int, str] = {}
        self._seen = 0
        self._held: RecordBatch | None = None

    def plan(self, fault: str, nth: int) -> None:
        """``fault`` for the ``nth`` batch from now on."""
        if fault not in get_args(Fault):
            raise ValueError(f"{fault}: one of {', '.join(get_args(Fault))}")
        self._planned[self._seen + nth] = fault

    def stored(self, batch: RecordBatch, end: int) -> list[RecordBatch]:
        """What the log keeps instead of a batch, from offset ``end`` on."""
        self._seen += 1
        held, self._held = self._held, None
        fault = self._planned.pop(self._seen, "")
        if fault == "swap":
            self._held = batch
        kept = {"lose": [], "swap": [], "repeat": [batch, batch]}.get(fault, [batch])
        found = []
        for one in (*kept, *([held] if held is not None else [])):
            found.append(_at(one, end))
            end = found[-1].next_offset
        return found


def _at(batch: RecordBatch, offset: int) -> RecordBatch:
    """The batch with another base offset, which its checksum does not cover."""
    raw = bytearray(batch.raw)
    struct.pack_into(">q", raw, 0, offset)
    return RecordBatch(memoryview(bytes(raw)))
