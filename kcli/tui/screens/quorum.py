"""The metadata quorum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcli.flows.monitor.cluster_reading import Part, View
from kcli.flows.monitor.snapshot import Snapshot
from kcli.flows.quorum.standings import BEHIND, LEADER, OBSERVER, VOTER, Standing, standings
from kcli.output.progress import counted
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.fitting import Part as Piece
from kcli.tui.look import SIGNS
from kcli.tui.quorum_columns import COLUMNS
from kcli.tui.screens.listing import LISTS
from kcli.tui.screens.of_part import OfPart
from kcli.tui.shell import command

if TYPE_CHECKING:
    from kcli.core.admin.quorum import QuorumDescription


class Quorum(OfPart[Standing]):
    """One line a replica of the metadata log: voters and observers."""

    NAME = "quorum"
    ITEM = "TopReplica"
    COLUMNS = COLUMNS
    SORTED_BY = "STATE"
    NOTHING = "the quorum has no replica"
    SUBJECT = "quorum"
    KEYS = (("/", "filter"), ("s", "sort"), ("c", "copy"), *LISTS)

    def key(self, row: Standing) -> str:
        return f"{row.role} {row.node}"

    def part(self, snapshot: Snapshot) -> Part[QuorumDescription] | None:
        return snapshot.reading.parts.quorum

    def rows_of(self, snapshot: Snapshot, value: QuorumDescription) -> Sequence[Standing]:  # noqa: ARG002
        return standings(value)

    def figures(self, snapshot: Snapshot, value: QuorumDescription) -> Sequence[Piece]:  # noqa: ARG002
        found = standings(value)
        behind = [one for one in found if one.state == BEHIND]
        led = any(one.state == LEADER for one in found)
        leader = f"leader {value.leader}" if led else f"{SIGNS['bad']} no leader is elected"
        late = ", ".join(f"{one.role} {one.node}" for one in behind[:3])
        more = f" and {len(behind) - 3} more" if len(behind) > 3 else ""
        voters, observers = (sum(one.role == role for one in found) for role in (VOTER, OBSERVER))
        watermark = figures.offset(value.high_watermark if value.high_watermark >= 0 else None)
        return [
            Piece((Cell(leader, "title" if led else "bad"),)),
            *(
                [Piece((Cell(f"{SIGNS['warn']} {len(behind)} behind: {late}{more}", "warn"),))]
                if behind
                else []
            ),
            Piece((Cell(f"epoch {value.leader_epoch:,}", "dim"),), 1),
            Piece((Cell(f"high watermark {watermark}", "dim"),), 2),
            Piece((Cell(f"{counted(voters, 'voter')}, {counted(observers, 'observer')}", "dim"),), 3),
        ]

    def view(self) -> tuple[View, str | None]:
        return View(quorum=True), None

    def copied(self) -> str | None:
        return command(("quorum", "describe"), options=self.app.facts.options)
