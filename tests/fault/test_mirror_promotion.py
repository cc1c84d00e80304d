"""kcli mirror promote: with the source and without it, with other instances, killed in the middle, and again."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.flows.mirror.state import JobId, SavedJob
from kcli.flows.mirror.store import STATE
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, mirrored, running, until, values
from tests.run import Done
from tests.run import kcli_as_set_up as command

POINT = ("copied_to", "source_end_seen", "may_be_missing", "target_offset", "stored_beyond")


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2}, cluster_id="here") as made:
        fill(made, 0, 4)
        fill(made, 1, 2)
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


def fill(cluster: FakeCluster, partition: int, count: int) -> None:
    """Appends records, one batch each."""
    for _ in range(count):
        number = cluster.log("t", partition).end_offset
        cluster.append("t", partition, batch(b"%d-%d" % (partition, number), timestamp=1_000 + number))


def promoted(source: FakeCluster, target: FakeCluster, *words: str) -> Done:
    both = ("--from", source.bootstrap, "--to", target.bootstrap, "--job", "j")
    return command("mirror", "promote", *both, "-o", "json", "--yes", *words)


def points(done: Done) -> dict[int, tuple[Any, ...]]:
    """Of each partition."""
    return {tp.partition: tuple(row[key] for key in POINT) for tp, row in done.rows.items()}


def states(target: FakeCluster) -> set[str]:
    done = command("mirror", "status", "--to", target.bootstrap, "-o", "json")
    return {row["state"] for row in json.loads(done.out)["items"]}


def test_with_a_quiet_source_everything_is_there(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    assert mirrored(source, target, *delivery).code == 0
    fill(source, 0, 3)
    done = promoted(source, target)
    assert done.code == 0, done
    assert {n: one[:3] for n, one in points(done).items()} == {0: (7, 7, 0), 1: (2, 2, 0)}
    assert done.rows["t", 0]["copied_time"] == "1970-01-01T00:00:01.006Z"
    assert json.loads(done.out)["unknown_since"] is None
    assert values(target, "t", 0) == values(source, "t", 0)
    assert states(target) == {"promoted"}


def test_no_run_copies_again_and_a_second_promotion_changes_nothing(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    mirrored(source, target, *delivery)
    first = promoted(source, target)
    fill(source, 0, 3)
    before = target.log(*STATE).end_offset
    again = mirrored(source, target, *delivery)
    assert (again.code, "mirror job j was promoted" in again.err) == (7, True), again
    second = promoted(source, target)
    assert (second.code, second.items) == (0, first.items), second
    assert "was promoted before: nothing is changed" in second.err
    assert target.log(*STATE).end_offset == before
    lost = promoted(source, target, "--source-lost")
    assert lost.items == first.items
    assert len(values(target, "t", 0)) == 4


def test_without_the_source_what_may_be_missing_is_what_was_seen_last(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    mirrored(source, target, *delivery)
    source.close()
    done = promoted(source, target, "--source-lost")
    assert done.code == 6, done
    assert {n: one[:3] for n, one in points(done).items()} == {0: (4, 4, 0), 1: (2, 2, 0)}
    head = json.loads(done.out)
    assert head["source_lost"]
    assert head["unknown_since"] == min(row["seen_at"] for row in done.items)
    assert "what the source has accepted since" in done.err
    assert states(target) == {"promoted"}
    assert promoted(source, target, "--source-lost").code == 6
    assert promoted(source, target).code == 3, "the source is asked, and away"
