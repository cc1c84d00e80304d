"""A target that cannot hold an exact copy: refused before the first record, or ended with its cause when it becomes one.

And a target that is created: with the configuration that keeps what the source keeps.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, mirrored, running, stored, until, values
from tests.run import Done
from tests.run import kcli_as_set_up as command

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
TOPICS = ("-t", "t", "-t", "u")


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 2, "u": 1}) as made:
        for tp in (T0, T1, U0):
            made.append(*tp, batch(*[b"%d" % number for number in range(8)], timestamp=1_000))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={}, cluster_id="there") as made:
        yield made


def wrote_nothing(target: FakeCluster) -> bool:
    """Whether nothing was created, stored or begun."""
    return not target.seen((CreateTopicsRequest, ProduceRequest, InitProducerIdRequest))


@pytest.mark.case("M7", "M8", "R8")
@pytest.mark.parametrize("more", [(), ("--exactly-once",), ("--dry-run",), ("--yes",)])
def test_all_conflicts_of_all_topics_are_listed_before_the_first_record(
    source: FakeCluster, target: FakeCluster, more: tuple[str, ...]
) -> None:
    target.create_topic(
        "t", 1, configs={"message.timestamp.type": "LogAppendTime", "compression.type": "zstd"}
    )
    target.create_topic("u", 1, configs={"max.message.bytes": "1000", "cleanup.policy": "compact"})
    done = mirrored(source, target, *TOPICS, *more)
    assert done.code == 7, done
    (error,) = done.errors
    assert error["what"] == ("topic t cannot hold an exact copy of t; topic u cannot hold an exact copy of u")
    for words in (
        "t: the target has 1 partition, the source 2",
        "t: the target replaces timestamps (message.timestamp.type=LogAppendTime)",
        "u: the target removes records that the source keeps (cleanup.policy=compact, the source has delete)",
        "u: the target accepts batches of 1000 bytes, the source of 1048588 (max.message.bytes)",
    ):
        assert words in error["why"]
        assert words.replace(": ", " → " + words[0] + ": ", 1) in done.err, "it is in the plan as well"
    assert "compress all batches again (compression.type=zstd)" in done.err
    for remedy in (
        "--partitions by-key",
        "message.timestamp.type=CreateTime",
        "cleanup.policy=delete",
        "=1048588",
    ):
        assert remedy in error["do"]
    assert refuses_all(done)
    assert wrote_nothing(target)


@pytest.mark.case("M7")
def test_a_job_that_continues_is_refused_as_well(source: FakeCluster, target: FakeCluster) -> None:
    assert mirrored(source, target, *TOPICS).code == 0
    target.configure("u", max_message_bytes="1000")
    source.append("t", 0, batch(b"new"))
    before = target.log("t").end_offset
    done = mirrored(source, target, *TOPICS)
    assert done.code == 7, done
    assert "topic u cannot hold an exact copy of u" in done.errors[0]["what"]
    assert target.log("t").end_offset == before
    target.configure("u", max_message_bytes="1048588")
    assert mirrored(source, target, *TOPICS).code == 0
    assert values(target, "t")[-1] == b"new"


Change = Callable[[FakeCluster, FakeCluster], None]


def limit(_source: FakeCluster, target: FakeCluster) -> None:
    target.configure("t", max_message_bytes="100")


def stamp(_source: FakeCluster, target: FakeCluster) -> None:
    target.configure("t", message_timestamp_type="LogAppendTime")


def shrink(_source: FakeCluster, target: FakeCluster) -> None:
    target.recreate_topic("t", 1)


@pytest.mark.case("M7", "R8")
@pytest.mark.parametrize(
    ("change", "code", "ended", "says", "remedy"),
    [
        (limit, 6, (T0,), ("follows offset 8 of t-0", "max.message.bytes=100"), "raise max.message.bytes of topic t"),
        (stamp, 7, (T0, T1), ("topic t of the target replaces timestamps", "offset 8 on"), "CreateTime on topic t"),
        (shrink, 5, (T0, T1), ("t-", "offset 8"), "copies"),
    ],
    ids=["smaller batches", "its own timestamps", "fewer partitions"],
)  # fmt: skip
def test_a_target_that_becomes_unfit_ends_its_partitions_with_the_cause(
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    change: Change,
    code: int,
    ended: tuple[TopicPartition, ...],
    says: tuple[str, ...],
    remedy: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = arguments(source, target, *TOPICS, "--offset", "0:10", "-o", "json", *delivery)
    with running(monkeypatch, *words) as mirror:
        until(lambda: all(len(copied(target, tp)) == 8 for tp in (T0, T1, U0)))
        change(source, target)
        source.append("t", 0, batch(b"x" * 200, b"y", timestamp=1_000))
        for tp in (T1, U0):
            source.append(*tp, batch(b"8", b"9", timestamp=1_000))
        done = mirror.done()
    assert done.code == code, done
    assert {tp for tp, row in done.rows.items() if row["error"]} == set(ended)
    for tp in ended:
        assert all(part in str(done.rows[tp]["error"]) for part in says), done.rows[tp]
        assert (done.rows[tp]["to_offset"], done.rows[tp]["records"]) == (8, 8)
    assert all(remedy in error["do"] for error in done.errors), done.errors
    assert stored(target, "u") == stored(source, "u")


def copied(cluster: FakeCluster, tp: TopicPartition) -> list[bytes | None]:
    try:
        return values(cluster, *tp)
    except (KeyError, IndexError):
        return []


@pytest.mark.case("M7")
def test_another_compression_type_of_the_target_costs_time_and_nothing_else(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    """Brokers compress again; the records are the same, so it is a remark in the plan and no conflict."""
    target.create_topic("t", 2, configs={"compression.type": "gzip"})
    done = mirrored(source, target, *delivery, "--verify")
    assert done.code == 0, done
    assert "t → t: the target's brokers compress all batches again (compression.type=gzip)" in done.err


@pytest.mark.case("M8")
def test_a_new_topic_keeps_what_the_source_keeps(source: FakeCluster, target: FakeCluster) -> None:
    own = {
        "cleanup.policy": "compact",
        "max.message.bytes": "2000000",
        "retention.ms": "1000",
        "compression.type": "zstd",
        "message.timestamp.type": "LogAppendTime",
        "min.insync.replicas": "2",
    }
    source.create_topic("c", 3, configs=own)
    source.append("c", 0, batch(b"v", key=b"k"))
    done = mirrored(source, target, "-t", "c", "--map-topic", "c=copy")
    assert done.code == 0, done
    found = {row["name"]: row["value"] for row in described(target, "copy")}
    for key in ("cleanup.policy", "max.message.bytes", "retention.ms", "compression.type"):
        assert found[key] == own[key], key
    assert found["message.timestamp.type"] == "CreateTime", "readers of the copy see the times of the source"
    assert found["min.insync.replicas"] == "1", "it belongs to the cluster"
    assert target.log("copy", 2).end_offset == 0, "it has the partitions of the source"


def described(cluster: FakeCluster, topic: str) -> list[dict[str, Any]]:
    """The configuration as a client sees it."""
    from kcli.core.admin.admin import Admin
    from kcli.core.options import ClientOptions

    with Admin(ClientOptions(bootstrap_servers=cluster.bootstrap)) as admin:
        found = admin.describe_topic_configs([topic])[topic]
    assert isinstance(found, list)
    return [{"name": one.name, "value": one.value} for one in found]


@pytest.mark.case("M8")
def test_the_limit_of_the_source_brokers_is_that_of_the_new_topic(
    source: FakeCluster, target: FakeCluster
) -> None:
    """A batch that the source's default allows is not refused by a target whose default is smaller."""
    target.settings.max_message_bytes = 1_000
    source.append("t", 0, batch(b"x" * 5_000))
    done = mirrored(source, target)
    assert done.code == 0, done
    assert values(target, "t")[-1] == b"x" * 5_000


