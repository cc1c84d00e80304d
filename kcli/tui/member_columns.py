"""The table of a group's members."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kcli.flows.lag.summary import Summary
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column

if TYPE_CHECKING:
    from kcli.core.admin.group_description import MemberDescription


class MemberRow(NamedTuple):
    """A member, and the lag of its partitions."""

    member: MemberDescription
    lag: Summary


def _partitions(row: MemberRow) -> Cell:
    assignment = row.member.assignment
    if assignment is None:
        return Cell(figures.UNKNOWN, "dim")
    return Cell(str(len(assignment)), "" if assignment else "warn")


COLUMNS: tuple[Column[MemberRow], ...] = (
    Column(
        "CLIENT", 14, lambda one: Cell(one.member.client_id), lambda one: one.member.client_id, grows=True,
        least=6,
        about="the client id",
        data={"client_id": lambda one: one.member.client_id},
    ),
    Column(
        "HOST", 16, lambda one: Cell(one.member.host), lambda one: one.member.host, drop=3,
        grows=True,
        about="where it runs, as the broker sees it",
        data={"host": lambda one: one.member.host},
    ),
    Column(
        "MEMBER ID", 16, lambda one: Cell(one.member.member_id), lambda one: one.member.member_id, drop=4,
        grows=True,
        about="its id in the group",
        data={"member_id": lambda one: one.member.member_id},
    ),
    Column(
        "INSTANCE", 10, lambda one: Cell(one.member.instance_id or ""), lambda one: one.member.instance_id,
        drop=5, grows=True,
        about="the group.instance.id of a static member",
        data={"instance_id": lambda one: one.member.instance_id},
    ),
    Column(
        "PARTITIONS", 10, _partitions, lambda one: len(one.member.assignment or ()), drop=1, right=True,
        falling=True,
        about="partitions assigned to it",
        data={"partitions": lambda one: None if one.member.assignment is None else len(one.member.assignment)},
    ),
    Column(
        "LAG", 11, lambda one: Cell(figures.count(one.lag.lag)), lambda one: one.lag.lag, right=True,
        falling=True, least=6, narrow=lambda one: Cell(figures.short(one.lag.lag)),
        about="the lag of these partitions",
        data={"lag_records": lambda one: one.lag.lag},
    ),
    Column(
        "TIME", 9, lambda one: Cell(figures.age(one.lag.seconds, one.lag.method)),
        lambda one: one.lag.seconds, drop=2, right=True, falling=True,
        about="age of the first unread record of the worst of them; ≈: estimated",
        data={"lag_seconds": lambda one: figures.rounded(one.lag.seconds), "lag_method": lambda one: one.lag.method},
    ),
)  # fmt: skip
