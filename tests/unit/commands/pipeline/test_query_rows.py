"""How the rows of ``kcli pipeline query`` are printed: on a terminal they follow the progress, not on its line."""

import io
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kcli.commands.pipeline.query_rows import clear_the_way, result_rows
from kcli.commands.shared.context import Invocation
from kcli.output.progress import Progress
from kcli.output.stdout import Output
from kcli.output.talk import Talk
from kcli.pipeline.result_values import ResultColumn
from kcli.pipeline.spark.progress import shown_on


@pytest.mark.parametrize("count", [0, 2])
def test_a_result_on_a_terminal_begins_after_the_progress(count: int) -> None:
    screen = io.BytesIO()
    out = Output(screen, kind="table", isatty=True, width=80)
    stderr = io.TextIOWrapper(screen, "utf-8", write_through=True)
    bar = Progress(Talk(stderr, isatty=True), "queried", style="bar", unit="tasks", clock=Clock())
    inv = cast(Invocation, SimpleNamespace(out=out, talk=bar.talk, missing=[]))
    found = Found(count, bar)
    with bar, result_rows(inv, found.columns, None) as rows:
        for portion in found.rows():
            clear_the_way(inv, bar)
            rows.add_portion(portion)
        clear_the_way(inv, bar)
    drawn, _, printed = screen.getvalue().decode().rpartition("\r\x1b[K")
    assert "queried 3 tasks" in drawn
    assert "queried" not in printed
    assert printed.count("\n") == (2 + count if count else 0)


class Clock:
    """A second later each time."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


class Found:
    """A query that has been drawn once before its rows come."""

    columns = (ResultColumn("status", "string"),)

    def __init__(self, count: int, bar: Progress) -> None:
        self._count, self._on_turn = count, shown_on(bar)

    def rows(self) -> Iterator[list[list[str]]]:
        self._on_turn(cast(Any, SimpleNamespace(done=3, tasks=3, active=0, failed=0)))
        if self._count:
            yield [["ok"]] * self._count
