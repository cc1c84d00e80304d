"""kcli mirror ended by a signal: what was confirmed is saved and reported, and the next run continues there.

Killed at any moment it loses nothing; at least once, what it had copied since the last saved position is there twice.
"""

import json
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, mirrored, until, values
from tests.fault.producing import PATIENCE
from tests.run import KCLI, environment, start
from tests.run import kcli_as_set_up as command

COUNT = 400
RATE = 100
T0 = TopicPartition("t", 0)


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1}) as made:
        for number in range(COUNT):
            made.append("t", 0, batch(b"%d" % number, codec=1 + number % 4, timestamp=1_000))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


def copied(cluster: FakeCluster) -> list[bytes | None]:
    try:
        return values(cluster, "t")
    except KeyError:
        return []


EXPECTED: list[bytes | None] = [b"%d" % number for number in range(COUNT)]


@pytest.mark.case("M1", "R16")
@pytest.mark.parametrize("seed", range(4))
def test_killed_at_a_random_moment_nothing_is_lost_and_little_is_there_twice(
    source: FakeCluster, target: FakeCluster, seed: int
) -> None:
    moment = random.Random(seed).randrange(20, 250)
    process = start(*arguments(source, target, "--until-caught-up", "--rate", str(RATE)))
    try:
        until(lambda: len(copied(target)) >= moment)
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)
    saved = command("mirror", "status", "--to", target.bootstrap, "-o", "json").rows
    position = saved[T0]["position"] if T0 in saved else 0
    done = mirrored(source, target, "--yes")
    assert done.code == 0, done
    found = copied(target)
    before = len(found) - len(
        EXPECTED[position:]
    )  # with what was on its way to the target when the process was killed
    assert done.rows[T0]["from_offset"] == position <= before
    assert found == EXPECTED[:before] + EXPECTED[position:]
    assert before - position <= 2 * RATE, "more than one interval"


class Moment(NamedTuple):
    """``side`` holds the request ``api`` (that concerns the topic, where it is a produce) when the signal comes."""

    side: str
    api: type[Request]
    at: str = "request"
    after: int = 0
    topic: str = ""


MOMENTS = {
    "connecting": Moment("source", MetadataRequest),
    "creating": Moment("target", MetadataRequest, after=3),
    "fetching": Moment("source", FetchRequest),
    "records sent": Moment("target", ProduceRequest, topic="t", after=2),
    "records stored": Moment("target", ProduceRequest, "answer", topic="t", after=2),
    "position sent": Moment("target", ProduceRequest, topic="__kcli_mirror", after=1),
}


def concerns(cluster: FakeCluster, topic: str) -> Callable[[Any], bool]:
    def match(request: Any) -> bool:
        asked = getattr(request, "topic_data", ())
        return not topic or any(one.name == topic or one.topic_id == cluster.topic_id(topic) for one in asked)

    return match


@pytest.mark.case("M1", "R16")
@pytest.mark.parametrize("name", MOMENTS)
def test_ctrl_c_at_any_moment_is_130_with_a_report_and_the_next_run_continues(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], name: str
) -> None:
    moment = MOMENTS[name]
    cluster = source if moment.side == "source" else target
    hold = cluster.hold(moment.api, moment.at, after=moment.after, when=concerns(cluster, moment.topic))
    words = arguments(source, target, "--until-caught-up", "--rate", str(RATE), "-o", "json", *delivery)
    process = start(*words)
    try:
        hold.wait(timeout=PATIENCE)
        process.send_signal(signal.SIGINT)
        hold.remove()
        hold.release()
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    before = copied(target)
    assert before == EXPECTED[: len(before)]
    if out:
        (row,) = json.loads(out)["items"]
        assert row["records"] == row["to_offset"] == len(before), "what is reported is what is there"
        assert row["lag_records"] == COUNT - len(before)
        assert re.search(rb"records? copied", err)
    else:
        assert not before
    done = mirrored(source, target, "--yes", *delivery)
    assert done.code == 0, done
    assert done.rows[T0]["from_offset"] == len(before)
    assert copied(target) == EXPECTED


@pytest.mark.case("M1", "M2")
def test_with_a_rate_positions_are_saved_while_one_poll_is_copied(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    """Everything arrives in one poll, which lasts for seconds; a transaction of that length would time out."""
    done = mirrored(source, target, "--rate", "150", *delivery)
    assert done.code == 0, done
    assert copied(target) == EXPECTED
    states = {record.key for record in target.log("__kcli_mirror").records(committed=True)}
    assert len(states) == 2
    positions = [
        json.loads(record.value or b"{}")["position"]
        for record in target.log("__kcli_mirror").records(committed=True)
        if b"topic" in (record.key or b"")
    ]
    assert positions == sorted(positions)
    assert len(positions) >= 3, positions


@pytest.mark.case("R16")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_end_it_in_the_same_way(
    source: FakeCluster, target: FakeCluster, number: signal.Signals
) -> None:
    process = start(*arguments(source, target, "-o", "ndjson"))
    try:
        until(lambda: len(copied(target)) == COUNT)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 128 + number, err
    assert [json.loads(line)["to_offset"] for line in out.splitlines()] == [COUNT]


LIMITED = (
    "import os, resource, sys; n = int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_NOFILE, (n, n));"
    "os.execv(sys.argv[2], sys.argv[2:])"
)
"""For ``python -c``: runs its other arguments with as many open files as the first one says."""


@pytest.mark.parametrize(
    "limit", [pytest.param(n, marks=[pytest.mark.long] * (n not in (35, 39))) for n in range(24, 48)]
)
def test_with_too_few_files_it_ends_or_says_what_to_do(limit: int, tmp_path: Path) -> None:
    """Whichever connection is the one too many: a broker that cannot be reached is waited for."""
    with (
        FakeCluster(3, topics={"t": 6}, cluster_id="here") as source,
        FakeCluster(3, topics={}, cluster_id="there") as target,
    ):
        for number in range(6):
            source.append("t", number, batch(b"v", timestamp=1_000))
        words = [*KCLI, *arguments(source, target, "--until-caught-up")]
        told = tmp_path / "stderr"
        with told.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-c", LIMITED, str(limit), *words],
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
            )
        try:
            until(lambda: process.poll() is not None or "ulimit -n" in told.read_text())
            assert process.poll() == 0 or "ulimit -n" in told.read_text(), told.read_text()
        finally:
            process.kill()
            process.wait()
