"""Readings in a file, and back."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kcli.core.admin.brokers import ClusterDescription
from kcli.core.admin.streams_members import Task, Tasks
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView
from kcli.core.errors import AuthError, ConfigError, ConnectError, KcliError, UnsupportedError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.measure import Measurement, Times, lags_of
from kcli.flows.lag.partition_lag import READ, RecordTime
from kcli.flows.lag.recording import append_sample
from kcli.flows.lag.sample import GroupSample, LagSample
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.cluster_reading import ClusterFacts, Latency, Reading
from kcli.flows.monitor.recording import append_reading, document_of, read_line
from kcli.flows.topics.sizes import TopicSize
from tests.unit.flows.monitor.readings import BROKERS, NOW, P0, P1, group, reading, share_group, streams_group

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


def measured(one: Reading) -> Measurement:
    return Measurement(one.sample, {}, Times(one.times, one.retention, one.notes))


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


def of_other_types(second: int = 0) -> Reading:
    failed = UnsupportedError("group x cannot be described", why="its broker is too old")
    one = reading(
        second,
        share_group("s", {P0: (3, 2 + second), P1: (None, None)}, "a", "b"),
        streams_group("x", {P0: 4, P1: None}, "c"),
        share_group("idle", {P0: (0, 0)}, state="Empty")._replace(description=None),
        ends={P0: 10 + second, P1: 10},
    )
    return replace(one, sample=one.sample._replace(undescribed={"idle": failed}))


def test_share_and_streams_groups_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "samples"
    append_sample(str(path), "c", measured(of_other_types()))
    for found in (
        read_line(json.dumps(document_of(of_other_types())).encode(), "it"),
        read_line(path.read_bytes(), "it"),
    ):
        shown, expected = Board().add(found), Board().add(of_other_types())
        assert shown.groups == expected.groups
        assert [line.type for line in shown.groups] == ["share", "streams", "share"]
        assert {name: list(rows) for name, rows in shown.rows.items()} == {
            name: list(rows) for name, rows in expected.rows.items()
        }
        assert [one.lags for one in found.sample.groups] == [{P0: 2}, {}, {P0: 0}]
        _, streams, _ = found.sample.groups
        assert streams.description is not None
        assert streams.description.topology_epoch == 2
        assert [member.tasks for member in streams.description.members] == [
            Tasks((Task("0", 0), Task("0", 1)), (Task("0", 9),))
        ]
        assert [part.what for part in found.missing] == ["members of group idle"]


def test_a_file_of_before_types_were_recorded_is_read(tmp_path: Path) -> None:
    path = tmp_path / "samples"
    append_sample(str(path), "c", measured(whole()))
    document = json.loads(path.read_text())
    for one in document["groups"]:
        if "members" not in one:
            del one["type"]
    del document["undescribed"]
    found = read_line(json.dumps(document).encode(), "it")
    assert [line.summary.lag for line in Board().add(found).groups] == [
        line.summary.lag for line in Board().add(whole()).groups
    ]


def test_what_groups_lag_records_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "samples"
    append_sample(str(path), "c", measured(whole()))
    found = read_line(path.read_bytes(), "it")
    shown, expected = Board().add(found), Board().add(whole())
    assert found.cluster.description.cluster_id == "c"
    assert [line.summary.lag for line in shown.groups] == [line.summary.lag for line in expected.groups]
    assert list(shown.rows["g"]) == list(expected.rows["g"])


@pytest.mark.parametrize("kind", ["MonitorReading", "LagSample"])
def test_what_could_not_be_read_is_still_missing_when_it_is_played(tmp_path: Path, kind: str) -> None:
    one = whole()
    gone = replace(
        one,
        sample=one.sample._replace(
            failed={"lost": AuthError("group lost cannot be read", why="no DESCRIBE")},
            partial=[ConnectError("groups of broker 3 are missing", why="it is silent")],
        ),
        problems=[],
    )
    gone = replace(gone, problems=[*gone.sample.partial, *gone.sample.failed.values(), KcliError("no sizes")])
    path = tmp_path / "samples"
    if kind == "LagSample":
        gone = replace(gone, problems=gone.problems[:2])
        append_sample(str(path), "c", measured(gone))
    else:
        append_reading(str(path), gone)
    found = read_line(path.read_bytes(), "it")
    assert [part.entry() for part in found.missing] == [part.entry() for part in gone.missing]
    assert found.sample.failed.keys() == {"lost"}
    assert [line.group for line in Board().add(found).unread] == ["lost"]
    assert list(map(str, found.problems)) == list(map(str, gone.problems))


def test_a_partition_that_could_not_be_read_has_its_reason(tmp_path: Path) -> None:
    tp, one = TopicPartition("t", 0), KcliError("no leader")
    ends = {tp: LogEnds(None, None, None, "no leader", one)}
    sample = LagSample(NOW, [GroupSample("g", "Stable", {tp: OffsetAndMetadata(3)})], ends)
    append_sample(str(tmp_path / "f"), "c", Measurement(sample, {}))
    found = read_line((tmp_path / "f").read_bytes(), "it")
    assert [part.entry() for part in found.missing] == [part.entry() for part in sample.missing]
    assert [row.note for row in lags_of(found.sample)["g"]] == ["no leader"]


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b"[]", b"null", b"7", b'{"kind":"GroupLag"}', b'{"kind":"MonitorReading"}', b"\xff",
     b'{"kind":"LagSample","groups":3}', b'{"kind":"LagSample","cluster":"c","at_ms":1,"groups":[{"group":"g"}]}'],
)  # fmt: skip
def test_another_line_is_refused_by_its_place(line: bytes) -> None:
    with pytest.raises(ConfigError, match="line 3 of FILE is not a recorded sample") as caught:
        read_line(line, "line 3 of FILE")
    assert caught.value.do