@pytest.mark.case("M8")
def test_a_target_that_compacts_is_refused_for_a_source_that_does_not(
    source: FakeCluster, target: FakeCluster
) -> None:
    source.create_topic("c", 1, configs={"cleanup.policy": "compact"})
    target.create_topic("c", 1)
    done = mirrored(source, target, "-t", "c")
    assert done.code == 7
    assert "cleanup.policy=delete, the source has compact" in done.errors[0]["why"]
    assert wrote_nothing(target)


READ, WRITE, CREATE = 1 << 3, 1 << 4, 1 << 5
ALL = 0xDF8


def deny(cluster: FakeCluster, names: set[str], bits: int, *, everywhere: int = 0) -> None:
    """Topics that may not be read or written, as brokers report it (KIP-430). ``everywhere``: denied on all topics."""

    def edit(request: Any, answer: Any) -> None:
        if request.include_topic_authorized_operations:
            for row in answer.topics:
                denied = everywhere | (bits if row.name in names else 0)
                row.topic_authorized_operations = ALL & ~denied

    cluster.replace(MetadataRequest, edit)


@pytest.fixture
def fifty() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={f"o{number:02}": 1 for number in range(50)}) as made:
        for number in range(50):
            made.append(f"o{number:02}", 0, batch(b"%d" % number))
        yield made


