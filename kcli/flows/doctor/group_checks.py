"""Judges a group: coordinator, state, permissions, lag, and what transactions hold back. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from shlex import quote

from kcli.core.admin.group_description import GroupDescription
from kcli.core.classes import dataclass
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import THERE_ARE
from kcli.core.types import TopicPartition
from kcli.flows.doctor import rights
from kcli.flows.doctor.findings import Finding, failed, failure, skipped, warning, well
from kcli.flows.groups.description import SHARE
from kcli.flows.groups.offsets import Position
from kcli.flows.transactions.held import HANGING, PartitionState
from kcli.output.progress import counted

_SETTLED = ("Stable", "Empty")
_MOST_NAMED = 5
_LOST = ("its consumers apply auto.offset.reset", "it reads on from the first record")
"""What becomes of a group that has lost records; the second is of a share group."""
_BLOCKED = ExitCode.FAILED
"""The exit code of a hanging transaction: readers wait for it in vain."""


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """``held``: the state of partitions that the group reads, where transactions hold readers back.

    ``seconds``: how long the requests about the group took.
    """

    name: str
    description: GroupDescription
    positions: Mapping[TopicPartition, Position] | KcliError
    held: Mapping[TopicPartition, PartitionState]
    seconds: float = 0.0

    @property
    def target(self) -> str:
        """``group billing``."""
        return f"group {self.name}"

    @property
    def is_share(self) -> bool:
        """Whether it has start offsets in the place of committed ones."""
        return self.description.type == SHARE

    @property
    def offsets(self) -> str:
        """What it has."""
        return "start offsets" if self.is_share else "committed offsets"


def state(facts: GroupFacts) -> Iterator[Finding]:
    """Its coordinator responds; its state says whether its members work."""
    found = facts.description
    members = len(found.members)
    text = f"{found.state}, {members} member{'' if members == 1 else 's'}, coordinator broker {found.coordinator}"
    if found.state in _SETTLED:
        yield well(facts.target, "state", text)
    elif found.state == "Dead":
        yield failed(
            facts.target, "state", "the group does not exist", why="its state is Dead",
            do=THERE_ARE, code=ExitCode.FAILED,
        )  # fmt: skip
    else:
        yield warning(
            facts.target,
            "state",
            text,
            why="while a group rebalances, its members read nothing",
            do="check again in a moment; if it lasts, a member joins and leaves over and over: "
            f"`kcli groups describe {quote(facts.name)}`",
        )


def permissions(facts: GroupFacts) -> Iterator[Finding]:
    """What this client may do with it."""
    bits = facts.description.operations
    yield from rights.judge(facts.target, facts.name, "group", bits, rights.GROUP_RIGHTS)


def lag(facts: GroupFacts) -> Iterator[Finding]:
    """How far it is behind, and whether commits are beyond or below its logs."""
    if isinstance(facts.positions, KcliError):
        yield failure(facts.target, "lag", facts.positions)
        return
    rows = facts.positions
    unread = {tp: row.note for tp, row in rows.items() if row.note is not None}
    lost = [
        tp
        for tp, row in rows.items()
        if row.committed is not None and row.log_start is not None and row.committed.offset < row.log_start
    ]
    total = sum(max(0, row.lag) for row in rows.values() if row.lag is not None)
    behind = sum(row.lag is not None and row.lag > 0 for row in rows.values())
    if unread:
        tp, note = next(iter(unread.items()))
        yield warning(
            facts.target, "lag", f"unknown in {len(unread)} of {len(rows)} partitions",
            why=f"{tp}: {note}", do=f"`kcli groups describe {quote(facts.name)}` shows its offsets",
        )  # fmt: skip
    if lost:
        yield warning(
            facts.target,
            "lag",
            f"{facts.offsets} below the start of the log: {_few(lost)}",
            why="records were deleted before the group read them, by retention or by an operator",
            do=f"{_LOST[facts.is_share]} there; retention.ms of the topic may be too short",
        )
    if not rows:
        yield skipped(facts.target, "lag", f"the group has no {facts.offsets}")
    elif not (unread or lost):
        yield well(facts.target, "lag", f"{counted(total, 'record')} in {behind} of {len(rows)} partitions")


def transactions(facts: GroupFacts) -> Iterator[Finding]:
    """Whether readers of committed records wait at the group's position. Share groups mostly read uncommitted records."""
    if isinstance(facts.positions, KcliError) or facts.is_share:
        return
    waiting = {
        tp: state
        for tp, state in facts.held.items()
        if (row := facts.positions.get(tp)) is not None
        and row.committed is not None
        and state.stable is not None
        and row.committed.offset >= state.stable
    }
    if not waiting:
        return
    hanging = [tp for tp, state in waiting.items() if state.holder and state.holder.state == HANGING]
    first = next(iter(hanging or waiting))
    command = f"--topic {first.topic} -p {first.partition}"
    what = f"a transaction holds readers of committed records back: {_few(list(waiting))}"
    why = f"the group has read {first} up to its last stable offset, {waiting[first].stable:,}"
    if hanging:
        yield failed(facts.target, "transactions", what, why=f"{why}; no coordinator ends the transaction",
                     do=f"`kcli txn abort {command}` ends it", code=_BLOCKED)  # fmt: skip
    else:
        yield warning(facts.target, "transactions", what, why=why,
                      do=f"`kcli txn describe {command}` shows when it ends")  # fmt: skip


CHECKS: tuple[Callable[[GroupFacts], Iterator[Finding]], ...] = (state, permissions, lag, transactions)
"""The table, in the order of the report."""


def _few(partitions: list[TopicPartition]) -> str:
    more = f" and {len(partitions) - _MOST_NAMED} more" if len(partitions) > _MOST_NAMED else ""
    return ", ".join(map(str, partitions[:_MOST_NAMED])) + more
