"""Several instances of one mirror job: one copies, the others wait, whatever becomes of the first."""

import itertools
import json
import signal
from collections.abc import Iterator
from subprocess import Popen
from typing import Any

import pytest

from kcli.core.clock import since_boot
from kcli.core.group.lease import GroupLease
from kcli.core.hooks import NO_HOOKS
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest
from kcli.core.types import TopicPartition
from kcli.flows.mirror.job.earlier_runs import EarlierRuns
from kcli.flows.mirror.job.state import JobId
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, instance_of, mirrored, until, values
from tests.fault.producing import PATIENCE
from tests.run import kcli_as_set_up as command
from tests.run import start

JOB = JobId("here", "j")


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1}, cluster_id="here") as made:
        for number in range(3):
            made.append("t", 0, batch(b"%d" % number, timestamp=1_000))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


def has_copied(target: FakeCluster, *expected: bytes) -> bool:
    return has_topic(target) and values(target, "t") == list(expected)


def has_topic(target: FakeCluster) -> bool:
    try:
        target.log("t")
    except KeyError:
        return False
    return True


def jobs(target: FakeCluster) -> list[dict[str, Any]]:
    done = command("mirror", "status", "--to", target.bootstrap, "-o", "json")
    assert done.code == 0, done
    rows: list[dict[str, Any]] = json.loads(done.out)["items"]
    return rows


def is_stable(target: FakeCluster) -> bool:
    """Whether all instances know who has the lease."""
    done = command("groups", "describe", "__kcli.lease.j.here", "-b", target.bootstrap, "-o", "json")
    return '"state":"Stable"' in done.out.replace(" ", "")


class Pair:
    """Two processes of one job; the second one is a stand-by by now."""

    def __init__(self, source: FakeCluster, target: FakeCluster, *more: str) -> None:
        self._words = arguments(source, target, *more)
        self.first = start(*self._words)
        until(lambda: has_copied(target, b"0", b"1", b"2"))
        self.second = start(*self._words)
        until(lambda: any(row["standbys"] for row in jobs(target)) and is_stable(target))

    def end(self) -> None:
        for one in (self.first, self.second):
            one.kill()
            one.communicate(timeout=PATIENCE)


def stopped(process: Popen[bytes]) -> str:
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    return err.decode()


@pytest.fixture
def pair(source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]) -> Iterator[Pair]:
    made = Pair(source, target, *delivery)
    try:
        yield made
    finally:
        made.end()


@pytest.mark.case("M3")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stand_by_takes_over_when_the_first_instance_ends(
    source: FakeCluster, target: FakeCluster, pair: Pair, how: signal.Signals
) -> None:
    source.append("t", 0, batch(b"3", timestamp=1_000))
    until(lambda: has_copied(target, b"0", b"1", b"2", b"3"))
    (row,) = jobs(target)
    assert row["running"]
    assert row["pid"] == pair.first.pid
    assert [one["pid"] for one in row["standbys"]] == [pair.second.pid]
    until(lambda: jobs(target)[0]["position"] == 4)
    pair.first.send_signal(how)
    pair.first.communicate(timeout=PATIENCE)
    source.append("t", 0, batch(b"4", timestamp=1_000))
    until(lambda: has_copied(target, b"0", b"1", b"2", b"3", b"4"))
    (row,) = jobs(target)
    assert (row["pid"], row["standbys"]) == (pair.second.pid, [])
    said = stopped(pair.second)
    assert f"stand-by: job j is run by {row['host']} (pid {pair.first.pid}) since " in said
    assert f"(pid {pair.first.pid})" in said.split("has ended or does not answer")[0]
    assert (jobs(target)[0]["running"], jobs(target)[0]["state"]) == (False, "ended")


