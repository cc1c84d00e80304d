"""A member of a group in a process of its own: ``python -m tests.chaos.group_member JSON``. Not a test.

Every event is a line of JSON, written at once, so that a SIGKILL loses none: ``membership.py`` reads and judges them.
SIGTERM makes it leave. Times are of the monotonic clock, which all processes of a machine share.
"""

import faulthandler
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kcli.core import Consumer, TopicPartition
from kcli.core.errors import CommitFailedError, KcliError
from kcli.core.hooks import Hooks
from kcli.core.types import Record
from tests.chaos.payload import decode

POLL = 0.5  # seconds
_COMMIT_PATIENCE = 5.0


@dataclass(slots=True)
class Teller:
    """Appends events to the log; one write each."""

    file: int

    def __call__(self, event: str, **more: Any) -> None:
        line = json.dumps({"event": event, "at": time.monotonic(), **more})
        os.write(self.file, line.encode() + b"\n")


class Member:
    """Reads until it is told to leave. ``by_hand``: commits after each poll and before it gives partitions up."""

    def __init__(self, tell: Teller, topic: str, *, by_hand: bool, options: dict[str, Any]) -> None:
        self._tell = tell
        self._by_hand = by_hand
        self._inside = 0.0  # seconds of this poll that callbacks took
        self._leaving = False
        hooks = Hooks(log=self._said)
        self._consumer = Consumer(hooks=hooks, enable_auto_commit=not by_hand, **options)
        self._consumer.subscribe(
            topic, on_assigned=self._assigned, on_revoked=self._revoked, on_lost=self._lost
        )

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._leave)
        self._tell("started")
        slowest = 0.0
        while not self._leaving:
            self._inside, before = 0.0, time.monotonic()
            records = list(self._consumer.records(POLL))
            slowest = max(slowest, time.monotonic() - before - self._inside)
            for run in runs(records):
                self._tell("read", **run)
            if self._by_hand and records:
                self._commit()
        self._tell("leaving", slowest=slowest)
        self._consumer.close(_COMMIT_PATIENCE)
        self._tell("left")

    def _leave(self, *_args: object) -> None:
        self._leaving = True
        self._consumer.wakeup()

    def _said(self, level: str, _area: str, text: str) -> None:
        if level in ("warning", "info"):
            self._tell("said", level=level, text=text)

    def _assigned(self, added: list[TopicPartition]) -> None:
        owned = sorted(tp.partition for tp in self._consumer.assignment)
        self._tell("assigned", generation=self._generation, places=numbers(added), owned=owned)

    def _revoked(self, gone: list[TopicPartition]) -> None:
        before = time.monotonic()
        if self._by_hand:
            self._commit(*gone)
        self._inside += time.monotonic() - before
        self._tell("revoked", generation=self._generation, places=numbers(gone))

    def _lost(self, gone: list[TopicPartition]) -> None:
        self._tell("lost", places=numbers(gone))

    def _commit(self, *partitions: TopicPartition) -> None:
        try:
            self._consumer.commit(*partitions, timeout=_COMMIT_PATIENCE)
        except (CommitFailedError, KcliError, TimeoutError) as error:
            self._tell("refused", text=str(error))

    @property
    def _generation(self) -> int:
        return self._consumer.group_metadata.generation_id


def numbers(partitions: Iterable[TopicPartition]) -> list[int]:
    return sorted(tp.partition for tp in partitions)


def runs(records: Iterable[Record]) -> list[dict[str, int]]:
    """What was read, as stretches of a partition without a gap; an offset that is not its number is reported as bad."""
    found: list[dict[str, int]] = []
    for record in records:
        payload = decode(record.value or b"")
        good = payload is not None and payload.id.sequence == record.offset
        good = good and payload is not None and payload.id.partition == record.partition
        last = found[-1] if found else None
        if last and last["partition"] == record.partition and last["to"] == record.offset:
            last["to"] += 1
            last["bad"] += not good
        else:
            found.append(
                {
                    "partition": record.partition,
                    "first": record.offset,
                    "to": record.offset + 1,
                    "bad": int(not good),
                }
            )
    return found


def main(wishes: dict[str, Any]) -> int:
    faulthandler.register(signal.SIGUSR1)
    tell = Teller(os.open(wishes["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
    try:
        Member(tell, wishes["topic"], by_hand=wishes["by_hand"], options=wishes["options"]).run()
    except BaseException:  # noqa: BLE001 - told, and the harness looks at the exit status
        tell("failed", text=traceback.format_exc())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
