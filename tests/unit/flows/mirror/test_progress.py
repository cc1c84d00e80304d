"""What is shown of a mirror of many partitions: sums over all of them, counted anew only where something has moved."""

import io
from collections import Counter

import pytest

from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.job.job import Attempt
from kcli.flows.mirror.progress import MirrorProgress
from kcli.output.progress import Progress
from kcli.output.talk import Talk

MANY = 1_000
LOOKS: Counter[TopicPartition] = Counter()


class Counted(PartitionCopy):
    """A copy that counts who asks for its lag."""

    @property
    def lag(self) -> int | None:
        LOOKS[self.source] += 1
        return super().lag


class Shown:
    """A progress of ``MANY`` partitions whose clock is ahead at each look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.copies = [self.copy(number) for number in range(MANY)]
        self.bar = Progress(Talk(io.StringIO()), "copied", style="none")
        self.progress = MirrorProgress(self.bar, self.copies)
        self._now = 100.0
        monkeypatch.setattr("kcli.flows.mirror.progress.time.monotonic", lambda: self._now)

    def copy(self, number: int, end: int = 10) -> PartitionCopy:
        tp = TopicPartition("t", number)
        made = Counted(tp, TopicPartition("copy", number), OffsetMap(0, 0), position=0)
        made.see_end(end)
        return made

    def look(self) -> tuple[int, int, str]:
        """Records, bytes and lag as they are shown now."""
        self._now += 1.0
        LOOKS.clear()
        self.progress()
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
    assert len(LOOKS) == MANY
    assert shown.look() == (0, 0, "10,000")
    assert not LOOKS


def test_a_look_counts_only_what_has_moved(shown: Shown) -> None:
    shown.look()
    confirm(shown.copies[3], 4)
    shown.copies[5].see_end(15)
    assert shown.look() == (4, 28, "10,001")
    assert {shown.copies[3].source: 1, shown.copies[5].source: 1} == LOOKS


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
    assert len(LOOKS) == 1


def test_the_lag_of_what_is_not_read_is_unknown(shown: Shown) -> None:
    shown.look()
    shown.copies[0].end(KcliError("away"))
    shown.copies[1].see_end(-1)
    assert shown.look() == (0, 0, "9,980 and 2 partitions unknown")


def test_what_earlier_attempts_have_copied_is_counted(shown: Shown) -> None:
    """After a fence there are other copies, which begin at nothing: less than before would be a rate below zero."""
    confirm(shown.copies[0], 4)
    shown.look()
    before = [Attempt(shown.copies[0].source, 0, 4, 28, 0, 0, 0, [])]
    progress = MirrorProgress(shown.bar, [shown.copy(0)], before)
    progress.show(200.0)
    assert (shown.bar.done, shown.bar.bytes) == (4, 28)


def test_a_rate_is_never_below_zero(shown: Shown) -> None:
    shown.look()
    confirm(shown.copies[3], 4)
    shown.look()
    shown.copies[3].rollback()
    shown.look()
    assert "-" not in shown.bar.line(5.0)


def test_the_end_is_shown_though_the_last_look_was_just_now(shown: Shown) -> None:
    shown.look()
    confirm(shown.copies[3], 4)
    shown.progress()
    assert shown.bar.done == 0
    shown.progress.show(0.0)
    assert shown.bar.done == 4
