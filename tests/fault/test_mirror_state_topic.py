"""The state topic as a job reads it several times in its start: only what was added is read again."""

from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.hooks import Hooks
from kcli.core.options import ClientOptions
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.flows.mirror.job.state import JobState, job_record
from kcli.flows.mirror.job.store import StateReader
from kcli.flows.mirror.topics.routes import STATE_TOPIC
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch


class Target:
    """One side of a mirror."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.servers = cluster.bootstrap

    def options(self, kind: type[Any], **own: Any) -> Any:
        return kind(bootstrap_servers=self.servers, **own)


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}) as made:
        yield made


@pytest.fixture
def reader(target: FakeCluster) -> Iterator[StateReader]:
    side = Target(target)
    with Admin(side.options(ClientOptions), Hooks(), timeout=60) as admin:
        yield StateReader(side, admin, Hooks())


def write(target: FakeCluster, job: str) -> None:
    record = job_record(
        JobState(
            job=job,
            run="r",
            source="here",
            target="there",
            source_servers="",
            delivery="",
            partitions="",
            topics={},
            started_ms=0,
            updated_ms=0,
            host="",
        )
    )
    target.append(STATE_TOPIC, 0, batch(record.value, key=record.key))


def found(reader: StateReader) -> list[str]:
    return [one.job for one in reader.jobs(wait=False)]


def asked_from(target: FakeCluster) -> list[int]:
    """The offsets from which the state topic was fetched."""
    return [
        part.fetch_offset
        for seen in target.seen(FetchRequest)
        for topic in seen.request.topics
        for part in topic.partitions
    ]


def test_only_what_was_added_is_read_again(target: FakeCluster, reader: StateReader) -> None:
    assert found(reader) == []
    target.create_topic(STATE_TOPIC, 1)
    write(target, "a")
    write(target, "b")
    assert found(reader) == ["a", "b"]
    once = len(target.seen(FetchRequest))
    assert found(reader) == ["a", "b"]
    assert len(target.seen(FetchRequest)) == once
    write(target, "c")
    assert found(reader) == ["a", "b", "c"]
    assert set(asked_from(target)[once:]) <= {2, 3}


def test_a_topic_that_is_another_one_is_read_from_its_start(target: FakeCluster, reader: StateReader) -> None:
    target.create_topic(STATE_TOPIC, 1)
    write(target, "a")
    assert found(reader) == ["a"]
    target.delete_topic(STATE_TOPIC)
    assert found(reader) == []
    target.create_topic(STATE_TOPIC, 1)
    write(target, "b")
    assert found(reader) == ["b"]
