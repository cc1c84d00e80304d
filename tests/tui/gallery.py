"""Every screen of ``kcli top`` at every size, to be looked at one by one: ``python -m tests.tui.gallery FOLDER``.

From the recording of the incident, with what it lacks: records, configuration, an outage, many groups, share and streams
groups, a cluster where nothing goes on.
"""

from __future__ import annotations

import asyncio
import functools
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from textual.filter import LineFilter
from textual.pilot import Pilot
from textual.screen import ModalScreen

from kcli.core.admin.configs import ConfigEntry
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.streams_members import Task, Tasks
from kcli.core.errors import ConnectError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.docgen.frames import Frame, Row, frame_of
from kcli.docgen.moving_svg import moving_svg
from kcli.docgen.played import PlayedActions, PlayedFeed
from kcli.flows.groups.record_pages import Part, RecordPage, ShownRecord
from kcli.flows.lag.sample import GroupSample
from kcli.flows.monitor.cluster_reading import Part as Read
from kcli.flows.monitor.cluster_reading import Reading
from kcli.flows.monitor.playback import Recording
from kcli.tui import app as application
from kcli.tui.app import TopApp
from kcli.tui.facts import Facts
from kcli.tui.screens import record
from kcli.tui.screens.rewind import Rewind, Stage
from tests.tui import incident
from tests.tui.made_up import line_of

SIZES = ((80, 24), (120, 40), (200, 60), (300, 80))
LOOKS = ("dark", "light", "sixteen", "sixteen-light", "no-colour")
AT, LOST, LOST_FROM, CROWD = 31, 3, 28, 120
_STEPS = 4_000


class Shown(NamedTuple):
    """A frame, and the rows of it that are not behind a dialog."""

    frame: Frame
    rows: Sequence[Row]


class _App(TopApp):
    """On a terminal of memory, with the filters of a terminal with sixteen colours."""

    sixteen = False

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = super().get_line_filters()
        dark = self.current_theme.dark
        return [*filters, application._SixteenColours(dark=dark)] if self.sixteen else filters


class _Admin:
    def __enter__(self) -> _Admin:
        return self

    def __exit__(self, *_args: object) -> None: ...

    def close(self) -> None: ...

    def describe_configs(self, resources: Sequence[Any]) -> dict[Any, list[ConfigEntry]]:
        keys = (("consumer.heartbeat.interval.ms", "5000"), ("consumer.session.timeout.ms", "45000"))
        return {
            one: [
                ConfigEntry(name, value, source, is_sensitive=False, own_source="group")
                for (name, value), source in zip(keys, ("group", "default"), strict=True)
            ]
            for one in resources
        }


class _Actions(PlayedActions):
    def open_admin(self) -> Any:
        return _Admin()

    def open_consumer(self) -> Any:
        return _Admin()


def page(_consumer: Any, _tp: Any, offset: int, **_limits: Any) -> RecordPage:
    """Some records."""
    value = json.dumps(
        {"order": 88_121, "customer": "C-4711", "total": {"amount": "149.90", "currency": "EUR"}}
    ).encode()
    records = tuple(
        ShownRecord(
            at,
            incident.BEGIN,
            Part(b"88121", 5),
            Part(value, len(value)),
            (("traceparent", Part(b"00-4bf92f", 9)),),
        )
        for at in range(offset - 2, offset + 3)
    )
    return RecordPage(records, 0, offset + 34_000)


