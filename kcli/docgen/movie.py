"""The moving picture of ``kcli top``: a group gets stuck on one partition, is looked at, rewound, and recovers.

It is played on the screen itself, key by key, with the recording of the pictures in place of a cluster. The same
recording and the same release of Textual give the same frames.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kcli.docgen.asciicast import asciicast
from kcli.docgen.frames import Frame, frame_of, joined
from kcli.docgen.moving_svg import moving_svg
from kcli.docgen.played import PlayedActions, PlayedFeed
from kcli.flows.monitor.playback import Recording
from kcli.tui.app import TopApp
from kcli.tui.facts import Facts
from kcli.tui.screens.rewind import Rewind, Stage

SIZE = (110, 30)
NAME, GROUP, VALUE = "shop", "billing", "+1"
_STUCK, _OPENED, _HELD, _LAST = 9, 26, 32, 42
"""Readings: the first with the verdict, the one that is looked into, that of the rewind, and the last."""
_CALM, _SOME, _FAST, _TO_READ, _KEY, _LETTER = 0.9, 0.5, 0.4, 3.0, 0.6, 0.14
"""Seconds of a frame."""


async def pictures(recording: Path) -> dict[str, str]:
    """By name: the moving picture in dark and in light, and as a terminal session."""
    dark, still = await frames(recording, light=False)
    light, _ = await frames(recording, light=True)
    return {
        "top-incident.svg": moving_svg(dark, still),
        "top-incident-light.svg": moving_svg(light, still),
        "top-incident.cast": asciicast(dark, "kcli top: a group is stuck on one partition, and recovers"),
    }


async def frames(recording: Path, *, light: bool) -> tuple[list[Frame], int]:
    """All frames, and the number of the one that says most by itself."""
    feed, done = PlayedFeed(Recording(str(recording))), threading.Event()
    app = TopApp(feed, Facts(NAME, ""), light=light, actions=PlayedActions(feed, NAME, lambda: _wait(done)))
    async with app.run_test(size=SIZE) as pilot:
        camera = _Camera(app, feed, pilot)
        try:
            await _play(camera, done)
        finally:
            done.set()
    feed.recording.close()
    if app.error is not None:
        raise app.error
    return camera.taken(), camera.still


async def _play(camera: _Camera, done: threading.Event) -> None:
    for number in range(4, _STUCK):
        await camera.reading(
            number, _CALM if number == 4 else _SOME, "six groups, all of them read what is written"
        )
    for number in range(_STUCK, _OPENED, 2):
        seconds = _TO_READ if number == _STUCK else _FAST
        await camera.reading(number, seconds, "billing is stalled: no commit on 1 of its 10 partitions")
    await camera.press("g", _KEY, "g: to the first row")
    await camera.reading(_OPENED, _TO_READ, "below: which partition, since when, who has it")
    await camera.press("enter", _TO_READ, "enter: its partitions. All are read but orders-7")
    for number in range(_OPENED + 1, _HELD + 1):
        await camera.reading(number, _FAST, "enter: its partitions. All are read but orders-7")
    await camera.press("w", 1.5, "w: a rewind, which also goes ahead: over a record that cannot be processed")
    for key in ("right",) * 4:
        await camera.press(key, _KEY / 2, "w: to where?")
    await camera.press("down", _KEY, "w: to where?")
    for letter in ("plus", "1"):
        await camera.press(letter, _KEY, "w: one record ahead of the commit")
    await camera.press("down", _KEY, "w: of which partitions?")
    for key in ("right",) * 2:
        await camera.press(key, _KEY, "w: of the one under the cursor")
    await camera.press("down", _KEY, "w: and its members?")
    await camera.press("right", 1.5, "w: they are held back for some seconds, and continue from there")
    await camera.press("enter", 4.5, "enter: the plan. Nothing has changed yet", Stage.REVIEW)
    await camera.press("x", 1.2, "x: only the name of the group, typed by hand, confirms it", Stage.CONFIRM)
    for letter in GROUP:
        await camera.press(letter, _LETTER, "x: only the name of the group, typed by hand, confirms it")
    await camera.hands()
    await camera.press(
        "enter", 1.5, "the offset is set and read back, and the members are watched", Stage.RUNNING, "set"
    )
    done.set()
    await camera.until(Stage.REPORT)
    await camera.shoot(4.0, "done and proven, with the command that undoes it")
    await camera.press("escape", _SOME, "back to its partitions")
    for number in range(_HELD + 1, _HELD + 5):
        await camera.reading(number, _SOME, "orders-7 is read again, four times as fast as it is written")
    await camera.press("escape", _SOME, "and in the list")
    for number in range(_HELD + 5, _LAST):
        await camera.reading(number, _SOME, "what was left is read, and billing is ok")
    await camera.reading(_LAST, 4.0, "what was left is read, and billing is ok")


class _Camera:
    """Presses keys and takes frames of what they lead to."""

    def __init__(self, app: TopApp, feed: PlayedFeed, pilot: Any) -> None:
        self._app, self._feed, self._pilot = app, feed, pilot
        self._frames: list[Frame] = []
        self.still = 0

    def taken(self) -> list[Frame]:
        """In their order."""
        return self._frames

    async def reading(self, number: int, seconds: float, caption: str) -> None:
        """Goes on to a reading."""
        self._feed.show(number)
        at_ms = self._feed.recording.times[number]
        await self._wait(
            lambda: self._app.snapshot is not None and self._app.snapshot.reading.sample.at_ms == at_ms
        )
        self._app.repaint_now()
        await self.shoot(seconds, caption)
        if number == _OPENED:
            self.still = len(self._frames) - 1

    async def press(
        self, key: str, seconds: float, caption: str, stage: Stage | None = None, said: str = ""
    ) -> None:
        """A key, and what it leads to."""
        await self._pilot.press(key)
        if stage is not None:
            await self.until(stage)
        if said:
            await self._wait(lambda: said in " ".join(self._dialog()._said))
        await self.shoot(seconds, caption)

    async def until(self, stage: Stage) -> None:
        """The dialog has come so far."""
        await self._wait(lambda: isinstance(self._app.screen, Rewind) and self._app.screen.stage is stage)

    async def hands(self) -> None:
        """As long as hands need between the last letter and Enter."""
        await self._pilot.pause(0.2)

    async def shoot(self, seconds: float, caption: str) -> None:
        """A frame of what is on the screen."""
        for field in self._app.screen.query("Input"):
            field.cursor_blink = False  # type: ignore[attr-defined]
        await self._pilot.pause()
        self._app.repaint_now()
        await self._pilot.pause()
        self._frames = joined([*self._frames, frame_of(self._app, seconds, caption)])

    def _dialog(self) -> Any:
        return self._app.screen

    async def _wait(self, condition: Callable[[], object]) -> None:
        while not condition():
            if self._app.error is not None:
                raise self._app.error
            await self._pilot.pause(0.005)


def _wait(done: threading.Event) -> None:
    done.wait()
