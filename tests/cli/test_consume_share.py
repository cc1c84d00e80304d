"""``kcli consume --group-type share`` on the fake cluster: what is written, what becomes of each record, how it ends."""

import json
import shlex
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.commands.consume.options import NOT_SHARED
from kcli.core.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kcli.core.protocol.messages.share_fetch import ShareFetchRequest
from kcli.core.types import Record
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.printed_json import check_document
from tests.run import Done, kcli, kcli_process, start

GROUP = ("-g", "g", "--group-type", "share")
PROMPT = ("-X", "fetch.max.wait.ms=50")


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2}) as made:
        put(made, 0, 3)
        put(made, 1, 2)
        yield made


def put(cluster: FakeCluster, partition: int, count: int) -> None:
    first = cluster.log("t", partition).end_offset
    rows = [
        Record(
            "t",
            partition,
            first + n,
            1_700_000_000_000,
            0,
            b"k%d" % (first + n),
            b"%d:%d" % (partition, first + n),
        )
        for n in range(count)
    ]
    cluster.append("t", partition, bytes(batch_of(rows).raw))


def states(cluster: FakeCluster) -> dict[str, int]:
    """How many offsets are in which state."""
    found: dict[str, int] = {}
    for partition in (0, 1):
        for state, _ in cluster.share_do(cluster.share.states, "g", "t", partition).values():
            found[state] = found.get(state, 0) + 1
    return found


def consume(cluster: FakeCluster, *words: str) -> Done:
    return kcli("consume", "t", *GROUP, *PROMPT, *words, bootstrap=cluster.bootstrap)


def test_records_are_written_and_accepted(cluster: FakeCluster) -> None:
    done = consume(cluster, "-e", "-f", r"%p:%o %{deliveries}\n")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.decode().splitlines()) == ["0:0 1", "0:1 1", "0:2 1", "1:0 1", "1:1 1"]
    assert states(cluster) == {"acknowledged": 5}
    assert not cluster.share.members["g"]


@pytest.mark.parametrize("kind", ["ndjson", "json"])
def test_json_has_the_delivery_count(cluster: FakeCluster, kind: str) -> None:
    assert consume(cluster, "-n", "2", "--on-each", "release").returncode == 0
    done = consume(cluster, "-e", "-o", kind)
    text = done.stdout.decode()
    records = (
        json.loads(text)["items"] if kind == "json" else [json.loads(line) for line in text.splitlines()]
    )
    assert sorted(one["delivery_count"] for one in records) == [1, 1, 1, 2, 2]


def test_a_limit_acquires_no_more(cluster: FakeCluster) -> None:
    done = consume(cluster, "-n", "2")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2
    assert states(cluster) == {"acknowledged": 2, "available": 3} or states(cluster) == {
        "acknowledged": 2,
        "available": 1,
    }


@pytest.mark.parametrize(("kind", "state"), [("accept", "acknowledged"), ("reject", "archived")])
def test_what_on_each_says_becomes_of_them(cluster: FakeCluster, kind: str, state: str) -> None:
    assert consume(cluster, "-e", "--on-each", kind).returncode == 0
    assert states(cluster) == {state: 5}


def test_released_records_come_again_until_the_limit(cluster: FakeCluster) -> None:
    cluster.share.limit = 2
    done = consume(cluster, "-e", "--on-each", "release", "-f", r"%{deliveries}\n")
    assert sorted(done.stdout.split()) == [b"1"] * 5 + [b"2"] * 5
    assert b"10 records written, 10 released; 5 had been delivered before" in done.stderr
    assert states(cluster) == {"archived": 5}


# --- a program decides ---------------------------------------------------------------------------------


def script(folder: Path, text: str) -> str:
    path = folder / "work"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_the_exit_status_decides(cluster: FakeCluster, tmp_path: Path) -> None:
    """k0 is accepted, k1 released (and rejected the second time), k2 rejected."""
    work = script(
        tmp_path,
        f"""cat >> {tmp_path}/lines
echo "$(cat $KCLI_KEY_FILE)=$(cat $KCLI_VALUE_FILE)" >> {tmp_path}/files
case $(cat $KCLI_KEY_FILE) in k0) exit 0;; k1) [ -e {tmp_path}/again$(cat $KCLI_VALUE_FILE) ] && exit 1
touch {tmp_path}/again$(cat $KCLI_VALUE_FILE); exit 75;; *) exit 2;; esac""",
    )
    done = consume(cluster, "-e", "--ack-after-exec", work)
    assert done.returncode == 0, done.stderr
    assert b"7 records written, 2 accepted, 2 released, 3 rejected" in done.stderr
    given = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    assert sorted(one["delivery_count"] for one in given) == [1, 1, 1, 1, 1, 2, 2]
    assert "k0=0:0" in (tmp_path / "files").read_text()
    assert states(cluster) == {"acknowledged": 2, "archived": 3}


def test_what_the_program_prints_goes_to_stderr(cluster: FakeCluster) -> None:
    words = (
        "consume",
        "t",
        *GROUP,
        *PROMPT,
        "-n",
        "1",
        "-f",
        r"%k\n",
        "--ack-after-exec",
        "sh -c 'echo said'",
    )
    done = kcli_process(*words, bootstrap=cluster.bootstrap)
    assert (done.stdout, b"said" in done.stderr) == (b"k0\n", True)


@pytest.mark.parametrize("command", ["./nowhere", "sh -c 'exit 127'"])
def test_a_program_that_cannot_be_run_rejects_nothing(cluster: FakeCluster, command: str) -> None:
    done = consume(cluster, "-e", "--ack-after-exec", command)
    assert done.returncode == 6  # the record was written, and then released
    assert b"cannot be run" in done.stderr
    assert "archived" not in states(cluster)


