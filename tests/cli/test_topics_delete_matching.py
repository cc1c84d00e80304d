"""``kcli topics delete --match``: what matches, the plan with counts and last writes, and the one question."""

import json
from collections.abc import Iterator

import pytest

from kcli.core.protocol.messages.delete_topics import DeleteTopicsRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from tests.fake.cluster import FakeCluster
from tests.printed_json import check_printed
from tests.run import Noun, kcli_process, ok

TOPICS = {"test-a": 2, "test-b": 1, "other": 1, "__consumer_offsets": 1, "__kcli_mirror": 1}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics=TOPICS) as made:
        yield made


@pytest.fixture
def topics(cluster: FakeCluster) -> Noun:
    return Noun("topics", cluster)


def filled(cluster: FakeCluster) -> None:
    lines = b'{"value":"1","timestamp":86400000}\n{"value":"2","timestamp":3600000}\n'
    ok(kcli_process("produce", "test-a", "-i", "ndjson", bootstrap=cluster.bootstrap, stdin=lines))


def left(cluster: FakeCluster) -> set[str]:
    return {item["name"] for item in Noun("topics", cluster).items("list --internal")}


def test_the_plan_has_counts_and_last_writes(cluster: FakeCluster, topics: Noun) -> None:
    filled(cluster)
    done = topics("delete --match test-* --dry-run")
    head, columns, first, second = done.out.splitlines()[1:]
    assert head == "Delete 2 topics matching test-*: 3 partitions, up to 2 records."
    assert columns.split() == ["TOPIC", "PARTITIONS", "RECORDS", "LAST-WRITE"]
    assert first.split() == ["test-a", "2", "2", "1970-01-02T00:00:00.000Z"]
    assert second.split() == ["test-b", "1", "0", "-"]
    assert left(cluster) == set(TOPICS)


def test_documents_have_last_writes_where_a_pattern_is_given(cluster: FakeCluster, topics: Noun) -> None:
    filled(cluster)
    for choice, expected in (("--match test-a", "1970-01-02T00:00:00.000Z"), ("test-a", None)):
        done = topics(f"delete {choice} --dry-run -o json")
        check_printed(done.out)
        assert [item.get("last_write") for item in json.loads(done.out)["items"]] == [expected]
    done = topics("delete --match test-a --yes -o json")
    check_printed(done.out)
    assert [item["last_write"] for item in json.loads(done.out)["items"]] == ["1970-01-02T00:00:00.000Z"]


def test_what_does_not_exist_may_be_lacking(cluster: FakeCluster, topics: Noun) -> None:
    for line in ("missing other", "missing"):
        done = topics(f"delete {line} --if-exists --yes -o json")
        statuses = {item["topic"]: item["status"] for item in json.loads(done.out)["items"]}
        assert statuses["missing"] == "unchanged"
    assert left(cluster) == set(TOPICS) - {"other"}
    assert json.loads(topics("delete --match none-* --if-exists --yes -o json").out)["items"] == []
    topics("delete missing --yes", 1)
    topics("delete --match none-* --yes", 1)


def test_one_confirmation_is_for_all_that_match(cluster: FakeCluster, topics: Noun) -> None:
    refused = topics("delete --match test-*", 2)
    assert "Delete 2 topics?" in refused.err
    topics("delete --match test-* --confirm test-a", 2)
    assert left(cluster) == set(TOPICS)
    done = topics("delete --match test-* --confirm test-*")
    assert "deleted topic test-a\ndeleted topic test-b\n" in done.err
    assert left(cluster) == set(TOPICS) - {"test-a", "test-b"}


@pytest.mark.parametrize("pattern", ["none-*", "__*", "__consumer_offsets"])
def test_without_a_match_it_is_refused(cluster: FakeCluster, topics: Noun, pattern: str) -> None:
    """Internal topics and kcli's own are deleted by their names only."""
    done = topics(f"delete --match {pattern} --yes", 1)
    assert f"no topic matches {pattern}" in done.err
    assert cluster.seen(DeleteTopicsRequest) == []


def test_everything_means_what_users_have_made(cluster: FakeCluster, topics: Noun) -> None:
    topics("delete --match * --yes")
    assert left(cluster) == {"__consumer_offsets", "__kcli_mirror"}


@pytest.mark.parametrize("line", ["delete", "delete other --match test-*"])
def test_names_or_a_pattern_are_given(cluster: FakeCluster, topics: Noun, line: str) -> None:
    topics(line, 2)
    assert cluster.seen(DeleteTopicsRequest) == []


def test_brokers_that_do_not_know_the_last_write_delete_all_the_same(
    cluster: FakeCluster, topics: Noun
) -> None:
    """Before Kafka 3.0 (KIP-734)."""
    filled(cluster)
    cluster.cap_versions({ListOffsetsRequest: 6})
    planned = topics("delete --match test-a --dry-run")
    assert planned.out.splitlines()[3].split() == ["test-a", "2", "2"]
    assert "warning: when 2 partitions were last written is not known: " in planned.err
    topics("delete --match test-a --yes")
    assert "test-a" not in left(cluster)
