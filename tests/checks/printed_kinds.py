"""The kinds of JSON that kcli prints, with their columns, as its sources say. Not a test."""

import ast
import importlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.checks.source_calls import places

# The positions of kind, item and columns among the arguments.
PRINTERS = {
    "list_rows": (1, 2, 3),
    "print_rows": (1, None, 2),
    "print_report": (1, None, 2),
    "show_plan_only": (None, None, 2),
}


class Printed(NamedTuple):
    """``columns`` are keys; a document and its items."""

    where: str
    document: str
    item: str
    columns: frozenset[str]


ELSEWHERE: dict[str, str] = {
    # place: expressions in the names of its module, (document, item, columns) each
}
