"""A cluster that does not answer: keys do all the same, and the first line says how old the sample is."""

import asyncio
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any, cast

import pytest

from kcli.flows.monitor.cluster_reading import Reading, View
from kcli.flows.monitor.monitor import Monitor
from kcli.tui import feed as feeds
from kcli.tui.app import TopApp
from kcli.tui.facts import Facts
from kcli.tui.feed import LiveFeed
from kcli.tui.screens.groups import Groups
from kcli.tui.screens.help import Help
from tests.tui.made_up import readings
from tests.tui.screens import picture, until

ANSWERS = 15.0
"""Seconds in which keys have to have an effect, whatever else the machine does; the cluster answers after a minute."""


class Hanging:
    """Answers the first readings, and then never."""

    def __init__(self, answered: int) -> None:
        self._readings = list(readings(answered))
        self.asked, self.released = Event(), Event()

    def read(self, _view: View, _interval: float = 0.0) -> Reading:
        if self._readings:
            return self._readings.pop(0)
        self.asked.set()
        self.released.wait(60)
        raise RuntimeError("the test is over")

    @contextmanager
    def opened(self) -> Iterator[Monitor]:
        yield cast("Monitor", self)


@pytest.mark.parametrize("answered", [0, 3])
def test_keys_answer_and_the_age_counts_up_while_the_cluster_hangs(
    answered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Hanging(answered)
    feed = LiveFeed(cluster.opened, 0.01)
    app = TopApp(feed, Facts("shop", ""))
    ended: list[float] = []

    async def within(done: Any, pilot: Any) -> None:
        began = time.monotonic()
        await until(done, pilot)
        assert time.monotonic() - began < ANSWERS

    async def script() -> None:
        async with app.run_test(size=(120, 30)) as pilot:
            await until(cluster.asked.is_set, pilot)
            if answered:
                await until(lambda: app.snapshot is not None and len(app.snapshot.groups) == 4, pilot)
            began = feeds.monotonic()
            monkeypatch.setattr(feeds, "monotonic", lambda: began + 42)
            app.repaint_now()
            await until(lambda: re.search("reading for 4[2-9]s", picture(app)), pilot)
            await pilot.press("question_mark")
            await within(lambda: isinstance(app.screen, Help), pilot)
            await pilot.press("question_mark")
            await within(lambda: isinstance(app.screen, Groups), pilot)
            await pilot.press("2")
            await within(lambda: "2 Topics" in picture(app), pilot)
            ended.append(time.monotonic())
            await pilot.press("q")
        ended.append(time.monotonic())

    try:
        asyncio.run(script())
    finally:
        cluster.released.set()
    assert ended[1] - ended[0] < ANSWERS


def test_what_is_being_recorded_is_waited_for() -> None:
    begun, written = Event(), Event()

    def record(_reading: Reading) -> None:
        begun.set()
        time.sleep(0.2)
        written.set()

    feed = LiveFeed(Hanging(1).opened, 0.01, record)
    feed.begin()
    assert begun.wait(120)
    feed.close()
    assert written.is_set()
