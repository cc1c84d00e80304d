"""Five ways in which a copy could silently become a false one, each between two runs and while the mirror runs.

Retention overtakes it, a topic is created anew, the source is truncated, a batch is damaged, the target loses records.
Each is named with its offsets and ends its partitions with exit code 5; the other partitions are copied to their ends.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit, committed
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import Row, arguments, mirrored, running, until, values
from tests.run import Done, kcli_as_set_up

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
ALL = (T0, T1, U0)
TOPICS = ("-t", "t", "-t", "u")
FIRST, END = 40, 60


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 2, "u": 1}) as made:
        for tp in ALL:
            fill(made, tp, 0, FIRST)
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={}, cluster_id="there") as made:
        yield made


def fill(cluster: FakeCluster, tp: TopicPartition, first: int, stop: int) -> None:
    for number in range(first, stop, 4):
        cluster.append(*tp, batch(*expected(tp, number, number + 4), timestamp=1_000))


def expected(tp: TopicPartition, first: int, stop: int) -> list[bytes]:
    return [b"%s-%d" % (str(tp).encode(), number) for number in range(first, stop)]


def damaged() -> bytes:
    raw = bytearray(batch(b"damaged", timestamp=1_000))
    raw[-1] ^= 0xFF
    return bytes(raw)


def lost_checksum() -> bytes:
    """A compressed batch whose checksum is another one."""
    raw = bytearray(batch(*[b"damaged"] * 4, codec=1, timestamp=1_000))
    raw[17] ^= 0xFF
    return bytes(raw)


class Trap(NamedTuple):
    """``set_up`` is called before the mirror starts, ``spring`` when it has copied what there is.

    ``ended`` are the partitions that it ends, ``says`` what their errors say.
    """

    spring: Callable[[FakeCluster, FakeCluster], object]
    ended: tuple[TopicPartition, ...]
    says: tuple[str, ...]
    set_up: Callable[[FakeCluster], object] = lambda _: None
    records: int = FIRST


def overtake(source: FakeCluster, _target: FakeCluster) -> None:
    source.delete_records("t", 0, 32)
    source.cap_high_watermark("t", 0, None)


def replace_source(source: FakeCluster, _target: FakeCluster) -> None:
    source.recreate_topic("t")
    for tp in (T0, T1):
        fill(source, tp, 0, 8)


def lose_copies(source: FakeCluster, target: FakeCluster) -> None:
    target.truncate("t", 0, 20)
    fill(source, T0, FIRST, END)


def replace_target(source: FakeCluster, target: FakeCluster) -> None:
    target.recreate_topic("t")
    for tp in (T0, T1):
        fill(source, tp, FIRST, END)


def delete_target(source: FakeCluster, target: FakeCluster) -> None:
    target.delete_topic("t")
    for tp in (T0, T1):
        fill(source, tp, FIRST, END)


DAMAGE = ("t-0", "offsets 40 to ", "its checksum is")

RUNNING = {
    "overtaken": Trap(
        overtake,
        (T0,),
        ("t-0 of the source: offset 20 is out of range", "offsets 20 to 31 were removed", "from 32 to 40"),
        lambda source: source.cap_high_watermark("t", 0, 20),
        20,
    ),
    "recreated": Trap(
        replace_source,
        (T0, T1),
        ("topic t of the source was deleted and created again", "up to offset 40 of the old topic"),
    ),
    "truncated": Trap(
        lambda source, _: source.truncate("t", 0, 20),
        (T0,),
        ("t-0 of the source: the log was truncated: offsets 20 to 39 are lost", "they were copied before"),
    ),
    "damaged": Trap(lambda source, _: source.append("t", 0, lost_checksum()), (T0,), DAMAGE),
    "target truncated": Trap(
        lose_copies, (T0,), ("t-0: the target stored the record at source offset 40 at offset ", "lost records")
    ),
    "target recreated": Trap(
        replace_target, (T0, T1), ("the target stored the record at source offset 40 at offset ", "lost records")
    ),
    "target deleted": Trap(
        delete_target, (T0, T1), ("of the target was deleted", "was copied to it up to offset 40")
    ),
}  # fmt: skip


def check(done: Done, ended: tuple[TopicPartition, ...], says: tuple[str, ...]) -> None:
    """The exit status, and that exactly these partitions have an error which says all of that."""
    assert done.code == 5, done
    assert {tp for tp, row in done.rows.items() if row["error"]} == set(ended)
    for tp in ended:
        for words in says:
            assert words in str(done.rows[tp]["error"])
    assert [error["code"] for error in done.errors] == [5] * len(ended)
    assert all(error["do"] for error in done.errors), done.errors


@pytest.mark.case("M4", "M5", "M6", "M7", "M13", "R8")
@pytest.mark.parametrize("name", RUNNING)
def test_it_ends_its_partitions_of_a_running_mirror(
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trap = RUNNING[name]
    trap.set_up(source)
    words = arguments(source, target, *TOPICS, "--offset", f"0:{END}", "-o", "json", *delivery)
    with running(monkeypatch, *words) as mirror:
        for tp in ALL:
            count = trap.records if tp in trap.ended else FIRST
            until(lambda tp=tp, count=count: len(copied(target, tp)) == count)  # type: ignore[misc]
        trap.spring(source, target)
        for tp in ALL:
            if tp not in trap.ended:
                fill(source, tp, FIRST, END)
        done = mirror.done()
    check(done, trap.ended, trap.says)
    for tp in ALL:
        if tp not in trap.ended:
            assert values(target, *tp) == expected(tp, 0, END)
            assert (done.rows[tp]["to_offset"], done.rows[tp]["records"]) == (END, END)
        else:
            assert done.rows[tp]["to_offset"] == done.rows[tp]["records"] == trap.records


def copied(cluster: FakeCluster, tp: TopicPartition) -> list[bytes | None]:
    try:
        return values(cluster, *tp)
    except KeyError:  # not created yet
        return []


def replace_both(source: FakeCluster, _target: FakeCluster) -> None:
    """With more records than were copied: offsets alone do not show it."""
    source.recreate_topic("t")
    for tp in (T0, T1):
        source.append(*tp, batch(*[b"other"] * END, timestamp=1_000))


def truncate_and_replace(source: FakeCluster, _target: FakeCluster) -> None:
    source.truncate("t", 0, 20)
    source.move_leader("t", 0, 2)
    for _ in range(END):
        source.append("t", 0, batch(b"other", timestamp=1_000))


BETWEEN = {
    "overtaken": Trap(
        lambda source, _: (fill(source, T0, FIRST, END), source.delete_records("t", 0, 48)),
        (T0,),
        ("t-0 of the source: offset 40 is out of range", "offsets 40 to 47 were removed", "from 48 to 60"),
    ),
    "recreated": Trap(replace_both, (T0, T1), ("topic t of the source was deleted and created again", "offset 40")),
    "truncated": Trap(
        truncate_and_replace, (T0,), ("t-0 of the source: the log was truncated: offsets 20 to 39 are lost",)
    ),
    "truncated, nothing new": Trap(
        lambda source, _: source.truncate("t", 0, 20),
        (T0,),
        ("t-0 of the source: the log was truncated: offsets 20 to 39 are lost", "ends at offset 20"),
    ),
    "damaged": Trap(lambda source, _: source.append("t", 0, damaged()), (T0,), DAMAGE),
    "target truncated": Trap(lose_copies, (T0,), ("t-0 of the target ends at offset ", "copied up to offset 40")),
    "target recreated": Trap(
        replace_target, (T0, T1), ("topic t of the target was deleted and created again", "up to offset 40 of t-")
    ),
    "target deleted": Trap(delete_target, (T0, T1), ("topic t of the target was deleted: ", "up to offset 40 of t-")),
}  # fmt: skip


@pytest.mark.case("M4", "M5", "M6", "M7", "M13", "R8")
@pytest.mark.parametrize("name", BETWEEN)
def test_it_ends_its_partitions_of_a_job_that_continues_and_again_of_the_next_run(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], name: str
) -> None:
    trap = BETWEEN[name]
    assert mirrored(source, target, *TOPICS, *delivery).code == 0
    trap.spring(source, target)
    for tp in ALL:
        if tp not in trap.ended:
            fill(source, tp, FIRST, END)
    before = {tp: copied(target, tp) for tp in trap.ended}
    exists = "t" in topics(target)
    for more in (END - FIRST, 0):
        done = mirrored(source, target, *TOPICS, *delivery)
        check(done, trap.ended, trap.says)
        for tp in ALL:
            row = done.rows[tp]
            if tp in trap.ended:
                assert (row["to_offset"], row["records"]) == (FIRST, 0)
                assert copied(target, tp) == before[tp]
            else:
                assert (row["to_offset"], row["records"]) == (END, more)
                assert values(target, *tp) == expected(tp, 0, END)
    assert ("t" in topics(target)) == exists, "a topic that was deleted is not created again"


def topics(cluster: FakeCluster) -> set[str]:
    found: set[str] = set()
    for name in ("t", "u"):
        try:
            cluster.topic_id(name)
        except KeyError:
            continue
        found.add(name)
    return found


@pytest.mark.case("M4", "R8")
def test_each_partition_has_its_own_gap(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    """Both are out of range at the same time, and what one of them still has is copied."""
    mirrored(source, target, *TOPICS, *delivery)
    for tp, start in ((T0, 56), (T1, 44)):
        fill(source, tp, FIRST, END)
        source.delete_records(*tp, start)
    done = mirrored(source, target, *TOPICS, *delivery, "--on-gap", "record")
    assert done.code == 6, done
    assert [row["gaps"] for row in done.rows.values()] == [[[40, 55]], [[40, 43]], []]
    assert [error["what"] for error in done.errors] == [
        "t-0: offsets 40 to 55 were not copied",
        "t-1: offsets 40 to 43 were not copied",
    ]
    assert values(target, *T0) == expected(T0, 0, 40) + expected(T0, 56, 60)
    assert values(target, *T1) == expected(T1, 0, 40) + expected(T1, 44, 60)


@pytest.mark.case("M4", "M13", "R8")
def test_each_partition_has_its_own_error(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    mirrored(source, target, *TOPICS, *delivery)
    for tp in ALL:
        fill(source, tp, FIRST, END)
    source.delete_records("t", 0, 48)
    source.delete_records("t", 1, 44)
    source.append("u", 0, damaged())
    done = mirrored(source, target, *TOPICS, *delivery)
    assert done.code == 5
    errors = [str(row["error"]) for row in done.rows.values()]
    assert "t-0 of the source: offset 40 is out of range: offsets 40 to 47 were removed" in errors[0]
    assert "t-1 of the source: offset 40 is out of range: offsets 40 to 43 were removed" in errors[1]
    assert "u-0" in errors[2]
    assert "checksum" in errors[2]
    assert values(target, *U0) == expected(U0, 0, END), "what is before the damage is copied"


@pytest.mark.case("M5")
def test_with_on_recreate_restart_the_new_topic_is_copied_after_the_old_one(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two runs, while one runs, and not a third time."""
    restart = (*TOPICS, *delivery, "--on-recreate", "restart")
    mirrored(source, target, *restart)
    replace_source(source, target)
    done = mirrored(source, target, *restart, "--verify")
    assert done.code == 0, done
    assert row_of(done, T0) == (0, 8, 8)
    assert values(target, *T0) == expected(T0, 0, 40) + expected(T0, 0, 8)
    with running(monkeypatch, *arguments(source, target, *restart, "-o", "json")) as mirror:
        fill(source, T0, 8, 12)
        until(lambda: len(values(target, *T0)) == 52)
        replace_source(source, target)
        until(lambda: len(values(target, *T0)) == 60 and len(values(target, *T1)) == 56)
        mirror.stop()
        done = mirror.done()
    assert done.code == 130, done
    assert "t-0: the topic was recreated; copying it from its start" in done.err
    assert row_of(done, T0) == (8, 8, 12)
    assert row_of(done, T1) == (8, 8, 8)
    done = mirrored(source, target, *TOPICS, *delivery, "--verify")
    assert done.code == 0, done
    assert [row["records"] for row in done.rows.values()] == [0, 0, 0]


