"""A recorded line with any value replaced: refused, or shown like any other."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.errors import ConfigError
from kcli.flows.lag.measure import Measurement, Times
from kcli.flows.lag.recording import _document
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.recording import document_of, read_line, time_in
from kcli.tui import broker_columns, group_columns, head, topic_columns
from kcli.tui.columns import layout
from kcli.tui.facts import Facts
from kcli.tui.standing import rows_of
from tests.unit.flows.monitor.test_recording import whole

OTHERS: tuple[Any, ...] = (None, -5, 7, "x", "\x1b", [], [1], {}, {"x": 1}, 1.5, True, 10**30, float("nan"))


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """To every value inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*at, key)
        yield from paths(one, (*at, key))


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> bytes:
    changed = copy.deepcopy(document)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return json.dumps(changed).encode()


def show(line: bytes) -> None:
    """As the screen does: on a board that has a reading already."""
    reading = read_line(line, "line 2")
    board = Board()
    board.follow("g")
    board.add(whole())
    snapshot = board.add(reading)
    for columns, rows in (
        (group_columns.COLUMNS, rows_of(snapshot)),
        (topic_columns.COLUMNS, snapshot.topics),
        (broker_columns.COLUMNS, snapshot.brokers),
    ):
        shown: Any = layout(columns, 140)  # type: ignore[arg-type]
        for row in rows:
            shown.line(row)
    status = head.Status(reading.sample.at_ms, 1.0, speed=1.0, utc_offset=reading.utc_offset)
    head.title_line(Facts("f", "", replay="f"), status, snapshot, 120)
    head.totals_line(snapshot, 120)
    head.event_lines(snapshot.events, 9, 120, reading.utc_offset)


@pytest.mark.parametrize("kind", ["MonitorReading", "LagSample"])
def test_any_value_is_refused_or_shown(kind: str) -> None:
    one = whole(2)
    measured = Measurement(one.sample, {}, Times(one.times, one.retention, one.notes))
    made = document_of(one) if kind == "MonitorReading" else _document("c", measured)
    document = json.loads(json.dumps(made))
    show(json.dumps(document).encode())
    refused = seen = 0
    for path in paths(document):
        for value in OTHERS:
            seen += 1
            try:
                show(replaced(document, path, value))
            except ConfigError:
                refused += 1
    assert seen > 500
    assert refused > seen / 2


@pytest.mark.parametrize("at_ms", [b"999999999999999", b"-1", b"1.5", b"null"])
def test_a_time_that_no_calendar_has_is_none(at_ms: bytes) -> None:
    assert (
        time_in(b'{"kind":"LagSample","api":"kcli/v1","cluster":"c","at_ms":' + at_ms + b',"groups":[]}')
        is None
    )


def test_a_name_of_a_cluster_cannot_pass_for_the_time() -> None:
    line = {"kind": "LagSample", "api": "kcli/v1", "cluster": 'c","at_ms":5,"', "at_ms": 7, "groups": []}
    assert time_in(json.dumps(line, separators=(",", ":")).encode()) == 7
