"""The offsets that only brokers find, by name, in every command that takes an offset; and tiered topics (KIP-405)."""

from collections.abc import Iterator

import pytest

from kcli.core.positions import SPECIAL_WORDS
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.run import Done, kcli

NEEDS = {"max-timestamp": 7, "earliest-local": 8, "latest-tiered": 9, "earliest-pending-upload": 11}
NOTICE = "reading from remote storage: t-0, up to what is on the leaders' disks"


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Partition 0 of ``t`` has ten records, the first seven in remote storage, of which the first five only there; the
    newest timestamp is that of record 3. Nothing of partition 1 and of ``plain`` is in remote storage.
    """
    with FakeCluster(2, topics={"plain": 1}) as made:
        made.create_topic("t", 2, configs={"remote.storage.enable": "true"})
        for topic, number in (("t", 0), ("t", 1), ("plain", 0)):
            for offset in range(10):
                stamp = 1_700_000_000_000 + (99_000 if offset == 3 else offset)
                made.append(topic, number, batch(b"%d" % offset, timestamp=stamp))
        made.tier("t", 0, 6, local_start=5)
        yield made


def run(cluster: FakeCluster, line: str) -> Done:
    return kcli(*line.split(), bootstrap=cluster.bootstrap)


def test_every_special_offset_has_a_version() -> None:
    assert NEEDS.keys() == SPECIAL_WORDS.keys()


@pytest.mark.parametrize(
    ("word", "offsets"),
    [
        ("max-timestamp", [3, 3]),
        ("earliest-local", [5, 0]),
        ("latest-tiered", [6, None]),
        ("earliest-pending-upload", [7, None]),
        ("MAX-TIMESTAMP", [3, 3]),
    ],
)
def test_offsets_shows_them(cluster: FakeCluster, word: str, offsets: list[int | None]) -> None:
    done = run(cluster, f"topics offsets t --time {word} -o json")
    assert (done.code, [item["offset"] for item in done.items]) == (0, offsets)


@pytest.mark.parametrize(
    ("word", "first"), [("max-timestamp", 3), ("earliest-local", 5), ("latest-tiered", 6)]
)
def test_consume_begins_there(cluster: FakeCluster, word: str, first: int) -> None:
    done = run(cluster, f"consume t -p 0 --offset {word} -e")
    assert (done.code, done.out.split()) == (0, [str(number) for number in range(first, 10)])


def test_consume_ends_there(cluster: FakeCluster) -> None:
    done = run(cluster, "consume t -p 0 --offset earliest:earliest-pending-upload")
    assert (done.code, done.out.split()) == (0, [str(number) for number in range(7)])
    assert run(cluster, "consume t -p 0 --offset earliest-local:latest-tiered").out.split() == ["5"]


LINES = (
    "consume plain --offset {} -e",
    "topics trim plain --before {} --dry-run",
    "groups create g -t plain --from {} --dry-run",
)


@pytest.mark.parametrize("word", ["latest-tiered", "earliest-pending-upload"])
@pytest.mark.parametrize("line", LINES)
def test_where_nothing_is_tiered_it_is_refused(cluster: FakeCluster, line: str, word: str) -> None:
    """It is neither the start nor the end."""
    done = run(cluster, line.format(word))
    assert (done.code, done.out if "consume" in line else "") == (7, "")
    assert f"plain-0 has no offset {word}" in done.err
    assert "nothing of it is in tiered storage" in done.err
    if "consume" in line:
        type_remedy("`kcli topics describe plain` shows what is; choose another", done.err, cluster.bootstrap)


@pytest.mark.parametrize(("policy", "count"), [("earliest", 14), ("latest", 4)])
def test_out_of_range_says_what_is_read_of_partitions_without(
    cluster: FakeCluster, policy: str, count: int
) -> None:
    assert "t-1 has no offset latest-tiered" in run(cluster, "consume t --offset latest-tiered -e").err
    done = run(cluster, f"consume t --offset latest-tiered --on-out-of-range {policy} -e")
    assert (done.code, len(done.out.split())) == (0, count)


@pytest.mark.parametrize(("word", "version"), NEEDS.items())
@pytest.mark.parametrize(
    "line", ["topics offsets t --time {}", *(line.replace("plain", "t") for line in LINES)]
)
def test_a_broker_that_would_take_it_for_a_time_is_not_asked(
    cluster: FakeCluster, line: str, word: str, version: int
) -> None:
    """Kafka 2.8 answers a special offset that it does not know without an error, as if it were a time."""
    cluster.cap_versions({ListOffsetsRequest: version - 1})
    done = run(cluster, line.format(word))
    assert done.code == 7
    assert f"this needs ListOffsets {version}, but the broker offers only {version - 1}" in done.err
    assert not [
        part
        for seen in cluster.seen(ListOffsetsRequest)
        for topic in seen.request.topics
        for part in topic.partitions
        if part.timestamp == SPECIAL_WORDS[word]
    ]


def test_a_rewind_goes_there(cluster: FakeCluster) -> None:
    made = run(cluster, "groups create g -t t:0 --from latest-tiered --yes -o json")
    assert (made.code, [item["new"] for item in made.items]) == (0, [6])
    plan = run(cluster, "groups rewind g --to earliest-local --dry-run")
    assert "to: earliest-local" in plan.out
    done = run(cluster, "groups rewind g --topic t:0 --to earliest-local --yes -o json")
    assert [(item["new"], item["found"]) for item in done.items] == [(5, 5)]
    mixed = run(cluster, "groups rewind g --topic t:0,1 --to max-timestamp --yes -o json")
    assert [item["new"] for item in mixed.items] == [3, 3]
    refused = run(cluster, "groups rewind g --topic t:0,1 --to latest-tiered --yes -o json")
    assert (refused.code, [item["status"] for item in refused.items]) == (6, ["done", "refused"])


def test_what_is_only_in_remote_storage_is_trimmed(cluster: FakeCluster) -> None:
    done = run(cluster, "topics trim t -p 0 --before earliest-local --yes -o json")
    assert (done.code, done.items[0]["new_log_start"]) == (0, 5)
    assert cluster.log("t", 0).start_offset == 5


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("consume t -e", 1),
        ("consume t -p 0 -n 1", 1),
        ("consume t -p 0 --offset 4 -e", 1),
        ("consume t -p 0 --offset 5 -e", 0),
        ("consume t -p 0 --offset :0", 0),
        ("consume t -p 1 -e", 0),
        ("consume plain -e", 0),
        ("consume t -e -q", 0),
        ("consume t -g fresh -e -X max.partition.fetch.bytes=1", 1),
        ("consume t -p 0 --offset earliest-local -e", 0),
    ],
)
def test_consume_says_once_that_it_reads_from_remote_storage(
    cluster: FakeCluster, line: str, count: int
) -> None:
    done = run(cluster, f"{line} -X fetch.max.wait.ms=50")
    assert (done.code, done.err.count(NOTICE)) == (0, count), done.err


def test_what_was_trimmed_is_not_said_to_be_in_remote_storage(cluster: FakeCluster) -> None:
    assert run(cluster, "groups create g -t t:0 --from 2 --yes").code == 0
    assert run(cluster, "topics trim t -p 0 --before 8 --yes").code == 0
    done = run(cluster, "consume t -g g -e --on-out-of-range earliest -X fetch.max.wait.ms=50")
    assert (done.code, len(done.out.split()), "remote storage" in done.err) == (0, 12, False), done.err


@pytest.mark.parametrize("version", [7, 1])
def test_brokers_without_remote_storage_are_read_as_before(cluster: FakeCluster, version: int) -> None:
    cluster.cap_versions({ListOffsetsRequest: version})
    done = run(cluster, "consume t -e -X fetch.max.wait.ms=50")
    assert (done.code, len(done.out.split()), done.err) == (0, 20, "")


def test_describe_shows_what_is_where(cluster: FakeCluster) -> None:
    (item,) = run(cluster, "topics describe t -o json").items
    tiers = [
        (part["log_start"], part["earliest_local"], part["latest_tiered"], part["end"])
        for part in item["partitions"]
    ]
    assert tiers == [(0, 5, 6, 10), (0, 0, None, 10)]
    assert all(part["local_bytes"] > 0 for part in item["partitions"])
    text = run(cluster, "topics describe t").out
    assert "5 offsets in remote storage only, 15 offsets on the leaders' disks" in text
    assert "EARLIEST-LOCAL" in text
    (plain,) = run(cluster, "topics describe plain -o json").items
    assert {plain["partitions"][0][key] for key in ("earliest_local", "latest_tiered", "local_bytes")} == {
        None
    }
    assert "EARLIEST-LOCAL" not in run(cluster, "topics describe plain").out


def test_describe_on_brokers_that_do_not_know_the_tiered_end(cluster: FakeCluster) -> None:
    cluster.cap_versions({ListOffsetsRequest: 8})
    done = run(cluster, "topics describe t -o json")
    assert done.code == 0
    assert [part["earliest_local"] for part in done.items[0]["partitions"]] == [5, 0]
    assert [part["latest_tiered"] for part in done.items[0]["partitions"]] == [None, None]
