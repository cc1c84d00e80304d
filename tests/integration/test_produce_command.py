"""``kcli produce`` as a user runs it: real processes, a real broker."""

import json
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.kafka import Kafka
from tests.run import KCLI, environment, kcli_process, ok, shell, start

pytestmark = pytest.mark.integration


def values(kafka: Kafka, topic: str, *more: str) -> bytes:
    return ok(kcli_process("consume", topic, "-e", *more, bootstrap=kafka.bootstrap))


@pytest.mark.case("S4-24", "C7")
def test_lines_come_back_as_they_were(kafka: Kafka) -> None:
    """Nothing is decoded on the way, NUL, CR and bytes that are no UTF-8 included."""
    topic = kafka.topic("lines")
    lines = b"plain\n\ncr\r\nnul\x00\n\xff\xfe\n  blanks \nlast without newline"
    done = kcli_process("produce", topic, bootstrap=kafka.bootstrap, stdin=lines)
    ok(done)
    assert done.stdout == b""
    assert b"7 records confirmed" in done.stderr
    assert values(kafka, topic) == lines + b"\n"


def test_several_files_in_order_and_dash_is_stdin(kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.topic("files")
    (tmp_path / "a").write_bytes(b"1\n2\n")
    (tmp_path / "b").write_bytes(b"4")
    ok(
        kcli_process(
            "produce", topic, str(tmp_path / "a"), "-", str(tmp_path / "b"),
            bootstrap=kafka.bootstrap, stdin=b"3\n",
        )
    )  # fmt: skip
    assert values(kafka, topic) == b"1\n2\n3\n4\n"


@pytest.mark.case("S4-24")
def test_keys_headers_nulls_and_delimiters(kafka: Kafka) -> None:
    topic = kafka.topic("keys")
    ok(
        kcli_process(
            "produce", topic, "-K", "::", "-D", "\\0", "-H", "a=1", "-H", "a=", "-H", "n", "-Z",
            bootstrap=kafka.bootstrap, stdin=b"k::v::w\0no key\0k::\0::v",
        )
    )  # fmt: skip
    out = values(kafka, topic, "-f", "%k|%v|%h|\\n", "--null-marker", "NULL")
    assert (
        out
        == b"k|v::w|a=1,a=,n=NULL|\nNULL|no key|a=1,a=,n=NULL|\nk|NULL|a=1,a=,n=NULL|\nNULL|v|a=1,a=,n=NULL|\n"
    )


def test_a_fixed_key_and_a_fixed_partition(kafka: Kafka) -> None:
    topic = kafka.topic("fixed", partitions=3)
    ok(kcli_process("produce", topic, "-k", "key", "-p", "2", bootstrap=kafka.bootstrap, stdin=b"v\n"))
    assert values(kafka, topic, "-f", "%p %k %v\\n") == b"2 key v\n"


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd", "gzip:9", "zstd:1"])
def test_codecs(kafka: Kafka, codec: str) -> None:
    topic = kafka.topic("codec")
    lines = b"".join(b"line %d\n" % i for i in range(20_000))
    ok(kcli_process("produce", topic, "-z", codec, bootstrap=kafka.bootstrap, stdin=lines))
    assert values(kafka, topic) == lines


@pytest.mark.case("C5")
def test_an_empty_input_is_no_error(kafka: Kafka) -> None:
    """"""
    done = kcli_process("produce", kafka.topic("empty"), bootstrap=kafka.bootstrap)
    ok(done)
    assert b"0 records confirmed" in done.stderr


@pytest.mark.case("C5")
def test_a_closed_stdin_is_a_usage_error(kafka: Kafka) -> None:
    """"""
    done = shell(f"kcli produce {kafka.topic('closed')} <&-", bootstrap=kafka.bootstrap)
    assert done.returncode == 2
    assert b"stdin is closed" in done.stderr


@pytest.mark.case("C6")
def test_an_input_that_cannot_be_read_says_so(kafka: Kafka) -> None:
    """A read error (here EIO) is exit 1, and what came before it is confirmed."""
    topic = kafka.topic("eio")
    done = shell(
        f"printf 'one\\n' > /tmp/$$; kcli produce {topic} /tmp/$$ /proc/self/mem; rm /tmp/$$",
        bootstrap=kafka.bootstrap,
    )
    assert b"cannot read /proc/self/mem" in done.stderr
    assert b"1 record confirmed" in done.stderr
    assert values(kafka, topic) == b"one\n"
    assert shell(f"kcli produce {topic} < /proc/self/mem", bootstrap=kafka.bootstrap).returncode == 1


def test_a_directory_as_stdin_is_an_error(kafka: Kafka) -> None:
    assert shell(f"kcli produce {kafka.topic('dir')} < /", bootstrap=kafka.bootstrap).returncode == 1


def test_a_missing_file_stops_it_before_anything_is_sent(kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.topic("missing")
    (tmp_path / "a").write_bytes(b"1\n")
    done = kcli_process("produce", topic, str(tmp_path / "a"), "nowhere.txt", bootstrap=kafka.bootstrap)
    assert done.returncode == 2
    assert b"cannot read nowhere.txt" in done.stderr
    assert values(kafka, topic) == b""


def test_an_unknown_topic_is_named_with_the_nearest(kafka: Kafka) -> None:
    topic = kafka.topic("orders")
    done = kcli_process("produce", topic + "x", bootstrap=kafka.bootstrap, stdin=b"v\n")
    assert done.returncode == 1
    assert f"topic {topic}x does not exist".encode() in done.stderr
    assert topic.encode() + b"?" in done.stderr.replace(b",", b"?")
    assert done.stdout == b""


def test_a_wrong_port_fails_within_seconds_with_one_clear_error() -> None:
    began = time.monotonic()
    done = kcli_process("produce", "t", bootstrap="127.0.0.1:1", stdin=b"v\n")
    assert time.monotonic() - began < 8
    assert done.returncode == 3
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("kcli:")]
    assert lines == ["kcli: cannot connect to 127.0.0.1:1"]


@pytest.mark.case("B12", "C9")
def test_records_that_are_too_large_for_the_topic_are_counted_and_the_rest_is_stored(kafka: Kafka) -> None:
    """Exit 6, both counts, the cause."""
    topic = kafka.topic("large", config={"max.message.bytes": "5000"})
    lines = b"".join(b"x" * (9_000 if i == 5 else 100) + b"\n" for i in range(10))
    done = kcli_process("produce", topic, bootstrap=kafka.bootstrap, stdin=lines)
    assert done.returncode == 6
    assert b"9 records confirmed" in done.stderr
    assert b"1 of 10 records" in done.stderr
    assert b"MESSAGE_TOO_LARGE" in done.stderr
    assert len(values(kafka, topic).splitlines()) == 9


@pytest.mark.case("C7")
def test_a_line_above_the_limit_is_named_and_the_rest_are_stored(kafka: Kafka) -> None:
    topic = kafka.topic("limit")
    done = kcli_process(
        "produce", topic, bootstrap=kafka.bootstrap, stdin=b"ok\n" + b"x" * 2_000_000 + b"\nrest\n"
    )
    assert done.returncode == 6
    assert b"(the first is line 2 of stdin)" in done.stderr
    assert b"2 records confirmed" in done.stderr
    assert b"1 failed" in done.stderr
    assert values(kafka, topic) == b"ok\nrest\n"


@pytest.mark.case("P9")
def test_acks_0_says_that_nothing_is_confirmed(kafka: Kafka) -> None:
    """"""
    done = kcli_process(
        "produce", kafka.topic("acks"), "--acks", "0", bootstrap=kafka.bootstrap, stdin=b"v\n"
    )
    ok(done)
    assert b"sent, not confirmed (acks=0)" in done.stderr


def test_the_report_as_json(kafka: Kafka) -> None:
    topic = kafka.topic("report")
    out = ok(kcli_process("produce", topic, "-o", "json", bootstrap=kafka.bootstrap, stdin=b"a\nb\n"))
    document = json.loads(out)
    assert document["kind"] == "ProduceReport"
    assert document["items"][0]["confirmed"] == 2


@pytest.mark.case("C3")
def test_ctrl_c_reports_what_was_confirmed_and_exits_130(kafka: Kafka) -> None:
    """Everything confirmed is there, nothing else is claimed."""
    topic = kafka.topic("sigint")
    with start("produce", topic, bootstrap=kafka.bootstrap) as process:
        assert process.stdin is not None
        process.stdin.write(b"".join(b"%d\n" % i for i in range(5_000)))
        process.stdin.flush()
        deadline = time.monotonic() + 30
        while len(values(kafka, topic).splitlines()) < 5_000 and time.monotonic() < deadline:
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"5,000 records confirmed" in err
    assert b"5,000 lines read" in err
    assert b"Traceback" not in err


@pytest.mark.case("C3")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_other_signals_stop_it_in_order(kafka: Kafka, number: signal.Signals, code: int) -> None:
    topic = kafka.topic("signals")
    with start("produce", topic, bootstrap=kafka.bootstrap) as process:
        assert process.stdin is not None
        process.stdin.write(b"one\n")
        process.stdin.flush()
        deadline = time.monotonic() + 30
        while values(kafka, topic) != b"one\n" and time.monotonic() < deadline:
            time.sleep(0.2)
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert b"1 record confirmed" in err


@pytest.mark.case("C3")
@pytest.mark.parametrize("command", ["produce", "consume"])
def test_ctrl_c_before_first_contact_ends_it_at_once(command: str) -> None:
    """Nobody waits for a broker that says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with start(command, "t", bootstrap=address) as process:
            silent.accept()
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            _, err = process.communicate(timeout=120)
    assert process.returncode in (130, -signal.SIGINT)  # a shell shows 130 for both
    assert time.monotonic() - began < 3
    assert b"Traceback" not in err


@pytest.mark.case("B7")
def test_a_topic_that_is_deleted_meanwhile_ends_it_with_counts(kafka: Kafka) -> None:
    """Nobody waits two minutes for a topic that is gone; what was confirmed before is told."""
    topic = kafka.topic("deleted")
    with start("produce", topic, bootstrap=kafka.bootstrap) as process:
        assert process.stdin is not None
        process.stdin.write(b"before\n")
        process.stdin.flush()
        deadline = time.monotonic() + 30
        while values(kafka, topic) != b"before\n" and time.monotonic() < deadline:
            time.sleep(0.2)
        ok(kcli_process("topics", "delete", topic, "--yes", bootstrap=kafka.bootstrap))
        process.stdin.write(b"after\n")
        _, err = process.communicate(timeout=60)
    assert process.returncode == 6
    assert b"1 record confirmed" in err
    assert b"1 failed" in err
    assert f"topic {topic} does not exist".encode() in err


def test_slow_input_is_sent_as_it_comes(kafka: Kafka) -> None:
    topic = kafka.topic("slow")
    with start("produce", topic, bootstrap=kafka.bootstrap) as process:
        assert process.stdin is not None
        for number in range(3):
            process.stdin.write(b"%d\n" % number)
            process.stdin.flush()
            end = time.monotonic() + 120
            while values(kafka, topic).count(b"\n") <= number:
                assert time.monotonic() < end, "the line is not there while stdin is open"
        process.communicate(timeout=120)
    assert process.returncode == 0


def test_a_dry_run_sends_nothing(kafka: Kafka) -> None:
    topic = kafka.topic("dry")
    done = kcli_process("produce", topic, "--dry-run", bootstrap=kafka.bootstrap, stdin=b"v\n")
    ok(done)
    assert values(kafka, topic) == b""


SMALL = """import os, resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
code = subprocess.run(sys.argv[1:]).returncode
sys.stderr.write("RSS %d\\n" % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""
"""Runs its arguments with 32 descriptors and on one core, then writes the most memory that they had, in kB."""


@pytest.mark.case("P18", "R20")
@pytest.mark.timeout(240)
def test_memory_stays_flat_with_few_descriptors_and_one_core(kafka: Kafka) -> None:
    """200 MB in, out and copied, in 96 MiB; the full run of 5 GB is `python -m benchmarks memory`. A mirror has a
    lease, and clients of two clusters.
    """
    topic, copy = kafka.topic("memory", partitions=3), kafka.unused_name("copy")
    run = shlex.join([sys.executable, "-c", SMALL, *KCLI])
    more = shlex.join([sys.executable, "-c", SMALL.replace("(32, 32)", "(48, 48)"), *KCLI])
    sides = f"--from {kafka.bootstrap} --to {kafka.bootstrap} --job {copy}"
    env = environment(kafka.bootstrap)
    for command in (
        f"yes {'x' * 99} | head -c 200000000 | {run} produce {topic}",
        f"set -o pipefail; {run} consume {topic} -e | wc -l",
        f"{more} mirror {sides} -t {topic} --map-topic {topic}={copy} --until-caught-up --yes",
    ):
        done = subprocess.run(["bash", "-c", command], capture_output=True, env=env, timeout=200, check=False)
        assert done.returncode == 0, done.stderr
        assert b"2,000,000 records" in done.stderr or done.stdout.strip() == b"2000000"
        rss = int(done.stderr.split(b"RSS ")[1].split()[0])
        assert rss < 96 * 1024, f"{rss} kB resident"
