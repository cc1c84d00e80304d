"""``kcli groups rewind --live`` and ``--hold``: a group is rewound as its members read. Against the fake cluster."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pexpect
import pytest

from kcli.core.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.attendance import PROMPT
from kcli.flows.rewind.journal import Journals
from tests.cli.errors.typing_remedies import type_remedy
from tests.committing import Kcli, commit, offsets, put
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.rewinding import QUICK, Others, others, wait_for, wait_until_settled
from tests.run import KCLI, kcli

PARTITIONS = 3
CLASSIC: dict[str, Any] = {"partition_assignment_strategy": "cooperative-sticky"}
MODERN: dict[str, Any] = {"group_protocol": "consumer"}
BOTH = pytest.mark.parametrize("kind", [CLASSIC, MODERN], ids=["classic", "consumer"])


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": PARTITIONS}) as made:
        for partition in range(PARTITIONS):
            put(made, "t", partition)
        yield made


@pytest.fixture
def rewind(cluster: FakeCluster, tmp_path: Path) -> Kcli:
    return Kcli(cluster, tmp_path / "state", "groups", "rewind")


def one_more(cluster: FakeCluster) -> None:
    """A record for each partition: somebody will read it and commit, which ends the watch."""
    for partition in range(PARTITIONS):
        put(cluster, "t", partition, 1, first_minute=20)


def read_one_more(cluster: FakeCluster) -> None:
    """So that nobody has anything in hand; members that begin at 20 read it again and commit."""
    one_more(cluster)
    wait_for(lambda: list(cluster.committed_offsets("g").values()) == [21] * PARTITIONS)


@contextmanager
def reading(cluster: FakeCluster, kind: dict[str, Any]) -> Iterator[Others]:
    """Two members that have read and committed everything there is, and take their time: what they commit can be seen."""
    with others(cluster.bootstrap, "t", "g", 2, pause=0.02, max_poll_records=1, **QUICK, **kind) as group:
        wait_for(lambda: settled(cluster))
        yield group


def settled(cluster: FakeCluster) -> bool:
    stable = len(cluster.group_members("g")) == 2 and cluster.group_state("g") == "Stable"
    return stable and list(cluster.committed_offsets("g").values()) == [20] * PARTITIONS


@pytest.mark.case("O11", "O13", "S0-55")
@BOTH
def test_members_read_again_from_where_the_plan_says(
    cluster: FakeCluster, rewind: Kcli, kind: dict[str, Any]
) -> None:
    with reading(cluster, kind) as group:
        group.watch()
        items = rewind.items("g", "--to", "5", "--live", "--yes")
        assert [(one["status"], one["reason"], one["new"]) for one in items] == [("done", "held", 5)] * 3
        wait_for(lambda: len(group.first) == PARTITIONS)
        assert group.first == dict.fromkeys(range(PARTITIONS), 5)
        wait_for(lambda: settled(cluster))
        assert len(rewind.journals()) == 1


def by_one_record(cluster: FakeCluster, rewind: Kcli, *undo: str) -> None:
    """No commit lies between the new and the old offset; but all was read before, so that no member had an old batch.

    Where a member was seen too late for that to be certain, the report says so, and it is done once more.
    """
    how, code, found = undo, (0, 6), set()
    for _ in range(3):
        process = rewind.start("g", *how, "--yes", "-o", "json")
        out, err = process.communicate(timeout=60)
        assert process.returncode in code, (process.returncode, out, err)
        items = json.loads(out)["items"]
        assert [one["new"] for one in items] == [20] * 3
        found = {one["status"] for one in items}
        if found == {"done"}:
            return
        assert found <= {"done", "unknown"}
        wait_for(lambda: list(cluster.committed_offsets("g").values()) == [21] * PARTITIONS)
        how = ("--to", "20", "--live")
    raise AssertionError(found)


@BOTH
def test_an_undo_is_a_live_rewind_too(cluster: FakeCluster, rewind: Kcli, kind: dict[str, Any]) -> None:
    with reading(cluster, kind):
        shown = rewind("g", "--to", "5", "--live", "--yes").err
        undo = shown[shown.index("--undo=") :].split()
        wait_for(lambda: settled(cluster))
        read_one_more(cluster)
        by_one_record(cluster, rewind, *undo[:2])


@BOTH
def test_a_dry_run_has_no_effect_on_members(cluster: FakeCluster, rewind: Kcli, kind: dict[str, Any]) -> None:
    with reading(cluster, kind):
        joined = len(cluster.seen(JoinGroupRequest))
        generation = cluster.group_generation("g")
        for flag in ("--live", "--hold"):
            shown = rewind("g", "--to", "5", flag, "--dry-run").out
            assert (
                "Group state: Stable, 2 members. Undo afterwards with: kcli groups rewind g --undo --live"
                in shown
            )
            assert "They notice two rebalances" in shown
        assert len(cluster.seen(JoinGroupRequest)) == joined
        assert cluster.group_generation("g") == generation
        assert cluster.seen(LeaveGroupRequest) == []


def test_without_live_a_group_with_members_is_refused_with_a_hint(cluster: FakeCluster, rewind: Kcli) -> None:
    with reading(cluster, CLASSIC):
        refused = rewind("g", "--to", "5", "--yes", code=7).err
        assert "as it runs with --live" in refused
        assert offsets(cluster) == [20] * PARTITIONS


def test_what_was_not_committed_before_cannot_be_taken_back_while_the_group_runs(
    cluster: FakeCluster, rewind: Kcli
) -> None:
    with reading(cluster, CLASSIC):
        rewind("g", "--to", "5", "--topic", "t:0", "--live", "--yes")
        (journal,) = rewind.journals()
        text = journal.read_text().replace('"committed": 20', '"committed": null')
        assert "null" in text
        journal.write_text(text)
        wait_for(lambda: settled(cluster))
        refused = rewind("g", "--undo", "--live", "--yes", code=7).err
        assert "brokers keep the commits of topics that a group reads" in refused


@pytest.mark.case("O14")
def test_a_kafka_streams_application_is_refused(cluster: FakeCluster, rewind: Kcli) -> None:
    def streams(_request: Any, answer: Any) -> None:
        answer.groups[0].protocol_data = "stream"

    with reading(cluster, CLASSIC):
        cluster.replace(DescribeGroupsRequest, streams)
        refused = rewind("g", "--to", "5", "--live", "--yes", code=7).err
        assert "Kafka Streams" in refused
        assert "`kcli groups reset-app g` resets both" in refused


@BOTH
def test_a_group_that_may_not_be_joined_continues_as_before(
    cluster: FakeCluster, rewind: Kcli, kind: dict[str, Any]
) -> None:
    with reading(cluster, kind):
        known = set(cluster.group_members("g"))
        code = Code.GROUP_AUTHORIZATION_FAILED
        for api in (JoinGroupRequest, ConsumerGroupHeartbeatRequest):
            cluster.fail(api, *[code] * 9, top=True, when=lambda r: r.member_id not in known)
        assert "GROUP_AUTHORIZATION_FAILED" in rewind("g", "--to", "5", "--live", "--yes", code=4).err
        cluster.heal()
        wait_for(lambda: settled(cluster))
        assert not rewind.journals()


@pytest.mark.case("O15")
@BOTH
def test_killed_while_it_holds_the_group_continues_at_the_new_offsets_and_an_undo_puts_back_the_old(
    cluster: FakeCluster, rewind: Kcli, kind: dict[str, Any]
) -> None:
    with reading(cluster, kind) as group:
        members = set(cluster.group_members("g"))
        group.watch()
        hold = cluster.hold(OffsetCommitRequest, "answer", when=lambda r: r.member_id not in members)
        with rewind.start("g", "--to", "5", "--live", "--yes") as process:
            (caught,) = hold.wait()
            process.send_signal(signal.SIGKILL)
            process.wait(120)
        hold.lose()
        cluster.evict("g", caught.request.member_id)  # what its session timeout does
        wait_for(lambda: len(group.first) == PARTITIONS)
        assert group.first == dict.fromkeys(range(PARTITIONS), 5)
        wait_for(lambda: settled(cluster))
        read_one_more(cluster)
        by_one_record(cluster, rewind, "--undo", "--live")


@pytest.mark.case("O16")
@pytest.mark.parametrize("flag", ["--live", "--hold"])
def test_of_two_on_one_machine_the_second_does_not_disturb_the_members(
    cluster: FakeCluster, rewind: Kcli, flag: str
) -> None:
    with reading(cluster, MODERN):
        rewind("g", "--to", "5", "--live", "--yes")
        wait_for(lambda: settled(cluster))
        generation = cluster.group_generation("g")
        folder = rewind.journals()[0].parent
        with Journals("fake-kafka-cluster-id0", folder.parent).locked(["g"]):
            refused = rewind("g", "--to", "7", flag, "--yes", code=7).err
        assert "another kcli process is rewinding group g" in refused
        assert cluster.group_generation("g") == generation


# --- what is not known, and how it is settled ------------------------------------------------------------


SILENT: dict[str, Any] = {"enable_auto_commit": False}


@BOTH
def test_unknown_exits_with_6_and_check_resolves_it(
    cluster: FakeCluster, rewind: Kcli, kind: dict[str, Any]
) -> None:
    """Nobody commits while it is watched. Later somebody does, between the new and the old offset."""
    with reading(cluster, kind):
        pass
    with others(cluster.bootstrap, "t", "g", 2, **{**QUICK, **SILENT}, **kind):
        wait_for(lambda: len(cluster.group_members("g")) == 2 and cluster.group_state("g") == "Stable")
        done = rewind("g", "--to", "5", "--live", "--yes", "--watch=2s", "-o", "json", code=6)
        (journal,) = rewind.journals()
        assert (
            "offsets of group g set and read back, 2 of 2 members are back; watching their commits for up to 2s"
            in done.err
        )
        assert (
            "3 of 3 partitions of group g were set, but whether they are read from there is not known"
            in done.err
        )
        assert "no member has committed an offset for it in" in done.err
        assert f"kcli groups rewind g --check {journal.stem}" in done.err
        assert done.out.count('"status":"unknown"') == 3
        again = rewind("g", "--check", journal.stem, "--watch=1s", code=6).err
        assert "cannot be read from __consumer_offsets" in again
        (listed,) = rewind.items("--journal")
        assert listed["status"] == "unknown"
    for partition in range(PARTITIONS):
        commit(cluster, "g", {TopicPartition("t", partition): OffsetAndMetadata(7)})
    items = rewind.items("g", "--check", journal.stem)
    assert [(one["reason"], one["found"], one["commits"][-1]["offset"]) for one in items] == [
        ("held", 7, 7)
    ] * 3
    (listed,) = rewind.items("--journal")
    assert listed["status"] == "held"
    rewind("g", f"--undo={journal.stem}", "--yes")
    assert offsets(cluster) == [20] * PARTITIONS


def test_only_the_partitions_of_a_member_that_does_not_come_back_are_open(
    cluster: FakeCluster, rewind: Kcli
) -> None:
    slow = {**QUICK, "client_id": "slow"}
    with reading(cluster, CLASSIC) as group:
        with others(cluster.bootstrap, "t", "g", 1, max_poll_records=1, **slow, **CLASSIC) as late:
            wait_until_settled(cluster, "g", 3)
            late.stall(1)
            done = rewind("g", "--to", "5", "--live", "--yes", "--watch=4s", code=6)
            lines = [line.split() for line in done.out.splitlines()[1:]]
            assert sorted(line[6] for line in lines) == ["done", "done", "unknown"]
            assert "slow owned it and did not rejoin within" in done.err
            assert "1 of 3 members has not rejoined so far: slow at" in done.err
        assert group.failures == []


@pytest.mark.soak
def test_a_newcomer_with_the_client_id_of_a_member_that_is_away_is_not_taken_for_it(
    cluster: FakeCluster, rewind: Kcli
) -> None:
    """It joins later than a live member would have come back, reads the partition, and commits."""
    slow: dict[str, Any] = {**QUICK, "client_id": "slow", "max_poll_records": 1, **CLASSIC}
    with reading(cluster, CLASSIC), others(cluster.bootstrap, "t", "g", 1, pause=14.0, **slow):
        wait_for(lambda: len(cluster.group_members("g")) == 3 and cluster.group_state("g") == "Stable")
        with rewind.start("g", "--to", "5", "--live", "--yes", "--watch=7s", "-o", "json") as process:
            wait_for(lambda: bool(cluster.seen(LeaveGroupRequest)))
            time.sleep(PROMPT + 0.3)
            with others(cluster.bootstrap, "t", "g", 1, **slow):
                out, err = process.communicate(timeout=30)
        assert process.returncode == 6, err
        items = json.loads(out)["items"]
        assert sorted(one["status"] for one in items) == ["done", "done", "unknown"]
        (unknown,) = (one for one in items if one["status"] == "unknown")
        assert unknown["commits"], "the newcomer has committed"


def test_ctrl_c_while_it_is_watched_reports_what_is_known(cluster: FakeCluster, rewind: Kcli) -> None:
    with reading(cluster, CLASSIC):
        pass
    with others(cluster.bootstrap, "t", "g", 2, **{**QUICK, **SILENT}, **CLASSIC):
        wait_for(lambda: len(cluster.group_members("g")) == 2 and cluster.group_state("g") == "Stable")
        child = pexpect.spawn(
            KCLI[0],
            [*KCLI[1:], *rewind.verb, "g", "--to", "5", "--all-topics", "--live", "--yes"],
            env=rewind.environment,
            encoding="utf-8",
            timeout=30,
            dimensions=(40, 200),
        )
        child.expect("waiting for a commit by kcli at 127.0.0.1: t-")
        child.sendintr()
        text, code = ended(child)
        assert code == 130
        assert "were set, but whether they are read from there is not known" in text
        assert "--check " in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("g", "--to", "5", "--watch=3s"), "--watch without --live"),
        (("g", "--check", "x", "--to", "5"), "--check with --to"),
        (("g", "h", "--check", "x"), "--check with several groups"),
        (("--check", "x"), "missing argument GROUP"),
        (("g", "--to", "5", "--live", "--watch=soon"), "soon"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_done(
    cluster: FakeCluster, rewind: Kcli, arguments: tuple[str, ...], said: str
) -> None:
    assert said in rewind(*arguments, code=2).err
    assert cluster.seen(DescribeGroupsRequest) == []


def test_a_rewind_without_live_has_nothing_to_be_checked(cluster: FakeCluster, rewind: Kcli) -> None:
    commit(cluster, "g", {TopicPartition("t", 0): OffsetAndMetadata(9)})
    rewind("g", "--to", "5", "--topic", "t:0", "--yes")
    (journal,) = rewind.journals()
    assert "only rewinds with --live" in rewind("g", "--check", journal.stem, code=7).err
    assert "there is no journal x" in rewind("g", "--check", "x", code=1).err
    elsewhere = journal.parent.parent / "other" / f"{journal.stem}1.json"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(journal.read_bytes())
    assert "it is of cluster other" in rewind("g", f"--undo={elsewhere.stem}", "--dry-run", code=1).err
    state = str(journal.parents[3])
    said = kcli("undo", journal.stem, bootstrap=cluster.bootstrap, XDG_STATE_HOME=state).err
    type_remedy(
        f"`kcli groups rewind GROUP --undo={journal.stem}`, with its group",
        said,
        cluster.bootstrap,
        GROUP="g",
        state=state,
    )


# --- --hold --------------------------------------------------------------------------------------------


@contextmanager
def asked(rewind: Kcli, *arguments: str) -> Iterator[Any]:
    """A terminal in which the question stands."""
    child = pexpect.spawn(
        KCLI[0], [*KCLI[1:], *rewind.verb, *arguments], env=rewind.environment, encoding="utf-8", timeout=30,
        dimensions=(40, 160),
    )  # fmt: skip
    try:
        child.expect(r"\( *\d+ s left\) Proceed\? \[y/N\] ")
        yield child
    finally:
        child.close(force=True)


def ended(child: Any) -> tuple[str, int]:
    child.expect(pexpect.EOF)
    child.wait()
    return child.before, child.exitstatus


def test_nothing_is_read_while_the_plan_is_confirmed(cluster: FakeCluster, rewind: Kcli) -> None:
    with reading(cluster, MODERN) as group:
        group.watch()
        with asked(rewind, "g", "--to", "5", "--hold=20s") as child:
            assert "is held for at most 20 s" in child.before
            wait_for(lambda: len(cluster.group_members("g")) == 3)
            one_more(cluster)
            child.expect(r"\( *1\d s left\)")
            assert group.first == {}
            assert offsets(cluster) == [20] * PARTITIONS
            child.send("y\n")
            wait_for(lambda: group.first == dict.fromkeys(range(PARTITIONS), 5))
            for partition in range(PARTITIONS):  # nobody had this one in hand before
                put(cluster, "t", partition, 1, first_minute=21)
            text, code = ended(child)
            assert code == 0, text
            assert "set and held" in text


@pytest.mark.parametrize("how", ["no", "too late", "Ctrl-C", "SIGTERM", "SIGHUP"])
def test_a_group_that_was_held_for_nothing_continues_where_it_was(
    cluster: FakeCluster, rewind: Kcli, how: str
) -> None:
    with reading(cluster, MODERN) as group:
        group.watch()
        with asked(rewind, "g", "--to", "5", "--hold=20s" if how != "too late" else "--hold=3s") as child:
            if how == "Ctrl-C":
                child.sendintr()
            elif how.startswith("SIG"):
                child.kill(signal.Signals[how])
            elif how == "no":
                child.send("n\n")
            text, code = ended(child)
        assert code == {"no": 1, "too late": 7, "Ctrl-C": 130, "SIGTERM": 143, "SIGHUP": 129}[how], text
        assert how != "too late" or "there was no answer in time" in text
        wait_for(lambda: settled(cluster))
        assert not rewind.journals()
        one_more(cluster)
        wait_for(lambda: group.first == dict.fromkeys(range(PARTITIONS), 20))


def test_where_no_broker_responds_no_completion_waits(cluster: FakeCluster, rewind: Kcli) -> None:
    with reading(cluster, MODERN):
        assert "confirmation required" in rewind("g", "--to", "5", "--hold", code=2).err
        assert cluster.seen(LeaveGroupRequest) == []


def test_a_classic_group_with_unknown_rebalance_timeouts_is_not_held(
    cluster: FakeCluster, rewind: Kcli
) -> None:
    with reading(cluster, CLASSIC):
        refused = rewind("g", "--to", "5", "--hold", "--yes", code=7).err
        assert "__consumer_offsets" in refused
        assert cluster.seen(LeaveGroupRequest) == []
        wait_for(lambda: settled(cluster))


@pytest.mark.parametrize("more", [("--yes",), ("--dry-run",), ()])
def test_a_group_without_members_is_not_rewound_as_if_it_had_been_held(
    cluster: FakeCluster, rewind: Kcli, more: tuple[str, ...]
) -> None:
    commit(cluster, "g", {TopicPartition("t", 0): OffsetAndMetadata(9)})
    done = rewind("g", "--to", "5", "--hold", *more, code=7 if more else 2)
    if more:
        assert "Rewind group g" in done.err + done.out, "the plan is shown"
        assert "group g has no members to hold" in done.err
        assert "leave --hold out" in done.err
    assert offsets(cluster) == [9]
    rewind("g", "--to", "5", "--live", "--yes")
    assert offsets(cluster) == [5] * PARTITIONS
