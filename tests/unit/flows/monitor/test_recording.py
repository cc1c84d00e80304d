"""Readings in a file, and back."""

import json
from pathlib import Path

import pytest

from kcli.core.admin.brokers import ClusterDescription
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView
from kcli.core.errors import ConfigError, KcliError
from kcli.core.types import TopicPartition
from kcli.flows.lag.partition_lag import READ, RecordTime
from kcli.flows.lag.recording import append_sample
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.cluster_reading import ClusterFacts, Latency, Reading
from kcli.flows.monitor.recording import append_reading, document_of, read_line
from kcli.flows.topics.sizes import TopicSize
from tests.unit.flows.monitor.readings import BROKERS, NOW, P0, P1, group, reading

SPARSE = TopicPartition("sparse \x1b[31m", 7)


def whole(second: int = 0) -> Reading:
    """One that has everything."""
    parts = (PartitionView(0, 1, replicas=(1, 2), isr=(1,)), PartitionView(1, 2, replicas=(2,), isr=(2,)))
    facts = ClusterFacts(
        ClusterDescription("c", -1, BROKERS), 2, [TopicInfo("t", "", False, parts)], {"t": TopicSize(5, None)}
    )
    groups = (
        group("g", {P0: 3, P1: None, SPARSE: 8 + second}, "a", "b"),
        group("[/red]", {P1: 4}, state="Empty")._replace(description=None),
    )
    return reading(
        second,
        *groups,
        ends={P0: 10, P1: 10, SPARSE: 90 + second},
        cluster=facts,
        timed=frozenset("g"),
        times={(P0, 3): RecordTime(NOW - 9_000, READ), (SPARSE, 8): RecordTime(None, READ)},
        retention={"t": 60_000},
        notes={P1: "last stable offset 3"},
        latencies={1: Latency(3, 1.5, 2.0)},
        requests=3,
        seconds=0.5,
        problems=[KcliError("a broker is away")],
    )


def test_what_is_read_back_shows_the_same() -> None:
    first, second = Board(), Board()
    for n in range(0, 20, 2):
        one = whole(n)
        again = read_line(json.dumps(document_of(one)).encode(), "line 1")
        before, after = first.add(one), second.add(again)
        assert after.groups == before.groups
        assert {name: list(rows) for name, rows in after.rows.items()} == {
            name: list(rows) for name, rows in before.rows.items()
        }
        assert (after.topics, after.brokers, after.totals) == (before.topics, before.brokers, before.totals)
        assert after.events == before.events
    assert document_of(again) == document_of(one)
    assert [str(problem) for problem in again.problems] == ["a broker is away"]


def test_lines_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "samples"
    append_reading(str(path), whole())
    append_reading(str(path), whole(2))
    lines = path.read_bytes().splitlines()
    assert [read_line(line, "it").sample.at_ms - NOW for line in lines] == [0, 2_000]
    assert b"\x1b" not in path.read_bytes()


def test_what_groups_lag_records_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "samples"
    append_sample(str(path), "c", whole().sample)
    found = read_line(path.read_bytes(), "it")
    shown, expected = Board().add(found), Board().add(whole())
    assert found.cluster.description.cluster_id == "c"
    assert [line.summary.lag for line in shown.groups] == [line.summary.lag for line in expected.groups]


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b"[]", b"null", b"7", b'{"kind":"GroupLag"}', b'{"kind":"MonitorReading"}', b"\xff",
     b'{"kind":"LagSample","groups":3}', b'{"kind":"LagSample","cluster":"c","at_ms":1,"groups":[{"group":"g"}]}'],
)  # fmt: skip
def test_another_line_is_refused_by_its_place(line: bytes) -> None:
    with pytest.raises(ConfigError, match="line 3 of FILE is not a recorded sample") as caught:
        read_line(line, "line 3 of FILE")
    assert caught.value.do
