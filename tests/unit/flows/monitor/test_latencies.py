"""How long brokers take, from what the wire hook sees."""

from kcli.core.hooks import Hooks
from kcli.core.types import Node
from kcli.flows.monitor.cluster_reading import Latency
from kcli.flows.monitor.latencies import Latencies

ONE, TWO, BOOTSTRAP = Node(1, "one", 9092), Node(2, "two", 9092), Node(-1, "one", 9092)


def test_requests_are_matched_with_their_responses_by_broker() -> None:
    seen: list[object] = []
    times = iter((0.0, 1.0, 3.0, 3.5, 9.0, 10.0))
    latencies = Latencies(Hooks(wire=lambda *args: seen.append(args)), lambda: next(times))
    wire = latencies.hooks.wire
    assert wire is not None
    wire("→", ONE, 7, "Fetch", 12, 100)
    wire("→", ONE, 8, "Fetch", 12, 100)
    wire("→", TWO, 7, "Fetch", 12, 100)
    wire("←", ONE, 7, "Fetch", 12, 50)
    wire("→", BOOTSTRAP, 1, "Metadata", 12, 50)
    wire("←", TWO, 7, "Fetch", 12, 50)
    wire("←", TWO, 99, "Fetch", 12, 50)
    assert latencies.take() == {1: Latency(1, 3_500, 3_500), 2: Latency(1, 7_000, 7_000)}
    assert latencies.take() == {}
    assert len(seen) == 7, "the hook that was there before still listens"


def test_requests_without_a_response_are_not_kept_for_ever() -> None:
    latencies = Latencies(Hooks(), lambda: 0.0)
    assert latencies.hooks.wire is not None
    for number in range(25_000):
        latencies.hooks.wire("→", ONE, number, "Fetch", 12, 100)
    assert len(latencies._sent) <= 10_000
