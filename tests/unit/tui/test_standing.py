"""Where groups stand in the list, and what is remembered of those that cannot be read."""

from dataclasses import replace

import pytest

from kcli.flows.lag.verdicts import NO_VERDICT, OK, SLOW, STALLED, UNREAD, WORDS
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.snapshot import GroupLine, Snapshot
from kcli.output.tables import row_of
from kcli.tui.columns import in_order, layout
from kcli.tui.detail import detail_lines, detail_of
from kcli.tui.fitting import line_width
from kcli.tui.group_columns import COLUMNS, FIELDS, verdict_cell
from kcli.tui.look import SIGNS
from kcli.tui.standing import STAYS_MS, GroupRow, Standing, rows_of
from tests.tui.made_up import readings
from tests.unit.flows.monitor.readings import P0, P1, reading, share_group, streams_group


@pytest.fixture(scope="module")
def last() -> Snapshot:
    board = Board()
    return [board.add(reading) for reading in readings()][-1]


def at(snapshot: Snapshot, second: int, **words: str) -> Snapshot:
    """With these groups only, and their verdicts; those that are unread as a board has them."""
    sample = snapshot.reading.sample._replace(at_ms=1_000 * second)
    lines = {line.group: line for line in snapshot.groups}
    judged = {
        name: lines[name]._replace(judged=NO_VERDICT._replace(word=word)) for name, word in words.items()
    }
    unread = [_nothing(line) for line in judged.values() if line.verdict == UNREAD]
    groups = [line for line in judged.values() if line.verdict != UNREAD]
    return replace(snapshot, reading=replace(snapshot.reading, sample=sample), groups=groups, unread=unread)


def _nothing(line: GroupLine) -> GroupLine:
    summary = line.summary._replace(partitions=0, lag=None, seconds=None)
    return line._replace(members=None, reading=None, summary=summary, topics=None, state="")


def order(rows: list[GroupRow]) -> list[str]:
    return [row.line.group for row in in_order(rows, COLUMNS[0], falling=False)]


def test_who_needs_a_person_comes_first(last: Snapshot) -> None:
    assert order(rows_of(last)) == ["audit", "clickstream", "search-index", "billing"]


def test_every_verdict_has_the_sign_of_its_meaning() -> None:
    for word in WORDS:
        cell = verdict_cell(word)
        assert cell.text == f"{SIGNS[cell.style]} {word}"


def test_a_group_that_recovers_stays_for_a_minute_dimmed_and_one_that_gets_worse_moves_at_once(
    last: Snapshot,
) -> None:
    standing = Standing()
    stays = STAYS_MS // 1_000

    def names(second: int, audit: str, billing: str) -> tuple[list[str], list[bool]]:
        rows = standing.rows(at(last, second, audit=audit, billing=billing))
        return order(rows), [row.faded for row in rows]

    assert names(0, OK, STALLED) == (["billing", "audit"], [False, False])
    assert names(2, OK, OK) == (["billing", "audit"], [False, True])
    assert names(2, OK, OK) == (["billing", "audit"], [False, True]), "the same sample once more"
    assert names(2 + stays - 1, OK, SLOW) == (["billing", "audit"], [False, False])
    assert names(2 + stays, OK, OK) == (["audit", "billing"], [False, False])
    assert names(4 + stays, SLOW, STALLED) == (["billing", "audit"], [False, False])


def test_a_group_that_cannot_be_read_has_its_last_values_in_brackets_with_their_age(last: Snapshot) -> None:
    now = at(last, 200, audit=UNREAD, billing=OK)
    [line] = now.unread
    seen = next(one.summary for one in last.groups if one.group == "audit")
    rows = Standing().rows(replace(now, unread=[line._replace(last=seen, age=200.0)]))
    assert order(rows) == ["audit", "billing"]
    [row] = [one for one in rows if one.line.group == "audit"]
    cells = {
        column.title: cell.text.strip()
        for column, cell in zip(COLUMNS, layout(COLUMNS, 250).line(row), strict=True)
    }
    assert (cells["VERDICT"], cells["LAG"], cells["BEHIND"]) == ("◌ unread", "(7,890)", "3m20s ago")
    assert (cells["IN/S"], cells["OUT/S"], cells["ETA"], cells["MEMBERS"]) == ("–", "–", "–", "–")
    assert all(cell.style == "unread" for cell in layout(COLUMNS, 250).line(row))
    data = row_of(FIELDS, row)
    assert (data["lag_records"], data["lag_seconds"], data["verdict"]) == (None, None, "unread")


def test_a_group_that_was_never_read_has_no_values(last: Snapshot) -> None:
    [row] = Standing().rows(at(last, 0, audit=UNREAD))
    assert (row.age, row.line.summary.lag) == (None, None)


def test_details_fit_at_every_size_and_begin_with_why(last: Snapshot) -> None:
    for row in rows_of(last):
        detail = detail_of(row, last)
        for width in range(20, 130, 7):
            for height in (1, 4, 9, 30):
                lines = detail_lines(detail, width, height)
                assert len(lines) <= height
                assert all(line_width(line) <= width for line in lines)
                assert row.line.verdict is not None
                assert row.line.verdict in "".join(cell.text for cell in lines[0])


def test_history_marks_a_rebalance_and_bars_have_the_colours_of_partitions(last: Snapshot) -> None:
    rows = {row.line.group: row for row in rows_of(last)}
    lines = detail_lines(detail_of(rows["clickstream"], last), 100, 20)
    history = next(line for line in lines if "history" in line[0].text)
    assert "●" in "".join(cell.text for cell in history)
    words = ["stalled", "ok", None, "ok"]
    detail = detail_of(rows["search-index"], last)._replace(words=words)
    bars = next(line for line in detail_lines(detail, 100, 20) if "partitions" in line[0].text)
    assert [cell.style for cell in bars[1:]] == ["bad", "ok", "dim", "ok"]
    narrow = next(line for line in detail_lines(detail, 16, 20) if "partition" in line[0].text)
    assert [cell.style for cell in narrow[1:]] == ["bad", "dim"], "the worst of two each"


def test_details_of_share_and_streams_groups_have_what_only_they_have() -> None:
    shares = share_group("s", {P0: (3, 2), P1: (None, None)}, "a")
    one = Board().add(reading(0, shares, streams_group("x", {P0: 3, P1: 4}, "b", "c"), ends={P0: 10, P1: 9}))
    texts = {
        row.line.group: [
            "".join(cell.text for cell in line).rstrip()
            for line in detail_lines(detail_of(row, one), 100, 20)
        ]
        for row in rows_of(one)
    }
    assert " share       start offsets in 1 of 2 partitions; t-0 starts at 3 of 10" in texts["s"]
    assert " streams     topology epoch 2; tasks: 2 active, 1 standby, 0 warming up" in texts["x"]


def test_types_are_a_column_where_a_group_is_of_share_or_streams(last: Snapshot) -> None:
    (column,) = (one for one in COLUMNS if one.needed is not None)
    assert column.title == "TYPE"
    assert not any(map(column.needed, rows_of(last)))  # type: ignore[arg-type]
    other = Board().add(reading(0, share_group("s", {P0: (3, 2)}, "a"), ends={P0: 10}))
    (row,) = rows_of(other)
    assert column.needed is not None
    assert column.needed(row)
    assert row_of(column.data, row) == {"type": "share"}
