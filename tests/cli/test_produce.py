"""``kcli produce`` as a user runs it, against brokers in this process: formats, failures, files, every exit code."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.produce import ProduceRequest
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fault.producing import PATIENCE
from tests.run import KCLI, MEASURE, environment, kcli_process, ok, run, shell, start

Done = subprocess.CompletedProcess[bytes]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(nodes=1, topics={"t": 3, "one": 1, "copy": 3}) as cluster:
        yield cluster


def produce(cluster: FakeCluster, *arguments: str, stdin: bytes = b"") -> Done:
    return kcli_process("produce", *arguments, bootstrap=cluster.bootstrap, stdin=stdin)


def values(
    cluster: FakeCluster, topic: str = "one", partition: int = 0, *, committed: bool = False
) -> list[Any]:
    return cluster.log(topic, partition).values(committed=committed)


def records(cluster: FakeCluster, topic: str = "one", partition: int = 0) -> list[tuple[Any, ...]]:
    return [(r.key, r.value, r.headers, r.timestamp) for r in cluster.log(topic, partition).records()]


def said(done: "Done | subprocess.CompletedProcess[bytes]") -> list[str]:
    """The error on stderr, in its three lines."""
    assert b"Traceback" not in done.stderr
    lines = done.stderr.decode().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("kcli: "))
    return lines[at : at + 3]


def failures(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


# --- formats ----------------------------------------------------------------------------------------------------------


@pytest.mark.case("C11")
def test_consume_and_produce_make_an_exact_copy(cluster: FakeCluster) -> None:
    """What consume writes as ndjson, produce restores: bytes, nulls, headers, timestamps, partitions."""
    lines = [
        {"value": "v", "key": "k", "timestamp": 17, "partition": 2, "headers": [["a", "1"], ["a", None], ["", ""]]},
        {"value": None, "key": "", "timestamp": 2**40, "partition": 0},
        {"value": "", "key": None, "timestamp": 1, "partition": 0},
        {"value": "//4=", "value_encoding": "base64", "key": "\u0000\n\u2028", "timestamp": 5, "partition": 1,
         "headers": [["gA==", "gA==", "base64", "base64"], ["x", "é"]]},
    ]  # fmt: skip
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    done = produce(cluster, "t", "-i", "ndjson", "--partitioner", "manual", stdin=data)
    ok(done)
    line = "kcli consume t -e -o ndjson | kcli produce copy -i ndjson --partitioner manual"
    ok(shell(f"set -o pipefail; {line}", bootstrap=cluster.bootstrap))
    for partition in range(3):
        assert records(cluster, "copy", partition) == records(cluster, "t", partition)
    assert records(cluster, "copy", 1) == [
        ("\u0000\n\u2028".encode(), b"\xff\xfe", ((b"\x80", b"\x80"), ("x", "é".encode())), 5)
    ]


@pytest.mark.parametrize(
    ("arguments", "stdin", "expected"),
    [
        (["-K", "::", "-D", "\\0"], b"k::v\0x", [(b"k", b"v"), (None, b"x")]),
        (["-K", ":", "-Z"], b":v\nk:\n", [(None, b"v"), (b"k", None)]),
        (["-K", ":", "--null-marker", "N"], b"N:N\n:\n", [(None, None), (b"", b"")]),
        (["-i", "raw", "-k", "k"], b"\0\0\0\2a\n\xff\xff\xff\xff", [(b"k", b"a\n"), (b"k", None)]),
        (["-i", "file"], b"a\nb\n", [(None, b"a\nb\n")]),
        (["-i", "csv"], b'value,key\n"a,b",\n,"k"\n', [(None, b"a,b"), (b"k", None)]),
        (["-i", "kcat"], b'{"key":"k","payload":"\xff"}\n', [(b"k", b"\xff")]),
        (["-f", "%k\\t%v\\n"], b"k\tv\n", [(b"k", b"v")]),
        (["-f", "%R%s"], b"\0\0\0\1\n\0\0\0\0", [(None, b"\n"), (None, b"")]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and isinstance(value[0], str) else None,
)
def test_formats(cluster: FakeCluster, arguments: list[str], stdin: bytes, expected: list[Any]) -> None:
    ok(produce(cluster, "one", *arguments, stdin=stdin))
    assert [(key, value) for key, value, _, _ in records(cluster)] == expected


@pytest.mark.case("C5")
def test_ways_in_which_input_ends(cluster: FakeCluster) -> None:
    """A last line without its end is sent once, an empty input is no error, a closed one is."""
    ok(produce(cluster, "one", stdin=b"a\nb"))
    assert values(cluster) == [b"a", b"b"]
    assert b"0 records confirmed" in produce(cluster, "one").stderr
    done = shell("kcli produce one <&-", bootstrap=cluster.bootstrap)
    assert done.returncode == 2
    assert "stdin is closed" in said(done)[0]


@pytest.mark.case("C6")
def test_what_was_read_before_an_error_is_confirmed(cluster: FakeCluster, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\n")
    done = produce(cluster, "one", str(tmp_path / "a"), "/proc/self/mem")
    assert done.returncode == 6
    assert b"cannot read /proc/self/mem" in done.stderr
    assert values(cluster) == [b"one"]
    assert shell("kcli produce one < /", bootstrap=cluster.bootstrap).returncode == 1


@pytest.mark.case("C7")
def test_bytes_are_kept_and_a_line_without_end_is_named(cluster: FakeCluster, tmp_path: Path) -> None:
    """NUL, CR LF, no UTF-8, a byte-order mark; a line that fits no record takes nothing else with it."""
    lines = [b"\xef\xbb\xbfbom", b"nul\0", b"cr\r", b"\xff\xfe"]
    failed = tmp_path / "failed"
    data = b"\n".join([*lines, b"x" * 6_000_000, b"y" * 1_100_000, b"last"])
    done = produce(cluster, "one", "--failed", str(failed), stdin=data)
    assert done.returncode == 6
    assert values(cluster) == [*lines, b"last"]
    assert b"line 5" in done.stderr
    assert [(f["line"], f["code"], len(f["input"] or "")) for f in failures(failed)] == [
        (5, "MESSAGE_TOO_LARGE", 0),
        (6, "MESSAGE_TOO_LARGE", 1_100_000),
    ]


# --- what fails -------------------------------------------------------------------------------------------------------


@pytest.mark.case("C9")
def test_what_brokers_refuse_is_kept_with_line_numbers_and_fed_again(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    """Exit 6, every failed line with its number, and the same flags feed them again."""
    cluster.configure("t", max_message_bytes="2000")
    large = {5, 700, 999}
    lines = [b"k%d:%d:" % (i, i) + b"x" * (3000 if i in large else 10) for i in range(1000)]
    failed, again = tmp_path / "failed", tmp_path / "again"
    done = produce(cluster, "t", "-K", ":", "--failed", str(failed), stdin=b"\n".join(lines))
    assert done.returncode == 6
    assert b"997 records confirmed" in done.stderr
    assert b"3 of 1,000 records for t were not stored (the first is line 6 of stdin)" in done.stderr
    kept = failures(failed)
    assert sorted(f["line"] for f in kept) == [6, 701, 1000]
    assert {f["code"] for f in kept} == {"MESSAGE_TOO_LARGE"}
    assert {f["input"].encode() for f in kept} == {lines[i] for i in large}
    done = produce(cluster, "t", "-K", ":", "-i", "failed", str(failed), "--failed", str(again))
    assert done.returncode == 1  # nothing of it can be stored yet
    assert {f["input"] for f in failures(again)} == {f["input"] for f in kept}
    cluster.configure("t", max_message_bytes="1000000")
    ok(produce(cluster, "t", "-K", ":", "-i", "failed", str(again)))
    found = [r for p in range(3) for r in cluster.log("t", p).records()]
    assert sorted((r.key, r.value) for r in found) == sorted(tuple(line.split(b":", 1)) for line in lines)


@pytest.mark.case("C8")
def test_one_bad_line_is_reported_with_line_and_column(cluster: FakeCluster, tmp_path: Path) -> None:
    """The others are sent; exit 6, or 1 if nothing was confirmed; the bad one is kept."""
    failed = tmp_path / "failed"
    data = b"".join(b'{"value":"%d"}\n' % i if i != 7001 else b'{"value":"7001\n' for i in range(1, 9001))
    done = produce(cluster, "one", "-i", "ndjson", "--failed", str(failed), stdin=data)
    assert done.returncode == 6
    assert b"line 7,001 of stdin, column 15, is not a valid record" in done.stderr
    assert f"kcli produce one … -i failed {failed}".encode() in done.stderr
    assert b"--failed FILE" not in done.stderr
    assert len(values(cluster)) == 8999
    [kept] = failures(failed)
    assert (kept["line"], kept["code"], kept["input"]) == (7001, "BAD_INPUT", '{"value":"7001')
    done = produce(cluster, "one", "-i", "ndjson", "--on-bad-input", "fail", stdin=data)
    assert done.returncode == 6
    assert b"do: correct it; without --on-bad-input fail such lines do not end the run" in done.stderr
    assert len(values(cluster)) == 8999 + 7000
    assert produce(cluster, "one", "-i", "ndjson", stdin=b"x\n").returncode == 1


def test_the_summary_reports_that_a_fatal_error_left_input_unread(cluster: FakeCluster) -> None:
    data = b'{"value":"1"}\n{"value":\n{"value":"3"}\n'
    fatal = ("one", "-i", "ndjson", "--on-bad-input", "fail")
    done = produce(cluster, *fatal, stdin=data)
    summary = b"1 line read, 0 failed, 0 unknown; the input was not read to its end"
    assert (done.returncode, summary in done.stderr) == (6, True)
    done = produce(cluster, *fatal, "--dry-run", stdin=data)
    assert b"0 of them would fail; the input was not read to its end; nothing was sent" in done.stderr
    done = produce(cluster, "one", "-i", "ndjson", stdin=data)
    assert b"3 lines read, 1 failed, 0 unknown\n" in done.stderr


# --- exit codes -------------------------------------------------------------------------------------------------------


def test_exit_0_only_when_everything_is_confirmed(cluster: FakeCluster) -> None:
    done = produce(cluster, "one", "-o", "json", stdin=b"a\nb\n")
    [item] = json.loads(ok(done))["items"]
    assert (item["lines"], item["confirmed"], item["failed"], item["unknown"], item["bad_input"]) == (
        2,
        2,
        0,
        0,
        0,
    )


def test_exit_1_for_an_unknown_topic_and_for_nothing_confirmed(cluster: FakeCluster) -> None:
    done = produce(cluster, "onn", stdin=b"a\n")
    assert done.returncode == 1
    assert "topic onn does not exist" in said(done)[0]
    cluster.configure("one", max_message_bytes="100")
    assert produce(cluster, "one", stdin=b"x" * 500).returncode == 1


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["-k", "a", "-K", ":"], "-k and -K together"),
        (["-i", "ndjson", "-K", ":"], "-K with -i ndjson"),
        (["-i", "raw", "-f", "%v\\n"], "-f with -i raw"),
        (["-f", "%z"], "-f '%z' is not a valid input pattern"),
        (["-f", "%k %v h=%v\\n"], "-f '%k %v h=%v\\n' is not a valid input pattern"),
        (["-f", ""], "-f '' is not a valid input pattern"),
        (["-f", "ndjson"], "-f ndjson is not an input pattern"),
        (["-f", "-K", ":"], "-f needs a PATTERN, and the next word is -K"),
        (["--partitioner", "manual"], "--partitioner manual without partitions"),
        (["--tee", "-o", "ndjson"], "--tee with -o ndjson"),
        (["--acks", "0", "--checkpoint", "x"], "--checkpoint with --acks 0"),
        (["--transaction-every", "5"], "--transaction-every without --transactional-id"),
        (["--transactional-id", "x", "--acks", "1"], "transactional.id needs acks=all"),
        (["nowhere.txt"], "cannot read nowhere.txt"),
        (["--transactional-id", "\udce9"], "transactional.id='\\udce9' is not a valid value"),
        (["--rate", "fast"], "--rate is not valid"),
        (["--checkpoint", "/dev/zero"], "/dev/zero is no checkpoint"),
        (["-H", "k:v"], "-H k:v has a colon and no ="),
        (["-t", "two", "-t", "three"], "-t two -t three"),
    ],
)
def test_exit_2_for_invalid_combinations(cluster: FakeCluster, arguments: list[str], what: str) -> None:
    done = produce(cluster, "one", *arguments, stdin=b"a\n")
    assert done.returncode == 2
    assert what in done.stderr.decode().splitlines()[0]
    assert values(cluster) == []


def test_exit_2_for_a_pattern_where_one_topic_is_meant(cluster: FakeCluster) -> None:
    done = produce(cluster, "^one", stdin=b"a\n")
    assert (done.returncode, said(done)[0]) == (2, "kcli: produce: '^one' is not a valid topic name")


def test_exit_3_for_a_cluster_that_goes_silent(cluster: FakeCluster) -> None:
    cluster.swallow(ProduceRequest, times=1000)
    limits = ["-X", "request.timeout.ms=200", "-X", "delivery.timeout.ms=600"]
    done = produce(cluster, "one", *limits, stdin=b"a\n")
    assert done.returncode == 3
    assert produce(cluster, "one", "-b", "127.0.0.1:1", "--timeout", "1s").returncode == 3


def test_exit_4_when_writing_is_not_allowed(cluster: FakeCluster) -> None:
    cluster.fail(ProduceRequest, Code.TOPIC_AUTHORIZATION_FAILED)
    assert produce(cluster, "one", stdin=b"a\n").returncode == 4


def test_exit_7_for_files_of_another_run(cluster: FakeCluster, tmp_path: Path) -> None:
    (tmp_path / "failed").write_text("x\n")
    done = produce(cluster, "one", "--failed", str(tmp_path / "failed"), stdin=b"a\n")
    assert (done.returncode, values(cluster)) == (7, [])
    (tmp_path / "input").write_bytes(b"a\nb\n")
    run = ["one", "--checkpoint", str(tmp_path / "at"), str(tmp_path / "input")]
    ok(produce(cluster, *run))
    (tmp_path / "input").write_bytes(b"a\nc\nd\n")
    done = produce(cluster, *run)
    assert done.returncode == 7
    assert "is not the input of the checkpoint" in said(done)[0]
    assert values(cluster) == [b"a", b"b"]


@pytest.mark.case("C14")
def test_files_that_cannot_be_written_end_it_at_the_start(cluster: FakeCluster) -> None:
    for flag in ("--failed", "--checkpoint"):
        for more in ([], ["--dry-run"]):
            done = produce(cluster, "one", flag, "/no/such/folder/file", *more, stdin=b"a\n")
            assert done.returncode == 1
            assert "cannot write /no/such/folder/file" in said(done)[0]
    assert values(cluster) == []


def test_a_dry_run_finds_an_invalid_checkpoint(cluster: FakeCluster, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("hello")
    for path in ("/dev/null", str(tmp_path / "other")):
        done = produce(cluster, "one", "--checkpoint", path, "--dry-run")
        assert done.returncode == 2
        assert f"{path} is no checkpoint" in said(done)[0]
    assert (tmp_path / "other").read_text() == "hello"


def test_the_plan_of_a_dry_run_as_a_document(cluster: FakeCluster) -> None:
    plan = json.loads(ok(produce(cluster, "one", "--dry-run", "-o", "json")))
    assert plan["kind"] == "ProducePlan"
    assert plan["items"] == [{"topic": "one", "partitions": 1, "lines": 0, "failed": 0, "bad_input": 0}]


def test_a_dry_run_warns_of_partitions_without_a_leader(cluster: FakeCluster) -> None:
    cluster.create_topic("four", 4)
    assert b"leader" not in produce(cluster, "four", "--dry-run", stdin=b"a\n").stderr
    cluster.move_leader("four", 2, -1)
    for more in ([], ["-p", "2"]):
        done = produce(cluster, "four", "--dry-run", *more, stdin=b"a\n")
        assert b"four-2 without a leader now: records for it would wait" in done.stderr
    assert b"leader" not in produce(cluster, "four", "--dry-run", "-p", "1", stdin=b"a\n").stderr


def test_a_dry_run_reads_the_input_and_sends_nothing(cluster: FakeCluster, tmp_path: Path) -> None:
    """It ends as the run would: bad lines, partitions that do not exist and lines that are too long, by number."""
    data = b'{"value":"a"}\n{bad\n{"value":"b","partition":0}\n{"value":"c","partition":7}\n'
    done = produce(cluster, "one", "--dry-run", "-i", "ndjson", stdin=data)
    assert done.returncode == 6
    assert b"line 2 of stdin, column 2, is not a valid record" in done.stderr
    assert b"4 lines read, 1 of them would fail; nothing was sent" in done.stderr
    failed = str(tmp_path / "failed")
    done = produce(
        cluster, "one", "--dry-run", "-i", "ndjson", "--partitioner", "manual", "--failed", failed, stdin=data
    )
    assert done.returncode == 6
    assert b"2 of 4 records for one would not be stored (the first is line 1 of stdin)" in done.stderr
    assert not os.path.exists(failed)
    assert produce(cluster, "one", "--dry-run", "-i", "ndjson", stdin=b"{bad\n").returncode == 1
    long = b"a\n" + b"x" * 3000 + b"\nb\n"
    done = produce(cluster, "one", "--dry-run", "-X", "max.request.size=1000", stdin=long)
    assert (done.returncode, b"(the first is line 2 of stdin)" in done.stderr) == (6, True)
    done = produce(cluster, "one", "--dry-run", "-i", "ndjson", "--on-bad-input", "fail", stdin=data)
    assert (done.returncode, b"line 2 of stdin" in done.stderr) == (6, True)
    ok(produce(cluster, "one", "--dry-run", "--rate", "1", stdin=b"a\n" * 1000))
    assert cluster.seen(ProduceRequest) == []


def test_the_summary_counts_the_bytes_of_records_without_those_of_their_batch(cluster: FakeCluster) -> None:
    """A record of 5 bytes has 7 more on the wire; the header of a batch, of 61, is not the user's."""
    assert b"1 record confirmed at one-0 offset 0 (12 B)" in produce(cluster, "one", stdin=b"hello\n").stderr
    assert b"offset" not in produce(cluster, "one", stdin=b"a\nb\n").stderr
    said = produce(cluster, "one", "-v", stdin=b"a\nb\n").stderr
    assert b"stored at one-0 from offset 3 to 4" in said


