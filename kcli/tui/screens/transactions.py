"""Open transactions, and those that hang."""

from collections.abc import Sequence

from kcli.flows.monitor.cluster_reading import Part, View
from kcli.flows.monitor.snapshot import Snapshot
from kcli.flows.transactions.listed import OpenTransaction
from kcli.output.progress import counted, duration_text
from kcli.tui import figures
from kcli.tui.cells import Cell, Line
from kcli.tui.fitting import Part as Piece
from kcli.tui.fitting import cut
from kcli.tui.look import SIGNS
from kcli.tui.screens.listing import LISTS
from kcli.tui.screens.of_part import OfPart
from kcli.tui.shell import command
from kcli.tui.transaction_columns import COLUMNS, TransactionRow


class Transactions(OfPart[TransactionRow]):
    """One line a transaction, the oldest first."""

    NAME = "transactions"
    ITEM = "TopTransaction"
    COLUMNS = COLUMNS
    SORTED_BY = "AGE"
    NOTHING = "no transaction is open or hanging"
    SUBJECT = "transactions"
    KEYS = (("/", "filter"), ("s", "sort"), ("c", "copy"), *LISTS)

    def key(self, row: TransactionRow) -> str:
        one = row.open
        places = one.partitions if one.hangs else dict.fromkeys(tp.topic for tp in one.partitions)
        return " ".join((one.transactional_id or "", str(one.producer_id), one.state, *map(str, places)))

    def part(self, snapshot: Snapshot) -> Part[Sequence[OpenTransaction]] | None:
        return snapshot.reading.parts.transactions

    def rows_of(self, snapshot: Snapshot, value: Sequence[OpenTransaction]) -> Sequence[TransactionRow]:
        return [TransactionRow(one, snapshot.reading.sample.at_ms) for one in value]

    def figures(self, snapshot: Snapshot, value: Sequence[OpenTransaction]) -> Sequence[Piece]:
        rows = self.rows_of(snapshot, value)
        hanging = sum(one.hangs for one in value)
        overdue = sum(row.overdue for row in rows)
        ages = [row.age for row in rows if row.age is not None]
        part = self.part(snapshot)
        known = figures.at_least(f"{len(value) - hanging:,}", partial=part is not None and bool(part.errors))
        parts = [Piece((Cell(f"{known} open", "title"),))]
        if hanging:
            parts.append(Piece((Cell(f"{SIGNS['bad']} {hanging:,} hanging", "bad"),)))
        if overdue:
            parts.append(Piece((Cell(f"{SIGNS['warn']} {overdue:,} older than the timeout", "warn"),)))
        if ages:
            parts.append(Piece((Cell(f"the oldest is {duration_text(max(ages))} old", "dim"),), 1))
        return parts

    def detail(self, width: int, height: int) -> Sequence[Line]:
        row = self.table.chosen
        if row is None:
            return ()
        one = row.open
        places = [str(tp) for tp in one.partitions]
        shown = places if len(places) <= height - 2 else places[: max(0, height - 3)]
        lines: list[Line] = [
            (Cell(f" {one.transactional_id or f'producer {one.producer_id}'}", "title"),),
            (Cell(f" {_ends(row)}", row.meaning),),
            *((Cell(f"   {place}", "dim"),) for place in shown),
        ]
        if len(shown) < len(places):
            lines.append((Cell(f"   and {counted(len(places) - len(shown), 'more partition')}", "dim"),))
        return [cut(line, width) for line in lines]

    def view(self) -> tuple[View, str | None]:
        return View(transactions=True), None

    def copied(self) -> str | None:
        row = self.table.chosen
        if row is None:
            return None
        one, options = row.open, self.app.facts.options
        if one.transactional_id is not None and not one.hangs:
            return command(("txn", "describe"), (one.transactional_id,), (), options)
        if not one.partitions:
            return command(("txn", "list"), options=options)
        tp = one.partitions[0]
        return command(("txn", "describe"), (), ("--topic", tp.topic, "-p", str(tp.partition)), options)


def _ends(row: TransactionRow) -> str:
    """What ends it."""
    one = row.open
    if one.hangs:
        return "no coordinator ends it: kcli txn abort does"
    if row.meaning == "unread":
        return "what ends it is not known: its coordinator did not respond"
    if row.overdue:
        return f"its coordinator should have aborted it {duration_text((row.age or 0) - one.timeout_ms / 1000)} ago"
    if one.timeout_ms >= 0 and row.age is not None:
        return f"its coordinator aborts it in {duration_text(one.timeout_ms / 1000 - row.age)}, unless it ends before"
    return "its coordinator ends it"
