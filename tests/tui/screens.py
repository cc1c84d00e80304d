"""The application in a test: a recording is played on a terminal of memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from kcli.flows.monitor.playback import Recording
from kcli.tui.app import TopApp
from kcli.tui.facts import Facts
from kcli.tui.replay import ReplayFeed
from tests.tui.made_up import write

PATIENCE = 120.0


@asynccontextmanager
async def playing(
    path: Path, *, size: tuple[int, int] = (120, 30), at: int = 36, colour: bool = True, first: str = "groups"
) -> AsyncIterator[tuple[TopApp, Pilot[None]]]:
    """Paused at a reading. An error of the application is raised here."""
    feed = ReplayFeed(Recording(str(path)), paused=True)
    feed.jump(at)
    app = TopApp(
        feed, Facts("shop", "", read_only="a recording is played", replay=str(path)), first, colour=colour
    )
    async with app.run_test(size=size) as pilot:
        await settled(app, pilot)
        yield app, pilot
    if app.error is not None:
        raise app.error


async def settled(app: TopApp, pilot: Pilot[None]) -> None:
    """Waits until the wanted reading is on the screen."""
    replay = app.replay
    assert replay is not None

    def shown() -> bool:
        snapshot = app.snapshot
        return not replay.busy and snapshot is not None and snapshot.reading.sample.at_ms == replay.clock()

    await until(shown, pilot)
    app.repaint_now()
    await pilot.pause()


async def until(condition: Callable[[], object], pilot: Pilot[None]) -> None:
    """Waits for something that another thread does."""
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit, "it did not come"
        await pilot.pause(0.005)


def picture(app: TopApp) -> str:
    """The text on the screen."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


def run(script: Callable[[], Awaitable[None]]) -> None:
    """Runs a coroutine function."""

    async def main() -> None:
        await script()

    asyncio.run(main())


def recording_in(folder: Path, count: int = 37) -> Path:
    """A made-up recording."""
    return write(folder / "shop.ndjson", count)
