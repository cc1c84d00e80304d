"""The mirror jobs that write to the cluster."""

from collections import Counter
from collections.abc import Sequence

from kcli.flows.mirror.job.job_line import JobLine
from kcli.flows.monitor.cluster_reading import Part, View
from kcli.flows.monitor.snapshot import Snapshot
from kcli.output.progress import counted
from kcli.tui import figures
from kcli.tui.cells import Cell, Line, fitted, width_of, wrapped
from kcli.tui.fitting import Part as Piece
from kcli.tui.fitting import cut
from kcli.tui.look import SIGNS
from kcli.tui.mirror_columns import COLUMNS, RANKS, MirrorRow, partition_meaning, state_cell
from kcli.tui.screens.listing import LISTS
from kcli.tui.screens.of_part import OfPart
from kcli.tui.shell import command

_WORDS = {"bad": "wrong", "warn": "attention", "unread": "not known", "ok": "ok"}


class Mirrors(OfPart[MirrorRow]):
    """One line a job; who needs a person is first."""

    NAME = "mirrors"
    ITEM = "TopMirror"
    COLUMNS = COLUMNS
    SORTED_BY = "STATE"
    NOTHING = "no mirror job writes to this cluster"
    SUBJECT = "mirrors"
    KEYS = (("/", "filter"), ("s", "sort"), ("c", "copy"), *LISTS)

    def key(self, row: MirrorRow) -> str:
        return f"{row.line.job} {row.line.servers} {row.line.source} {row.line.state}"

    def part(self, snapshot: Snapshot) -> Part[Sequence[JobLine]] | None:
        return snapshot.reading.parts.mirrors

    def rows_of(self, snapshot: Snapshot, value: Sequence[JobLine]) -> Sequence[MirrorRow]:
        return [MirrorRow(one, snapshot.reading.sample.at_ms) for one in value]

    def figures(self, snapshot: Snapshot, value: Sequence[JobLine]) -> Sequence[Piece]:
        rows = self.rows_of(snapshot, value)
        counts = Counter(row.meaning for row in rows)
        parts = [
            Piece(
                (Cell(f"{SIGNS[one]} {counts[one]:,} {word}", one if one != "ok" else "dim"),),
                2 if one == "ok" else 0,
            )
            for one, word in _WORDS.items()
            if counts[one]
        ]
        lags = [one.lag for one in value if one.lag is not None]
        lag = [Piece((Cell(f"lag {figures.short(sum(lags))}", "title"),), 3)] if lags else []
        first = min(rows, key=lambda row: RANKS[row.meaning], default=None)
        why = (
            [Piece((Cell(f"{first.line.job}: {first.line.why}", first.meaning),), 1)]
            if first and first.line.why
            else []
        )
        return [Piece((Cell(counted(len(value), "job"), "title"),)), *parts, *lag, *why]

    def detail(self, width: int, height: int) -> Sequence[Line]:
        row = self.table.chosen
        if row is None:
            return ()
        one = row.line
        why = wrapped(one.why, width - 2)[:3] if one.why else []
        process = f", process {one.pid}" if one.pid else ""
        lines: list[Line] = [
            (
                Cell(f" {one.job}", "title"),
                Cell(f"   {one.servers or one.source} → {one.target}", "dim"),
            ),
            (Cell(f" {one.delivery}{process}", "dim"),),
            *((Cell(f" {text}", row.meaning),) for text in why),
        ]
        shown = [
            (f"{place.topic}-{place.partition}", place)
            for place in one.worst[: max(0, height - len(lines) - 1)]
        ]
        widest = min(32, max(12, width // 3), max((width_of(name) for name, _ in shown), default=0))
        for name, place in shown:
            cell = state_cell(place.state, partition_meaning(place.state, one.state))
            lag = f"{figures.count(place.lag):>11}"
            reason = "" if place.why == one.why else place.why
            lines.append(
                (
                    Cell(f"   {fitted(name, widest)}  "),
                    cell._replace(text=f"{cell.text:<12}"),
                    Cell(f"{lag}  {reason}", "dim"),
                )
            )
        if one.partitions > len(one.worst):
            lines.append(
                (Cell(f"   and {counted(one.partitions - len(one.worst), 'more partition')}", "dim"),)
            )
        return [cut(line, width) for line in lines]

    def view(self) -> tuple[View, str | None]:
        return View(mirrors=True), None

    def copied(self) -> str | None:
        row, options = self.table.chosen, self.app.facts.options
        if row is None or len(options) < 2:
            return None
        return command(("mirror", "status"), (), ("--to", options[1], "--job", row.line.job))