def check_denied(done: Done, count: str, missing: list[str]) -> None:
    assert done.code == 4, done
    (error,) = done.errors
    assert error["what"] == f"{count} missing"
    assert error["why"] == "; ".join(missing)
    assert error["do"]
    assert refuses_all(done)


def refuses_all(done: Done) -> bool:
    """Whether a run printed nothing, or a dry run a plan of which nothing would be copied."""
    if not done.out:
        return True
    plan = json.loads(done.out)
    return plan["kind"] == "MirrorPlan" and {item["status"] for item in plan["items"]} == {"refused"}


@pytest.mark.case("M18")
@pytest.mark.parametrize("more", [(), ("--exactly-once",), ("--dry-run",)])
def test_a_permission_that_is_missing_for_one_topic_of_fifty_is_named_before_anything_is_created(
    fifty: FakeCluster, target: FakeCluster, more: tuple[str, ...]
) -> None:
    deny(fifty, {"o17"}, READ)
    done = mirrored(fifty, target, "-t", "o*", *more)
    check_denied(done, "1 permission", ["READ on topic o17 of the source"])
    assert wrote_nothing(target)


@pytest.mark.case("M18")
def test_all_missing_permissions_of_both_sides_are_listed_together(
    fifty: FakeCluster, target: FakeCluster
) -> None:
    for name in ("o03", "o44"):
        target.create_topic(name)
    deny(fifty, {"o17", "o31"}, READ)
    deny(target, {"o44"}, WRITE, everywhere=CREATE)
    no_create_on_the_cluster(target)
    done = mirrored(fifty, target, "-t", "^o(03|17|31|44|45)$")
    missing = [
        "READ on topic o17 of the source",
        "CREATE on the target cluster, for topic o17",
        "READ on topic o31 of the source",
        "CREATE on the target cluster, for topic o31",
        "WRITE on topic o44 of the target",
        "CREATE on the target cluster, for topic o45",
        "CREATE on the target cluster, for topic __kcli_mirror",
    ]
    check_denied(done, "7 permissions", missing)
    assert wrote_nothing(target)


def no_create_on_the_cluster(cluster: FakeCluster) -> None:
    def edit(_request: Any, answer: Any) -> None:
        answer.cluster_authorized_operations &= ~CREATE

    cluster.replace(DescribeClusterRequest, edit)


@pytest.mark.case("M18")
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_topics_that_may_not_be_described_are_listed_too(
    fifty: FakeCluster, target: FakeCluster, more: tuple[str, ...]
) -> None:
    fifty.settings.hidden_topics = frozenset({"o17", "o18", "o19"})
    target.settings.hidden_topics = frozenset({"o03", "o18"})
    target.create_topic("o03")
    target.create_topic("o19")
    done = mirrored(
        fifty, target, *more, *[word for n in ("o03", "o04", "o17", "o18", "o19") for word in ("-t", n)]
    )
    missing = [
        "WRITE on topic o03 of the target",
        "READ on topic o17 of the source",
        "READ on topic o18 of the source",
        "WRITE on topic o18 of the target",
        "READ on topic o19 of the source",
    ]
    check_denied(done, "5 permissions", missing)
    source, copy = f"-b {fifty.bootstrap}", f"-b {target.bootstrap}"
    read = f"kcli acls create {source} --principal User:NAME --operation read --topic o17 --topic o18 --topic o19"
    write = f"kcli acls create {copy} --principal User:NAME --operation write --topic o03 --topic o18"
    assert done.errors[0]["do"].endswith(f": `{write}`; `{read}`")
    plan = done.err.splitlines()
    assert "  o03 → o03: 1 partition, the target may not be described" in plan
    for name in ("o17", "o18", "o19"):
        assert f"  {name} → {name}: the source topic may not be described" in plan
    assert wrote_nothing(target)


def test_create_on_the_names_of_topics_is_enough(fifty: FakeCluster, target: FakeCluster) -> None:
    """As an ACL with the pattern prefixed grants it."""
    no_create_on_the_cluster(target)
    done = command(*arguments(fifty, target, "-t", "o17", "--until-caught-up", "-o", "json"))
    assert done.code == 0, done


