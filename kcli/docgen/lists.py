"""The kinds of lists, and what their items have: a new list needs a row here.

Columns are named by module (below ``kcli``) and name; they are imported when they are needed.
"""

from typing import NamedTuple


class Items(NamedTuple):
    """Items of a list. ``columns``: ``MODULE:NAME``, or several names with ``+``; empty where the schema is a file."""

    kind: str
    meaning: str = ""
    columns: str = ""


class Listed(NamedTuple):
    """A list of such items. ``printed_by``: commands, with commas between them. ``head``: columns that are keys of the
    document itself.
    """

    kind: str
    meaning: str
    printed_by: str
    items: tuple[Items, ...]
    head: str = ""


def _list(meaning: str, printed_by: str, item: str, of_item: str, columns: str, head: str = "") -> Listed:
    return Listed(f"{item}List", meaning, printed_by, (Items(item, of_item, columns),), head)


LISTS = {
    made.kind: made
    for made in (
        _list("Topics.", "topics list", "Topic", "A topic.", "commands.topics._rows:LIST+SIZES"),
        _list(
            "Descriptions of topics.",
            "topics describe",
            "TopicDescription",
            "A topic with its partitions.",
            "commands.topics._rows:DESCRIPTION",
        ),
        _list(
            "Offsets of topics: their ends, or with --time those of a time.",
            "topics offsets",
            "TopicOffset",
            "A partition.",
            "commands.topics._rows:ENDS+TIMES",
        ),
    )
}