def test_t_names_the_topic_and_all_arguments_are_files(cluster: FakeCluster, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1\n")
    ok(produce(cluster, "-t", "one", str(tmp_path / "a")))
    ok(produce(cluster, "-t", "one", stdin=b"2\n"))
    assert values(cluster) == [b"1", b"2"]


def test_headers_are_written_with_an_equals_sign_and_colons_get_a_hint(cluster: FakeCluster) -> None:
    done = produce(cluster, "one", "-H", "k: v", stdin=b"a\n")
    assert done.returncode == 2
    assert "did you mean -H 'k=v'?" in said(done)[2]
    assert "-H 'k\\: v'" in said(done)[2]
    ok(produce(cluster, "one", "-H", "a:b=c", "-H", "k\\:v", "-H", "n=", stdin=b"a\n"))
    assert records(cluster)[0][2] == (("a:b", b"c"), ("k:v", None), ("n", b""))


def test_a_failed_file_in_a_folder_that_is_missing_is_about_the_folder(cluster: FakeCluster) -> None:
    for flag in ("--failed", "--checkpoint"):
        for more in ([], ["--dry-run"]):
            done = produce(cluster, "one", flag, "/nodir/f", *more, stdin=b"a\n")
            assert done.returncode == 1
            assert said(done)[0] == "kcli: cannot write /nodir/f"
            assert said(done)[1] == "  why: there is no folder /nodir"
            assert "mkdir -p /nodir" in said(done)[2]
    assert values(cluster) == []


def test_a_partition_that_does_not_exist_fails_alone_and_a_checkpoint_gets_past_it(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    """The run continues; the line is in the file with its number, once, whatever is run again."""
    lines = [b'{"value":"%d","partition":%d}\n' % (i, 9 if i == 20_000 else i % 3) for i in range(40_000)]
    flags = ["-i", "ndjson", "--partitioner", "manual", "--failed", str(tmp_path / "f")]
    flags += ["--checkpoint", str(tmp_path / "c"), "-o", "json"]
    (tmp_path / "in").write_bytes(b"".join(lines))
    done = produce(cluster, "t", *flags, str(tmp_path / "in"))
    [report] = json.loads(ok(done, (6,)))["items"]
    assert [report[key] for key in ("lines", "confirmed", "failed", "unknown")] == [40_000, 39_999, 1, 0]
    [kept] = failures(tmp_path / "f")
    assert (kept["line"], kept["code"]) == (20_001, "UNKNOWN_TOPIC_OR_PARTITION")
    assert "topic t has no partition 9" in kept["reason"]
    done = produce(cluster, "t", *flags, str(tmp_path / "in"))
    assert b"resuming at line 40,001" in (ok(done) and done.stderr)
    assert len(failures(tmp_path / "f")) == 1
    assert sum(len(values(cluster, "t", partition)) for partition in range(3)) == 39_999


def test_a_record_that_names_no_partition_fails_where_it_has_to(cluster: FakeCluster, tmp_path: Path) -> None:
    data = b'{"value":"a","partition":1}\n{"value":"b"}\n'
    failed = ["--failed", str(tmp_path / "f")]
    done = produce(cluster, "t", "-i", "ndjson", "--partitioner", "manual", *failed, stdin=data)
    assert done.returncode == 6
    assert [(f["line"], f["reason"].split(":")[0]) for f in failures(tmp_path / "f")] == [
        (2, "a record has no partition")
    ]
    assert (values(cluster, "t", 0), values(cluster, "t", 1)) == ([], [b"a"])


@pytest.mark.parametrize("rate", [True, False])
def test_all_lines_that_were_read_are_in_the_file_when_the_topic_is_deleted(
    cluster: FakeCluster, tmp_path: Path, *, rate: bool
) -> None:
    failed = tmp_path / "f"
    flags = ["--failed", str(failed), "-o", "json", *(["--rate", "20000"] if rate else [])]
    with start("produce", "one", *flags, bootstrap=cluster.bootstrap) as process:
        assert process.stdin is not None
        process.stdin.write(b"".join(b"%d\n" % i for i in range(60_000)))
        process.stdin.flush()
        cluster.wait_until(lambda: values(cluster), PATIENCE)
        cluster.delete_topic("one")
        for number in range(60_000, 400_000, 1_000):
            try:
                process.stdin.write(b"".join(b"%d\n" % i for i in range(number, number + 1_000)))
                process.stdin.flush()
            except BrokenPipeError:
                break
            if not rate:
                time.sleep(0.02)
        process.stdin = None
        out, _ = process.communicate(timeout=60)
    [report] = json.loads(out)["items"]
    kept = [entry["line"] for entry in failures(failed)]
    assert len(kept) == len(set(kept)) == report["failed"] + report["unknown"]
    assert report["lines"] == report["confirmed"] + len(kept)
    assert max(kept) == report["lines"]
    assert process.returncode in (1, 6)


@pytest.mark.case("C14")
def test_a_failed_file_on_a_full_disk_ends_it_with_counts(cluster: FakeCluster) -> None:
    data = b'{"value":"a"}\nx\n{"value":"b"}\n'
    done = produce(cluster, "one", "-i", "ndjson", "--failed", "/dev/full", stdin=data)
    assert done.returncode in (1, 6)
    assert b"cannot write /dev/full" in done.stderr
    assert b"no space left on device" in done.stderr
    assert b"3 lines read, 1 failed" in done.stderr


def test_exit_141_when_the_reader_of_the_copy_leaves(cluster: FakeCluster) -> None:
    line = "seq 300000 | kcli produce one --tee -q | head -1; echo ${PIPESTATUS[@]}"
    done = shell(line, bootstrap=cluster.bootstrap)
    assert done.stdout.split() == [b"1", b"141", b"141", b"0"]
    assert done.stderr == b""


def test_a_copy_of_the_input_is_exact(cluster: FakeCluster) -> None:
    data = b"a\n\xff\0\nlast"
    assert ok(produce(cluster, "one", "--tee", stdin=data)) == data
    done = shell("seq 10 | kcli produce one --tee > /dev/full", bootstrap=cluster.bootstrap)
    assert done.returncode == 1
    assert b"cannot write output" in done.stderr


# --- going on ---------------------------------------------------------------------------------------------------------


def test_a_checkpoint_continues_where_input_was_added(cluster: FakeCluster, tmp_path: Path) -> None:
    path = tmp_path / "input"
    run = ["one", "--checkpoint", str(tmp_path / "at"), str(path)]
    for number in range(3):
        path.write_bytes(b"".join(b"%d\n" % i for i in range(10 * (number + 1))))
        ok(produce(cluster, *run))
    assert values(cluster) == [b"%d" % i for i in range(30)]


@pytest.mark.case("B8")
@pytest.mark.parametrize(
    "more", [(), ("--dry-run",), ("--transactional-id", "x")], ids=["", "dry run", "transactions"]
)
def test_a_checkpoint_is_not_continued_in_a_recreated_topic(
    cluster: FakeCluster, tmp_path: Path, more: tuple[str, ...]
) -> None:
    """What it counts as confirmed is gone; the remedy sends all of it."""
    path, at = tmp_path / "input", tmp_path / "at"
    path.write_bytes(b"a\nb\n")
    run = ["one", "--checkpoint", str(at), *(word for word in more if word != "--dry-run"), str(path)]
    ok(produce(cluster, *run))
    cluster.recreate_topic("one")
    path.write_bytes(b"a\nb\nc\n")
    done = produce(cluster, *run, *more[:1] if more == ("--dry-run",) else ())
    assert done.returncode == 5
    assert said(done)[0] == "kcli: topic one was deleted and created again"
    assert f"do: remove {at} to send the whole input to the new topic" in said(done)[2]
    assert values(cluster) == []
    at.unlink()
    ok(produce(cluster, *run))
    assert values(cluster) == [b"a", b"b", b"c"]


@pytest.mark.case("B8")
def test_a_run_with_a_checkpoint_ends_when_its_topic_is_recreated(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    at = tmp_path / "at"
    run = ["produce", "one", "--checkpoint", str(at), "-X", "metadata.max.age.ms=200"]
    with start(*run, bootstrap=cluster.bootstrap) as process:
        assert process.stdin is not None
        process.stdin.write(b"a\n")
        process.stdin.flush()
        cluster.wait_until(lambda: values(cluster) == [b"a"], PATIENCE)
        cluster.recreate_topic("one")
        _, err = process.communicate(b"b\n", timeout=PATIENCE)
    assert process.returncode == 5, err
    assert b"topic one was deleted and created again" in err
    assert produce(cluster, *run[1:]).returncode == 5


@pytest.mark.case("C16")
def test_a_second_run_on_a_checkpoint_is_refused(cluster: FakeCluster, tmp_path: Path) -> None:
    run = ["produce", "one", "--checkpoint", str(tmp_path / "at")]
    with start(*run, bootstrap=cluster.bootstrap) as first:
        assert first.stdin is not None
        first.stdin.write(b"a\n")
        first.stdin.flush()
        cluster.wait_until(lambda: values(cluster) == [b"a"], PATIENCE)
        second = kcli_process(*run, bootstrap=cluster.bootstrap)
        assert second.returncode == 7
        assert f"its pid is {first.pid}" in said(second)[1]
        first.communicate(b"b\n", timeout=PATIENCE)
    assert first.returncode == 0
    assert values(cluster) == [b"a", b"b"]


@pytest.mark.case("C16")
def test_taking_over_a_transactional_id_fences_the_other_producer(cluster: FakeCluster) -> None:
    """Exit 7, and nothing of the open transaction is seen."""
    run = ["produce", "one", "--transactional-id", "import"]
    with start(*run, bootstrap=cluster.bootstrap) as first:
        assert first.stdin is not None
        first.stdin.write(b"a\n")
        first.stdin.flush()
        cluster.wait_for(ProduceRequest, 1, PATIENCE, settled=True)
        ok(kcli_process(*run, bootstrap=cluster.bootstrap, stdin=b"b\n"))
        _, err = first.communicate(b"c\n", timeout=PATIENCE)
    assert first.returncode == 7, err
    assert values(cluster, committed=True) == [b"b"]


def test_transactions_hold_n_records_each(cluster: FakeCluster) -> None:
    done = produce(
        cluster, "one", "--transactional-id", "x", "--transaction-every", "100", "-o", "json",
        stdin=b"".join(b"%d\n" % i for i in range(250)),
    )  # fmt: skip
    [item] = json.loads(ok(done))["items"]
    assert (item["confirmed"], item["transactions"], item["transactional_id"]) == (250, 3, "x")
    assert values(cluster, committed=True) == [b"%d" % i for i in range(250)]
    assert len(cluster.log("one", 0).markers()) == 3


def test_refused_records_leave_their_transaction_and_the_rest_are_stored_once(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    cluster.configure("t", max_message_bytes="2000")
    large = {3, 50, 51, 199}
    lines = [b"%d:" % i + b"x" * (3000 if i in large else 10) for i in range(300)]
    failed = tmp_path / "failed"
    done = produce(
        cluster, "t", "-K", ":", "--transactional-id", "x", "--transaction-every", "100", "--failed", str(failed),
        stdin=b"\n".join(lines),
    )  # fmt: skip
    assert done.returncode == 6, done.stderr
    assert sorted(f["line"] for f in failures(failed)) == sorted(i + 1 for i in large)
    stored = [r.key for p in range(3) for r in cluster.log("t", p).records(committed=True)]
    assert sorted(map(int, stored)) == [i for i in range(300) if i not in large]
    assert b"296 records confirmed" in done.stderr


@pytest.mark.parametrize(("times", "code"), [(1, 0), (2, 0), (3, 1)])
def test_a_transaction_whose_sequence_the_broker_has_lost_is_written_again(
    cluster: FakeCluster, tmp_path: Path, times: int, code: int
) -> None:
    """Not without end: after three tries the run ends, and what was read is accounted for."""
    cluster.fail(ProduceRequest, Code.OUT_OF_ORDER_SEQUENCE_NUMBER, times=times)
    failed = tmp_path / "failed"
    flags = ["--transactional-id", "x", "--transaction-every", "100", "--failed", str(failed)]
    done = produce(cluster, "one", *flags, stdin=b"".join(b"%d\n" % i for i in range(250)))
    assert done.returncode == code, done.stderr
    stored = values(cluster, committed=True)
    if not code:
        assert stored == [b"%d" % i for i in range(250)]
        assert failures(failed) == []
    else:
        assert sorted([*stored, *(f["input"].encode() for f in failures(failed))]) == sorted(
            b"%d" % i for i in range(250)
        )


@pytest.mark.case("C3")
def test_a_signal_aborts_the_open_transaction(cluster: FakeCluster) -> None:
    """Exit 130; what was committed before stays, the rest is reported as not stored."""
    run = ["produce", "one", "--transactional-id", "x", "--transaction-every", "2"]
    with start(*run, bootstrap=cluster.bootstrap) as process:
        assert process.stdin is not None
        process.stdin.write(b"a\nb\nc\n")
        process.stdin.flush()
        cluster.wait_until(lambda: values(cluster, committed=True) == [b"a", b"b"], PATIENCE)
        cluster.wait_until(lambda: values(cluster)[-1:] == [b"c"], PATIENCE)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"2 records confirmed" in err
    assert b"1 failed" in err
    assert values(cluster, committed=True) == [b"a", b"b"]
    assert [committed for *_, committed in cluster.log("one", 0).markers()] == [True, False]


def test_a_transaction_is_not_committed_without_rows_that_the_producer_did_not_take(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    held = cluster.hold(ProduceRequest, "request")
    settings = [f"-X{item}" for item in ("max.block.ms=300", "buffer.memory=20000", "batch.size=4000")]
    flags = ["--transactional-id", "x", "--failed", str(tmp_path / "f"), "-o", "json", *settings]
    with start("produce", "one", *flags, bootstrap=cluster.bootstrap) as process:
        assert process.stdin is not None
        process.stdin.write(b"".join(b"%d\n" % i + b"x" * 100 + b"\n" for i in range(500)))
        process.stdin.close()
        process.stdin = None
        assert held.wait(1, PATIENCE)
        time.sleep(1.0)  # longer than max.block.ms
        held.release()
        out, _ = process.communicate(timeout=PATIENCE)
    [report] = json.loads(out)["items"]
    stored = values(cluster, committed=True)
    kept = failures(tmp_path / "f")
    assert report["confirmed"] == len(stored)
    assert report["lines"] == 1_000 == len(stored) + len(kept)


def test_a_transactional_id_of_another_checkpoint_is_refused(cluster: FakeCluster, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"x\n")
        run = [
            "one",
            "--transactional-id",
            "x",
            "--checkpoint",
            str(tmp_path / f"at-{name}"),
            str(tmp_path / name),
        ]
        ok(produce(cluster, *run))
    run = ["one", "--transactional-id", "x", "--checkpoint", str(tmp_path / "at-a"), str(tmp_path / "a")]
    done = produce(cluster, *run)
    assert done.returncode == 7
    assert "was used by another run since" in said(done)[0]


# --- pace and memory ----------------------------------------------------------------------------------------------------


def test_what_waited_for_its_turn_when_it_ended_did_not_fail(cluster: FakeCluster) -> None:
    with start("produce", "one", "--rate", "10", bootstrap=cluster.bootstrap) as process:
        assert process.stdin is not None
        process.stdin.write(b"x\n" * 100)
        process.stdin.flush()
        cluster.wait_until(lambda: len(values(cluster)) >= 2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    sent = len(values(cluster))
    assert f"{sent} lines read, 0 failed, 0 unknown".encode() in errors


def test_a_rate_is_kept(cluster: FakeCluster) -> None:
    began = time.monotonic()
    ok(produce(cluster, "one", "--rate", "100", stdin=b"x\n" * 110))
    assert time.monotonic() - began >= 1.0
    assert len(values(cluster)) == 110


@pytest.mark.case("C4")
def test_a_run_that_is_suspended_continues(cluster: FakeCluster) -> None:
    """"""
    with start("produce", "one", bootstrap=cluster.bootstrap) as process:
        assert process.stdin is not None
        process.stdin.write(b"a\n")
        process.stdin.flush()
        cluster.wait_until(lambda: values(cluster) == [b"a"], PATIENCE)
        process.send_signal(signal.SIGSTOP)  # SIGTSTP stops nothing where nobody has job control
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        process.stdin.write(b"b\n")
        process.stdin.flush()
        cluster.reset_connections(1)
        process.send_signal(signal.SIGCONT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert values(cluster) == [b"a", b"b"]


@pytest.mark.case("C12")
@pytest.mark.parametrize(
    "setting",
    ["LC_ALL=C", "LC_ALL=xx_YY", "PYTHONIOENCODING=ascii", "PYTHONUTF8=0 LC_ALL=C PYTHONIOENCODING=latin-1"],
)
def test_bytes_are_kept_in_any_locale(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    """Of the input, of -k, -K and -H, of the names of files; what is said is UTF-8, or escaped."""
    monkeypatch.chdir(tmp_path)
    Path("漢").write_bytes("ключ→".encode() + b"\xff\n")
    Path(os.fsdecode(b"\xe9")).write_bytes(b"\xe9\n")
    flags = "-H $'\\xe9=\\xff' -H ш=ш -p 0"
    done = shell(f"{setting} kcli produce one 漢 -K → {flags} -b {cluster.bootstrap}")
    assert done.returncode == 0, done.stderr
    done = shell(f"{setting} kcli produce one $'\\xe9' -k $'\\xe9' {flags} -o ndjson -b {cluster.bootstrap}")
    assert done.returncode == 0, done.stderr
    assert [record[:2] for record in records(cluster)] == [("ключ".encode(), b"\xff"), (b"\xe9", b"\xe9")]
    assert [record[2] for record in records(cluster)] == [((b"\xe9", b"\xff"), ("ш", "ш".encode()))] * 2
    done = shell(f"{setting} kcli produce one нет $'\\xe9' -b {cluster.bootstrap}")
    assert done.returncode == 2
    told = "нет".encode().decode("ascii", "surrogateescape").encode("ascii", "backslashreplace").decode()
    assert said(done)[0].removeprefix("kcli: produce: cannot read ") in ("нет", told)


@pytest.mark.case("C17")
def test_input_without_end_into_a_cluster_that_takes_nothing_stays_small_and_resumes(
    cluster: FakeCluster,
) -> None:
    """Below 200 MB with the brokers silent; when they answer, everything that was read is stored."""
    line = f'yes {"x" * 999} | head -c 50000000 | "$PYTHON" -c "{MEASURE}" "$PYTHON" -m kcli produce one'
    env = environment(cluster.bootstrap, PYTHON=sys.executable)
    held = cluster.hold(ProduceRequest)
    with subprocess.Popen(["bash", "-c", line], env=env, stderr=subprocess.PIPE) as process:
        held.wait(1, PATIENCE)
        time.sleep(2)  # everything that fits into the memory has come in
        cluster.heal()
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert int(err.split(b"RSS ")[1].split()[0]) < 200_000
    assert len(values(cluster)) == 50_000


# --- one record, and what values name ----------------------------------------------------------------------------------


def test_the_options_are_one_record_and_stdin_is_not_read(cluster: FakeCluster) -> None:
    done = produce(cluster, "one", "--value", 'a:b\n{"c": 1}', "-k", "k", "-H", "x=1", stdin=b"not read\n")
    ok(done)
    ok(produce(cluster, "one", "--value", ""))
    ok(produce(cluster, "one", "--value", "7", "-s", "value=long"))
    assert [(key, value, headers) for key, value, headers, _time in records(cluster)] == [
        (b"k", b'a:b\n{"c": 1}', (("x", b"1"),)),
        (None, b"", ()),
        (None, (7).to_bytes(8, "big"), ()),
    ]


def test_a_tombstone_is_null_and_has_a_key(cluster: FakeCluster) -> None:
    ok(produce(cluster, "one", "-k", "k", "--tombstone"))
    assert [record[:2] for record in records(cluster)] == [(b"k", None)]
    refused = produce(cluster, "one", "--tombstone")
    assert refused.returncode == 2
    assert said(refused)[0] == "kcli: produce: --tombstone without -k"
    assert len(values(cluster)) == 1


@pytest.mark.parametrize(
    "more",
    [["FILE"], ["-i", "ndjson"], ["-f", "%v\n"], ["-D", ","], ["-K", ":"], ["--tee"], ["--checkpoint", "c"]],
    ids=lambda more: more[0],
)
@pytest.mark.parametrize("one", [["--value", "v"], ["--tombstone", "-k", "k"]], ids=lambda one: one[0])
def test_one_record_refuses_what_is_for_an_input(
    cluster: FakeCluster, tmp_path: Path, one: list[str], more: list[str]
) -> None:
    done = produce(cluster, "one", *one, *more)
    assert done.returncode == 2
    assert said(done)[0] == f"kcli: produce: {one[0]} with {more[0]}"
    assert values(cluster) == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("in --failed ./in", "--failed and input are one file, ./in"),
        ("--failed in", "--failed and input are one file, in"),
        ("in --checkpoint in", "--checkpoint and input are one file, in"),
        ("in --failed new --checkpoint ./new", "--failed and --checkpoint are one file, new"),
        ("in --failed link --checkpoint new", "--failed and --checkpoint are one file, link"),
        ("in --failed -", "--failed -"),
        ("in -p 0 --partitioner random", "-p with --partitioner random"),
        ("in --partition-from value.p --partitioner murmur2", "--partition-from with --partitioner murmur2"),
        (r"in -f %v\n -D ;", r"-D with -f '%v\n'"),
        ("in -f %R%v -D ;", "-D with -f '%R%v'"),
    ],
)
def test_what_cannot_be_obeyed_together_is_refused_before_anything_is_sent_or_written(
    cluster: FakeCluster, tmp_path: Path, line: str, what: str
) -> None:
    (tmp_path / "in").write_bytes(b"")
    (tmp_path / "link").symlink_to("new")
    command = [*KCLI, "produce", "one", *line.split()]
    with (tmp_path / "in").open("rb") as stdin:
        how: dict[str, Any] = {"stdin": stdin, "cwd": tmp_path, "env": environment(cluster.bootstrap)}
        done = run(command, capture_output=True, **how)
    assert (done.returncode, said(done)[0]) == (2, f"kcli: produce: {what}")
    assert values(cluster) == []
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "in").read_bytes() == b""


def test_what_names_the_partition_needs_no_file_of_its_own(cluster: FakeCluster, tmp_path: Path) -> None:
    """The same options where each is obeyed: devices are no files that overwrite each other."""
    line = r"-f %v -D ; -p 0 --partitioner manual --failed /dev/null"
    ok(produce(cluster, "one", *line.split(), stdin=b"a;b"))
    assert values(cluster) == [b"a", b"b"]


def test_a_value_that_is_no_record_is_bad_input_and_can_be_sent_again(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    kept = tmp_path / "failed"
    done = produce(cluster, "one", "--value", "a\nb", "-s", "value=json", "--failed", str(kept))
    assert done.returncode == 1
    assert b"line 1 of --value is not a valid record" in done.stderr
    ok(produce(cluster, "one", "-i", "failed", str(kept)))
    assert values(cluster) == [b"a\nb"]


FROM_VALUE = ["--key-from", "value.id", "--headers-from", "value.meta", "--partition-from", "value.p"]


def test_keys_headers_and_partitions_come_from_the_values(cluster: FakeCluster) -> None:
    lines = [
        {"id": "a", "meta": {"x": "1", "n": None, "deep": [1, {"y": 2}], "é": 1.5}, "p": 2},
        {"id": 7, "meta": {}, "p": 0},
        {"id": {"k": [1, True]}, "meta": {"x": ""}, "p": 2},
    ]
    texts = [json.dumps(line, ensure_ascii=False).encode() for line in lines]
    ok(produce(cluster, "t", *FROM_VALUE, "-H", "all=1", stdin=b"\n".join(texts)))
    everyone = ("all", b"1")
    assert [record[:3] for record in records(cluster, "t", 2)] == [
        (b"a", texts[0], (("x", b"1"), ("n", None), ("deep", b'[1,{"y":2}]'), ("é", b"1.5"), everyone)),
        (b'{"k":[1,true]}', texts[2], (("x", b""), everyone)),
    ]
    assert [record[:3] for record in records(cluster, "t", 0)] == [(b"7", texts[1], (everyone,))]


BAD_VALUES = {
    "": "its value is not JSON, so it has no value.id",
    "{": "its value is not JSON, so it has no value.id",
    "[1]": "its value has no value.id, or null there",
    '{"meta":{},"p":0}': "its value has no value.id, or null there",
    '{"id":null,"meta":{},"p":0}': "its value has no value.id, or null there",
    '{"id":1,"p":0}': "its value has no value.meta, or null there",
    '{"id":1,"meta":{}}': "its value has no value.p, or null there",
    '{"id":1,"meta":[],"p":0}': "value.meta is not an object: its members are the headers",
    '{"id":1,"meta":{},"p":"0"}': "value.p is not a whole number: it is the partition",
    '{"id":1,"meta":{},"p":true}': "value.p is not a whole number: it is the partition",
    '{"id":1,"meta":{},"p":1.0}': "value.p is not a whole number: it is the partition",
    '{"id":1,"meta":{},"p":-1}': "there is no partition -1",
    '{"id":1,"id":2,"meta":{},"p":0}': "its value is ambiguous: the member 'id' is there twice",
    '{"id":1,"meta":{"a":1,"a":2},"p":0}': "its value is ambiguous: the member 'a' is there twice",
    '{"id":{"a":1,"a":2},"meta":{},"p":0}': "its value is ambiguous: the member 'a' is there twice",
}


def test_a_value_that_lacks_what_it_is_to_name_is_bad_input(cluster: FakeCluster, tmp_path: Path) -> None:
    """Never a null key, nor a partition that nobody chose; the other records are sent."""
    kept, good = tmp_path / "failed", '{"id":1,"meta":{},"p":1}'
    lines = [line for bad in BAD_VALUES for line in (bad, good)]
    done = produce(cluster, "t", *FROM_VALUE, "--failed", str(kept), stdin="\n".join(lines).encode())
    assert done.returncode == 6
    assert [(one["input"], one["reason"]) for one in failures(kept)] == list(BAD_VALUES.items())
    assert {one["code"] for one in failures(kept)} == {"BAD_INPUT"}
    assert values(cluster, "t", 1) == [good.encode()] * len(BAD_VALUES)
    assert values(cluster, "t", 0) == values(cluster, "t", 2) == []


def test_an_object_that_becomes_a_key_has_no_member_twice(cluster: FakeCluster) -> None:
    done = produce(cluster, "one", "--key-from", "value.id", stdin=b'{"id":{"a":1,"a":2}}\n{"id":{"a":1}}\n')
    assert done.returncode == 6
    assert b"its value is ambiguous: the member 'a' is there twice" in done.stderr
    assert [record[0] for record in records(cluster)] == [b'{"a":1}']


def test_failed_lines_are_read_again_with_what_their_values_name(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    kept = tmp_path / "failed"
    produce(cluster, "t", *FROM_VALUE, "--failed", str(kept), stdin=b'{"id":5,"meta":{}}\n')
    kept.write_text(kept.read_text().replace("{}}", '{},\\"p\\":1}'))
    ok(produce(cluster, "t", *FROM_VALUE, "-i", "failed", str(kept)))
    assert [record[:2] for record in records(cluster, "t", 1)] == [(b"5", b'{"id":5,"meta":{},"p":1}')]


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("ndjson", '{"key":"old","value":"{\\"id\\": 7}","headers":[["o","1"]]}'),
        ("csv", 'key,value\nold,"{""id"": 7}"'),
        ("file", '{"id": 7}'),
    ],
)
def test_keys_come_from_the_values_of_other_formats(cluster: FakeCluster, form: str, line: str) -> None:
    ok(produce(cluster, "one", "-i", form, "--key-from", "value.id", stdin=line.encode()))
    assert [record[:2] for record in records(cluster)] == [(b"7", b'{"id": 7}')]


USERS = 'id,name,city\nu71,Ada,\nu72,"Hopper, Grace",""\n'


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_the_rows_of_a_table_become_objects_which_is_said(
    cluster: FakeCluster, tmp_path: Path, dry: list[str]
) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(USERS)
    files = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    done = produce(cluster, "one", "-i", "csv", "--key-from", "value.id", *dry, *files)
    ok(done)
    assert done.stderr.count(b"each row of the csv becomes a JSON object with id, name, city\n") == 1
    rows = [
        (b"u71", b'{"id":"u71","name":"Ada","city":null}'),
        (b"u72", b'{"id":"u72","name":"Hopper, Grace","city":""}'),
    ]
    assert [record[:2] for record in records(cluster)] == ([] if dry else [*rows, *rows])


def test_a_table_whose_columns_are_partly_those_of_records_is_never_guessed(cluster: FakeCluster) -> None:
    done = produce(cluster, "one", "-i", "csv", stdin=b"id,value\n1,2\n")
    assert (done.returncode, records(cluster)) == (1, [])
    assert b"-i csv-objects makes a JSON object of each row" in done.stderr
    ok(produce(cluster, "one", "-i", "csv-objects", stdin=b"id,value\n1,2\n"))
    assert [record[1] for record in records(cluster)] == [b'{"id":"1","value":"2"}']


def test_what_failed_of_a_table_is_sent_again_as_objects(cluster: FakeCluster, tmp_path: Path) -> None:
    kept = tmp_path / "failed"
    flags = ["-i", "csv", "--key-from", "value.id", "--failed", str(kept)]
    assert produce(cluster, "one", *flags, stdin=b"id,n\n1,2\n,3\n").returncode == 6
    kept.write_text(kept.read_text().replace('",3"', '"9,3"'))
    ok(produce(cluster, "one", "--key-from", "value.id", "-i", "failed", str(kept)))
    assert [record[:2] for record in records(cluster)] == [
        (b"1", b'{"id":"1","n":"2"}'),
        (b"9", b'{"id":"9","n":"3"}'),
    ]


def test_a_key_from_a_value_is_encoded_by_its_serde(cluster: FakeCluster) -> None:
    done = produce(
        cluster,
        *("one", "--key-from", "value.id", "-s", "key=long", "-s", "value=json"),
        stdin=b'{"id": 7}\n{"id": "x"}\n',
    )
    assert done.returncode == 6
    assert b"the key 'x' is not a long" in done.stderr
    assert [record[0] for record in records(cluster)] == [(7).to_bytes(8, "big")]


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (["--key-from", "value.id", "-k", "x"], "--key-from with -k"),
        (["--key-from", "value.id", "-K", ":"], "--key-from with -K"),
        (["--key-from", "value.id", "-f", "%k %v\n"], "--key-from with -f with %k"),
        (["--partition-from", "value.p", "-p", "0"], "--partition-from with -p"),
        (["--headers-from", "value.m", "-k", "x", "--tombstone"], "--headers-from with --tombstone"),
        (
            ["--key-from", "value.id", "-i", "ndjson", "-s", "long"],
            "--key-from with -i ndjson and -s value=long",
        ),
        (["--key-from", "id"], "--key-from is not valid"),
        (["--key-from", "value"], "--key-from is not valid"),
        (["--key-from", "value.a, value.b"], "--key-from is not valid"),
        (["--key-from", "value.a as b"], "--key-from is not valid"),
    ],
)
def test_what_values_name_is_refused_where_it_cannot_be(
    cluster: FakeCluster, flags: list[str], what: str
) -> None:
    done = produce(cluster, "one", *flags, stdin=b'{"id":1}\n')
    assert done.returncode == 2
    assert said(done)[0] == f"kcli: produce: {what}"
    assert values(cluster) == []


def test_a_checkpoint_is_of_the_paths_that_made_it(cluster: FakeCluster, tmp_path: Path) -> None:
    """Another path makes other records of the rest: that is another run."""
    file, checkpoint = tmp_path / "in", str(tmp_path / "at")
    file.write_text('{"id":1,"to":2}\n')
    run = ("one", str(file), "--checkpoint", checkpoint)
    ok(produce(cluster, *run, "--key-from", "value.id"))
    with file.open("a") as more:
        more.write('{"id":3,"to":4}\n')
    assert produce(cluster, *run, "--key-from", "value.to").returncode == 2
    ok(produce(cluster, *run, "--key-from", "value.id"))
    assert [record[0] for record in records(cluster)] == [b"1", b"3"]


def test_headers_come_from_a_file(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "headers"
    file.write_bytes(b"a=1\nb=\n\nc\r\nd=x=\xff\n")
    ok(produce(cluster, "one", "--value", "v", "-H", f"@{file}", "-H", "e=5", "-H", "\\@f=6"))
    assert records(cluster)[0][2] == (
        ("a", b"1"),
        ("b", b""),
        ("c", None),
        ("d", b"x=\xff"),
        ("e", b"5"),
        ("@f", b"6"),
    )
    missing = produce(cluster, "one", "--value", "v", "-H", "@none")
    assert missing.returncode == 2
    assert b"none cannot be read: no such file" in missing.stderr


@pytest.mark.parametrize(
    ("expected", "code"), [("2", 0), ("1..2", 0), ("2..", 0), ("3", 8), ("0..1", 8), ("3..", 8)]
)
@pytest.mark.parametrize(
    "how", [(), ("--transactional-id", "x"), ("--dry-run",), ("--key-from", "value")], ids=str
)
def test_other_numbers_of_records_than_expected_are_a_failed_check(
    cluster: FakeCluster, how: tuple[str, ...], expected: str, code: int
) -> None:
    how = ("--key-from", "value.k") if "--key-from" in how else how
    done = produce(cluster, "one", "--expect", expected, *how, stdin=b'{"k":1}\n{"k":2}\n')
    assert done.returncode == code
    assert len(values(cluster, committed=True)) == (0 if "--dry-run" in how else 2)


def test_bad_input_outweighs_an_expectation(cluster: FakeCluster) -> None:
    """What failed is said, also where as many records as expected are confirmed."""
    for expected in ("1", "2"):
        done = produce(cluster, "one", "--expect", expected, "--key-from", "value.k", stdin=b'{"k":1}\n{}\n')
        assert done.returncode == 6
