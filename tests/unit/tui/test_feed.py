"""What the thread that reads the cluster posts."""

from contextlib import nullcontext
from queue import SimpleQueue
from typing import Any, cast

import pytest

from kcli.core.errors import KcliError
from kcli.flows.monitor.monitor import Monitor
from kcli.flows.monitor.reading import Reading, View
from kcli.tui import feed
from kcli.tui.reports import Lost, Report, Taken
from tests.unit.flows.monitor.readings import NOW, P0, group, reading


class Away:
    """A cluster that is given up after ten seconds."""

    def __init__(self) -> None:
        self.now = 1_000

    def read(self, _view: View) -> Reading:
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

    def read(self, _view: View) -> Reading:
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
