"""Lines of the screen on terminals of any width."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from kcli.core.errors import NoLeaderError
from kcli.flows.cluster_state import BrokerState
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.snapshot import BrokerLine, Event, Snapshot
from kcli.tui import (
    broker_columns,
    event_columns,
    figures,
    group_columns,
    member_columns,
    partition_columns,
    topic_columns,
)
from kcli.tui.cells import Cell, Line, width_of
from kcli.tui.columns import Column, layout
from kcli.tui.event_columns import EventRow
from kcli.tui.facts import Facts
from kcli.tui.fitting import Part, fitting, line_width, spread
from kcli.tui.group_columns import course_of
from kcli.tui.head import (
    Status,
    event_lines,
    events_rule,
    keys_line,
    summary_lines,
    tabs_line,
    title_line,
    totals_line,
)
from kcli.tui.member_columns import MemberRow
from kcli.tui.partition_columns import PartitionRow
from kcli.tui.screens.listing import LISTS
from kcli.tui.screens.of_group import course_lines, lag_line
from kcli.tui.standing import GroupRow, rows_of
from kcli.tui.timeline import Moment, time_at, timeline, track
from tests.tui.made_up import BEGIN, readings

WIDTHS = range(20, 201)


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    board = Board()
    board.follow("billing")
    for reading in readings():
        last = board.add(reading)
    return last


def text_of(line: Line) -> str:
    return "".join(cell.text for cell in line)


def tables(snapshot: Snapshot) -> list[tuple[Sequence[Column[Any]], Sequence[Any]]]:
    member = snapshot.reading.sample.groups[0].description
    assert member is not None
    return [
        (group_columns.COLUMNS, rows_of(snapshot)),
        (topic_columns.COLUMNS, snapshot.topics),
        (broker_columns.COLUMNS, snapshot.brokers),
        (event_columns.COLUMNS, [EventRow(event, 3600) for event in snapshot.events]),
        (partition_columns.COLUMNS, [PartitionRow(row, (1, 2)) for row in snapshot.rows["billing"]]),
        (member_columns.COLUMNS, [MemberRow(one, snapshot.groups[0].summary) for one in member.members]),
    ]


def test_the_lines_of_all_tables_fit_at_every_width(snapshot: Snapshot) -> None:
    for columns, rows in tables(snapshot):
        assert rows
        for width in WIDTHS:
            fitting_layout = layout(columns, width)
            for line in (
                fitting_layout.head(columns[0].title, falling=True),
                *map(fitting_layout.line, rows),
            ):
                assert line_width(line) <= width
            assert all(fitting_layout.widths)
            assert all(column in fitting_layout.columns for column in columns if not column.drop)


def test_the_columns_drop_in_one_order() -> None:
    for columns in (
        group_columns.COLUMNS,
        topic_columns.COLUMNS,
        broker_columns.COLUMNS,
        partition_columns.COLUMNS,
    ):
        before = {column.title for column in columns}
        drops = [column.drop for column in columns if column.drop]
        assert len(set(drops)) == len(drops)
        for width in reversed(WIDTHS):
            now = {column.title for column in layout(columns, width).columns}
            assert now <= before
            before = now


def test_verdict_group_and_lag_stay(snapshot: Snapshot) -> None:
    for width in WIDTHS:
        found = layout(group_columns.COLUMNS, width)
        assert {"VERDICT", "GROUP", "LAG"} <= {column.title for column in found.columns}
        line = text_of(found.line(rows_of(snapshot)[1]))
        lag = snapshot.groups[1].summary.lag
        assert figures.count(lag) in line or figures.short(lag) in line
        assert "▲ slow" in line


def test_a_narrow_lag_is_short_and_not_cut(snapshot: Snapshot) -> None:
    line = snapshot.groups[1]._replace(summary=snapshot.groups[1].summary._replace(lag=9_876_543))
    for width in WIDTHS:
        text = text_of(layout(group_columns.COLUMNS, width).line(GroupRow(line, 1)))
        assert "9,876,543" in text or "9.88 M" in text


@pytest.mark.parametrize("lost", [None, (BEGIN, "kafka-1.example:9092 does not respond")])
@pytest.mark.parametrize("replay", [None, "file.ndjson"])
def test_head_and_foot_fit_at_every_width(
    snapshot: Snapshot, lost: tuple[int, str] | None, replay: str | None
) -> None:
    facts = Facts("production-\x1b[31m-名前", "Qx3vKm1TRn", "red", "--read-only is given", replay=replay)
    status = Status(
        BEGIN, 2.0, lost=lost, requests=12.5, speed=2.0 if replay else None, note="2 lines skipped"
    )
    for width in (*range(1, 100), 120, 200):
        for one in (None, snapshot):
            lines = [title_line(facts, status, one, width), totals_line(one, width), events_rule(width)]
            lines += [tabs_line("groups", {"events": 12}, width)]
            lines += [keys_line(LISTS, status, width)]
            lines += event_lines([Event(BEGIN, "joined", "g\x1b", "名前" * 40)], 2, width)
            lines += [timeline(Moment(BEGIN, BEGIN + 9_000, BEGIN + 5_000), width, playing=True, busy=False)]
            for line in lines:
                assert line_width(line) <= width
                assert "\x1b" not in text_of(line)


def test_the_title_keeps_what_matters_most(snapshot: Snapshot) -> None:
    facts = Facts("prod", "Qx3vKm1TRn", "red", "--read-only is given")
    status = Status(BEGIN, 2.0)
    for width in range(24, 201):
        text = text_of(title_line(facts, status, snapshot, width))
        assert "prod" in text
        assert "READ ONLY" in text
    assert text_of(title_line(facts, status, snapshot, 120)).startswith(
        " kcli top  prod  · 3 brokers · 4 groups "
    )


def test_the_light_is_not_green_while_something_is_missing(snapshot: Snapshot) -> None:
    """A part that was not read, or a broker that is down, whatever list is shown."""
    facts, status = Facts("prod", "Qx3vKm1TRn"), Status(BEGIN, 2.0)
    part = NoLeaderError("groups of 2 of 4 partitions of __consumer_offsets are not listed", why="no leader")
    sample = snapshot.reading.sample._replace(partial=(part,))
    lacking = replace(snapshot, reading=replace(snapshot.reading, sample=sample))
    down = BrokerLine(BrokerState(4, None, "fenced", 0, 0, 0), False, False, None)
    for one, said in (
        (lacking, "groups of 2 of 4 partitions of __consumer_offsets are not listed: no leader"),
        (replace(snapshot, brokers=[*snapshot.brokers, down]), "broker 4: it is down"),
    ):
        assert "▲ incomplete" in text_of(title_line(facts, status, one, 160))
        assert said in text_of(summary_lines(one, 200)[1])
    assert "● complete" in text_of(title_line(facts, status, snapshot, 160))
    assert len(summary_lines(snapshot, 200)) == 1


def test_the_title_is_in_the_profiles_colour(snapshot: Snapshot) -> None:
    line = title_line(Facts("prod", "", "red"), Status(BEGIN, 2.0), snapshot, 100)
    assert {cell.style for cell in line if cell.text.strip() in ("kcli top", "prod")} == {"on red"}


def test_totals_show_counts_lag_and_rates_where_there_is_room(snapshot: Snapshot) -> None:
    line = text_of(totals_line(snapshot, 120))
    assert line.startswith(" ✖ 1 wrong   ▲ 2 attention   ● 1 ok   ")
    assert width_of(line) == 120
    assert "in 2." in line
    assert " lag 44." in line
    narrow = text_of(totals_line(snapshot, 44))
    assert "lag" in narrow
    assert "✖ 1 wrong" in narrow


def test_the_lag_of_all_groups_is_at_least_so_much_where_some_are_not_read(snapshot: Snapshot) -> None:
    failed = {"away": NoLeaderError("group away is not read", why="no leader")}
    sample = snapshot.reading.sample._replace(failed=failed)
    lacking = replace(snapshot, reading=replace(snapshot.reading, sample=sample))
    assert " lag ≥44." in text_of(totals_line(lacking, 120))
    nothing = replace(lacking, groups=[], totals=snapshot.totals._replace(verdicts={}, lag=0))
    assert " lag – " in text_of(totals_line(nothing, 120))
    assert " lag 0 " in text_of(totals_line(replace(nothing, reading=snapshot.reading), 120))


def test_the_last_key_is_always_shown() -> None:
    for width in range(12, 201):
        assert text_of(keys_line(LISTS, Status(0, 2.0), width)).rstrip().endswith("? help")


def test_parts_give_way_from_the_largest_number_on() -> None:
    parts = [Part((Cell("aa"),), 2), Part((Cell("bb"),)), Part((Cell("cc"),), 1, glued=True)]
    found = [text_of(fitting(parts, " - ", width)) for width in (10, 9, 6, 5, 4, 2, 1, 0)]
    assert found == ["aa - bb cc", "bb cc", "bb cc", "bb cc", "bb", "bb", "…", ""]


def test_spread_needs_room() -> None:
    left, right = (Cell("left"),), (Cell("right"),)
    assert text_of(spread(left, right, 12)) == "left   right"
    assert text_of(spread(left, right, 10)) == "left"


def test_a_click_on_the_timeline_means_the_time_that_is_shown_there() -> None:
    first, last = BEGIN, BEGIN + 600_000
    for width in (40, 80, 120):
        for at_ms in (first, first + 150_000, first + 300_000, last):
            moment = Moment(first, last, at_ms)
            line = text_of(timeline(moment, width, playing=False, busy=False))
            step = (last - first) / (track(moment, width, playing=False)[1] - 1)
            assert abs(time_at(moment, line.index("●"), width, playing=False) - at_ms) <= step
    begin, room = track(moment, 80, playing=False)
    assert time_at(moment, 0, 80, playing=False) == first
    assert time_at(moment, begin + room + 5, 80, playing=False) == last


def test_the_figures_of_a_groups_lag_are_whole_at_80_columns_and_its_course_has_what_is_left(
    snapshot: Snapshot,
) -> None:
    line = snapshot.groups[0]
    texts = {width: text_of(lag_line(line, width)) for width in WIDTHS}
    assert all(width_of(text) <= width for width, text in texts.items())
    for width in range(80, 201):
        assert "reads " in texts[width]
        assert figures.outlook(line.trend) in texts[width]
        assert course_of(line, 5)[-1] in texts[width]
    assert course_of(line, 30) in texts[200]


@pytest.mark.parametrize(("width", "each"), [(200, 4), (80, 2), (20, 1)])
def test_a_course_of_few_readings_is_drawn_wide(width: int, each: int) -> None:
    bars = course_lines([1] * 31, width, "")[-1][0].text
    assert len(bars) == width
    assert bars.strip() == "█" * min(width, 31 * each)
