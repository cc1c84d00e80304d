"""The rows of ``docs/from/kafka-scripts.md``: a line of a script, and the line of kcli that does the same. Not a test."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[3] / "docs" / "from" / "kafka-scripts.md"
NOT = "–"
_OPTION = re.compile(r"--?[A-Za-z][-A-Za-z0-9.]*")


class Row(NamedTuple):
    """``kcli`` is empty where kcli has no such thing; ``differs`` says what is different, or why there is nothing."""

    script: str
    words: tuple[str, ...]
    kcli: tuple[str, ...]
    differs: str

    def __str__(self) -> str:
        return shlex.join((self.script, *self.words))


def rows() -> list[Row]:
    """All rows, in their order; a table belongs to the script that its heading names."""
    found: list[Row] = []
    script = ""
    for line in PAGE.read_text().splitlines():
        if not line.startswith("| "):
            continue
        first, kcli, differs = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:4])
        if first.endswith(".sh"):
            script = first.removesuffix(".sh")
        elif first.startswith("`") and script:
            found.append(Row(script, _words(first), () if kcli == NOT else _words(kcli)[1:], differs))
        elif not first.startswith("---"):
            script = ""
    return found


def options(row: Row) -> set[str]:
    """The options in the script's line."""
    return {word for word in row.words if _OPTION.fullmatch(word)}


def _words(cell: str) -> tuple[str, ...]:
    assert cell.count("`") == 2, cell
    return tuple(shlex.split(cell.strip("`").replace("\\|", "|")))