def test_a_program_that_a_signal_ended_releases(cluster: FakeCluster) -> None:
    cluster.share.limit = 1
    done = consume(cluster, "-n", "1", "--ack-after-exec", "sh -c 'kill -9 $$'")
    assert b"1 record written, 1 released" in done.stderr


def test_a_long_program_keeps_the_lock(cluster: FakeCluster) -> None:
    cluster.share.lock = 1.0
    done = consume(cluster, "-n", "1", "--ack-after-exec", "sleep 2.5")
    assert done.returncode == 0, done.stderr
    assert states(cluster)["acknowledged"] == 1


def test_a_null_key_has_no_file(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.create_topic("u")
    cluster.append("u", 0, bytes(batch_of([Record("u", 0, 0, 1, 0, None, b"v")]).raw))
    work = script(tmp_path, '[ -z "$KCLI_KEY_FILE" ] && [ "$(cat $KCLI_VALUE_FILE)" = v ]')
    done = kcli(
        "consume", "u", *GROUP, *PROMPT, "-n", "1", "--ack-after-exec", work, bootstrap=cluster.bootstrap
    )
    assert b"1 accepted" in done.stderr


# --- how it ends ---------------------------------------------------------------------------------------


def test_a_lock_that_expired_exits_with_6(cluster: FakeCluster) -> None:
    cluster.fail(ShareAcknowledgeRequest, Code.INVALID_RECORD_STATE)
    done = consume(cluster, "-n", "1")
    assert done.returncode == 6
    assert b"1 of the 1 records that were written were not acknowledged" in done.stderr
    assert b"share.record.lock.duration.ms" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_acknowledges_what_was_written_and_gives_back_the_rest(
    cluster: FakeCluster, number: int
) -> None:
    words = ("consume", "t", *GROUP, *PROMPT, "-f", r"%o\n", "--progress", "json")
    with start(*words, bootstrap=cluster.bootstrap) as process:
        assert process.stdout is not None
        for _ in range(5):
            process.stdout.readline()
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    report = json.loads(said.splitlines()[-1])
    check_document(report)
    assert report["kind"] == "ConsumeReport"
    assert (report["records"], report["accepted"], report["unknown"]) == (5, 5, 0)
    assert states(cluster) == {"acknowledged": 5}


def test_a_signal_ends_a_program_and_releases_its_record(cluster: FakeCluster) -> None:
    words = ("consume", "t", *GROUP, *PROMPT, "--ack-after-exec", "sleep 60")
    with start(*words, bootstrap=cluster.bootstrap) as process:
        assert process.stdout is not None
        process.stdout.readline()
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 143
    assert time.monotonic() - began < 8
    assert b"1 record written, 1 released" in said
    assert "acknowledged" not in states(cluster)


@pytest.mark.parametrize(("wanted", "code"), [("5", 0), ("4", 8)])
def test_an_expectation_counts_what_was_written(cluster: FakeCluster, wanted: str, code: int) -> None:
    assert consume(cluster, "-e", "--expect", wanted).returncode == code


def test_a_dry_run_joins_nothing(cluster: FakeCluster) -> None:
    done = consume(cluster, "--dry-run")
    assert done.returncode == 0
    assert b"as a member of share group g" in done.stderr
    assert not cluster.seen(ShareFetchRequest)


# --- options -------------------------------------------------------------------------------------------

VALUES = {
    "--partitions": "-p 0",
    "--isolation-level": "--isolation-level read_committed",
    "--offset": "--offset 3",
    "--since": "--since 3h",
    "--until": "--until now",
    "--tail": "--tail 3",
    "--follow": "--tail 3 --follow",
    "--grep": "--grep v:x",
    "--where": "--where value.x",
    "--key": "--key k",
    "--all-partitions": "--key k --all-partitions",
    "--sample": "--sample 1/10",
    "--distinct": "--distinct key",
    "--by": "--count --by key",
    "--top": "--count --by key --top 3",
    "--with-tombstones": "--latest-per-key --with-tombstones",
    "--on-out-of-range": "--on-out-of-range earliest",
    "--on-recreate": "--on-recreate restart",
}


@pytest.mark.parametrize("option", NOT_SHARED)
def test_options_that_mean_nothing_are_refused(option: str) -> None:
    done = kcli("consume", "t", *GROUP, *shlex.split(VALUES.get(option, option)), bootstrap="127.0.0.1:1")
    assert done.returncode == 2
    assert b"with --group-type share" in done.stderr


def test_no_commit_is_refused_too() -> None:
    assert kcli("consume", "t", *GROUP, "--no-commit", bootstrap="127.0.0.1:1").returncode == 2


@pytest.mark.parametrize(
    "line",
    [
        "--group-type share",
        "-g g --on-each release",
        "-g g --ack-after-exec true",
        r"-g g -f %{deliveries}\n",
        "-g g --group-type share --on-each accept --ack-after-exec true",
        "-g g --group-type share --ack-after-exec 'a | b'",
        "-g g -X share.acquire.mode=record_limit",
        "-g g --group-type share -X group.protocol=consumer",
        "-g g --group-type share -X share.acknowledgement.mode=implicit",
    ],
)
def test_what_belongs_together_and_what_does_not(line: str) -> None:
    done = kcli("consume", "t", *shlex.split(line.replace("\\", "\\\\")), bootstrap="127.0.0.1:1")
    assert done.returncode == 2, done.stderr


def test_every_other_option_has_a_meaning(cluster: FakeCluster) -> None:
    """Formats and serdes do what they do elsewhere."""
    done = consume(cluster, "-n", "1", "--select", "key,offset", "-o", "csv")
    assert done.stdout == b"key,offset\nk0,0\n"
