"""The help, the keys at the foot and the palette: they are the bindings that work."""

import gc
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual._styles_cache import StylesCache
from textual.binding import Binding
from textual.dom import DOMNode

import kcli.tui
from kcli.tui.app import TopApp
from kcli.tui.facts import Facts, offered
from kcli.tui.head import TABS
from kcli.tui.keys import key_rows, own_bindings, shown
from kcli.tui.screens.help import Help
from kcli.tui.screens.help_sections import help_sections
from kcli.tui.screens.listing import IN_A_RECORDING, Listing
from kcli.tui.widgets.table import Table
from tests.tui.screens import picture, playing, recording_in, run

SYMBOLS = {
    "↵": "enter",
    "/": "slash",
    "?": "question_mark",
    "+": "plus",
    "-": "minus",
    "→": "right",
    "←": "left",
}
OF_THEIR_OWN = ("Help", "ExportName", "SortMenu")
"""Screens that say themselves which keys they have."""


def classes() -> Iterator[type[DOMNode]]:
    """All of kcli's classes with bindings."""
    for found in pkgutil.walk_packages(kcli.tui.__path__, "kcli.tui."):
        module = importlib.import_module(found.name)
        for one in vars(module).values():
            if isinstance(one, type) and issubclass(one, DOMNode) and one.__module__ == found.name:
                yield one


def listings() -> list[type[Listing[Any]]]:
    """Those that are opened."""
    return [one for one in classes() if issubclass(one, Listing) and "KEYS" in one.__dict__]


def bindings_of(cls: type[Any]) -> Iterator[Binding]:
    for one in (cls, *cls.__mro__[1:]):
        if one.__module__.startswith("kcli."):
            yield from own_bindings(one)


LIVE = Facts("prod", "c")
READ_ONLY = Facts("prod", "c", read_only="--read-only is given")
REPLAY = Facts("shop", "", read_only="a recording is played", replay="shop.ndjson")


def listed_by(*facts: Facts) -> set[tuple[str, str]]:
    """Keys, and what the help says of them."""
    found = [section for one in facts for section in help_sections(TopApp, one)]
    return {(word.text, what) for section in found for word, what in section.rows}


def test_the_help_lists_what_works_here() -> None:
    changing = {
        ("w", "rewind the group: target, plan, confirmation"),
        ("u", "undo the last rewind of the group"),
    }
    assert changing <= listed_by(LIVE)
    assert not changing & (listed_by(READ_ONLY) | listed_by(REPLAY))
    assert ("+", "slower") in listed_by(REPLAY) - listed_by(LIVE)
    assert ("r", "read now") in listed_by(LIVE) - listed_by(REPLAY)
    titles = [section.title for section in help_sections(TopApp, REPLAY)]
    assert titles[:3] == ["Keys", "Keys of the recording", "Keys of tables"]
    assert not {"Keys of a record", "Keys of a rewind"} & set(titles)


@pytest.mark.parametrize("facts", [LIVE, READ_ONLY, REPLAY])
def test_no_key_is_listed_twice_for_the_same_place(facts: Facts) -> None:
    for section in help_sections(TopApp, facts):
        if section.title.startswith("Keys"):
            keys = [key for word, _ in section.rows for key in word.text.split()]
            assert len(keys) == len(set(keys)), section.title


def test_every_binding_is_in_the_help_and_says_what_it_does() -> None:
    listed = listed_by(LIVE, REPLAY)
    with_keys = [one for one in classes() if list(own_bindings(one))]
    assert {TopApp, Listing, Table} <= set(with_keys)
    for one in with_keys:
        for row in key_rows(one):
            assert row.what, (one, row)
            assert one.__name__ in OF_THEIR_OWN or issubclass(one, DOMNode)
            if issubclass(one, Listing | Table | TopApp):
                assert (row.keys, row.what) in listed, (one, row)


def test_every_binding_has_an_action() -> None:
    for one in classes():
        for binding in own_bindings(one):
            name = binding.action.partition("(")[0]
            assert hasattr(one, f"action_{name}"), (one, binding)


@pytest.mark.parametrize("screen", listings(), ids=lambda one: one.NAME)
def test_every_key_at_the_foot_is_a_binding(screen: type[Listing[Any]]) -> None:
    bound = {
        key
        for cls in (screen, Table, TopApp)
        for binding in bindings_of(cls)
        for key in binding.key.split(",")
    }
    for keys, word in (*screen.KEYS, *IN_A_RECORDING):
        assert word
        for key in keys.split("/") if len(keys) > 1 else [keys]:
            assert SYMBOLS.get(key, key) in bound, (screen, key)


@pytest.mark.parametrize("screen", listings(), ids=lambda one: one.NAME)
def test_the_keys_of_a_screen_of_its_own_are_at_its_foot(screen: type[Listing[Any]]) -> None:
    at_the_foot = {SYMBOLS.get(keys, keys) for keys, _ in screen.KEYS}
    own = [one for one in screen.__mro__ if issubclass(one, Listing) and one is not Listing]
    for binding in (binding for one in own for binding in own_bindings(one) if binding.show):
        assert set(binding.key.split(",")) & at_the_foot, (screen, binding)


def test_every_column_says_what_it_means_and_has_keys_for_programs() -> None:
    seen = 0
    for one in listings():
        keys: list[str] = []
        for column in one.COLUMNS:
            seen += 1
            assert column.meaning, (one, column.title)
            assert column.data or column.title in ("5 MIN", "NOT READ")
            keys += column.data
        assert len(keys) == len(set(keys))
    assert seen > 40


