"""kcli mirror reverse: the way back of a promoted job has what was written since, and nothing twice."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.end_txn import EndTxnRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.cli.errors.typing_remedies import type_remedy
from tests.committing import commit, committed
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import until, values
from tests.fault.producing import PATIENCE
from tests.run import Done, start
from tests.run import kcli_as_set_up as command


@pytest.fixture
def here() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2}, cluster_id="here") as made:
        write(made, "t", b"a0", b"a1", b"a2")
        write(made, "t", b"x0", partition=1)
        yield made


@pytest.fixture
def there() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


def write(cluster: FakeCluster, topic: str, *texts: bytes, partition: int = 0) -> None:
    for text in texts:
        cluster.append(topic, partition, batch(text, timestamp=1_000))


def words(verb: str, source: FakeCluster, target: FakeCluster, *more: str) -> list[str]:
    return [
        "mirror", verb, "--from", source.bootstrap, "--to", target.bootstrap, "--job", "j", "-o", "json", "--yes", *more,
    ]  # fmt: skip


def run(verb: str, source: FakeCluster, target: FakeCluster, *more: str, code: int = 0) -> Done:
    done = command(*words(verb, source, target, *more))
    assert done.code == code, done
    return done


def copy(source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], *more: str) -> Done:
    return run("run", source, target, "-t", "t", "--until-caught-up", *delivery, *more)


def test_the_way_back_has_what_was_written_since_and_lists_what_is_stranded(
    here: FakeCluster, there: FakeCluster, delivery: tuple[str, ...], tmp_path: Path
) -> None:
    copy(here, there, delivery)
    write(here, "t", b"lost0", b"lost1")
    run("promote", here, there, "--source-lost", code=6)
    write(there, "t", b"b0", b"b1")
    write(there, "t", b"y0", partition=1)
    path = tmp_path / "stranded.ndjson"
    done = run("reverse", here, there, "--stranded", str(path), "--verify")
    rows = {tp.partition: row for tp, row in done.rows.items()}
    assert {n: (row["records"], row["stranded"]) for n, row in rows.items()} == {0: (2, 2), 1: (1, 0)}
    assert (rows[0]["stranded_from"], rows[0]["stranded_to"]) == (3, 5)
    assert values(here, "t") == [b"a0", b"a1", b"a2", b"lost0", b"lost1", b"b0", b"b1"]
    assert values(here, "t", 1) == [b"x0", b"y0"]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(one["topic"], one["partition"], one["offset"], one["value"]) for one in lines] == [
        ("t", 0, 3, "lost0"), ("t", 0, 4, "lost1"),
    ]  # fmt: skip
    consumed = command("consume", "t", "-p", "0", "--offset", "3:5", "-o", "ndjson", "-b", here.bootstrap)
    assert path.read_text() == consumed.out
    assert "2 records of 1 partition are stranded" in done.err
    again = run("reverse", here, there)
    assert {row["records"] for row in again.items} == {0}
    assert {row["stranded"] for row in again.items} == {0, 2}, "what was copied back is not stranded"
    assert values(here, "t", 1) == [b"x0", b"y0"]


def test_way_and_way_back_alternate_without_loss_or_repetition(
    here: FakeCluster, there: FakeCluster, delivery: tuple[str, ...]
) -> None:
    copy(here, there, delivery)
    for number in range(2):
        run("promote", here, there)
        write(there, "t", b"b%d" % number)
        run("reverse", here, there, "--verify")
        assert values(here, "t") == values(there, "t"), number
        run("promote", there, here)
        write(here, "t", b"c%d" % number)
        run("reverse", there, here, "--verify")
        assert values(here, "t") == values(there, "t"), number
        write(here, "t", b"d%d" % number)
        copy(here, there, delivery)
        assert values(here, "t") == values(there, "t"), number
    assert values(here, "t") == [b"a0", b"a1", b"a2", b"b0", b"c0", b"d0", b"b1", b"c1", b"d1"]
    assert values(there, "t", 1) == [b"x0"]


def test_renames_are_inverted(here: FakeCluster, there: FakeCluster) -> None:
    copy(here, there, (), "--map-topic", "t=dr.t")
    run("promote", here, there)
    write(there, "dr.t", b"b0")
    done = run("reverse", here, there)
    assert {(row["topic"], row["target"]) for row in done.items} == {("dr.t", "t")}
    assert values(here, "t") == [b"a0", b"a1", b"a2", b"b0"]


def test_what_a_killed_mirror_had_stored_beyond_its_position_is_not_stranded(
    here: FakeCluster, there: FakeCluster
) -> None:
    """At least once: the tail of the copy is compared with the source; what somebody else wrote there comes back."""
    copy(here, there, ())
    write(here, "t", b"a3", b"a4", b"a5")
    write(there, "t", b"a3", b"a4", b"of an application")
    run("promote", here, there, "--source-lost", code=6)
    write(there, "t", b"b0")
    done = run("reverse", here, there)
    row = done.rows[TopicPartition("t", 0)]
    assert (row["stranded"], row["stranded_from"], row["records"]) == (1, 5, 2), row
    assert values(here, "t") == [b"a0", b"a1", b"a2", b"a3", b"a4", b"a5", b"of an application", b"b0"]


@pytest.mark.parametrize("start", [5, 6])
def test_what_the_source_has_removed_of_that_tail_is_not_taken_for_a_record_of_others(
    here: FakeCluster, there: FakeCluster, start: int
) -> None:
    """Two kills: the tail has the first records twice; retention has removed some or all of them from the source."""
    copy(here, there, ())
    write(here, "t", b"a3", b"a4", b"a5")
    write(there, "t", b"a3", b"a4", b"a5", b"a3", b"a4", b"a5")
    run("promote", here, there, "--source-lost", code=6)
    here.delete_records("t", 0, start)
    write(there, "t", b"b0")
    write(here, "t", b"lost")
    done = run("reverse", here, there)
    row = done.rows[TopicPartition("t", 0)]
    assert (row["records"], row["stranded"]) == (1, 1), row
    assert values(here, "t") == [b"a5", b"lost", b"b0"][start - 5 :]


def test_only_a_promoted_job_has_a_way_back(here: FakeCluster, there: FakeCluster) -> None:
    copy(here, there, ())
    done = run("reverse", here, there, code=7)
    assert "mirror job j was not promoted" in done.err
    type_remedy(
        "`kcli mirror promote --from HOST:PORT --to HOST:PORT --job j` promotes it",
        done.err,
        here.bootstrap,
        other=there.bootstrap,
    )


def test_another_job_of_the_name_is_left_alone(here: FakeCluster, there: FakeCluster) -> None:
    there.create_topic("other", 1)
    write(there, "other", b"o")
    run("run", there, here, "-t", "other", "--until-caught-up")
    copy(here, there, ())
    run("promote", here, there)
    done = run("reverse", here, there, code=7)
    assert "mirror job j of the opposite direction exists already" in done.err


def test_a_dry_run_shows_how_much_and_writes_nothing(here: FakeCluster, there: FakeCluster) -> None:
    copy(here, there, ())
    write(here, "t", b"lost")
    run("promote", here, there, "--source-lost", code=6)
    write(there, "t", b"b0")
    done = run("reverse", here, there, "--dry-run")
    row = done.rows[TopicPartition("t", 0)]
    assert (row["to_offset"] - row["from_offset"], row["stranded_offsets"]) == (1, 1)
    assert json.loads(done.out)["kind"] == "MirrorReversalPlan"
    status = command("mirror", "status", "--to", here.bootstrap, "-o", "json")
    assert json.loads(status.out)["items"] == []
    run("reverse", here, there)


def test_positions_of_a_promoted_job_stay_as_the_way_back_needs_them(
    here: FakeCluster, there: FakeCluster
) -> None:
    """Offsets of groups from before the promotion are translated by them."""
    commit(here, "g", {TopicPartition("t", 0): OffsetAndMetadata(2)})
    copy(here, there, (), "--sync-groups", "g")
    run("promote", here, there)
    reset = ("mirror", "reset", "t", "--from", here.bootstrap, "--to", there.bootstrap, "--job", "j")
    for more in (("--yes",), ("--dry-run",)):
        done = command(*reset, "--offset", "earliest", *more)
        assert (done.code, "mirror job j was promoted" in done.err) == (7, True), done
    commit(there, "g", {TopicPartition("t", 0): OffsetAndMetadata(1)})
    done = run("reverse", here, there)
    (row,) = json.loads(done.out)["groups"]
    assert (row["source_offset"], row["target_offset"]) == (1, 1), done


def test_what_was_never_copied_is_stranded_as_a_whole(
    here: FakeCluster, there: FakeCluster, tmp_path: Path
) -> None:
    """Topics and partitions that the first direction has not begun with, by the patterns of its last run."""
    run("run", here, there, "-t", "*", "--exclude", "no*", "--until-caught-up")
    for name in ("new", "empty", "not"):
        here.create_topic(name, 1)
    here.add_partitions("t", 3)
    write(here, "new", b"n0", b"n1")
    write(here, "not", b"z0")
    write(here, "t", b"y0", partition=2)
    run("promote", here, there, "--source-lost", code=6)
    write(there, "t", b"b0")
    planned = command(*words("reverse", here, there, "--dry-run"))
    assert (
        "new-0 of the old source was never copied: offsets 0 to 1 are stranded" in planned.out + planned.err
    ), planned
    path = tmp_path / "stranded.ndjson"
    for _ in range(2):
        done = run("reverse", here, there, "--stranded", str(path))
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert sorted((one["topic"], one["partition"], one["value"]) for one in lines) == [
            ("new", 0, "n0"), ("new", 0, "n1"), ("t", 2, "y0"),
        ]  # fmt: skip
        assert "3 records of 2 partitions are stranded" in done.err
        assert "nothing of new-0, t-2 was ever copied" in done.err


def test_topics_that_others_created_at_the_target_are_named(here: FakeCluster, there: FakeCluster) -> None:
    run("run", here, there, "-t", "t*", "--exclude", "tx*", "--until-caught-up")
    run("promote", here, there)
    for name in ("tx", "t-new", "u"):
        there.create_topic(name, 1)
        write(there, name, b"0")
    done = run("reverse", here, there)
    assert "never copied from the old source are not copied back: t-new; " in done.err
    type_remedy(
        "`kcli mirror run --from HOST:PORT --to HOST:PORT --job NAME -t t-new` copies it back",
        done.err,
        there.bootstrap,
        other=here.bootstrap,
    )
    assert "t-new" not in {tp.topic for tp in done.rows}
    assert "never copied" not in run("reverse", here, there).err, "it was said"


@pytest.mark.parametrize("lost", ["records", "topic"])
def test_a_source_that_lost_what_was_copied_is_refused(
    here: FakeCluster, there: FakeCluster, lost: str
) -> None:
    """A record that only the copy has would be behind a hole that nothing shows."""
    copy(here, there, ())
    run("promote", here, there)
    write(there, "t", b"b0")
    write(there, "t", b"y0", partition=1)
    if lost == "topic":
        here.delete_topic("t")
        here.create_topic("t", 2)
    else:
        here.truncate("t", 0, 1)
    done = run("reverse", here, there, code=5)
    assert values(here, "t") == ([] if lost == "topic" else [b"a0"])
    assert values(here, "t", 1) == ([] if lost == "topic" else [b"x0", b"y0"])
    assert "kcli mirror reset t" in done.err
    if lost == "records":
        begins = (
            "`kcli mirror reset t:0 --from HOST:PORT --to HOST:PORT --job j --offset 1` (from the old target"
        )
        type_remedy(begins, done.err, there.bootstrap, other=here.bootstrap)
        reset = ("mirror", "reset", "t:0", "--from", there.bootstrap, "--to", here.bootstrap, "--job", "j")
        assert command(*reset, "--offset", "1", "--yes").code == 0
        run("reverse", here, there)
        assert values(here, "t") == [b"a0", b"a1", b"a2", b"b0"]


def test_offsets_of_groups_return_from_before_and_after_the_promotion(
    here: FakeCluster, there: FakeCluster
) -> None:
    t0, t1 = TopicPartition("t", 0), TopicPartition("t", 1)
    commit(here, "g", {t0: OffsetAndMetadata(1), t1: OffsetAndMetadata(0)})
    copy(here, there, (), "--sync-groups", "g")
    write(here, "t", b"lost")
    run("promote", here, there, "--source-lost", code=6)
    write(there, "t", b"b0", b"b1")
    commit(there, "g", {t0: OffsetAndMetadata(4), t1: OffsetAndMetadata(1)})
    commit(there, "slow", {t0: OffsetAndMetadata(2)})
    done = run("reverse", here, there, "--sync-groups", "slow")
    assert {(row["group"], row["partition"]): row["target_offset"] for row in json.loads(done.out)["groups"]} == {
        ("g", 0): 5, ("g", 1): 1, ("slow", 0): 2,
    }  # fmt: skip
    assert committed(here, "g")[t0].offset == 5


@pytest.mark.long
@pytest.mark.parametrize("at", ["request", "answer"])
@pytest.mark.parametrize("after", [0, 1, *(pytest.param(n, marks=pytest.mark.long) for n in (2, 3, 4))])
@pytest.mark.parametrize("api", [ProduceRequest, EndTxnRequest])
def test_a_way_back_that_is_killed_is_continued_without_mixing_records_in(
    here: FakeCluster, there: FakeCluster, api: type[Request], after: int, at: str
) -> None:
    copy(here, there, ("--exactly-once",))
    write(here, "t", b"lost")
    run("promote", here, there, "--source-lost", code=6)
    write(there, "t", b"b0", b"b1")
    held = here.hold(api, at=at, after=after)
    process = start(*words("reverse", here, there))
    until(lambda: held.count or process.poll() is not None)
    process.kill()
    process.communicate(timeout=PATIENCE)
    held.remove()
    held.release()
    row: dict[str, Any] = run("reverse", here, there).rows[TopicPartition("t", 0)]
    assert values(here, "t") == [b"a0", b"a1", b"a2", b"lost", b"b0", b"b1"]
    assert (row["stranded"], row["stranded_from"], row["stranded_to"]) == (1, 3, 4)
