"""``kcli perf consume``: rates and integrity of topics that are whole, damaged, being written, or read in part."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Consumer
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fault.mirror_command import until
from tests.fault.perf_topics import SIZE, fill
from tests.run import Done, kcli, kcli_process, start

SOUND: dict[int, list[int | None]] = {0: [*range(20), *range(40, 60)], 1: [*range(20, 40), *range(60, 70)]}
"""What a producer leaves behind: 70 records, a partition after the other."""
PATIENCE = 60


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2}) as made:
        yield made


def consume(cluster: FakeCluster, *more: str) -> Done:
    return kcli("perf", "consume", "-t", "t", "-o", "json", *more, bootstrap=cluster.bootstrap)


def item(out: str | bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out)["items"][0]
    return found


def figures(found: dict[str, Any]) -> tuple[int | None, ...]:
    return tuple(found[name] for name in ("checked", "lost", "duplicated", "reordered"))


@pytest.mark.case("S4-30")
def test_a_topic_is_read_to_its_end_and_checked(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    done = consume(cluster)
    assert done.code == 0, done.err
    found = item(done.out)
    assert (found["records"], found["bytes"], found["processes"]) == (70, 70 * SIZE, 1)
    assert figures(found) == (70, 0, 0, 0)
    assert found["seconds"] == found["fetch_seconds"] > 0
    assert sum(one["records"] for one in found["intervals"]) == 70
    nothing = ("group", "rebalance_seconds", "unconfirmed", "latency_p50_us", "latency_p50_corrected_us")
    assert [found[name] for name in nothing] == [None] * 5


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({0: [*range(20), *range(41, 60)]}, (69, 1, 0, 0)),
        ({0: [*range(20), 19, *range(40, 60)]}, (71, 0, 1, 0)),
        ({0: [*range(18), 19, 18, *range(40, 60)]}, (70, 0, 0, 1)),
        ({0: [*range(20), *range(40, 60), 65]}, (71, 0, 1, 0)),
    ],
    ids=["lost", "repeated", "swapped", "repeated in another partition"],
)
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_fault_in_the_topic_is_found(
    cluster: FakeCluster, processes: str, changed: dict[int, list[int | None]], expected: tuple[int, ...]
) -> None:
    """Also where the two halves of it are read by different processes."""
    fill(cluster, SOUND | changed)
    done = kcli_process(
        "perf", "consume", "-t", "t", "-o", "json", "--processes", processes, bootstrap=cluster.bootstrap
    )
    assert done.returncode == 5, done.stderr
    found = item(done.stdout)
    assert (found["processes"], figures(found)) == (int(processes), expected)


def test_records_without_numbers_are_counted_and_not_checked(cluster: FakeCluster) -> None:
    fill(cluster, {0: [None] * 7})
    done = consume(cluster)
    assert (done.code, item(done.out)["records"], figures(item(done.out))) == (0, 7, (None,) * 4)


def test_only_numbered_records_are_checked(cluster: FakeCluster) -> None:
    fill(cluster, {0: [0, None, 1, 2, None]})
    fill(cluster, {1: [None, 0, 1]}, producer=3)
    found = item(consume(cluster).out)
    assert (found["records"], *figures(found)) == (8, 5, 0, 0, 0)


def test_an_empty_topic_has_no_records_and_no_verdict(cluster: FakeCluster) -> None:
    done = consume(cluster)
    found = item(done.out)
    assert (done.code, found["records"], found["seconds"], found["records_per_second"]) == (0, 0, 0.0, None)


# --- what was not read is not lost ----------------------------------------------------------------------


def test_records_that_retention_has_deleted_are_not_lost(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    cluster.delete_records("t", 0, 13)
    done = consume(cluster)
    assert (done.code, *figures(item(done.out))) == (0, 57, 0, 0, 0)


def test_records_that_are_written_during_the_test_are_not_lost(cluster: FakeCluster) -> None:
    """Partition 1 ended at 20 when the test began, and partition 0 at 40."""
    fill(cluster, {0: SOUND[0], 1: SOUND[1][:20]})
    cluster.intercept(FetchRequest, lambda _request: fill(cluster, {1: SOUND[1][20:]}), times=1)
    done = consume(cluster)
    assert (done.code, *figures(item(done.out))) == (0, 60, 0, 0, 0)


def test_a_part_of_the_topic_is_judged_as_a_part(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    done = consume(cluster, "--num-records", "33")
    found = item(done.out)
    assert (done.code, found["records"], *figures(found)) == (0, 33, 33, 0, 0, 0)


# --- groups ---------------------------------------------------------------------------------------------


def committed(cluster: FakeCluster, group: str) -> list[int | None]:
    with Consumer(bootstrap_servers=cluster.bootstrap, group_id=group) as consumer:
        found = consumer.committed([TopicPartition("t", number) for number in (0, 1)], 20).values()
        return [None if one is None else one.offset for one in found]


def test_a_member_of_a_group_has_its_rebalance_apart_and_commits(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    done = consume(cluster, "-g", "g")
    assert done.code == 0, done.err
    found = item(done.out)
    assert (found["records"], *figures(found)) == (70, 70, 0, 0, 0)
    assert 0 < found["rebalance_seconds"] < found["seconds"]
    assert abs(found["rebalance_seconds"] + found["fetch_seconds"] - found["seconds"]) < 2e-6
    assert committed(cluster, "g") == [40, 30]
    again = item(consume(cluster, "-g", "g").out)
    assert (again["records"], again["checked"]) == (0, None)


def test_a_member_commits_no_more_than_it_has_read(cluster: FakeCluster) -> None:
    fill(cluster, {0: range(40)})
    assert item(consume(cluster, "-g", "g", "--num-records", "13").out)["records"] == 13
    assert committed(cluster, "g")[0] == 13
    found = item(consume(cluster, "-g", "g").out)
    assert (found["records"], *figures(found)) == (27, 27, 0, 0, 0)  # not lost: numbers before its start


def test_two_members_share_the_topic(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    done = kcli_process(
        *("perf", "consume", "-t", "t", "-o", "json", "-g", "g", "--processes", "2"),
        bootstrap=cluster.bootstrap,
    )
    assert done.returncode == 0, done.stderr
    found = item(done.stdout)
    assert (found["processes"], *figures(found)) == (2, 70, 0, 0, 0)
    assert committed(cluster, "g") == [40, 30]


# --- ends -------------------------------------------------------------------------------------------------


def test_waiting_for_more_records_in_vain_is_said_and_not_measured(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    done = consume(cluster, "--num-records", "100", "--idle-timeout", "2s")
    found = item(done.out)
    assert (done.code, found["records"]) == (6, 70)
    assert found["seconds"] < 2
    assert "100 records had not been reached" in done.err


@pytest.mark.parametrize("group", [(), ("-g", "g")], ids=["static", "group"])
def test_a_process_that_cannot_read_its_share_says_so(cluster: FakeCluster, group: tuple[str, ...]) -> None:
    """All records are in one partition, and a process reads no more than its share of them."""
    fill(cluster, {0: list(range(100))})
    flags = ("--num-records", "60", "--processes", "2", "--idle-timeout", "500ms", *group)
    done = kcli_process("perf", "consume", "-t", "t", "-o", "json", *flags, bootstrap=cluster.bootstrap)
    if group and done.returncode == 0:  # the first had left the group before the second had waited for 500 ms
        assert item(done.stdout)["records"] == 60
        return
    assert done.returncode == 6, done.stderr
    assert item(done.stdout)["records"] == 30
    assert b"one of 2 processes had not reached its share: 30 records" in done.stderr
    assert b"fewer --processes" in done.stderr


def test_a_duration_is_waited_for_and_is_the_time(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    done = consume(cluster, "--duration", "500ms")
    found = item(done.out)
    assert (done.code, found["records"]) == (0, 70)
    assert found["seconds"] >= 0.5


@pytest.mark.parametrize("numbers", [SOUND, {0: [None] * 7}, {}], ids=["numbered", "others'", "none"])
def test_a_cluster_that_is_gone_at_the_end_of_a_duration_is_an_error(
    cluster: FakeCluster, numbers: dict[int, list[int | None]]
) -> None:
    """It may have been gone for most of the time, and a rate of which nothing was served is that of no cluster."""
    fill(cluster, numbers)
    cluster.intercept(FetchRequest, lambda _request: cluster.stop(1), times=1, after=2 if numbers else 0)
    done = consume(cluster, "--duration", "2s", "--timeout", "1s")
    assert done.code == 3, done.err
    assert item(done.out)["records"] == sum(map(len, numbers.values()))
    assert "cannot connect to" in done.err


def test_an_idle_timeout_before_a_duration_is_over_says_so(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    done = consume(cluster, "--duration", "60s", "--idle-timeout", "200ms")
    assert (done.code, item(done.out)["records"]) == (6, 70)
    assert "no record came for 0.2 s, and the 60 s were not over" in done.err
    assert "leave --idle-timeout out" in done.err


def test_a_warm_up_that_never_ends_is_given_up_although_a_duration_follows_it(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    done = consume(cluster, "--duration", "5s", "--warmup-records", "100", "--idle-timeout", "300ms")
    assert (done.code, item(done.out)["records"], item(done.out)["warmup_records"]) == (1, 0, 70)
    assert "the warm-up of 100 records had not been reached" in done.err


def test_from_latest_reads_what_is_written_from_then_on(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    cluster.intercept(FetchRequest, lambda _request: fill(cluster, {0: [70, 71]}), times=1)
    found = item(consume(cluster, "--from-latest", "--num-records", "2").out)
    assert (found["records"], *figures(found)) == (2, 2, 0, 0, 0)


def test_a_warm_up_that_leaves_no_record_is_an_error(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    done = consume(cluster, "--warmup-records", "5")
    assert (done.code, item(done.out)["warmup_records"]) == (1, 70)
    assert "no record was left after the warm-up, which took 70 records" in done.err


def damaged(cluster: FakeCluster) -> bytes:
    """A batch with a byte that was changed on its way to the disk."""
    raw = bytearray(cluster.log("t", 0).batches[0].raw)
    raw[-3] ^= 1
    return bytes(raw)


def test_a_damaged_batch_ends_the_test_with_its_error(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    cluster.append("t", 0, damaged(cluster))
    done = consume(cluster)
    assert done.code == 5
    assert "checksum" in done.err
    assert item(done.out)["records"] == 70


def test_a_damaged_batch_at_the_beginning_of_one_process_leaves_the_figures_of_the_other(
    cluster: FakeCluster,
) -> None:
    fill(cluster, {0: SOUND[0]})
    cluster.append("t", 1, damaged(cluster))
    done = kcli_process(
        "perf", "consume", "-t", "t", "-o", "json", "--processes", "2", bootstrap=cluster.bootstrap
    )
    assert done.returncode == 5, done.stderr
    assert "checksum" in done.stderr.decode()
    assert item(done.stdout)["records"] == len(SOUND[0])


def test_a_stop_prints_the_result_so_far(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    words = ("perf", "consume", "-t", "t", "--num-records", "1000", "-o", "json")
    with start(*words, bootstrap=cluster.bootstrap, stdin=subprocess.DEVNULL) as process:
        until(lambda: len(cluster.seen(FetchRequest)) >= 3)  # it has read what there is, and waits for more
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    found = item(out)
    assert (found["records"], *figures(found)) == (70, 70, 0, 0, 0)
    assert b"stopped before its end" in err


# --- the command line -------------------------------------------------------------------------------------


def test_kafkas_lines(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    done = kcli("perf", "consume", "-t", "t", "-o", "kafka", bootstrap=cluster.bootstrap)
    head, line = done.out.splitlines()
    assert head.startswith("start.time, end.time, data.consumed.in.MB, MB.sec")
    moment = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}"
    assert re.fullmatch(rf"{moment}, {moment}, 0\.0027, [\d.]+, 70, [\d.]+, 0, \d+, [\d.]+, [\d.]+", line)
    bare = kcli("perf", "consume", "-t", "t", "-o", "kafka", "--no-headers", bootstrap=cluster.bootstrap)
    assert len(bare.out.splitlines()) == 1


def test_fewer_partitions_than_processes_are_read_by_as_many(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    done = kcli_process(
        "perf", "consume", "-t", "t", "-o", "json", "--processes", "5", bootstrap=cluster.bootstrap
    )
    assert (done.returncode, item(done.stdout)["processes"]) == (0, 2)
    assert b"t has 2 partitions" in done.stderr


def test_a_read_only_profile_may_read_and_join_no_group(cluster: FakeCluster, tmp_path: Path) -> None:
    fill(cluster, SOUND)
    folder = tmp_path / "kcli"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f'[profiles.p]\nread_only = true\n"bootstrap.servers" = "{cluster.bootstrap}"\n'
    )
    words = ("perf", "consume", "-t", "t", "--profile", "p", "-o", "json")
    assert kcli(*words, XDG_CONFIG_HOME=str(tmp_path)).code == 0
    refused = kcli(*words, "-g", "g", XDG_CONFIG_HOME=str(tmp_path))
    assert (refused.code, refused.out) == (7, "")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--from-latest",), "without an end"),
        (("-X", "auto.offset.reset=latest"), "without an end"),
        (("-X", "auto.offset.reset=none"), "auto.offset.reset=none"),
        (("--num-records", "5", "--warmup-records", "5"), "--warmup-records 5 of --num-records 5"),
        (("--fail-if", "p99>5ms"), "can never be judged"),
        (("-X", "max.poll.records=5"), "counted in whole batches"),
        (("-X", "group.id=g"), "give -g GROUP"),
        (("-X", "linger.ms=5"), "producer option"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_read(
    cluster: FakeCluster, words: tuple[str, ...], text: str
) -> None:
    done = kcli("perf", "consume", "-t", "t", *words, bootstrap=cluster.bootstrap)
    assert (done.code, done.out) == (2, "")
    assert text in done.err
    assert not cluster.requests


def test_fewer_records_than_processes_are_refused(cluster: FakeCluster) -> None:
    """Of the processes that the partitions leave; a group has as many members as there are processes."""
    words = ("perf", "consume", "-t", "t", "--num-records", "2", "--processes", "3", "--dry-run")
    assert kcli(*words, bootstrap=cluster.bootstrap).code == 0
    done = kcli(*words, "-g", "g", bootstrap=cluster.bootstrap)
    assert done.code == 2
    assert "2 records by 3 processes" in done.err


def test_a_dry_run_shows_the_plan_and_reads_nothing(cluster: FakeCluster) -> None:
    fill(cluster, SOUND)
    done = kcli("perf", "consume", "-t", "t", "-g", "g", "--dry-run", bootstrap=cluster.bootstrap)
    assert done.code == 0
    assert "Read t (2 partitions)" in done.out
    assert "group g commits what is read" in done.out
    assert not cluster.seen(FetchRequest)