def test_keys_are_written_as_a_person_writes_them() -> None:
    keys = ("ctrl+p", "slash", "shift+left", "plus", "enter", "1", "G", "question_mark")
    assert [shown(key) for key in keys] == ["^p", "/", "shift+←", "+", "↵", "1", "G", "?"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recording_in(tmp_path_factory.mktemp("recorded"), 3)


def test_the_help_opens_scrolls_and_closes(path: Path) -> None:
    async def script() -> None:
        async with playing(path, at=2, size=(80, 400)) as (app, pilot):
            await pilot.press("question_mark")
            await pilot.pause()
            assert isinstance(app.screen, Help)
            text = picture(app)
            for words in (
                "Keys",
                "Columns of groups",
                "it reads, but falls behind",
                "estimated from the time index",
            ):
                assert words in text
            await pilot.press("j", "k", "question_mark")
            assert isinstance(app.screen, Listing)

    run(script)


def test_of_closed_screens_nothing_is_kept(path: Path) -> None:
    async def script() -> None:
        async with playing(path, at=2) as (_app, pilot):
            counts = []
            for _ in range(3):
                for _ in range(4):
                    await pilot.press("question_mark")
                    await pilot.press("question_mark")
                gc.collect()
                counts.append(sum(type(one) in (StylesCache, Help) for one in gc.get_objects()))
            assert counts[2] <= counts[0]

    run(script)


def test_the_help_fits_narrow_terminals(path: Path) -> None:
    async def script() -> None:
        for width in (20, 33, 60):
            async with playing(path, at=2, size=(width, 50)) as (app, pilot):
                await pilot.press("question_mark")
                await pilot.pause()
                assert all(len(line) <= width for line in picture(app).split("\n"))

    run(script)


def test_the_palette_has_the_keys_of_the_screen_and_nothing_else(path: Path) -> None:
    async def script() -> None:
        async with playing(path, at=2) as (app, _pilot):
            titles = [command.title for command in app.get_system_commands(app.screen)]
            assert "Topics" in titles
            assert "Theme" in titles
            assert "Write what is on the screen to a file" in titles
            known = {
                row.what.capitalize() for cls in (TopApp, *type(app.screen).__mro__) for row in key_rows(cls)
            }
            assert set(titles) - {"Theme"} <= known
            facts = app.facts
            works = {row.what.capitalize() for row in key_rows(TopApp) if offered(row.action, facts)}
            assert works - {"All commands, and the themes"} <= set(titles)
            assert "Read now" not in titles

    run(script)


def test_a_recording_offers_no_rewind(path: Path) -> None:
    async def script() -> None:
        async with playing(path, at=2, size=(200, 30)) as (app, pilot):
            titles = [command.title for command in app.get_system_commands(app.screen)]
            assert not any("ewind" in title for title in titles)
            assert "play" in picture(app)
            for screen in range(2):
                assert not {"rewind", "undo", "pause", "pace", "records"} & set(
                    picture(app).split("\n")[-1].split()
                )
                await pilot.press("enter")
                await pilot.pause()
                assert screen or "tab members" in picture(app)
            await pilot.press("w")
            await pilot.pause()
            assert "nothing can be changed: a recording is played" in picture(app)

    run(script)


def test_the_palette_runs_a_command(path: Path) -> None:
    async def script() -> None:
        async with playing(path, at=2) as (app, pilot):
            await pilot.press("ctrl+p")
            await pilot.pause()
            await pilot.press(*"brokers")
            await pilot.app.workers.wait_for_complete()
            await pilot.pause()
            await pilot.press("enter")
            await pilot.pause()
            assert isinstance(app.screen, Listing)
            assert app.screen.NAME == "brokers"

    run(script)


def test_the_palette_finds_the_keys_of_a_recording(path: Path) -> None:
    async def script() -> None:
        async with playing(path, at=0) as (app, pilot):
            assert app.replay is not None
            for typed, position in (("a reading on", 1), ("to the last reading", 2)):
                await pilot.press("ctrl+p")
                await pilot.pause()
                await pilot.press(*("space" if char == " " else char for char in typed))
                await pilot.app.workers.wait_for_complete()
                await pilot.pause()
                await pilot.press("enter")
                await pilot.pause()
                assert app.replay.position == position, typed

    run(script)


@pytest.mark.long
@pytest.mark.parametrize("first", [name for _, name in TABS])
def test_every_theme_draws_every_list(path: Path, first: str) -> None:
    async def script() -> None:
        async with playing(path, at=2, first=first) as (app, pilot):
            before = picture(app)
            for theme in app.available_themes:
                app.theme = theme
                await pilot.pause()
                assert picture(app) == before, theme

    run(script)


def test_a_theme_is_kept(path: Path) -> None:
    async def script() -> None:
        async with playing(path, at=2) as (app, pilot):
            app.theme = "textual-light"
            await pilot.press("2", "1")
            assert app.theme == "textual-light"

    run(script)


def test_without_colour_no_style_has_one(path: Path) -> None:
    async def script() -> None:
        for colour in (False, True):
            async with playing(path, at=2, colour=colour) as (app, _pilot):
                styles = [
                    segment.style
                    for strip in app.screen._compositor.render_strips()
                    for segment in strip
                    if segment.style is not None
                ]
                assert any(style.color or style.bgcolor for style in styles) == colour
                assert any(style.bold for style in styles)
                assert "✖ stalled" in (shown := picture(app)) or "● ok" in shown
                assert "▌ " in shown

    run(script)
