"""A mirror of hundreds of topics: what it sends to set up, and what it does between two polls, is not for each one."""

from collections import Counter

import pytest

from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.copy.state_watch import StateWatch
from kcli.flows.mirror.job.store import Progress
from kcli.flows.mirror.progress import MirrorProgress
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, mirrored, running, until, values

_COPYING = (FetchRequest, ProduceRequest)


def names(count: int) -> list[str]:
    return [f"t{number:03d}" for number in range(count)]


def source_of(count: int) -> FakeCluster:
    made = FakeCluster(1, topics=dict.fromkeys(names(count), 1))
    for name in names(count):
        made.append(name, 0, batch(name.encode(), timestamp=1_000))
    return made


def copied(target: FakeCluster, name: str) -> list[bytes | None]:
    """What the topic has; nothing before it is created."""
    try:
        return values(target, name)
    except KeyError:
        return []


def set_up(count: int, *delivery: str) -> tuple[Counter[str], Counter[str]]:
    """How many requests of each kind both sides receive until so many topics are copied."""
    with source_of(count) as source, FakeCluster(1, topics={}, cluster_id="there") as target:
        done = mirrored(source, target, "-t", "*", *delivery)
        assert done.code == 0, done.err
        assert [values(target, name) for name in names(count)] == [[name.encode()] for name in names(count)]
        sides = [
            Counter(
                type(seen.request).__name__
                for seen in cluster.requests
                if not isinstance(seen.request, _COPYING)
            )
            for cluster in (source, target)
        ]
        return sides[0], sides[1]


def test_no_request_of_the_set_up_is_for_each_topic(delivery: tuple[str, ...]) -> None:
    few, many = set_up(20, *delivery), set_up(90, *delivery)
    repeated = ("MetadataRequest",)  # until what is new is known
    for here, there in zip(few, many, strict=True):
        for kind in here.keys() | there.keys():
            assert there[kind] - here[kind] <= (10 if kind in repeated else 2), kind


def test_topics_are_created_a_hundred_at_a_time() -> None:
    """Each request has the timeout of the client: one for a thousand could take longer, and the run would end there."""
    with source_of(230) as source, FakeCluster(1, topics={}, cluster_id="there") as target:
        done = mirrored(source, target, "-t", "*")
        assert done.code == 0, done.err
        sizes = [
            len(seen.request.topics)
            for seen in target.requests
            if isinstance(seen.request, CreateTopicsRequest)
        ]
        assert sizes[:3] == [100, 100, 30]


def test_a_follower_at_rest_looks_at_no_partition(
    monkeypatch: pytest.MonkeyPatch, delivery: tuple[str, ...]
) -> None:
    looked: Counter[str] = Counter()

    def counted(kind: type, name: str) -> None:
        real = getattr(kind, name)

        def call(self: object, *values: object) -> object:
            looked[f"{kind.__name__}.{name}"] += 1
            return real(self, *values)

        monkeypatch.setattr(kind, name, call)

    counted(PartitionCopy, "skip_to")
    counted(StateWatch, "_obstacle")
    counted(Progress, "_has_changed")
    turns: Counter[str] = Counter()
    real_look = MirrorProgress.__call__

    def look(self: MirrorProgress) -> None:
        turns["turn"] += 1
        real_look(self)

    monkeypatch.setattr(MirrorProgress, "__call__", look)
    with source_of(50) as source, FakeCluster(1, topics={}, cluster_id="there") as target:
        words = arguments(source, target, "-t", "*", "-o", "json", *delivery)
        with running(monkeypatch, *words) as mirror:
            until(lambda: all(copied(target, name) for name in names(50)))

            def turned(times: int) -> bool:
                end = turns["turn"] + times
                until(lambda: turns["turn"] >= end)
                return True

            def looked_at_none() -> bool:
                looked.clear()
                return turned(10) and not looked

            until(looked_at_none)  # once positions are saved
            source.append("t007", 0, batch(b"more", timestamp=1_000))
            until(lambda: values(target, "t007") == [b"t007", b"more"])
            until(lambda: looked["Progress._has_changed"])
            assert looked["StateWatch._obstacle"] < 10
            assert looked["Progress._has_changed"] < 10
            mirror.stop()
