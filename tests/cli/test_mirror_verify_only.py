"""kcli mirror --verify-only between two fake clusters, as a user runs it after a copy."""

from collections.abc import Iterator

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.run import kcli, ok


@pytest.fixture
def copied() -> Iterator[tuple[FakeCluster, list[str]]]:
    """The source, and the arguments of a job that has copied its ten records."""
    with FakeCluster(1, topics={"t": 1}) as source, FakeCluster(1, cluster_id="target") as target:
        ok(kcli("produce", "t", bootstrap=source.bootstrap, stdin=b"a\n" * 10))
        job = ["mirror", "--from", source.bootstrap, "--to", target.bootstrap, "-t", "t"]
        ok(kcli(*job, "--until-caught-up"))
        yield source, [*job, "--verify-only"]


def test_a_copy_that_is_complete_is_equal(copied: tuple[FakeCluster, list[str]]) -> None:
    _, verify = copied
    done = kcli(*verify)
    assert done.returncode == 0, done.stderr.decode()
    assert b"1 of 1 partition equal, 10 records compared" in done.stderr


def test_records_that_are_not_copied_yet_are_a_difference(copied: tuple[FakeCluster, list[str]]) -> None:
    source, verify = copied
    ok(kcli("produce", "t", bootstrap=source.bootstrap, stdin=b"b\n" * 3))
    done = kcli(*verify)
    assert done.returncode == 8, done.stderr.decode()
    assert b"differ from source offset 10 on\n  why: the target has no record for it" in done.stderr
    assert b"do: run the mirror: it has not copied what follows its position" in done.stderr


def test_records_that_the_source_has_removed_before_they_were_copied(
    copied: tuple[FakeCluster, list[str]],
) -> None:
    source, verify = copied
    ok(kcli("produce", "t", bootstrap=source.bootstrap, stdin=b"b\n" * 3))
    with Admin(bootstrap_servers=source.bootstrap) as admin:
        admin.delete_records({TopicPartition("t", 0): 12})
    done = kcli(*verify)
    assert done.returncode == 8, done.stderr.decode()
    assert b"differ from source offset 12 on\n  why: the target has no record for it" in done.stderr
