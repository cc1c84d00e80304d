"""kcli mirror promote: with the source and without it, with other instances, killed in the middle, and again."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event, Thread
from typing import Any

import pytest

from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import OffsetAndMetadata, ProducerRecord, TopicPartition
from kcli.flows.mirror.job.store import STATE
from tests.cli.errors.typing_remedies import type_remedy
from tests.cli.test_acls import acl
from tests.committing import commit, committed
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, mirrored, running, until, values
from tests.fault.producing import PATIENCE, quick
from tests.fault.test_mirror_kills import concerns
from tests.run import Done, start
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
    assert done.rows[TopicPartition("t", 0)]["copied_time"] == "1970-01-01T00:00:01.006Z"
    assert json.loads(done.out)["unknown_since"] is None
    assert values(target, "t", 0) == values(source, "t", 0)
    assert states(target) == {"promoted"}


@pytest.mark.parametrize("short", ["0s", "1ms"])
def test_partitions_that_may_not_wait_are_copied_where_nothing_has_to_be_waited_for(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], short: str
) -> None:
    """The limit is for what is away, and not for answers of brokers that are there."""
    limit = ("--max-wait", short)
    assert mirrored(source, target, *delivery, *limit).code == 0
    fill(source, 0, 3)
    assert mirrored(source, target, *delivery, *limit).code == 0
    done = promoted(source, target, *limit)
    assert done.code == 0, done
    assert {n: one[:3] for n, one in points(done).items()} == {0: (7, 7, 0), 1: (2, 2, 0)}
    fill(source, 1, 1)
    back = command(
        "mirror", "reverse", "--from", source.bootstrap, "--to", target.bootstrap, "--job", "j", "-o", "json", "--yes",
        *limit,
    )  # fmt: skip
    assert back.code == 0, back
    assert sum(row["stranded"] for row in back.items) == 1


def test_no_run_copies_again_and_a_second_promotion_changes_nothing(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    mirrored(source, target, *delivery)
    first = promoted(source, target)
    fill(source, 0, 3)
    before = target.log(*STATE).end_offset
    again = mirrored(source, target, *delivery)
    assert (again.code, "mirror job j was promoted" in again.err) == (7, True), again
    type_remedy(
        "`kcli mirror reverse --from HOST:PORT --to HOST:PORT --job j` copies back what was written there since",
        again.err,
        source.bootstrap,
        other=target.bootstrap,
    )
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
    source.stop(1)
    done = promoted(source, target, "--source-lost")
    assert done.code == 6, done
    assert {n: one[:3] for n, one in points(done).items()} == {0: (4, 4, None), 1: (2, 2, None)}
    head = json.loads(done.out)
    assert head["source_lost"]
    assert head["unknown_since"] == min(row["seen_at"] for row in done.items)
    assert "what the source has accepted since" in done.err
    assert states(target) == {"promoted"}
    assert promoted(source, target, "--source-lost").code == 6
    away = promoted(source, target, "--timeout", "1s")
    assert (away.code, "--source-lost promotes the job without its source" in away.err) == (3, True)


@pytest.mark.parametrize("words", [(), ("--source-lost",)], ids=["with source", "source lost"])
def test_an_instance_that_copies_hands_over_and_ends(
    monkeypatch: pytest.MonkeyPatch,
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    words: tuple[str, ...],
) -> None:
    """Records that it has stored and not saved would be unknown; its own position covers them."""
    with running(monkeypatch, *arguments(source, target, *delivery)) as follower:
        until(lambda: states(target) == {"caught_up"})
        fill(source, 0, 3)
        until(lambda: len(values(target, "t", 0)) == 7)
        done = promoted(source, target, *words)
        assert done.code == (6 if words else 0), done
        assert {n: one[0] for n, one in points(done).items()} == {0: 7, 1: 2}
        assert {one[4] for one in points(done).values()} == {0}
        ended = follower.done()
        assert ended.code == 7, ended
    assert values(target, "t", 0) == values(source, "t", 0), "nothing twice, at least once as well"
    fill(source, 0, 1)
    assert states(target) == {"promoted"}
    assert len(values(target, "t", 0)) == 7


def test_while_producers_write_the_promotion_ends_after_its_time(
    source: FakeCluster, target: FakeCluster
) -> None:
    mirrored(source, target)
    writing = Event()

    def write() -> None:
        while not writing.wait(0.05):
            fill(source, 0, 1)

    thread = Thread(target=write)
    thread.start()
    try:
        done = promoted(source, target, "--max-wait", "2s", "--no-verify")
    finally:
        writing.set()
        thread.join()
    assert done.code == 6, done
    at, end, missing, *_ = points(done)[0]
    assert (missing > 0, end - at) == (True, missing)
    assert values(target, "t", 0) == values(source, "t", 0)[:at]
    assert f"up to {missing} record" in done.err


def test_what_an_open_transaction_holds_back_may_be_missing(source: FakeCluster, target: FakeCluster) -> None:
    mirrored(source, target)
    with quick(source, transactional_id="open") as producer:
        producer.init_transactions(PATIENCE)
        producer.begin_transaction()
        producer.send(ProducerRecord("t", b"open", partition=0))
        producer.flush(PATIENCE)
        fill(source, 1, 1)
        done = promoted(source, target, "--max-wait", "1s")
        producer.abort_transaction(PATIENCE)
    assert done.code == 6, done
    assert {n: one[:3] for n, one in points(done).items()} == {0: (4, 5, 1), 1: (3, 3, 0)}
    assert "an open transaction" in done.rows[TopicPartition("t", 0)]["why"]


def test_records_that_no_position_covers_are_named(source: FakeCluster, target: FakeCluster) -> None:
    """A mirror was killed after it had stored them: how far they reach in the source is not known without it."""
    mirrored(source, target)
    fill(source, 0, 2)
    for number in (4, 5):
        target.append("t", 0, batch(b"0-%d" % number, timestamp=1_000 + number))
    done = promoted(source, target, "--source-lost")
    assert done.code == 6, done
    assert points(done)[0] == (4, 4, None, 6, 2)
    assert "2 records after the last known ones" in done.err
    type_remedy(
        "`kcli mirror reverse --from HOST:PORT --to HOST:PORT --job j` lists what is missing, later",
        done.err,
        source.bootstrap,
        other=target.bootstrap,
    )


def test_copies_that_differ_are_not_promoted(source: FakeCluster, target: FakeCluster) -> None:
    mirrored(source, target)
    target.append("t", 1, batch(b"of somebody else", timestamp=1_000))
    done = promoted(source, target)
    assert (done.code, states(target)) == (8, {"ended"}), done
    assert "nothing was promoted" in done.err
    assert promoted(source, target, "--no-verify").code == 6, "it is not known whose record it is"
    assert states(target) == {"promoted"}


def test_a_dry_run_shows_how_far_the_job_is_and_changes_nothing(
    source: FakeCluster, target: FakeCluster
) -> None:
    mirrored(source, target)
    fill(source, 0, 2)
    for words in ((), ("--source-lost",)):
        done = command(
            "mirror", "promote", "--from", source.bootstrap, "--to", target.bootstrap, "--job", "j",
            "--dry-run", "-o", "json", *words,
        )  # fmt: skip
        assert done.code == 0, done
        row = done.rows[TopicPartition("t", 0)]
        assert (row["copied_to"], row["may_be_missing"], row["status"]) == (
            4,
            None if words else 2,
            "planned",
        )
    assert states(target) == {"ended"}


def test_it_asks_for_the_name_of_the_job(source: FakeCluster, target: FakeCluster) -> None:
    mirrored(source, target)
    both = ("--from", source.bootstrap, "--to", target.bootstrap, "--job", "j")
    done = command("mirror", "promote", *both)
    assert (done.code, "Promote mirror job j?" in done.err) == (2, True), done
    assert command("mirror", "promote", *both, "--confirm", "j").code == 0


def test_there_has_to_be_a_job(source: FakeCluster, target: FakeCluster) -> None:
    assert promoted(source, target).code == 1
    assert promoted(source, target, "--source-lost").code == 1


@pytest.mark.long
@pytest.mark.parametrize("at", ["request", "answer"])
@pytest.mark.parametrize("after", [0, *(pytest.param(at, marks=pytest.mark.long) for at in (1, 2)), 3])
def test_a_promotion_that_is_killed_is_completed_by_the_next_one(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], at: str, after: int
) -> None:
    """At each write to the state: the claim, the position, the promotion, its end."""
    mirrored(source, target, *delivery, "--sync-groups", "g")
    commit(source, "g", {TopicPartition("t", 0): OffsetAndMetadata(3)})
    fill(source, 0, 2)
    held = target.hold(ProduceRequest, at=at, after=after, when=concerns(target, STATE.topic))
    process = start(
        "mirror", "promote", "--from", source.bootstrap, "--to", target.bootstrap, "--job", "j", "--yes"
    )
    held.wait(timeout=PATIENCE)
    process.kill()
    process.communicate(timeout=PATIENCE)
    held.remove()
    held.release()
    done = promoted(source, target)
    assert done.code == 0, done
    assert {n: one[:3] for n, one in points(done).items()} == {0: (6, 6, 0), 1: (2, 2, 0)}
    assert committed(target, "g")[TopicPartition("t", 0)].offset == 3
    assert list(dict.fromkeys(values(target, "t", 0))) == values(source, "t", 0)
    if delivery:
        assert values(target, "t", 0) == values(source, "t", 0)


def test_groups_are_set_for_the_last_time(source: FakeCluster, target: FakeCluster) -> None:
    commit(source, "g", {TopicPartition("t", 0): OffsetAndMetadata(1)})
    mirrored(source, target, "--sync-groups", "g")
    commit(source, "g", {TopicPartition("t", 0): OffsetAndMetadata(3)})
    done = promoted(source, target)
    (row,) = json.loads(done.out)["groups"]
    assert (done.code, row["status"], row["target_offset"]) == (0, "done", 3), done
    assert committed(target, "g")[TopicPartition("t", 0)].offset == 3
    assert json.loads(promoted(source, target).out)["groups"] == [row]


def test_groups_are_translated_by_what_was_seen_without_the_source(
    source: FakeCluster, target: FakeCluster
) -> None:
    commit(source, "g", {TopicPartition("t", 0): OffsetAndMetadata(2)})
    mirrored(source, target, "--sync-groups", "g")
    source.stop(1)
    done = promoted(source, target, "--source-lost")
    (row,) = json.loads(done.out)["groups"]
    assert (done.code, row["source_offset"], row["target_offset"]) == (6, 2, 2), done


def test_acls_that_let_others_write_are_created_at_the_promotion(
    source: FakeCluster, target: FakeCluster
) -> None:
    writes = acl("User:ann allow write topic t literal *")
    source.acls.add(writes)
    mirrored(source, target, "--sync-acls")
    assert target.acls == set()
    assert promoted(source, target).code == 0
    assert target.acls == {writes}


def test_a_job_that_chooses_partitions_by_key_knows_no_end_of_the_target(
    source: FakeCluster, target: FakeCluster
) -> None:
    mirrored(source, target, "--partitions", "by-key")
    fill(source, 0, 1)
    done = promoted(source, target)
    assert done.code == 0, done
    assert {n: one[:4] for n, one in points(done).items()} == {0: (5, 5, 0, None), 1: (2, 2, 0, None)}


@pytest.mark.parametrize("follows", [False, True], ids=["ended", "running"])
def test_topics_that_appeared_since_the_job_looked_are_copied_or_named(
    monkeypatch: pytest.MonkeyPatch, source: FakeCluster, target: FakeCluster, follows: bool
) -> None:
    """What a pattern of the job selects is asked for, whether or not the job has seen it."""
    patterns = ("-t", "*", "--exclude", "no*", "--map-topic", r"^(.*)$=dr.\1")
    both = ("--from", source.bootstrap, "--to", target.bootstrap, "--job", "j")
    line = ("mirror", "run", *both, *patterns, "-o", "json", "--yes")
    target.create_topic("dr.t", 2)
    with ExitStack() as stack:
        if follows:
            stack.enter_context(running(monkeypatch, *line))
            until(lambda: (len(values(target, "dr.t", 0)), len(values(target, "dr.t", 1))) == (4, 2))
        else:
            assert command(*line, "--until-caught-up").code == 0
        for name in ("new", "full", "not"):
            source.create_topic(name, 1)
            source.append(name, 0, batch(name.encode(), timestamp=1_000))
        target.create_topic("dr.full", 1)
        target.append("dr.full", 0, batch(b"of somebody else", timestamp=1_000))
        dry = promoted(source, target, "--dry-run")
        assert {(tp.topic, row["target"]) for tp, row in dry.rows.items()} == {
            ("t", "dr.t"), ("new", "dr.new"), ("full", "dr.full"),
        }  # fmt: skip
        done = promoted(source, target)
    rows = done.rows
    assert (dry.code, done.code) == (6, 6), done
    missing = {tp.topic: row["may_be_missing"] for tp, row in rows.items()}
    assert missing == {"t": 0, "new": 0, "full": 1}
    assert values(target, "dr.new") == [b"new"]
    assert values(target, "dr.full") == [b"of somebody else"]
    assert "topic full has been created since and is not copied" in done.err
    assert "start the mirror again" not in done.err, "a promoted job does not start"
    assert promoted(source, target).items == done.items


def test_what_is_left_behind_names_no_remedy_of_a_job_that_goes_on(
    source: FakeCluster, target: FakeCluster
) -> None:
    mirrored(source, target)
    source.truncate("t", 0, 2)
    done = promoted(source, target, "--no-verify")
    assert done.code == 6, done
    assert "kcli mirror reset" not in done.err
