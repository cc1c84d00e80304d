"""What ``kcli groups rewind --journal`` says of rewinds that were undone."""

from kcli.commands.groups.rewind.journal import journal_row, undone_partitions
from kcli.flows.rewind.journal import KIND, Journal, Row


def made(name: str, at: int, partitions: int = 2, undoes: str | None = None) -> Journal:
    rows = tuple(Row("orders", number, 10, "", -1, 5) for number in range(partitions))
    return Journal(KIND, name, at, "c", "billing", "earliest", rows, undoes)


def statuses(*journals: Journal) -> dict[str, str | None]:
    undone = undone_partitions(journals)
    return {one.id: journal_row(one, undone.get(one.id, ()))["status"] for one in journals}


def test_a_rewind_that_was_undone_says_so_until_the_undo_is_undone() -> None:
    first, undo, redo = made("a", 1), made("b", 2, undoes="a"), made("c", 3, undoes="b")
    assert statuses(first) == {"a": None}
    assert statuses(first, undo) == {"a": "undone", "b": None}
    assert statuses(first, undo, redo) == {"a": None, "b": "undone", "c": None}


def test_an_undo_of_some_partitions_leaves_the_others() -> None:
    assert statuses(made("a", 1, 3), made("b", 2, 1, undoes="a"))["a"] == "undone, but for 2 partitions"