def _with_outage(found: Reading, number: int) -> Reading:
    if number < LOST_FROM:
        return found
    error = ConnectError("the group cannot be read", why="broker 3, its coordinator, does not answer", do="")
    kept = [one for one in found.sample.groups if one.group not in ("audit", "shipping")]
    failed = dict.fromkeys(("audit", "shipping"), error)
    whole, parts = found.cluster, found.parts
    topics = [
        replace(
            topic,
            partitions=tuple(
                one._replace(leader=-1 if one.leader == LOST else one.leader, isr=(1, 2))
                for one in topic.partitions
            ),
        )
        for topic in whole.topics or ()
    ]
    cluster = replace(
        whole,
        description=replace(whole.description, brokers=whole.description.brokers[: LOST - 1]),
        topics=topics,
        replicas_at=frozenset({1, 2, LOST}),
    )
    before = found.sample.at_ms - (number - LOST_FROM + 1) * 10_000
    silent = ConnectError(f"the request to broker {LOST} failed", why="it does not answer", do="")
    assert parts.transactions is not None
    parts = replace(
        parts,
        quorum=Read(None, 0, (silent,)),
        transactions=parts.transactions._replace(at_ms=before, errors=(silent,)),
        mirrors=Read(None, 0, (silent,)),
        configs=Read(None, 0, (silent,)),
    )
    return replace(
        found,
        sample=found.sample._replace(groups=kept, failed=failed),
        cluster=cluster,
        parts=parts,
        latencies={node: one for node, one in found.latencies.items() if node != LOST},
    )


def _with_crowd(found: Reading, _number: int) -> Reading:
    first = found.sample.groups[0]
    more = [
        first._replace(
            group=f"payments-settlement-worker-eu-central-{number:03}" if number % 9 else f"g{number}"
        )
        for number in range(CROWD)
    ]
    return replace(found, sample=found.sample._replace(groups=[*found.sample.groups, *more]))


def _with_types(found: Reading, number: int) -> Reading:
    """A share group and a streams group more."""
    bounds = found.sample.bounds
    orders = [TopicPartition("orders", one) for one in range(4)]
    starts = {tp: OffsetAndMetadata((bounds[tp].end or 0) - 900) for tp in orders}
    share = GroupSample(
        "courier-jobs", "Stable", starts,
        GroupDescription(
            "courier-jobs", "share", "Stable", "share", "simple", 2,
            tuple(
                MemberDescription(f"Kx{one}", None, f"courier-{one}", "/10.0.9.4", assignment=tuple(orders))
                for one in (1, 2)
            ), 7, 7,
        ), "share", dict.fromkeys(orders, 40 + number % 5),
    )  # fmt: skip
    clicks = [TopicPartition("clicks", one) for one in range(4)]
    read = {tp: OffsetAndMetadata((bounds[tp].end or 0) - 310 - number % 7) for tp in clicks}
    streams = GroupSample(
        "sessions-by-user", "Stable", read,
        GroupDescription(
            "sessions-by-user", "streams", "Stable", "streams", "", 3,
            tuple(
                MemberDescription(
                    f"Sx{one}", None, f"sessions-{one}", "/10.0.8.7", assignment=tuple(clicks[one::2]),
                    epoch=4,
                    tasks=Tasks(
                        tuple(Task("0", part) for part in range(one, 4, 2)),
                        (Task("0", (one + 1) % 2),),
                        (),
                    ),
                )
                for one in (0, 1)
            ), 4, 4, topology_epoch=2,
        ), "streams",
    )  # fmt: skip
    return replace(found, sample=found.sample._replace(groups=[*found.sample.groups, share, streams]))


def _with_nothing(found: Reading, _number: int) -> Reading:
    """Neither transactions nor mirrors, no leader of the quorum, nothing set."""
    parts, at_ms = found.parts, found.sample.at_ms
    assert parts.quorum is not None
    assert parts.quorum.value is not None
    lost = parts.quorum._replace(value=replace(parts.quorum.value, leader=-1))
    none = replace(
        parts, quorum=lost, transactions=Read((), at_ms), mirrors=Read((), at_ms), configs=Read({}, at_ms)
    )
    return replace(found, parts=none)


VARIANTS: dict[str, Callable[[Reading, int], Reading]] = {
    "": lambda found, _number: found,
    "outage": _with_outage,
    "crowd": _with_crowd,
    "types": _with_types,
    "nothing": _with_nothing,
}


