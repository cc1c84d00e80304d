"""What is shown of a mirror of many partitions: sums over all of them, counted anew only where something has moved."""

import io
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.offset_map import OffsetMap
from kcli.flows.mirror.partition_copy import PartitionCopy
from kcli.flows.mirror.progress import MirrorProgress
from kcli.output.progress import Progress
from kcli.output.talk import Talk

MANY = 1_000


class Source:
    """The ends of partitions, as a consumer knows them; ``looks`` counts who has asked for which."""

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, int] = {}
        self.looks: Counter[TopicPartition] = Counter()

    def assigned(self, tp: TopicPartition) -> Any:
        self.looks[tp] += 1
        return SimpleNamespace(last_stable=self.ends[tp]) if tp in self.ends else None


class Shown:
    """A progress of ``MANY`` partitions whose clock is ahead at each look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.source = Source()
        self.copies = [self.copy(number) for number in range(MANY)]
        self.bar = Progress(Talk(io.StringIO()), "copied", style="none")
        self._progress = MirrorProgress(self.bar, self.copies, cast("Consumer", self.source))
        self._now = 100.0
        monkeypatch.setattr("kcli.flows.mirror.progress.time.monotonic", lambda: self._now)

    def copy(self, number: int, end: int = 10) -> PartitionCopy:
        tp = TopicPartition("t", number)
        self.source.ends[tp] = end
        return PartitionCopy(tp, TopicPartition("copy", number), OffsetMap(0, 0), position=0)

    def look(self) -> tuple[int, int, str]:
        """Records, bytes and lag as they are shown now."""
        self._now += 1.0
        self.source.looks.clear()
        self._progress()
        return self.bar.done, self.bar.bytes, self.bar.extra["lag"]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    return Shown(monkeypatch)


def confirm(copy: PartitionCopy, records: int) -> None:
    first = copy.position
    sent = copy.send(range(first, first + records), first + records, 0, 7 * records)
    copy.confirm(sent, range(records), first)


def test_a_look_at_partitions_that_rest_is_no_work(shown: Shown) -> None:
    assert shown.look() == (0, 0, "10,000")
    assert len(shown.source.looks) == MANY
    assert shown.look() == (0, 0, "10,000")
    assert not shown.source.looks


def test_a_look_counts_only_what_has_moved(shown: Shown) -> None:
    shown.look()
    confirm(shown.copies[3], 4)
    tp = shown.copies[5].source
    shown.source.ends[tp] = 15
    shown.copies[5].note_moved()
    assert shown.look() == (4, 28, "10,001")
    assert shown.source.looks == {shown.copies[3].source: 1, tp: 1}


def test_what_is_rolled_back_is_taken_off_again(shown: Shown) -> None:
    shown.look()
    confirm(shown.copies[3], 4)
    shown.look()
    shown.copies[3].rollback()
    assert shown.look() == (0, 0, "10,000")


def test_partitions_that_come_later_are_counted(shown: Shown) -> None:
    shown.look()
    shown.copies.append(shown.copy(MANY, end=5))
    assert shown.look() == (0, 0, "10,005")
    assert len(shown.source.looks) == 1


def test_the_lag_of_what_is_not_read_is_not_counted(shown: Shown) -> None:
    shown.look()
    shown.copies[0].end(KcliError("away"))
    del shown.source.ends[shown.copies[1].source]
    shown.copies[1].note_moved()
    assert shown.look() == (0, 0, "9,980")
