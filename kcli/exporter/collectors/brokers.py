"""Brokers: whether they are up, which one is the controller, and their replicas. Pure."""

from collections.abc import Iterator, Sequence

from kcli.exporter.collectors.sample import Sample
from kcli.exporter.metric import GAUGE, INFO, Metric
from kcli.flows.cluster_state import ONLINE, BrokerState

BROKER = Metric(
    "kcli_broker", INFO, ("broker", "host", "port", "rack"), "Address and rack of a registered broker."
)
UP = Metric(
    "kcli_broker_up",
    GAUGE,
    ("broker",),
    "1 if the broker is registered and not fenced; 0 if it is fenced, or if only lists of replicas have it.",
)
CONTROLLER = Metric(
    "kcli_broker_controller", GAUGE, ("broker",), "1 for the broker that is the active controller, else 0."
)
LEADERS = Metric(
    "kcli_broker_leaders", GAUGE, ("broker",), "Partitions that it leads, of the topics that are collected."
)
REPLICAS = Metric("kcli_broker_replicas", GAUGE, ("broker",), "Replicas that it has, likewise.")
BEHIND = Metric("kcli_broker_out_of_sync_replicas", GAUGE, ("broker",), "Those that are not in sync.")
METRICS = (BROKER, UP, CONTROLLER, LEADERS, REPLICAS, BEHIND)


def samples(brokers: Sequence[BrokerState], controller: int | None, *, counted: bool) -> Iterator[Sample]:
    """``controller``: its node id, None where it is not known. ``counted``: whether topics were read."""
    for one in brokers:
        at = (one.number,)
        if one.node is not None:
            yield Sample(BROKER, (one.number, one.node.host, one.node.port, one.node.rack or ""), 1)
        yield Sample(UP, at, int(one.state == ONLINE))
        yield Sample(CONTROLLER, at, None if controller is None else int(one.number == controller))
        if counted:
            yield Sample(LEADERS, at, one.leaders)
            yield Sample(REPLICAS, at, one.replicas)
            yield Sample(BEHIND, at, one.under_replicated)
