"""Elections of leaders: which partitions need one, who would lead, and whether they lead afterwards."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.clock import monotonic
from kcli.core.cluster.metadata import PartitionView
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition

NOBODY = -1
_VISIBLE_WITHIN = 5.0
"""Seconds in which a new leader has to be visible: brokers receive it from the controller a moment later."""
_PAUSE = 0.05


class NotElectableError(KcliError):
    """No replica of a partition can be elected."""

    exit_code = ExitCode.REFUSED


class NotElectedError(KcliError):
    """A partition is not led by the replica that was elected."""

    exit_code = ExitCode.REFUSED


class Election(NamedTuple):
    """A partition without the leader it should have.

    ``new``: who would lead, NOBODY where ``error`` says why not; ``note`` is the reason in a word.
    """

    tp: TopicPartition
    leader: int
    new: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    note: str = ""
    error: KcliError | None = None


def preferred_elections(
    topics: Iterable[TopicInfo], live: Collection[int], selected: Collection[TopicPartition] | None = None
) -> list[Election]:
    """The partitions whose leader is not their first replica. ``live``: the brokers that are alive."""
    return [
        _preferred(tp, part, live)
        for tp, part in _partitions(topics, selected)
        if part.replicas and part.leader != part.replicas[0]
    ]


def unclean_elections(
    topics: Iterable[TopicInfo], live: Collection[int], selected: Collection[TopicPartition] | None = None
) -> list[Election]:
    """The partitions without a leader; the first replica that is alive would lead, whether in sync or not."""
    return [_unclean(tp, part, live) for tp, part in _partitions(topics, selected) if part.leader < 0]


def read_back(
    admin: Admin, wanted: Mapping[TopicPartition, int], timeout: float
) -> dict[TopicPartition, int]:
    """The leader of each partition; waits a moment until it is the one of ``wanted`` (NOBODY: any)."""
    until = monotonic() + min(_VISIBLE_WITHIN, timeout)
    while True:
        found = _leaders(admin, wanted)
        if all(is_elected(wanted[tp], found[tp]) for tp in wanted) or monotonic() >= until:
            return found
        admin.cluster.sleep(_PAUSE)


def is_elected(wanted: int, leader: int) -> bool:
    """Whether the leader is the one wanted (NOBODY: any)."""
    return leader >= 0 and wanted in (NOBODY, leader)


def _leaders(admin: Admin, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    found = dict.fromkeys(partitions, NOBODY)
    for topic in admin.describe_topics(sorted({tp.topic for tp in partitions})).values():
        if isinstance(topic, KcliError):
            continue
        for part in topic.partitions:
            tp = TopicPartition(topic.name, part.partition)
            if tp in found:
                found[tp] = part.leader
    return found


def _partitions(
    topics: Iterable[TopicInfo], selected: Collection[TopicPartition] | None
) -> list[tuple[TopicPartition, PartitionView]]:
    every = (
        (TopicPartition(topic.name, part.partition), part) for topic in topics for part in topic.partitions
    )
    return sorted((tp, part) for tp, part in every if selected is None or tp in selected)


def _preferred(tp: TopicPartition, part: PartitionView, live: Collection[int]) -> Election:
    preferred = part.replicas[0]
    if preferred in live and preferred in part.isr:
        return Election(tp, part.leader, preferred, part.replicas, part.isr)
    if preferred not in live:
        note, why = "not alive", f"broker {preferred} is not alive"
        do = f"start broker {preferred}, and wait until it is in sync"
    else:
        note, why = "not in sync", f"the replica on broker {preferred} is not in sync"
        do = "wait until it is; `kcli topics describe --under-replicated` shows it"
    if part.leader < 0 and not set(part.replicas) & set(live) & set(part.isr):
        do += "; --unclean elects another replica, and loses records"
    error = NotElectableError(f"{tp} has no preferred leader to be elected", why=why, do=do)
    return Election(tp, part.leader, NOBODY, part.replicas, part.isr, note, error)


def _unclean(tp: TopicPartition, part: PartitionView, live: Collection[int]) -> Election:
    alive = [number for number in part.replicas if number in live]
    in_sync = [number for number in alive if number in part.isr]
    if alive:
        note = "" if in_sync else "not in sync"
        return Election(tp, part.leader, (in_sync or alive)[0], part.replicas, part.isr, note)
    error = NotElectableError(
        f"{tp} has no replica that could lead",
        why="no broker with a replica is alive",
        do="start a broker that has a replica",
    )
    return Election(tp, part.leader, NOBODY, part.replicas, part.isr, "none is alive", error)