@pytest.mark.case("M5")
@pytest.mark.parametrize("end", [8, END], ids=["shorter", "longer"])
@pytest.mark.parametrize(
    ("api", "after"),
    [
        *((MetadataRequest, after) for after in range(8)),
        *((ListOffsetsRequest, after) for after in range(4)),
        (FetchRequest, 0),
    ],
)
def test_a_topic_that_is_recreated_while_a_run_begins_is_not_taken_for_the_old_one(
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    api: type[Request],
    after: int,
    end: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before one of the requests of the plan and of the first fetch; with fewer records than were copied, or more."""
    words = (*TOPICS, *delivery, "--on-recreate", "restart")
    mirrored(source, target, *words)
    fill(source, T0, FIRST, END)

    def recreate(_request: object) -> None:
        source.recreate_topic("t")
        fill(source, T0, 0, end)

    rule = source.intercept(api, recreate, times=1, after=after)
    with running(monkeypatch, *arguments(source, target, *words, "-o", "json")) as mirror:
        until(lambda: rule.count)
        until(lambda: values(target, *T0)[-end:] == expected(T0, 0, end))
        mirror.stop()
        done = mirror.done()
    assert done.code == 130, done
    done = mirrored(source, target, *words)
    assert (done.code, done.rows[T0]["records"]) == (0, 0), done
    copies = values(target, *T0)
    assert copies[-end:] == expected(T0, 0, end)
    assert copies[:-end] in (expected(T0, 0, FIRST), expected(T0, 0, END))


@pytest.mark.case("M5")
@pytest.mark.parametrize("after", range(4))
def test_a_topic_that_is_recreated_while_a_bounded_run_begins_is_copied_to_its_end(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], after: int
) -> None:
    """Its position is behind the end of the new topic, so nothing would be left to copy."""
    words = (*TOPICS, *delivery, "--on-recreate", "restart")
    mirrored(source, target, *words)

    def recreate(_request: object) -> None:
        source.recreate_topic("t")
        fill(source, T0, 0, 8)

    rule = source.intercept(ListOffsetsRequest, recreate, times=1, after=after)
    done = mirrored(source, target, *words)
    assert done.code == 0, done
    assert rule.count == 1
    assert values(target, *T0) == expected(T0, 0, FIRST) + expected(T0, 0, 8)


@pytest.mark.case("M5")
def test_offsets_of_a_recreated_topic_do_not_lead_to_what_an_earlier_run_stored_at_last(
    source: FakeCluster, target: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is behind what it has saved: it was killed before it knew that the target has it."""
    words = (*TOPICS, "--on-recreate", "restart", "--sync-groups", "g")
    commit(source, "g", {U0: OffsetAndMetadata(0)})
    assert mirrored(source, target, *words).code == 0
    fill(target, T0, FIRST, FIRST + 4)
    rule = source.intercept(FetchRequest, lambda _request: source.recreate_topic("t"), times=1)
    with running(monkeypatch, *arguments(source, target, *words, "-o", "json")) as mirror:
        until(lambda: rule.count and status_of(target, T0)["position"] == 0)
        mirror.stop()
        done = mirror.done()
    assert "the topic was recreated; copying it from its start" in done.err
    commit(source, "g", {T0: OffsetAndMetadata(0)})
    assert mirrored(source, target, *words).code == 0
    assert committed(target, "g")[T0].offset == FIRST + 4
    fill(source, T0, 0, 8)
    assert mirrored(source, target, *words).code == 0
    assert values(target, *T0)[FIRST + 4 :] == expected(T0, 0, 8)


@pytest.mark.case("M5")
@pytest.mark.parametrize("when", ["between two runs", "while it runs"])
def test_gaps_and_ends_of_a_topic_that_was_recreated_are_not_those_of_the_new_one(
    source: FakeCluster,
    target: FakeCluster,
    delivery: tuple[str, ...],
    when: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = (*TOPICS, *delivery, "--on-recreate", "restart", "--on-gap", "record")
    mirrored(source, target, *words)
    fill(source, T0, FIRST, END)
    source.delete_records("t", 0, FIRST + 4)
    assert mirrored(source, target, *words).code == 6
    assert status_of(target, T0)["gaps"] == [[FIRST, FIRST + 3]]
    if when == "between two runs":
        replace_source(source, target)
        assert mirrored(source, target, *words).code == 0
    else:
        with running(monkeypatch, *arguments(source, target, *words, "-o", "json")) as mirror:
            until(lambda: status_of(target, T0)["running"])
            source.recreate_topic("t")
            until(lambda: status_of(target, T0)["position"] == 0)
            row = status_of(target, T0)
            mirror.stop()
        assert row["lag_records"] in (None, 0), row
    assert status_of(target, T0)["gaps"] == []


def status_of(target: FakeCluster, tp: TopicPartition) -> Row:
    done = kcli_as_set_up("mirror", "status", "--to", target.bootstrap, "-o", "json")
    found: Row = done.rows[tp]
    return found


def row_of(done: Done, tp: TopicPartition) -> tuple[int, int, int]:
    row: Row = done.rows[tp]
    return row["from_offset"], row["to_offset"], row["records"]


@pytest.mark.case("M5")
def test_a_bounded_copy_of_a_recreated_topic_ends_where_the_new_one_ends(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    source.cap_high_watermark("t", 0, 20)
    words = arguments(
        source, target, *TOPICS, *delivery, "--on-recreate", "restart", "--offset", f"0:{FIRST}"
    )
    with running(monkeypatch, *words, "-o", "json") as mirror:
        until(lambda: len(copied(target, T0)) == 20)
        replace_source(source, target)
        done = mirror.done()
    assert done.code == 0, done
    assert done.rows[T0]["to_offset"] == 8
    assert values(target, *T0) == expected(T0, 0, 20) + expected(T0, 0, 8)


@pytest.mark.case("M7")
def test_the_remedies_that_are_named_work(source: FakeCluster, target: FakeCluster) -> None:
    mirrored(source, target, *TOPICS)
    lose_copies(source, target)
    done = mirrored(source, target, *TOPICS)
    assert (
        "`kcli mirror reset t --from HOST:PORT --to HOST:PORT --offset SPEC` moves the position"
        in done.errors[0]["do"]
    )
    both = "--from", source.bootstrap, "--to", target.bootstrap, "--job", "j"
    assert kcli_as_set_up("mirror", "reset", "t", *both, "--offset", "earliest", "--yes").code == 0
    done = mirrored(source, target, *TOPICS)
    assert done.code == 0, done
    assert values(target, *T0) == expected(T0, 0, END)
    target.delete_topic("t")
    done = mirrored(source, target, *TOPICS)
    assert "with --offset earliest copies it again" in done.errors[0]["do"]
    assert kcli_as_set_up("mirror", "reset", "t", *both, "--offset", "earliest", "--yes").code == 0
    done = mirrored(source, target, "-t", "t", "--verify")
    assert done.code == 0, done
    assert values(target, *T0) == expected(T0, 0, END)