class Driver(NamedTuple):
    """The application with its keys."""

    app: TopApp
    pilot: Pilot[None]

    async def press(self, *keys: str) -> None:
        """One after the other."""
        await self.pilot.press(*keys)

    async def until(self, done: Callable[[], object]) -> None:
        """Waits for what a thread does."""
        for _ in range(_STEPS):
            if self.app.error is not None:
                raise self.app.error
            if done():
                return
            await self.pilot.pause(0.005)
        raise AssertionError(f"it did not come: {self.app.screen}")

    async def stage(self, stage: Stage) -> None:
        """Of the dialog."""
        await self.until(lambda: isinstance(self.app.screen, Rewind) and self.app.screen.stage is stage)


def _keys(*keys: str) -> Callable[[Driver], Awaitable[None]]:
    async def press(driver: Driver) -> None:
        await driver.press(*keys)

    return press


async def _members(driver: Driver) -> None:
    await driver.press("g", "enter")
    await driver.press("tab")


async def _configuration(driver: Driver) -> None:
    await driver.press("g", "enter")
    await driver.press("tab")
    await driver.press("tab")
    await driver.pilot.pause(0.05)


async def _record(driver: Driver) -> None:
    await driver.press("g", "enter")
    await driver.press("enter")
    await driver.until(lambda: getattr(driver.app.screen, "records", ()))


async def _plan(driver: Driver) -> None:
    await driver.press("g", "enter")
    await driver.press(
        "w", *("right",) * 4, "down", "plus", "1", "down", "right", "right", "down", "right", "enter"
    )
    await driver.stage(Stage.REVIEW)


async def _confirm(driver: Driver) -> None:
    await _plan(driver)
    await driver.press("x")
    await driver.stage(Stage.CONFIRM)


def _group(name: str, *keys: str) -> Callable[[Driver], Awaitable[None]]:
    async def opened(driver: Driver) -> None:
        driver.app.open_group(name)
        await driver.press(*keys)
        await driver.pilot.pause(0.05)

    return opened


def _topic(name: str, *keys: str) -> Callable[[Driver], Awaitable[None]]:
    async def opened(driver: Driver) -> None:
        driver.app.open_topic(name)
        for key in keys:
            await driver.press(key)

    return opened


SCREENS: dict[str, tuple[str, Callable[[Driver], Awaitable[None]]]] = {
    "groups": ("", _keys("g")),
    "groups-filtered": ("", _keys("/", "s", "e", "a", "enter")),
    "groups-filter-typed": ("", _keys("/", "s", "e")),
    "groups-many": ("crowd", _keys("g")),
    "groups-outage": ("outage", _keys("g")),
    "brokers-outage": ("outage", _keys("3")),
    "groups-types": ("types", _keys("g")),
    "share-partitions": ("types", _group("courier-jobs")),
    "share-configuration": ("types", _group("courier-jobs", "tab", "tab")),
    "streams-members": ("types", _group("sessions-by-user", "tab")),
    "partitions": ("", _keys("g", "enter")),
    "partitions-course": ("", _keys("g", "enter", "l")),
    "members": ("", _members),
    "configuration": ("", _configuration),
    "topics": ("", _keys("2")),
    "topics-outage": ("outage", _keys("2")),
    "topic": ("", _topic("orders")),
    "topic-outage": ("outage", _topic("orders")),
    "topic-readers": ("", _topic("orders", "tab")),
    "topic-no-readers": ("", _topic("ledger", "tab")),
    "topic-configuration": ("", _topic("orders", "tab", "tab")),
    "topic-configuration-outage": ("outage", _topic("orders", "tab", "tab")),
    "topic-configuration-none": ("nothing", _topic("orders", "tab", "tab")),
    "brokers": ("", _keys("3")),
    "quorum": ("", _keys("4")),
    "quorum-outage": ("outage", _keys("4")),
    "quorum-no-leader": ("nothing", _keys("4")),
    "transactions": ("", _keys("5")),
    "transactions-outage": ("outage", _keys("5")),
    "transactions-none": ("nothing", _keys("5")),
    "mirrors": ("", _keys("6")),
    "mirrors-outage": ("outage", _keys("6")),
    "mirrors-none": ("nothing", _keys("6")),
    "events": ("", _keys("7")),
    "help": ("", _keys("question_mark")),
    "sort-menu": ("", _keys("s")),
    "export": ("", _keys("e")),
    "palette": ("", _keys("colon")),
    "record": ("", _record),
    "rewind-form": ("", _keys("g", "enter", "w")),
    "rewind-plan": ("", _plan),
    "rewind-confirm": ("", _confirm),
}
"""By name: the recording, and the keys that lead there."""


