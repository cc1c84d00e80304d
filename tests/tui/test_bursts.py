"""T7: many snapshots at once are one repaint, and a reading of many groups is as few requests as one of few."""

import asyncio
from unittest.mock import patch

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.hooks import NO_HOOKS
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from kcli.tui.app import TopApp
from kcli.tui.facts import Facts
from kcli.tui.feed import Post
from kcli.tui.reports import Taken
from kcli.tui.screens.listing import Listing
from tests.fake.cluster import FakeCluster
from tests.fake.many_groups import ManyGroups
from tests.tui.screen_process import Made
from tests.unit.flows.monitor.readings import P0, group, reading


class Silent(Made):
    """Posts nothing."""

    def __init__(self) -> None:
        super().__init__(())

    def start(self, post: Post) -> None:
        pass


@pytest.mark.case("T7")
def test_a_hundred_snapshots_at_once_are_one_repaint() -> None:
    async def run() -> None:
        app = TopApp(Silent(), Facts("made", "made-up"))
        async with app.run_test(size=(100, 30)) as pilot:
            board = Board()
            shown = [board.add(reading(n, group("g", {P0: n}, "a"), ends={P0: 500})) for n in range(100)]
            await pilot.pause(0.2)
            with patch.object(Listing, "repaint", autospec=True, side_effect=Listing.repaint) as repaint:
                for snapshot in shown:
                    app.report(Taken(snapshot))
                await pilot.pause(0.3)
            assert repaint.call_count == 1
            assert app.snapshot is shown[-1]

    asyncio.run(run())


@pytest.mark.case("T7")
def test_a_reading_of_many_groups_is_as_many_requests_as_one_of_few() -> None:
    counts = []
    for number in (6, 60):
        with FakeCluster(3) as cluster:
            ManyGroups(cluster, number, 4)
            latencies = Latencies(NO_HOOKS)
            with Admin(bootstrap_servers=cluster.bootstrap, hooks=latencies.hooks, timeout=10) as admin:
                monitor = Monitor(admin, latencies, Wanted())
                for _ in range(2):
                    monitor.read(View())
                before = len(cluster.seen())
                assert len(monitor.read(View()).sample.groups) == number
                counts.append(len(cluster.seen()) - before)
    assert counts[1] <= counts[0]
