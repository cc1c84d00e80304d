"""Which columns a terminal has room for: numbers are never cut, spare columns go first, names are shortened last."""

from hypothesis import given
from hypothesis import strategies as st

from kcli.output.layout import GAP, NARROW_GAP, heading_lines, layout
from kcli.output.tables import Column

GROUP, STATE = Column("group"), Column("state", spare=2)
LAG, RATE = Column("lag_records", "number"), Column("net_per_second", "number", spare=1)
NOTE = Column("note", "prose")
COLUMNS = (GROUP, STATE, LAG, RATE, NOTE)
WIDEST = (12, 6, 9, 8, 40)


def widths(width: int | None, widest: tuple[int, ...] = WIDEST) -> dict[str, int]:
    return {column.key: wide for column, wide in layout(COLUMNS, widest, width).widths.items()}


def taken(found: dict[str, int], gap: int = GAP) -> int:
    return sum(found.values()) + gap * (len(found) - 1)


def test_everything_is_shown_where_it_fits_or_may_be_as_wide_as_it_likes() -> None:
    natural = {"group": 12, "state": 6, "lag_records": 11, "net_per_second": 14, "note": 40}
    assert widths(None) == widths(taken(natural)) == natural


def test_prose_wraps_first_and_headings_break() -> None:
    found = widths(80)
    assert found == {"group": 12, "state": 6, "lag_records": 9, "net_per_second": 8, "note": 37}
    assert taken(found, NARROW_GAP) == 80


def test_columns_that_can_be_spared_go_one_by_one() -> None:
    assert list(widths(66)) == ["group", "lag_records", "net_per_second", "note"]
    assert list(widths(56)) == ["group", "lag_records", "note"]


def test_columns_without_a_value_go_before_headings_break() -> None:
    assert widths(70, (12, 6, 9, 0, 20)) == {"group": 12, "state": 6, "lag_records": 11, "note": 20}


def test_columns_without_a_value_go_before_others() -> None:
    assert list(widths(64, (12, 6, 9, 0, 40))) == ["group", "state", "lag_records", "note"]
    assert list(widths(64, (12, 0, 0, 8, 40))) == ["group", "lag_records", "net_per_second", "note"]


def test_explanations_precede_known_values() -> None:
    assert list(widths(50, (12, 6, 9, 8, 0))) == ["group", "state", "lag_records", "net_per_second"]


def test_names_are_shortened_when_nothing_else_helps() -> None:
    assert widths(60, (100, 6, 9, 8, 40)) == {"group": 29, "lag_records": 9, "note": 18}
    assert widths(40, (100, 6, 9, 8, 40)) == {"group": 15, "lag_records": 9, "note": 12}


def test_columns_move_together_before_anything_else() -> None:
    natural = widths(None)
    assert layout(COLUMNS, WIDEST, taken(natural)).gap == GAP
    assert layout(COLUMNS, WIDEST, taken(natural) - 1) == (
        dict(zip(COLUMNS, natural.values(), strict=True)),
        NARROW_GAP,
    )


def test_a_name_that_every_row_repeats_gives_way_before_columns_go() -> None:
    long = (60, 6, 9, 8, 0)
    assert [c.key for c in layout(COLUMNS, long, 70).widths] == ["group", "lag_records"]
    found = layout(COLUMNS, long, 70, [GROUP]).widths
    assert {c.key: wide for c, wide in found.items()} == {
        "group": 33, "state": 6, "lag_records": 11, "net_per_second": 14
    }  # fmt: skip
    assert layout(COLUMNS, long, 30, [GROUP]).widths[GROUP] == 19


def test_numbers_keep_their_width_on_any_terminal() -> None:
    assert widths(5) == {"group": 8, "lag_records": 9, "note": 12}


def test_headings_break_at_hyphens_only() -> None:
    assert heading_lines(RATE, 8) == ["NET-PER-", "SECOND"]
    assert heading_lines(RATE, 14) == ["NET-PER-SECOND"]
    assert heading_lines(Column("partitions"), 3) == ["PARTITIONS"]


SIZES = st.tuples(*[st.integers(0, 60)] * len(COLUMNS))


@given(SIZES, st.integers(1, 300))
def test_numbers_are_whole_and_room_is_not_wasted(widest: tuple[int, ...], width: int) -> None:
    found = layout(COLUMNS, widest, width).widths
    cells = dict(zip(COLUMNS, widest, strict=True))
    assert all(found[column] >= cells[column] for column in found if column.right)
    stays = {column for column in COLUMNS if not column.spare and (column is not NOTE or cells[NOTE])}
    assert stays <= set(found)
    everything = layout(COLUMNS, widest, None).widths
    if sum(everything.values()) + GAP * (len(COLUMNS) - 1) <= width:
        assert found == everything
