"""A recording on the screen: time, keys, mouse."""

from pathlib import Path
from threading import Event

import pytest
from textual.widgets import OptionList

from kcli.flows.monitor.cluster_reading import Reading
from kcli.flows.monitor.playback import Recording
from kcli.tui import replay as replay_module
from kcli.tui.head import TABS
from kcli.tui.screens.groups import Groups
from kcli.tui.screens.listing import Listing
from kcli.tui.widgets.timeline import Timeline
from tests.tui.made_up import line_of, readings
from tests.tui.screens import picture, playing, recording_in, run, settled, until


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recording_in(tmp_path_factory.mktemp("recorded"))


def test_time_and_zone_are_those_of_the_recording(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = []

    async def look() -> None:
        async with playing(path) as (app, _pilot):
            pictures.append(picture(app))

    for zone in ("America/New_York", "Asia/Kathmandu"):
        monkeypatch.setenv("TZ", zone)
        run(look)
    assert pictures[0] == pictures[1]
    assert "REPLAY  2026-11-23 09:11:00" in pictures[0]
    assert "09:05:00 " in pictures[0], "the first time of the recording"


def test_keys_move_the_position(path: Path) -> None:
    async def script() -> None:
        async with playing(path) as (app, pilot):
            replay = app.replay
            assert replay is not None
            for key, position in (
                ("left", 35),
                ("shift+left", 29),
                ("right", 30),
                ("shift+right", 36),
                ("home", 0),
                ("left", 0),
                ("end", 36),
                ("right", 36),
            ):
                await pilot.press(key)
                await settled(app, pilot)
                assert (key, replay.position) == (key, position)
            assert "REPLAY  2026-11-23 09:11:00" in picture(app)

    run(script)


def test_a_jump_that_takes_long_shows_its_reading_at_once_and_how_far_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All readings but the one that was wanted are held back."""
    wanted, go = 33, Event()
    at = Recording.at

    def slowly(self: Recording, number: int) -> Reading | None:
        if number == wanted - 5:
            assert go.wait(120)
        return at(self, number)

    async def script() -> None:
        async with playing(path, at=0) as (app, pilot):
            replay = app.replay
            assert replay is not None
            monkeypatch.setattr(Recording, "at", slowly)
            replay.jump(wanted)
            clock = replay.clock()
            await until(lambda: app.snapshot and app.snapshot.reading.sample.at_ms == clock, pilot)
            await until(lambda: "reading 28 of 34" in replay.note, pilot)
            app.repaint_now()
            await pilot.pause()
            seen = picture(app)
            assert "reading 28 of 34" in seen
            assert "search-index" in seen
            assert "342/s" not in seen
            assert replay.busy
            go.set()
            await settled(app, pilot)
            await until(lambda: "0/s" in picture(app), pilot)  # the screen repaints itself some time later
            assert "reading" not in picture(app).split("\n")[0]

    monkeypatch.setattr(replay_module, "_AT_ONCE", 20)
    run(script)


def test_a_recording_that_has_grown_says_so_at_its_end(tmp_path: Path) -> None:
    path = recording_in(tmp_path, 5)

    async def script() -> None:
        async with playing(path, at=4, size=(160, 30)) as (app, pilot):
            assert "grown" not in picture(app)
            with path.open("a") as file:
                file.write("{}\n")
            app.repaint_now()
            await pilot.pause()
            assert "the file has grown since: open it again" in picture(app)
            await pilot.press("left")
            await settled(app, pilot)
            assert "grown" not in picture(app)

    run(script)


def test_the_same_position_is_the_same_picture(path: Path) -> None:
    async def script() -> None:
        async with playing(path, at=30) as (app, pilot):
            before = picture(app)
            for key in ("home", "end", "shift+left"):
                await pilot.press(key)
                await settled(app, pilot)
            assert picture(app) == before

    run(script)


def test_a_click_on_the_timeline_goes_there(path: Path) -> None:
    async def script() -> None:
        async with playing(path) as (app, pilot):
            assert app.replay is not None
            await pilot.click(Timeline, offset=(11, 0))
            await settled(app, pilot)
            assert app.replay.position == 0
            await pilot.click(Timeline, offset=(59, 0))
            await settled(app, pilot)
            assert 16 <= app.replay.position <= 20

    run(script)


def test_space_plays_to_the_end_and_plus_and_minus_change_the_speed(path: Path) -> None:
    async def script() -> None:
        async with playing(path, at=30) as (app, pilot):
            replay = app.replay
            assert replay is not None
            for _ in range(12):
                await pilot.press("minus")
            assert replay.speed == 300
            await pilot.press("plus")
            assert replay.speed == 120
            await pilot.press("minus", "space")
            await until(lambda: replay.position == 36 and replay.paused, pilot)
            await settled(app, pilot)
            assert "paused" in picture(app)
            await pilot.press("space")
            assert not replay.paused
            await until(lambda: replay.position < 36, pilot)

    run(script)


def test_keys_of_the_timeline_belong_to_a_line_that_is_typed(path: Path) -> None:
    async def script() -> None:
        async with playing(path) as (app, pilot):
            assert app.replay is not None
            await pilot.press("slash", "b", "l", "left", "i", "home", "end")
            assert app.replay.position == 36
            assert isinstance(app.screen, Listing)
            assert app.screen.wanted == "bil"
            assert "filter: bil" in picture(app)

    run(script)


def test_a_group_that_is_opened_has_five_minutes_of_its_partitions(path: Path) -> None:
    async def script() -> None:
        async with playing(path) as (app, pilot):
            await pilot.press("enter")
            await until(lambda: app.snapshot is not None and app.snapshot.lags, pilot)
            assert app.snapshot is not None
            assert {len(lags) for lags in app.snapshot.lags.values()} == {31}

    run(script)


def test_skipped_lines_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "broken.ndjson"
    path.write_text("".join(["foreign\n", *map(line_of, readings(3))]))

    async def script() -> None:
        async with playing(path, at=2) as (app, _pilot):
            assert "1 line skipped" in picture(app)

    run(script)


def test_a_recording_of_groups_lag_has_no_topics(tmp_path: Path) -> None:
    from kcli.flows.lag.measure import Measurement
    from kcli.flows.lag.recording import append_sample

    path = tmp_path / "lag.ndjson"
    for reading in readings(3):
        append_sample(str(path), "c", Measurement(reading.sample, {}))

    async def script() -> None:
        async with playing(path, at=2) as (app, pilot):
            assert "search-index" in picture(app)
            await pilot.press("2")
            await settled(app, pilot)
            assert "the recording has no topics" in picture(app)
            await pilot.press("3")
            await settled(app, pilot)
            assert "the recording has no brokers" in picture(app)
            for key, name in (("4", "quorum"), ("5", "transactions"), ("6", "mirrors")):
                await pilot.press(key)
                await settled(app, pilot)
                assert f"the recording has no {name}" in picture(app)

    run(script)


@pytest.mark.parametrize("first", [name for _, name in TABS])
@pytest.mark.parametrize("width", [20, 60, 140, *(pytest.param(n, marks=pytest.mark.long) for n in (41, 80))])
def test_every_screen_fits_every_terminal(path: Path, first: str, width: int) -> None:
    async def script() -> None:
        async with playing(path, size=(width, 20), first=first) as (app, _pilot):
            assert isinstance(app.screen, Listing)
            assert first == app.screen.NAME
            assert all(len(line) <= width for line in picture(app).split("\n"))

    run(script)


def test_s_is_a_menu_of_columns(path: Path) -> None:
    async def script() -> None:
        async with playing(path) as (app, pilot):
            groups = app.screen
            assert isinstance(groups, Groups)
            await pilot.press("s")
            menu = app.screen.query_one(OptionList)
            titles = [column.title for column in groups.table.columns]
            assert menu.highlighted == titles.index("VERDICT")
            await pilot.press("down", "enter")
            assert groups.table.sorted_by.title == titles[titles.index("VERDICT") + 1]
            await pilot.press("s", "up", "escape")
            assert groups.table.sorted_by.title == "GROUP"
            await pilot.press("less_than_sign")
            assert groups.table.sorted_by.title == "VERDICT"
            falling = groups.table.falling
            await pilot.press("S")
            assert groups.table.falling != falling

    run(script)