def recordings(folder: Path) -> dict[str, Path]:
    """By the name of the variant."""
    found = {}
    for name, change in VARIANTS.items():
        found[name] = folder / f"{name or 'incident'}.ndjson"
        lines = (line_of(change(one, number)) for number, one in enumerate(incident.readings()))
        found[name].write_text("".join(lines), encoding="utf-8")
    return found


@functools.cache  # each reading of it is read once
def _recording(path: Path) -> Recording:
    return Recording(str(path))


@asynccontextmanager
async def _opened(path: Path, size: tuple[int, int], look: str) -> Any:
    feed = PlayedFeed(_recording(path))
    feed.number = AT
    app = _App(
        feed, Facts("shop", ""), light=look.endswith("light"), colour=look != "no-colour",
        actions=_Actions(feed, "shop", lambda: None),
    )  # fmt: skip
    app.sixteen = look.startswith("sixteen")
    async with app.run_test(size=size) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: app.snapshot is not None)
        await pilot.pause()
        yield driver


async def shown(path: Path, name: str, size: tuple[int, int], look: str) -> Shown:
    """A screen."""
    [found] = await shown_in(path, name, size, look)
    return found


async def shown_in(
    path: Path, name: str, size: tuple[int, int], look: str, *, light: bool = False
) -> list[Shown]:
    """A screen; with ``light`` once more, after the terminal has said that its ground is light."""
    async with _opened(path, size, look) as driver:
        await SCREENS[name][1](driver)
        for field in driver.app.screen.query("Input"):
            field.cursor_blink = False
        found = []
        for now in (False, True) if light else (look.endswith("light"),):
            driver.app.suit(light=now)
            await driver.pilot.pause()
            if (listing := driver.app.listing) is not None:
                listing.repaint()
            await driver.pilot.pause()
            frame = frame_of(driver.app, 1, f"{name} {size[0]}×{size[1]} {look}")
            found.append(Shown(frame, _in_front(driver.app, frame.rows)))
        return found


def _in_front(app: TopApp, rows: Sequence[Row]) -> list[Row]:
    screen = app.screen
    if not isinstance(screen, ModalScreen):
        return list(rows)
    region = screen.children[0].region
    return [_cut(row, region.x, region.right) for row in rows[region.y : region.bottom]]


def _cut(row: Row, left: int, right: int) -> Row:
    found, at = [], 0
    for text, ink in row:
        part = text[max(0, left - at) : max(0, right - at)]
        at += len(text)
        if part:
            found.append((part, ink))
    return tuple(found)


def text_of(rows: Sequence[Row]) -> list[str]:
    """The rows as text."""
    return ["".join(text for text, _ in row) for row in rows]


def main(folder: Path, names: Sequence[str]) -> int:
    """Writes an SVG for each."""
    folder.mkdir(parents=True, exist_ok=True)

    async def write() -> None:
        for name, (variant, _) in SCREENS.items():
            for size in SIZES:
                for look in LOOKS:
                    picture = f"{name}.{size[0]}x{size[1]}.{look}"
                    if names and not any(one in picture for one in names):
                        continue
                    found = await shown(made[variant], name, size, look)
                    (folder / f"{picture}.svg").write_text(
                        moving_svg([found.frame], 0, moving=False), encoding="utf-8"
                    )

    with tempfile.TemporaryDirectory() as made_in, pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "read_page", page)
        made = recordings(Path(made_in))
        asyncio.run(write())
    print(f"{len(list(folder.glob('*.svg')))} pictures in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
