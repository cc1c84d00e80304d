"""The screen with readings made here, without a cluster, in a process of its own. Not a test.

``python -m tests.tui.screen_process plain|hostile|CRASH``; CRASH is where a defect shows (``CRASHES``).
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

from kcli.__main__ import flush_stderr
from kcli.commands.shared.exit import report_error
from kcli.core.errors import KcliError
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.cluster_reading import View
from kcli.tui.app import TopApp
from kcli.tui.facts import Facts
from kcli.tui.feed import LiveFeed
from kcli.tui.reports import Broken, Lost, Report, Taken
from kcli.tui.run import run_screen
from kcli.tui.screens.listing import Listing
from kcli.tui.widgets.table import Table
from tests.tui.hostile_text import reading_of, strings, with_other_states
from tests.unit.flows.monitor.readings import P0, P1, group, reading

SECRET = "canary-5f1c"
GROUPS = 40


class Made(LiveFeed):
    """Posts what it is given, at once and every second."""

    def __init__(self, snapshots: Any, last: Report | None = None) -> None:
        super().__init__(lambda: None, 1.0)  # type: ignore[arg-type, return-value]
        self._snapshots, self._last = snapshots, last

    def look(self, view: View, follow: str | None) -> None:
        pass

    def _run(self) -> None:
        try:
            board = Board()
            for one in self._snapshots:
                self._send(Taken(board.add(one)))
                if self._last is not None:
                    self._send(self._last)
                with self._changed:
                    self._changed.wait(0.2)
                if self._closed:
                    return
        except Exception as error:  # noqa: BLE001 - as LiveFeed does
            self._send(Broken(error))


def plain() -> Made:
    """Groups that read."""
    return Made(
        reading(
            second,
            *(group(f"group-{n}", {P0: 90 + second, P1: n}, "a", "b") for n in range(GROUPS)),
            ends={P0: 1_000 + second, P1: 500},
        )
        for second in itertools.count()
    )


def hostile() -> tuple[Made, Facts]:
    """Every field has something in it that no terminal should get."""
    texts = itertools.cycle(strings(1_000))
    first = reading_of(0, texts, GROUPS)
    lost = Lost(KcliError(next(texts), why=next(texts)), at_ms=0)
    more = (with_other_states(first, 2 * second, texts) for second in itertools.count(1))
    facts = Facts("\x1b]52;c;Zm9v\x07[red]prod\u202e", "\x9b31m[/]", color="red", groups=(next(texts),))
    return Made(itertools.chain((first,), more), lost), facts


def _boom(*_args: object) -> None:
    password = SECRET  # noqa: F841 - a local value
    raise ValueError(f"boom {SECRET} \x1b[31m")


def _at(owner: type, name: str, turn: int) -> Callable[[], None]:
    def install() -> None:
        old, turns = getattr(owner, name), itertools.count(1)

        def instead(self: Any, *args: Any, **options: Any) -> Any:
            if next(turns) >= turn:
                _boom()
            return old(self, *args, **options)

        setattr(owner, name, instead)

    return install


CRASHES = {
    "widget": _at(Table, "render_line", 60),
    "handler": _at(TopApp, "on_reported", 2),
    "feed": _at(Board, "add", 2),
    "compose": _at(Listing, "compose", 1),
    "end": _at(TopApp, "on_unmount", 1),
}


def main(what: str) -> int:
    """The exit status."""
    CRASHES.get(what, lambda: None)()
    feed, facts = hostile() if what == "hostile" else (plain(), Facts("made", "made-up"))
    app = TopApp(feed, facts)
    if what == "end":
        app.call_later(app.exit)
    try:
        code = run_screen(app, [SECRET])
    except Exception as error:  # noqa: BLE001 - as kcli's main does
        code = report_error(error, None)
    flush_stderr()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