@pytest.mark.case("M18")
def test_a_topic_that_is_to_be_created_must_be_written_to(fifty: FakeCluster, target: FakeCluster) -> None:
    deny(target, {"o17"}, WRITE)
    done = mirrored(fifty, target, "-t", "o17", "-t", "o18")
    check_denied(done, "1 permission", ["WRITE on topic o17 of the target"])


@pytest.mark.case("M18")
@pytest.mark.parametrize("more", [(), ("--exactly-once",), ("--dry-run",)])
@pytest.mark.parametrize("exists", [False, True])
def test_the_topic_of_the_state_must_be_written_before_anything_is_created(
    source: FakeCluster, target: FakeCluster, more: tuple[str, ...], exists: bool
) -> None:
    if exists:
        target.create_topic("__kcli_mirror")
    deny(target, {"__kcli_mirror"}, WRITE)
    done = mirrored(source, target, *more)
    check_denied(done, "1 permission", ["WRITE on topic __kcli_mirror of the target"])
    assert done.errors[0]["do"].startswith("have it granted: `kcli acls create ")
    assert "  WRITE on topic __kcli_mirror of the target" in done.err.splitlines()
    assert wrote_nothing(target)


@pytest.mark.case("M18")
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_topic_of_the_state_that_may_not_be_described_is_refused_before_anything_is_created(
    source: FakeCluster, target: FakeCluster, more: tuple[str, ...]
) -> None:
    target.settings.hidden_topics = frozenset({"__kcli_mirror"})
    done = mirrored(source, target, *more)
    missing = [f"{one} on topic __kcli_mirror of the target" for one in ("READ", "WRITE")]
    check_denied(done, "2 permissions", missing)
    assert wrote_nothing(target)


def test_a_position_in_a_file_and_a_comparison_need_no_topic_of_the_state(
    source: FakeCluster, target: FakeCluster, tmp_path: Path
) -> None:
    target.settings.hidden_topics = frozenset({"__kcli_mirror"})
    assert mirrored(source, target, "--checkpoint", str(tmp_path / "c")).code == 0
    clusters = "--from", source.bootstrap, "--to", target.bootstrap
    assert command("mirror", "verify", *clusters, "-t", "t").code == 0


@pytest.mark.case("M18")
def test_without_that_topic_the_others_are_copied(fifty: FakeCluster, target: FakeCluster) -> None:
    deny(fifty, {"o17"}, READ)
    done = command(*arguments(fifty, target, "-t", "^o(?!17).*", "--until-caught-up", "-o", "json"))
    assert done.code == 0, done
    assert len(done.rows) == 49
    assert all(row["records"] == 1 for row in done.rows.values())


@pytest.mark.case("M7")
@pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted and created again"])
def test_a_target_that_was_deleted_is_not_continued_where_partitions_are_chosen_by_key(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], again: bool
) -> None:
    words = ("--partitions", "by-key", *delivery)
    assert mirrored(source, target, *words).code == 0
    target.delete_topic("t")
    if again:
        target.create_topic("t", 2)
    source.append("t", 0, batch(b"later"))
    done = mirrored(source, target, "--yes", *words)
    assert done.code == 5, done
    error = done.errors[0]
    assert error["what"] == f"topic t of the target was deleted{' and created again' if again else ''}"
    assert error["why"] == "an earlier run copied t to it up to offset 8 of the source"
    assert error["do"].endswith(" with --offset earliest copies it again")
    assert copied(target, T0) == copied(target, T1) == []


@pytest.mark.parametrize("first", ["keep", "by-key"])
def test_a_job_does_not_change_how_partitions_are_chosen(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], first: str
) -> None:
    """Offsets that belong to the other way would be committed for groups, and positions would skip records."""
    (other,) = {"keep", "by-key"} - {first}
    assert mirrored(source, target, "--partitions", first, *delivery).code == 0
    source.append("t", 0, batch(b"later"))
    before = len(target.seen(ProduceRequest))
    done = mirrored(source, target, "--partitions", other, *delivery)
    assert done.code == 7, done
    (error,) = done.errors
    assert error["what"] == f"mirror job j was begun with --partitions {first}"
    assert error["do"] == f"--partitions {first}, or a new --job NAME for a new copy"
    assert len(target.seen(ProduceRequest)) == before
    assert mirrored(source, target, "--partitions", first, *delivery).code == 0
