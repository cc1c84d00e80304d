"""Prints the rows of ``kcli groups lag``: one list, or with --watch one list for each sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from itertools import chain
from typing import Any

from kcli.commands.groups._lag_rows import KINDS, WATCHED, columns
from kcli.commands.shared.context import Invocation
from kcli.output.blocks import Block
from kcli.output.listing import list_rows
from kcli.output.tables import Rows, Screen, time_text

_HOME_AND_CLEAR = "\x1b[H\x1b[J"
_OTHER_LINES = 2
"""One has the time, one the cursor."""
_MORE = "--only-lagging, --topic or -o tsv show fewer or all"


class LagOutput(ExitStack):
    """A context manager: an open document is completed whatever ends the watch. ``at_ms``: of a recorded sample."""

    def __init__(
        self, inv: Invocation, by: str, cluster: str | None, *, watched: bool, at_ms: int | None = None
    ) -> None:
        super().__init__()
        self._inv, self._out, self._cluster, self._watched = inv, inv.out, cluster, watched
        self._kind = KINDS[by]
        self._head = {} if at_ms is None else {"at": time_text(at_ms)}
        self._columns = columns(by, watched=watched)
        self._open: Rows | None = None

    @property
    def empty(self) -> bool:
        """Whether a list without rows was printed."""
        return self._open is not None and not self._open.count

    def show_sample(self, at_ms: int, groups: Iterable[Iterable[Mapping[str, Any]]]) -> None:
        """Prints a sample: the rows of each group."""
        form = self._out.list_kind()
        if form == "openmetrics":
            from kcli.commands.groups._openmetrics import openmetrics  # only with -o openmetrics

            lines = openmetrics(chain.from_iterable(groups), len(self._inv.missing))
            for text in ("".join(lines),) if self._watched else lines:  # a signal cuts no exposition in two
                self._out.shown(text)
        elif self._watched and form in ("table", "wide", "plain"):
            self._show_table(at_ms, groups)
        else:
            if self._open is None:
                self._open = self.enter_context(self._rows())
            for rows in groups:
                if isinstance(rows, Block) and not self._watched:
                    self._open.add_block(rows)
                    continue
                for row in rows:
                    self._open.add({**row, "at": time_text(at_ms)} if self._watched else row)
        self._out.flush()

    def _show_table(self, at_ms: int, groups: Iterable[Iterable[Mapping[str, Any]]]) -> None:
        """For people: on a terminal instead of the previous sample, and not higher than the screen; else below it."""
        self._out.text(_HOME_AND_CLEAR if self._out.isatty else "")
        self._out.text(f"{time_text(at_ms)}\n")
        height = self._out.height
        with self._rows(None if height is None else Screen(max(1, height - _OTHER_LINES), _MORE)) as printed:
            for row in chain.from_iterable(groups):
                printed.add(row)
        self._out.text("" if self._out.isatty else "\n")

    def _rows(self, screen: Screen | None = None) -> Rows:
        at = WATCHED if self._watched and self._out.list_kind() in ("tsv", "csv") else ()
        printed = list_rows(
            self._out,
            "GroupLagList",
            self._kind,
            (*at, *self._columns),
            cluster=self._cluster,
            warnings=self._inv.talk.warnings,
            missing=self._inv.missing,
            screen=screen,
            head=self._head,
        )
        printed.endless = self._watched
        return printed
