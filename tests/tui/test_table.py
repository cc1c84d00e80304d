"""T7: the table formats what is in sight, draws what has changed, and keeps the cursor on its row."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot

from kcli.tui.cells import Cell
from kcli.tui.columns import Column
from kcli.tui.widgets.table import Table


class Row(NamedTuple):
    name: str
    size: int | None


formatted: list[str] = []


def _name(row: Row) -> Cell:
    formatted.append(row.name)
    return Cell(row.name)


COLUMNS: tuple[Column[Row], ...] = (
    Column("NAME", 10, _name, lambda one: one.name, grows=True),
    Column("SIZE", 9, lambda one: Cell(f"{one.size:,}" if one.size is not None else "–"), lambda one: one.size,
           right=True, falling=True),
    Column("MORE", 6, lambda _one: Cell("more"), lambda one: one.name, drop=1),
)  # fmt: skip


class Shown(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.table: Table[Row] = Table(COLUMNS, lambda row: row.name, "SIZE", empty="nothing")
        self.regions: list[Region] = []
        self.opened: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.table

    def on_mount(self) -> None:
        refresh = self.table.refresh

        def noted(*regions: Region, **options: bool) -> object:
            self.regions += regions
            return refresh(*regions, **options)

        self.table.refresh = noted  # type: ignore[method-assign, assignment]
        self.table.focus()

    def on_table_opened(self, event: Table.Opened) -> None:
        self.opened.append(event.key)


def on_screen(
    act: Callable[[Shown, Pilot[None]], Awaitable[None]], width: int = 40, height: int = 12
) -> None:
    async def run() -> None:
        app = Shown()
        async with app.run_test(size=(width, height)) as pilot:
            await act(app, pilot)

    asyncio.run(run())


def rows(*sizes: int | None) -> list[Row]:
    return [Row(f"row-{n:05}", size) for n, size in enumerate(sizes)]


def lines(app: Shown) -> list[str]:
    return [app.table.render_line(y).text.rstrip() for y in range(app.table.size.height)]


@pytest.mark.case("T7")
def test_of_ten_thousand_rows_those_in_sight_are_formatted_and_changed_cells_drawn() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        many = rows(*range(10_000))
        app.table.show(many)
        await pilot.pause()
        formatted.clear()
        app.regions.clear()
        many[9_998] = Row("row-09998", 9_998_000)
        app.table.show(many)
        changed = list(app.regions)
        await pilot.pause()
        assert len(formatted) <= 4 * 12, "twice at most for each line, once more where it is drawn"
        assert {region.y for region in changed} == {1, 2}, "it is the first now"
        formatted.clear()
        app.regions.clear()
        many[0] = Row("row-00000", 3)
        app.table.show(many)
        await pilot.pause()
        assert not app.regions, "what changed is out of sight"
        many[9_990] = Row("row-09990", 9_990)
        many[9_999] = Row("row-09999", 9_999_999)
        app.table.show(many)
        moved = list(app.regions)
        await pilot.pause()
        assert all(region.height == 1 for region in moved)
        app.regions.clear()
        many[9_999] = Row("row-09999", 9_999_998)
        app.table.show(many)
        assert [(region.y, region.width) for region in app.regions] == [(1, 10)], "one cell"
        formatted.clear()
        await pilot.press("G", "k", "pageup")
        await pilot.pause()
        assert app.table.cursor == 9_999 - 1 - 11
        assert len(formatted) <= 4 * 3 * 12

    on_screen(act)


@pytest.mark.case("T7")
def test_a_key_that_moves_the_cursor_formats_and_draws_the_two_rows_that_it_concerns() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.table.show(rows(*range(100, 0, -1)))
        await pilot.pause()
        formatted.clear()
        app.regions.clear()
        await pilot.press("j")
        await pilot.pause()
        assert [region.y for region in app.regions] == [1, 2]
        assert sorted(formatted) == ["row-00000", "row-00001"]

    on_screen(act)


def test_the_cursor_stays_on_its_row_while_rows_move_come_and_go() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.table.show(rows(5, 4, 3, 2, 1))
        await pilot.press("j", "j")
        assert app.table.chosen == Row("row-00002", 3)
        app.table.show(rows(5, 4, 30, 2, 1))
        assert (app.table.cursor, app.table.chosen) == (0, Row("row-00002", 30))
        app.table.show(rows(50, 40, 30, None)[1:])
        assert app.table.chosen == Row("row-00002", 30)
        app.table.show(rows(7))
        assert app.table.chosen == Row("row-00000", 7), "its row is gone"
        app.table.show([])
        await pilot.pause()
        assert app.table.chosen is None
        assert lines(app)[1].strip() == "nothing"
        await pilot.press("j", "enter", "G", "g", "pagedown")
        assert not app.opened

    on_screen(act)


def test_sorting_by_keys_and_mouse() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        def order() -> Sequence[int | None]:
            return [row.size for row in app.table.rows]

        app.table.show(rows(2, None, 3, 1))
        await pilot.pause()
        assert lines(app)[0].split() == ["NAME", "▾SIZE", "MORE"]
        assert order() == [3, 2, 1, None]
        await pilot.press("S")
        assert order() == [1, 2, 3, None], "unknown comes last in both directions"
        await pilot.press("less_than_sign")
        assert (app.table.sorted_by.title, order()) == ("NAME", [2, None, 3, 1])
        await pilot.press("less_than_sign")
        assert app.table.sorted_by.title == "MORE"
        await pilot.press("greater_than_sign", "greater_than_sign")
        assert (app.table.sorted_by.title, order()) == ("SIZE", [3, 2, 1, None])
        await pilot.click(app.table, offset=(1, 0))
        assert (app.table.sorted_by.title, app.table.falling) == ("NAME", False)
        await pilot.click(app.table, offset=(1, 0))
        assert (app.table.sorted_by.title, app.table.falling) == ("NAME", True)

    on_screen(act)


def test_a_click_chooses_two_open_and_so_does_enter() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.table.show(rows(3, 2, 1))
        await pilot.pause()
        await pilot.click(app.table, offset=(2, 2))
        assert app.table.cursor == 1
        await pilot.click(app.table, offset=(2, 9))
        assert app.table.cursor == 1, "there is no row"
        await pilot.click(app.table, offset=(2, 3), times=2)
        await pilot.press("k", "enter")
        await pilot.pause()
        assert app.opened == ["row-00002", "row-00001"]

    on_screen(act)


@pytest.mark.case("T3")
def test_columns_are_dropped_and_come_back_with_the_width() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        app.table.show(rows(*range(30)))
        for width, titles in (
            (40, ["NAME", "▾SIZE", "MORE"]),
            (24, ["NAME", "▾SIZE"]),
            (60, ["NAME", "▾SIZE", "MORE"]),
        ):
            await pilot.resize_terminal(width, 8)
            await pilot.pause()
            assert lines(app)[0].split() == titles
            assert {app.table.render_line(y).cell_length for y in range(8)} == {app.table.size.width}
        for width, height in ((1, 1), (3, 2), (300, 100)):
            await pilot.resize_terminal(width, height)
            await pilot.press("j", "G")
            await pilot.pause()
        assert app.table.in_sight == app.table.rows

    on_screen(act)


def test_old_rows_look_old() -> None:
    async def act(app: Shown, pilot: Pilot[None]) -> None:
        for stale in (False, True, False):
            app.table.show(rows(3, 2, 1), stale=stale)
            await pilot.pause()
            for y in (1, 2):
                style = list(app.table.render_line(y))[1].style
                assert style is not None
                assert bool(style.italic) == stale

    on_screen(act)


def test_a_longer_name_that_comes_into_sight_widens_its_column_which_stays_so() -> None:
    """A table that is scrolled up and down keeps its columns where they are."""
    long = "a-name-that-needs-twenty-seven"

    async def act(app: Shown, pilot: Pilot[None]) -> None:
        def at() -> int:
            return lines(app)[1].index("more")

        app.table.show([*rows(*range(100, 50, -1)), Row(long, 1)])
        await pilot.pause()
        narrow = at()
        await pilot.press("G")
        await pilot.pause()
        assert long in lines(app)[-1]
        wide = at()
        assert wide == narrow + len(long) - 10
        await pilot.press("g")
        await pilot.pause()
        assert at() == wide
        app.table.show(rows(3, 2, 1))
        app.regions.clear()
        app.table.show([Row(long + "-plus", 4), *rows(3, 2, 1)])
        assert app.regions == [], "everything is drawn, not some regions"
        await pilot.pause()
        assert at() == wide + len("-plus")
        app.table.show(rows(3, 2, 1), steady=False)
        await pilot.pause()
        assert at() == narrow, "a recording looks the same however a moment was reached"
        app.table.show([Row(long, 4), *rows(3, 2, 1)])
        await pilot.resize_terminal(70, 12)
        app.table.show(rows(3, 2, 1))
        await pilot.resize_terminal(80, 12)
        await pilot.pause()
        assert at() == narrow

    on_screen(act, width=80)


async def _needed(pilot: Pilot[None], table: Table[Row]) -> None:
    def titles() -> str:
        return "".join(cell.text for cell in table.lines_in_sight()[0])

    table.show([Row("a", 1)])
    await pilot.pause()
    assert "RARE" not in titles()
    table.show([Row("a", 1), Row("b", None)])
    await pilot.pause()
    assert "RARE" in titles()
    table.show([Row("a", 1)])
    await pilot.pause()
    assert "RARE" not in titles()


def test_a_column_that_rows_need_is_shown_with_them() -> None:
    rare = Column[Row](
        "RARE", 5, lambda _one: Cell("x"), lambda one: one.name, needed=lambda one: one.size is None
    )

    class With(App[None]):
        def compose(self) -> ComposeResult:
            yield Table((*COLUMNS, rare), lambda row: row.name, "SIZE")

    async def run() -> None:
        async with With().run_test(size=(80, 10)) as pilot:
            await _needed(pilot, pilot.app.query_one(Table))

    asyncio.run(run())
