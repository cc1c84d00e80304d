"""``kcli topics copy``: settings and records of a topic within its cluster, what fits, and how it goes on."""

import json
import signal
import time
from collections.abc import Iterator

import pytest

from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import stored, until, values
from tests.fault.mirror_records import compacted
from tests.run import Noun, start

COUNT = 60
OWN = {"retention.ms": "-1", "min.insync.replicas": "1", "segment.bytes": "1073741824"}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"plain": 1, "__consumer_offsets": 1}) as made:
        made.create_topic("orders", 2, configs=OWN)
        fill(made, "orders")
        yield made


@pytest.fixture
def topics(cluster: FakeCluster) -> Noun:
    return Noun("topics", cluster)


def fill(cluster: FakeCluster, topic: str) -> None:
    now = int(time.time() * 1000)
    for number in range(COUNT):
        cluster.append(topic, number % 2, batch(b"%d" % number, timestamp=now))


def own(topics: Noun, name: str) -> dict[str, str]:
    (item,) = topics.items(f"describe {name}")
    configs: dict[str, str] = item["configs"]
    return configs


def equal(cluster: FakeCluster, copy: str) -> bool:
    return all(stored(cluster, "orders", n) == stored(cluster, copy, n) for n in (0, 1))


def test_the_copy_has_all_records_and_settings_and_is_compared(topics: Noun, cluster: FakeCluster) -> None:
    done = topics("copy orders copy -o json")
    assert equal(cluster, "copy")
    assert [(row["records"], row["lag_records"]) for row in done.items] == [(COUNT // 2, 0)] * 2
    assert all(row["digest_source"] == row["digest_target"] for row in done.items)
    assert own(topics, "copy").items() >= OWN.items()
    assert "2 of 2 partitions equal, 60 records compared" in done.err


def test_the_plan_says_what_the_copy_has_and_changes_nothing(topics: Noun, cluster: FakeCluster) -> None:
    done = topics("copy orders copy --config segment.bytes=1GiB --dry-run")
    head, *lines = done.out.splitlines()
    assert head.startswith("Copy topic orders to copy on ")
    assert head.endswith(", exactly once")
    assert "  orders → copy: 2 partitions, the target is created" in lines
    settings = "min.insync.replicas=1, retention.ms=-1 (never), segment.bytes=1073741824 (1 GiB)"
    assert f"  copy: 2 replicas, {settings}, cleanup.policy=delete, max.message.bytes=1048588" in lines
    assert any("records of aborted transactions" in line for line in lines if "not carried over" in line)
    assert "copy" not in [row["name"] for row in topics.items("list")]
    assert not cluster.seen((ProduceRequest,))
    rows = topics.items("copy orders copy --dry-run")
    assert [(row["to_offset"], row["status"]) for row in rows] == [(COUNT // 2, "planned")] * 2


def test_again_it_adds_what_has_come_since(topics: Noun, cluster: FakeCluster) -> None:
    topics("copy orders copy")
    assert "nothing to copy: everything was copied before" in topics("copy orders copy").err
    fill(cluster, "orders")
    assert [row["records"] for row in topics.items("copy orders copy")] == [COUNT // 2] * 2
    assert equal(cluster, "copy")


def test_stopped_in_the_middle_it_says_what_is_missing_and_continues(
    topics: Noun, cluster: FakeCluster
) -> None:
    process = start("topics", "copy", "orders", "copy", "--rate", "20", bootstrap=cluster.bootstrap)
    until(lambda: _copied(cluster))
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert b"not caught up, lag " in err
    assert b"stopped; the same command continues from here" in err
    assert not equal(cluster, "copy")
    topics("copy orders copy")
    assert equal(cluster, "copy")


def _copied(cluster: FakeCluster) -> bool:
    try:
        return bool(values(cluster, "copy"))
    except KeyError:
        return False


def test_a_copy_that_was_deleted_is_made_anew(topics: Noun, cluster: FakeCluster) -> None:
    topics("copy orders copy")
    topics("delete copy --yes")
    assert [row["job"] for row in (json.loads(topics("copy orders copy -o json").out),)] == [
        "copy:orders:copy:2"
    ]
    assert equal(cluster, "copy")
    assert json.loads(topics("copy orders copy -o json").out)["job"] == "copy:orders:copy:2"


def test_a_topic_that_was_created_again_does_not_continue_the_old_copy(
    topics: Noun, cluster: FakeCluster
) -> None:
    topics("copy orders copy")
    topics("delete orders --yes")
    cluster.create_topic("orders", 2, configs=OWN)
    fill(cluster, "orders")
    done = topics("copy orders copy", 7)
    assert "the target has records already, which are not of this copy" in done.err
    assert len(values(cluster, "copy")) == COUNT // 2


MISFITS = {
    "fewer partitions": (1, OWN, "partitions 1, not 2"),
    "more partitions": (3, OWN, "partitions 3, not 2"),
    "another value": (
        2,
        {**OWN, "retention.ms": "604800000"},
        "retention.ms=604800000 (7 d), not -1 (never)",
    ),
    "a further setting": (2, {**OWN, "segment.ms": "3600000"}, "segment.ms=3600000 (1 h) is set"),
    "compaction": (2, {**OWN, "cleanup.policy": "compact"}, "cleanup.policy=compact is set"),
}


@pytest.mark.parametrize("more", ["", " --yes", " --dry-run", " --settings-only"])
@pytest.mark.parametrize("case", MISFITS)
def test_a_topic_that_exists_and_does_not_fit_is_refused(
    topics: Noun, cluster: FakeCluster, case: str, more: str
) -> None:
    partitions, configs, what = MISFITS[case]
    cluster.create_topic("copy", partitions, configs=configs)
    done = topics(f"copy orders copy{more}", 7)
    assert what in done.err
    assert "choose another name for the copy" in done.err
    assert not cluster.seen((ProduceRequest,))
    assert len(cluster.log("copy", 0).records()) == 0


def test_a_topic_that_exists_empty_with_the_same_settings_is_taken(
    topics: Noun, cluster: FakeCluster
) -> None:
    topics("copy orders copy --settings-only")
    assert own(topics, "copy") == OWN
    assert "topic copy already exists" in topics("copy orders copy --settings-only").err
    topics("copy orders copy")
    assert equal(cluster, "copy")
    topics("copy orders copy --settings-only")


def test_records_of_others_are_never_mixed_with_the_copy(topics: Noun, cluster: FakeCluster) -> None:
    topics("copy orders copy --settings-only")
    cluster.append("copy", 0, batch(b"other", timestamp=1_000))
    assert "the target has records already" in topics("copy orders copy --yes", 7).err
    assert values(cluster, "copy") == [b"other"]


def test_settings_that_would_refuse_old_records_or_replace_their_times_are_left_out(
    topics: Noun, cluster: FakeCluster
) -> None:
    times = {"message.timestamp.type": "LogAppendTime", "message.timestamp.before.max.ms": "86400000"}
    cluster.create_topic("old", 1, configs=times)
    cluster.append("old", 0, batch(b"1", timestamp=int(time.time() * 1000) - 3 * 86_400_000))
    done = topics("copy old copy")
    left = "message.timestamp.before.max.ms, message.timestamp.type"
    assert f"  not set on copy: {left}, which could replace the times of records" in done.err
    assert not times.keys() & own(topics, "copy").keys()
    assert stored(cluster, "copy") == stored(cluster, "old")


def test_it_is_said_what_of_a_compacted_topic_is_copied(topics: Noun, cluster: FakeCluster) -> None:
    cluster.create_topic("table", 1, configs={"cleanup.policy": "compact"})
    cluster.append("table", 0, compacted({3: (b"k", b"v", (), 0)}, last=5))
    done = topics("copy table copy")
    assert "table is compacted: what its log has now is copied" in done.err
    assert stored(cluster, "copy") == stored(cluster, "table")


NOT_COPIED = {
    "copy order copy": (1, "did you mean orders?"),
    "copy orders orders": (2, "would be copied to itself"),
    "copy __consumer_offsets copy": (2, "topic __consumer_offsets is not copied"),
    "copy orders __kcli_mirror": (2, "topic __kcli_mirror does not become a copy"),
    "copy 'ord*' copy": (2, "looks like a pattern"),
    "copy orders 'a b'": (2, "is not a valid topic name"),
    "copy orders copy --settings-only --rate 5": (2, "--rate with --settings-only"),
    "copy orders copy --settings-only --max-wait 5s": (2, "--max-wait with --settings-only"),
    "copy orders copy --config retention.ms=7x": (2, "units are w, d, h, m (minutes), s and ms"),
}


@pytest.mark.parametrize("line", NOT_COPIED)
def test_what_is_no_copy_is_refused_before_anything_is_made(
    topics: Noun, cluster: FakeCluster, line: str
) -> None:
    code, text = NOT_COPIED[line]
    assert text in topics(line, code).err
    assert not cluster.seen((CreateTopicsRequest, ProduceRequest))


def test_remedies_name_the_job_and_the_line_with_further_options(topics: Noun, cluster: FakeCluster) -> None:
    topics("copy orders a_copy --settings-only")
    done = topics("copy orders a.copy", 1)
    line = (
        f"kcli mirror --from {cluster.bootstrap} --to {cluster.bootstrap} --job copy:orders:a.copy -t orders"
    )
    assert f"`{line} --map-topic orders=a.copy --exactly-once` takes --sync-configs" in done.err