@pytest.mark.long
def test_an_instance_that_slept_finds_out_that_another_one_took_over(
    source: FakeCluster, target: FakeCluster, pair: Pair
) -> None:
    """SIGSTOP for longer than a session: what it would send afterwards has been copied by the other one."""
    pair.first.send_signal(signal.SIGSTOP)
    source.append("t", 0, batch(b"3", timestamp=1_000))
    until(lambda: has_copied(target, b"0", b"1", b"2", b"3"))
    until(lambda: jobs(target)[0]["position"] == 4)
    pair.first.send_signal(signal.SIGCONT)
    until(
        lambda: [one["pid"] for one in jobs(target)[0]["standbys"]] == [pair.first.pid] and is_stable(target)
    )
    source.append("t", 0, batch(b"4", timestamp=1_000))
    until(lambda: jobs(target)[0]["position"] == 5)
    assert has_copied(target, b"0", b"1", b"2", b"3", b"4")
    pair.second.kill()
    source.append("t", 0, batch(b"5", timestamp=1_000))
    until(lambda: has_copied(target, b"0", b"1", b"2", b"3", b"4", b"5"))
    assert "stand-by: job j is run by" in stopped(pair.first)


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_without_stand_by_the_second_instance_is_refused(
    source: FakeCluster, target: FakeCluster, dry: tuple[str, ...]
) -> None:
    with instance_of(target, JOB) as holder:
        done = mirrored(source, target, "--no-standby", *dry)
    assert done.code == 7, done
    assert f"mirror job j is run by {holder.host} (pid 1)" in done.err
    assert mirrored(source, target, "--no-standby").code == 0


def test_a_run_with_an_end_copies_what_the_first_instance_has_left(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    first = start(*arguments(source, target, *delivery))
    try:
        until(lambda: has_copied(target, b"0", b"1", b"2"))
        second = start(*arguments(source, target, "--until-caught-up", *delivery))
        until(lambda: any(row["standbys"] for row in jobs(target)) and is_stable(target))
        stopped(first)
        _, err = second.communicate(timeout=PATIENCE)
        assert second.returncode == 0, err
    finally:
        first.kill()
    assert has_copied(target, b"0", b"1", b"2")


def test_ctrl_c_ends_a_stand_by_that_never_copied(source: FakeCluster, target: FakeCluster) -> None:
    with instance_of(target, JOB):
        waiting = start(*arguments(source, target))
        until(lambda: command("groups", "describe", "__kcli.lease.j.here", "-b", target.bootstrap, "--members",
                              "-o", "json").out.count('"member_id"') >= 2 and is_stable(target))  # fmt: skip
        assert waiting.stderr is not None
        while b"stand-by: job j is run by" not in (line := waiting.stderr.readline()):
            assert line
        stopped(waiting)
    assert not has_topic(target)


def test_a_restart_after_a_kill_waits_for_no_session(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    """The group still has the member of the process that was killed; it is known to be dead on this host."""
    first = start(*arguments(source, target, *delivery))
    try:
        until(lambda: has_copied(target, b"0", b"1", b"2"))
        until(lambda: jobs(target) and jobs(target)[0]["running"])
    finally:
        first.kill()
        first.communicate(timeout=PATIENCE)
    assert not target.seen(LeaveGroupRequest)
    done = mirrored(source, target, "--no-standby", *delivery)
    assert done.code == 0, done
    assert target.seen(LeaveGroupRequest)
    assert "stand-by" not in done.err


def test_an_instance_that_starts_while_the_first_one_creates_the_copy_does_not_ask(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It read what is saved before the other one had begun, and saw the records after that."""
    assert mirrored(source, target, *delivery).code == 0
    read, looks = EarlierRuns.saved_before_plan, itertools.count()
    monkeypatch.setattr(EarlierRuns, "saved_before_plan", lambda runs: read(runs) if next(looks) else None)
    done = mirrored(source, target, *delivery)
    assert done.code == 0, done
    assert next(looks) == 2
    assert values(target, "t") == [b"0", b"1", b"2"]


def test_an_instance_that_was_fenced_asks_the_coordinator_before_it_goes_on(target: FakeCluster) -> None:
    """Who fenced it has removed it from the group before that; it has not heard of it yet."""
    options = ConsumerOptions(
        bootstrap_servers=target.bootstrap,
        client_id="me",
        session_timeout_ms=60_000,
        heartbeat_interval_ms=200,
    )
    lease = GroupLease(options, "g", TopicPartition("t", 0), NO_HOOKS)
    lease.start()
    try:
        until(lambda: lease.term)
        hold = target.hold(HeartbeatRequest)
        hold.wait(timeout=PATIENCE)
        fenced = since_boot()
        assert lease.is_held
        assert not lease.is_held_since(fenced)
        hold.remove()
        hold.release()
        until(lambda: lease.is_held_since(fenced))
    finally:
        lease.close()
