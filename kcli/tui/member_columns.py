"""The table of a group's members."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple
from kcli.flows.lag import partition_lag as fields
from kcli.flows.lag.summary import Summary
from kcli.output.tables import Field
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, fields_of

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


_lag = attrgetter("lag")

COLUMNS: tuple[Column[MemberRow], ...] = (
    Column(
        "CLIENT", 14, lambda one: Cell(one.member.client_id), lambda one: one.member.client_id, grows=True,
        least=6,
        data=(Field("client_id", of=lambda one: one.member.client_id, meaning="The client id."),),
    ),
    Column(
        "HOST", 16, lambda one: Cell(one.member.host), lambda one: one.member.host, drop=3,
        grows=True,
        data=(
            Field("host", of=lambda one: one.member.host, meaning="Where it runs, as the broker sees it."),
        ),
    ),
    Column(
        "MEMBER ID", 16, lambda one: Cell(one.member.member_id), lambda one: one.member.member_id, drop=4,
        grows=True,
        data=(
            Field(
                "member_id", of=lambda one: one.member.member_id, values="string",
                meaning="Its id in the group.",
            ),
        ),
    ),
    Column(
        "INSTANCE", 10, lambda one: Cell(one.member.instance_id or ""), lambda one: one.member.instance_id,
        drop=5, grows=True,
        data=(
            Field(
                "instance_id", of=lambda one: one.member.instance_id,
                meaning="The group.instance.id of a static member; null where it has none.",
            ),
        ),
    ),
    Column(
        "PARTITIONS", 10, _partitions, lambda one: len(one.member.assignment or ()), drop=1, right=True,
        falling=True,
        data=(
            Field(
                "partitions", "number",
                of=lambda one: None if one.member.assignment is None else len(one.member.assignment),
                meaning="Partitions assigned to it; null where they are unknown.",
            ),
        ),
    ),
    Column(
        "LAG", 11, lambda one: Cell(figures.count(one.lag.lag)), lambda one: one.lag.lag, right=True,
        falling=True, least=6, narrow=lambda one: Cell(figures.short(one.lag.lag)),
        about="the lag of these partitions",
        data=(fields.LAG_RECORDS.within(_lag),),
    ),
    Column(
        "BEHIND", 9, lambda one: Cell(figures.age(one.lag.seconds, one.lag.method)),
        lambda one: one.lag.seconds, drop=2, right=True, falling=True,
        about="age of the first unread record of the worst of them; ≈: estimated",
        data=(fields.LAG_SECONDS.within(_lag), fields.LAG_METHOD.within(_lag)),
    ),
)  # fmt: skip
FIELDS = fields_of(COLUMNS)
