"""A recording in the place of a cluster: what the screen of ``kcli top`` shows is real, but for what it acts on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.monitor.cluster_reading import Reading, View
from kcli.flows.monitor.playback import Player, Recording
from kcli.flows.rewind import text
from kcli.flows.rewind.judge import HELD
from kcli.flows.rewind.outcomes import GroupReport, PartitionOutcome
from kcli.flows.rewind.plan import GroupPlan, RewindItem, RewindPlan, plan_item
from kcli.flows.rewind.targets import PartitionState, Target
from kcli.output.progress import counted
from kcli.tui.actions import UNDO, Proposal, Result, Trouble, Voice, Wish
from kcli.tui.feed import Post
from kcli.tui.reports import Taken

_SEEN_AFTER_MS = 700
"""How old a reading is when it is shown."""


class PlayedFeed:
    """Posts the reading that ``show`` names. ``played`` is what has been posted last, and for which group."""

    paused, waiting, speed, note = False, 0.0, None, ""

    def __init__(self, recording: Recording) -> None:
        self.recording, self.number = recording, 0
        times = recording.times
        self.interval = (times[1] - times[0]) / 1000
        self._player = Player(recording)
        self._post: Post = lambda _report: None

    @property
    def reading(self) -> Reading:
        """The one that is shown."""
        found = self.recording.at(self.number)
        assert found is not None
        return found

    def clock(self) -> int:
        return self.recording.times[self.number] + _SEEN_AFTER_MS

    def start(self, post: Post) -> None:
        self._post = post
        self.show(self.number)

    def show(self, number: int) -> None:
        """A reading, with what the ones before it tell."""
        self.number = number
        if (snapshot := self._player.snapshot(number)) is not None:
            self._post(Taken(snapshot))

    def look(self, view: View, follow: str | None) -> None:  # noqa: ARG002 - a recording has what it has
        if follow is not None and follow != self._player.follow:
            self._player.follow = follow
            self.show(self.number)

    def pace(self, step: int) -> None:
        """A recording has its own times."""

    def pause(self, *, paused: bool) -> None:
        """It goes on when ``show`` is called."""

    def now(self) -> None:
        """It goes on when ``show`` is called."""

    def exclude(self, group: str, since_ms: int, until_ms: int) -> None:
        """The recording knows when its offsets were set."""

    def close(self) -> None:
        """The recording is closed by who opened it."""


class Where(NamedTuple):
    """The cluster, as plans name it."""

    name: str
    details: str = ""


class PlayedActions:
    """Rewinds of what the feed shows: planned as on a cluster, and said to be done.

    ``wait`` is called before a rewind is said to be done.
    """

    timeout = 30.0

    def __init__(self, feed: PlayedFeed, name: str, wait: Callable[[], None]) -> None:
        self._feed, self._where, self._wait = feed, Where(name), wait

    def open_admin(self) -> Any:
        raise NotImplementedError

    def open_consumer(self) -> Any:
        raise NotImplementedError

    def trouble(self, error: BaseException) -> Trouble:
        raise error

    @contextmanager
    def rewinding(self, voice: Voice) -> Iterator[PlayedRewinding]:
        """One after the other."""
        yield PlayedRewinding(self._feed, self._where, voice, self._wait)


class PlayedRewinding:
    """Moves of one partition from its commit, of a group with members: what the incident needs."""

    def __init__(self, feed: PlayedFeed, where: Where, voice: Voice, wait: Callable[[], None]) -> None:
        self._feed, self._where, self._voice, self._wait = feed, where, voice, wait
        self._plan: GroupPlan | None = None

    def propose(self, wish: Wish, *, wait: bool = False) -> Proposal:  # noqa: ARG002 - nobody is waited for
        assert wish.topic is not None
        assert wish.partition is not None
        tp, offsets = TopicPartition(wish.topic, wish.partition), int(wish.value)
        side = "back" if offsets < 0 else "ahead"
        to = f"{counted(abs(offsets), 'offset')} {side} from the commit"
        group = _group_plan(self._feed.reading, wish, to, _item(self._feed.reading, wish.group, tp, offsets))
        self._plan = group
        plan = RewindPlan("", (group,))
        table = tuple(text.table_lines(group.items))
        return Proposal(wish, text.plan_text(plan, self._where), table=table)

    def execute(self) -> Result:
        plan = self._plan
        assert plan is not None
        self._voice.note(
            f"offsets of group {plan.group} set and read back,"
            f" {len(plan.members)} of {len(plan.members)} members are back; watching their commits …"
        )
        self._wait()
        report = GroupReport(plan, tuple(PartitionOutcome(one, HELD) for one in plan.items), kept=True)
        event = f"from here to {plan.to}: {report.done} of {len(plan.items)} partitions known to be held"
        return Result((text.done_text(report),), (), Wish(plan.group, UNDO, plan.id, live=True), event)


def _item(reading: Reading, group: str, tp: TopicPartition, offsets: int) -> RewindItem:
    [sample] = (one for one in reading.sample.groups if one.group == group)
    committed, log = sample.committed[tp], reading.sample.bounds[tp]
    assert isinstance(committed, OffsetAndMetadata)
    assert log.end is not None
    seen = PartitionState(committed, OffsetInfo(0, -1), OffsetInfo(log.end, -1))
    return plan_item(tp, Target("shift", offsets), seen)


def _group_plan(reading: Reading, wish: Wish, to: str, item: RewindItem) -> GroupPlan:
    [sample] = (one for one in reading.sample.groups if one.group == wish.group)
    description = sample.description
    assert description is not None
    topics = {tp.topic for tp in sample.committed}
    return GroupPlan(
        wish.group,
        "20261123-020425-3fa9c1",
        to,
        description.state,
        (item,),
        tuple(description.members),
        untouched=len(topics) - 1,
        counts_offsets=True,
        live=wish.live,
    )
