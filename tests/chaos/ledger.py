"""What the senders say they did: a line per event, so that it can live outside of the process under test.

``sent`` before a record is handed over, then ``acked`` with its offset or ``failed`` with a reason.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TextIO

from tests.chaos.payload import RecordId


@dataclass(slots=True)
class Ledger:
    """All events of a run by record; ``acked`` holds offsets (−1: confirmed at an offset that is not known)."""

    sent: dict[RecordId, None] = field(default_factory=dict)
    acked: dict[RecordId, int] = field(default_factory=dict)
    failed: dict[RecordId, str] = field(default_factory=dict)

    @property
    def unknown(self) -> list[RecordId]:
        """Sent, and neither acked nor failed."""
        return [one for one in self.sent if one not in self.acked and one not in self.failed]


class LedgerWriter:
    """Appends events to a pipe or file as text; every line is flushed, so a SIGKILL loses none that was told."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def sent(self, record: RecordId) -> None:
        self._line("S", record)

    def acked(self, record: RecordId, offset: int) -> None:
        self._line("A", record, offset)

    def failed(self, record: RecordId, reason: str) -> None:
        self._line("F", record, reason.replace("\n", " "))

    def _line(self, event: str, record: RecordId, *more: object) -> None:
        parts = (event, record.producer, record.topic, record.partition, record.sequence, *more)
        self._stream.write("\t".join(map(str, parts)) + "\n")
        self._stream.flush()


def read_ledger(lines: Iterable[str]) -> Ledger:
    """The ledger of what a LedgerWriter wrote; a last line that was cut off is left out."""
    ledger = Ledger()
    for line in lines:
        if not line.endswith("\n"):
            break
        event, producer, topic, partition, sequence, *more = line.rstrip("\n").split("\t")
        record = RecordId(int(producer), topic, int(partition), int(sequence))
        if event == "S":
            ledger.sent[record] = None
        elif event == "A":
            ledger.acked[record] = int(more[0])
        else:
            ledger.failed[record] = more[0]
    return ledger
