"""What is chosen in the dialog of a rewind, and the lines that show it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kcli.core.classes import NamedTuple, dataclass, replace
from kcli.tui.actions import TO, TO_GROUP, UNDO, Proposal, Result, Trouble, Wish
from kcli.tui.cells import ELLIPSIS, Cell, Line, fitted, width_of, wrapped


class Choice(NamedTuple):
    """A kind of target. ``fixed``: its value; where it is None, a value is typed, as in ``example``."""

    title: str
    by: str
    fixed: str | None
    example: str = ""


CHOICES = (
    Choice("earliest: the start of the log", TO, "earliest"),
    Choice("latest: the end of the log", TO, "latest"),
    Choice("a time, or a duration before now", TO, None, "@-1h, 2026-11-21T10:00Z, 2026-11-21 10:00"),
    Choice("an offset", TO, None, "1200"),
    Choice("back or ahead from the commit", TO, None, "-1000, +500"),
    Choice("what another group has committed", TO_GROUP, None, "the name of the group"),
    Choice("undo: what was before the last rewind", UNDO, ""),
)
TARGET, VALUE, SCOPE, MEMBERS = "target", "value", "scope", "members"
_WAIT = "wait until they have left"
_LIVE = "live: hold them back for some seconds, they continue from there"


class Scope(NamedTuple):
    """``topic`` None: all topics; ``partition`` None: all partitions of the topic."""

    topic: str | None = None
    partition: int | None = None

    def __str__(self) -> str:
        if self.topic is None:
            return "all topics of the group"
        if self.partition is None:
            return f"topic {self.topic}"
        return f"partition {self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class RewindForm:
    """``choice`` and ``scope`` are places in ``CHOICES`` and ``scopes``; ``row`` is the one that keys change."""

    group: str
    scopes: Sequence[Scope] = (Scope(),)
    choice: int = 0
    value: str = ""
    scope: int = 0
    live: bool = False
    row: str = TARGET

    @property
    def chosen(self) -> Choice:
        """The kind of target."""
        return CHOICES[self.choice]

    @property
    def rows(self) -> list[str]:
        """From top to bottom."""
        return [row for row in (TARGET, VALUE, SCOPE, MEMBERS) if row != VALUE or self.chosen.fixed is None]

    @property
    def wish(self) -> Wish:
        """What it says so far."""
        kind, scope = self.chosen, self.scopes[self.scope]
        value = self.value.strip() if kind.fixed is None else kind.fixed
        return Wish(self.group, kind.by, value, scope.topic, scope.partition, self.live)

    @property
    def complete(self) -> bool:
        """Whether a plan can be made of it."""
        return self.chosen.fixed is not None or bool(self.value.strip())

    def to_row(self, step: int) -> RewindForm:
        """The row above or below."""
        rows = self.rows
        return replace(self, row=rows[(rows.index(self.row) + step) % len(rows)])

    def changed(self, step: int) -> RewindForm:
        """The next or previous choice of this row."""
        if self.row == TARGET:
            return replace(self, choice=(self.choice + step) % len(CHOICES), value="")
        if self.row == SCOPE:
            return replace(self, scope=(self.scope + step) % len(self.scopes))
        return replace(self, live=not self.live) if self.row == MEMBERS else self

    def lines(self, width: int) -> list[Line]:
        """The rows without the value, which is typed in a field of its own."""
        shown = {
            TARGET: self.chosen.title,
            VALUE: f"{self.value or '…'}   as in {self.chosen.example}",
            SCOPE: str(self.scopes[self.scope]),
            MEMBERS: _LIVE if self.live else _WAIT,
        }
        return [self._line(row, shown[row], width) for row in self.rows]

    def _line(self, row: str, text: str, width: int) -> Line:
        here = row == self.row
        arrows = here and row != VALUE
        shown = f"◂ {text} ▸" if arrows else f"  {text}"
        return (
            Cell("▶ " if here else "  ", "accent"),
            Cell(fitted(row, 9), "head"),
            Cell(fitted(shown, max(0, width - 11)), "title" if here else ""),
        )


def proposal_lines(proposal: Proposal, width: int, shift: int = 0) -> list[Line]:
    """The plan as the command prints it, and why some of it will not be done. Sentences are broken for this width.

    Its table is not wrapped: ``shift`` columns of it are left out, behind the topic and the partition.
    """
    table, kept = frozenset(proposal.table), _kept(proposal, width)
    lines: list[Line] = []
    for text in _unbroken(proposal.text.split("\n"), table) if proposal.text else ():
        lines += [_shifted(text, width, shift, kept)] if text in table else prose(text, width)
    for remark in proposal.remarks:
        lines += trouble_lines(remark, width, "warn" if proposal.possible else "bad")
    return lines + prose(proposal.caution, width, "warn")


def _unbroken(lines: Sequence[str], table: Collection[str]) -> list[str]:
    """The lines of a plan with each sentence that the command has broken in one."""
    found: list[str] = []
    for line in lines:
        before = found[-1] if found else ""
        goes_on = before and before not in table and not before.startswith(" ") and before[-1] not in ".:"
        if goes_on and line and not line.startswith(" ") and line not in table and len(found) > 1:
            found[-1] = f"{before} {line}"
        else:
            found.append(line)
    return found


def overhang(proposal: Proposal, width: int) -> int:
    """How many columns of the table are not in sight."""
    return max(0, max(map(width_of, proposal.table), default=0) - width)


def _kept(proposal: Proposal, width: int) -> int:
    """Columns of the table that stay in sight: topic and partition, where they leave room for the rest."""
    end = max(0, proposal.table[0].find(" PART ")) + len(" PART ") if proposal.table else 0
    return end if end <= width // 2 else 0


def _shifted(line: str, width: int, shift: int, kept: int) -> Line:
    text = line[:kept] + line[kept + shift :]
    marked = text if not shift else f"{text[:kept]}{ELLIPSIS}{text[kept + 1 :]}"
    return (Cell(fitted(marked, width)),)


def result_lines(result: Result, width: int) -> list[Line]:
    """What was done, and what was not."""
    lines = [line for text in result.verdicts for line in prose(text, width, "title")]
    for trouble in result.troubles:
        lines += trouble_lines(trouble, width, "bad")
    return lines


def trouble_lines(trouble: Trouble, width: int, style: str = "bad") -> list[Line]:
    """What, why and do."""
    lines = prose(trouble.what, width, style)
    lines += prose(f"  why: {trouble.why}", width) if trouble.why else []
    return lines + (prose(f"  do: {trouble.do}", width) if trouble.do else [])


def prose(text: str, width: int, style: str = "") -> list[Line]:
    """Text in rows of this width, each in a line of its own."""
    rows = [row for line in text.split("\n") for row in wrapped(line, width, "    ")] if text else []
    return [(Cell(fitted(row, width), style),) for row in rows]
