"""What the thread that reads the cluster posts."""

import subprocess
import sys
from contextlib import nullcontext
from queue import SimpleQueue
from threading import Event
from typing import Any, cast

import pytest

from kcli.core.errors import KcliError
from kcli.flows.monitor.cluster_reading import Reading, View
from kcli.flows.monitor.monitor import Monitor
from kcli.tui import feed
from kcli.tui.reports import Lost, Report, Taken
from tests.unit.flows.monitor.readings import NOW, P0, group, reading


class Away:
    """A cluster that is given up after ten seconds."""

    def __init__(self) -> None:
        self.now = 1_000

    def read(self, _view: View, _interval: float = 0.0) -> Reading:
        self.now += 10_000
        raise KcliError("gave up after 10.0 s")


def test_the_cluster_is_lost_since_the_reading_began_not_since_it_was_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, posted = Away(), SimpleQueue[Report]()
    monkeypatch.setattr(feed, "wall_ms", lambda: cluster.now)
    live: Any = feed.LiveFeed(lambda: nullcontext(cast("Monitor", cluster)), 300.0)
    live.start(posted.put)
    lost = posted.get(timeout=10)
    live.close()
    assert isinstance(lost, Lost)
    assert lost.at_ms == 1_000


class Reader:
    """A group reads ten records a second, and once goes ahead by a thousand."""

    def __init__(self) -> None:
        self.second = 0

    def read(self, _view: View, _interval: float = 0.0) -> Reading:
        self.second += 1
        at = 10 * self.second + (1_000 if self.second > 2 else 0)
        return reading(self.second, group("g", {P0: at}, "a"), ends={P0: 5_000})


def test_what_was_set_from_the_screen_is_not_shown_as_a_rate() -> None:
    posted = SimpleQueue[Report]()
    live: Any = feed.LiveFeed(lambda: nullcontext(cast("Monitor", Reader())), 300.0)
    live.start(posted.put)
    for turn in range(4):
        if turn == 3:
            live.exclude("g", NOW + 2_100, NOW + 2_200)
        if turn:
            live.now()
        taken = posted.get(timeout=10)
    live.close()
    assert isinstance(taken, Taken)
    assert taken.snapshot.groups[0].trend.consumed == pytest.approx(20 / 3)


class Answering:
    """A cluster that is read as often as it has readings, then gives up."""

    def __init__(self, readings: int) -> None:
        self.left = readings
        self.emptied = Event()

    def read(self, _view: View, _interval: float = 0.0) -> Reading:
        if not self.left:
            self.emptied.set()
            raise KcliError("gave up")
        self.left -= 1
        return reading(0.0, group("g", {P0: 3}, "a"), ends={P0: 10})


def test_what_was_read_before_the_screen_is_there_is_posted_when_it_comes_first_to_last() -> None:
    cluster, posted = Answering(1), SimpleQueue[Report]()
    live: Any = feed.LiveFeed(lambda: nullcontext(cast("Monitor", cluster)), 300.0)
    live.begin()
    live.now()
    assert cluster.emptied.wait(120)
    live.start(posted.put)
    first, second = posted.get(timeout=10), posted.get(timeout=10)
    live.close()
    assert isinstance(first, Taken)
    assert first.snapshot.groups[0].summary.lag == 7
    assert isinstance(second, Lost)
    assert cluster.left == 0


def test_a_feed_that_began_and_was_never_shown_ends() -> None:
    live: Any = feed.LiveFeed(lambda: nullcontext(cast("Monitor", Answering(1))), 300.0)
    live.begin()
    live.close()
    live.close()
    assert not live._thread.is_alive()


def test_what_reads_the_cluster_does_not_load_what_draws() -> None:
    """The first reading is on its way while Textual is loaded."""
    code = "import sys, kcli.commands.top.run; sys.exit(bool({'textual', 'rich'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_the_screen_does_not_load_what_only_rewinds_and_records_need() -> None:
    code = (
        "import sys, kcli.commands.top.app;"
        "sys.exit(bool({'kcli.flows.rewind.live', 'kcli.core.consumer.consumer'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
