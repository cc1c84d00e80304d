"""Keys typed faster than the screen turns arrive all the same, in their order, and at the field they are meant for."""

from pathlib import Path

from textual import events

from kcli.tui.app import TopApp
from kcli.tui.screens.groups import Groups
from kcli.tui.screens.rewind import Stage
from kcli.tui.widgets.typed_name import TypedName
from tests.committing import commit, put
from tests.fake.cluster import FakeCluster
from tests.tui.driving import Driver, drive
from tests.tui.screens import playing, recording_in, run, until
from tests.tui.test_rewinding import OLD

NAME = "queue-excl/l-c 1?"
"""With the keys that quit, copy, filter and help."""


def burst(app: TopApp, text: str) -> None:
    for one in text:
        app.post_message(events.Key(one, one))


def test_a_filter_that_is_typed_in_one_burst_is_whole(tmp_path: Path) -> None:
    async def script() -> None:
        async with playing(recording_in(tmp_path)) as (app, pilot):
            listing = app.screen
            assert isinstance(listing, Groups)
            app.post_message(events.Key("slash", "/"))
            burst(app, NAME)
            await until(lambda: len(listing.filter.value) >= len(NAME), pilot)
            assert listing.filter.value == listing.wanted == NAME
            assert app.screen is listing

    run(script)


def test_a_second_escape_before_the_filter_knows_that_it_lost_the_focus_empties_it(tmp_path: Path) -> None:
    async def script() -> None:
        async with playing(recording_in(tmp_path)) as (app, pilot):
            listing = app.screen
            assert isinstance(listing, Groups)
            await pilot.press("slash", "b")
            await until(lambda: listing.filter.value == "b", pilot)
            listing.action_back()
            listing.action_back()
            assert listing.filter.value == ""
            assert app.screen is listing

    run(script)


def test_a_name_that_is_typed_in_one_burst_is_whole() -> None:
    with FakeCluster(1, topics={"t": 2}) as cluster:
        for partition in range(2):
            put(cluster, "t", partition)
        commit(cluster, NAME, OLD)

        async def use(screen: Driver) -> None:
            await screen.press("w")
            await screen.until_stage(Stage.FORM)
            await screen.press("enter")
            await screen.until_stage(Stage.REVIEW)
            burst(screen.app, "x" + NAME)
            field = screen.app.screen.query_one(TypedName)
            await screen.until(lambda: len(field.value) >= len(NAME))
            assert field.value == NAME
            await screen.until_stage(Stage.CONFIRM)

        drive(cluster.bootstrap, use)
