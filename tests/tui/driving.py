"""``kcli top`` on a cluster, driven by keys. Not a test."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import click
from textual.pilot import Pilot

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.top import top
from kcli.commands.top.app import finish_rewinds, new_app
from kcli.commands.top.contact import first_contact
from kcli.commands.top.options import TopOptions
from kcli.tui.app import TopApp
from kcli.tui.screens.rewind import Rewind, Stage
from kcli.tui.widgets.lines import Lines

SIZE = (120, 30)
_PATIENCE = 120.0
_ASKED = TopOptions((), 0.5, "groups", record=None, replay=None, at=None, read_only=False)


class Driver:
    """``app`` runs without a terminal; what it would write into one is not kept."""

    def __init__(self, app: TopApp, pilot: Pilot[None]) -> None:
        self.app, self._pilot = app, pilot

    async def press(self, *keys: str) -> None:
        """One after the other."""
        await self._pilot.press(*keys)

    async def click(self, x: int, y: int) -> None:
        """At a place of the screen."""
        await self._pilot.click(offset=(x, y))

    async def until(self, done: Callable[[], object]) -> None:
        """AssertionError with the screen where it takes too long."""
        give_up = time.monotonic() + _PATIENCE
        while not done():
            assert time.monotonic() < give_up, self.text
            await self._pilot.pause(0.02)

    async def until_stage(self, stage: Stage) -> None:
        """Of the dialog."""
        await self.until(lambda: isinstance(self.app.screen, Rewind) and self.app.screen.stage is stage)

    async def shows(self, text: str) -> None:
        """Waits until it is on the screen."""
        await self.until(lambda: text in self.text)

    async def resize(self, *sizes: tuple[int, int]) -> None:
        """To one size after the other."""
        for size in sizes:
            await self._pilot.resize_terminal(*size)
            await self._pilot.pause()

    async def pause(self, seconds: float) -> None:
        """As long as hands need."""
        await self._pilot.pause(seconds)

    @property
    def text(self) -> str:
        """The lines of the screen, without its tables."""
        return "\n".join(
            "".join(cell.text for cell in line) for one in self.app.screen.query(Lines) for line in one.lines
        )


def drive(
    bootstrap: str | None,
    use: Callable[[Driver], Awaitable[None]],
    *,
    values: dict[str, Any] | None = None,
    **flags: Any,
) -> TopApp:
    """Opens the application as the command does, and ends it when ``use`` has ended."""

    @asynccontextmanager
    async def opened() -> Any:
        async with app.run_test(size=SIZE) as pilot:
            yield Driver(app, pilot)

    async def run() -> None:
        async with opened() as driver:
            await driver.until(lambda: app.listing is not None and app.listing.table.rows)
            await use(driver)

    given = GlobalValues(bootstrap_server=bootstrap, **(values or {}))
    asked = replace(_ASKED, **flags)
    with click.Context(top, obj=given):
        inv = Invocation(given)
        live = first_contact(inv, asked)
        assert live is not None
        app = new_app(inv, asked, live)
        asyncio.run(run())
        finish_rewinds(inv, app)
    if app.error is not None:
        raise app.error
    return app
