"""All brokers."""

from collections.abc import Sequence

from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.snapshot import BrokerLine, Snapshot
from kcli.tui.broker_columns import COLUMNS
from kcli.tui.screens.listing import LISTS, Listing
from kcli.tui.shell import command


class Brokers(Listing[BrokerLine]):
    """One line a broker: its replicas, and how long it takes to answer."""

    NAME = "brokers"
    ITEM = "TopBroker"
    COLUMNS = COLUMNS
    SORTED_BY = "ID"
    NOTHING = "no broker"
    KEYS = (("/", "filter"), ("s", "sort"), ("c", "copy"), *LISTS)

    def key(self, row: BrokerLine) -> str:
        return str(row.broker.number)

    def rows(self, snapshot: Snapshot) -> Sequence[BrokerLine]:
        return snapshot.brokers

    def nothing(self, snapshot: Snapshot) -> str:  # noqa: ARG002
        return self.NOTHING if self.app.replay is None else "the recording has no brokers"

    def view(self) -> tuple[View, str | None]:
        return View(brokers=True), None

    def copied(self) -> str | None:
        return command(("cluster", "describe"), options=self.app.facts.options)
