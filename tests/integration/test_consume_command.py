"""``kcli consume`` as a user runs it: real processes, a real broker."""

import base64
import json
import os
import pty
import shutil
import signal
import subprocess
import time

import pytest

from kcli.core import Producer
from kcli.core.types import ProducerRecord
from tests.kafka import Kafka
from tests.run import KCLI, environment, kcli_process, ok, shell, start

pytestmark = pytest.mark.integration

STAMP = 1_700_000_000_000


@pytest.fixture(scope="module")
def numbers(kafka: Kafka) -> str:
    """Three partitions of 100 records; record i is in partition i % 3, one second after the one before."""
    topic = kafka.topic("numbers", partitions=3)
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for i in range(300):
            producer.send(ProducerRecord(topic, b"%d" % i, partition=i % 3, timestamp=STAMP + i * 1000))
    return topic


def consume(kafka: Kafka, *arguments: str) -> list[str]:
    return ok(kcli_process("consume", *arguments, bootstrap=kafka.bootstrap)).decode().splitlines()


@pytest.mark.case("S4-20", "S4-22", "S4-23", "S4-25")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-p", "0", "--offset", "97"], ["291", "294", "297"]),
        (["-p", "0", "--offset", "-2"], ["294", "297"]),
        (["-p", "0", "--offset", "+98"], ["294", "297"]),
        (["-p", "0", "--offset", "2:4"], ["6", "9"]),
        (["-p", "0", "--offset", "2..4"], ["6", "9"]),
        (["-p", "1", "--offset", ":2"], ["1", "4"]),
        (["-p", "0,2", "--offset", "99"], ["297", "299"]),
        (["-p", "0-1", "--offset", "99:"], ["297", "298"]),
        (["-p", "0", "--offset", f"@{STAMP + 294_000}"], ["294", "297"]),
        (["--offset", f"@{STAMP}:{STAMP + 3_000}"], ["0", "1", "2"]),
        (["--offset", f"@{STAMP}..@{STAMP + 3_000}"], ["0", "1", "2"]),
        (["--since", str(STAMP + 298_000)], ["298", "299"]),
        (["--since", str(STAMP), "--until", str(STAMP + 2_000)], ["0", "1"]),
        (["--offset", "latest"], []),
        (["-p", "2", "--from-beginning", "-n", "3"], ["2", "5", "8"]),
        (["--tail", "4"], ["296", "297", "298", "299"]),
        (["-p", "1", "--tail", "2"], ["295", "298"]),
    ],
    ids=" ".join,
)
def test_ranges(kafka: Kafka, numbers: str, arguments: list[str], expected: list[str]) -> None:
    assert sorted(consume(kafka, numbers, "-e", *arguments)) == sorted(expected)


@pytest.mark.case("S4-25")
def test_everything_is_the_default(kafka: Kafka, numbers: str) -> None:
    assert sorted(map(int, consume(kafka, numbers, "-e"))) == list(range(300))


def test_tail_is_in_order_of_time(kafka: Kafka, numbers: str) -> None:
    assert consume(kafka, numbers, "--tail", "7") == [str(i) for i in range(293, 300)]


def test_several_topics(kafka: Kafka, numbers: str) -> None:
    other = kafka.topic("other")
    ok(kcli_process("produce", other, bootstrap=kafka.bootstrap, stdin=b"x\n"))
    assert len(consume(kafka, numbers, "-t", other, "-e")) == 301


@pytest.mark.case("S0-32", "F18")
def test_ndjson_has_everything_of_a_record(kafka: Kafka) -> None:
    topic = kafka.topic("ndjson")
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        producer.send(ProducerRecord(topic, b"v\xff", None, (("a", b"1"), ("a", None)), timestamp=STAMP))
        producer.send(ProducerRecord(topic, None, b"", timestamp=STAMP))
    first, second = (json.loads(line) for line in consume(kafka, topic, "-e", "-o", "ndjson"))
    assert first == {
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "timestamp": STAMP,
        "timestamp_type": "CreateTime",
        "time": "2023-11-14T22:13:20.000Z",
        "key": None,
        "value": base64.b64encode(b"v\xff").decode(),
        "value_encoding": "base64",
        "headers": [["a", "1"], ["a", None]],
        "leader_epoch": 0,
    }
    assert (second["key"], second["value"]) == ("", None)


def test_json_is_one_document(kafka: Kafka, numbers: str) -> None:
    out = ok(kcli_process("consume", numbers, "-e", "-o", "json", bootstrap=kafka.bootstrap))
    document = json.loads(out)
    assert (document["kind"], document["api"], len(document["items"])) == ("RecordList", "kcli/v1", 300)


def test_json_is_closed_when_a_signal_ends_it(kafka: Kafka, numbers: str) -> None:
    with start("consume", numbers, "-o", "json", bootstrap=kafka.bootstrap) as process:
        assert process.stdout is not None
        out = b""
        while out.count(b'"offset"') < 300:
            out += process.stdout.read1(65_536)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert len(json.loads(out + rest)["items"]) == 300


def test_a_table_has_headings_and_a_row_per_record(kafka: Kafka, numbers: str) -> None:
    lines = consume(kafka, numbers, "-p", "0", "--offset", "0:2", "-o", "table")
    assert lines[0].split() == ["TIME", "PARTITION", "OFFSET", "KEY", "VALUE,", "HEADERS"]
    assert lines[1].split() == ["2023-11-14T22:13:20.000Z", "0", "0", "∅", "0"]
    assert len(lines) == 3


def test_a_format_of_ones_own(kafka: Kafka, numbers: str) -> None:
    lines = consume(
        kafka, numbers, "-p", "1", "--offset", "0:1", "-f", "%t %p %o %k %s %T %d{strftime[%H:%M]}\\n"
    )
    assert lines == [f"{numbers} 1 0  1 {STAMP + 1000} 22:13"]


def test_an_unknown_verb_is_refused_before_any_network_use() -> None:
    done = kcli_process("consume", "t", "-f", "%q", bootstrap="127.0.0.1:1")
    assert done.returncode == 2
    assert b"%q" in done.stderr


@pytest.mark.case("C1")
def test_a_reader_that_leaves_ends_it_by_sigpipe(kafka: Kafka) -> None:
    """`consume | head -1` is 141, silently."""
    topic = kafka.topic("pipe")
    ok(kcli_process("produce", topic, bootstrap=kafka.bootstrap, stdin=b"line of some length\n" * 200_000))
    done = shell(f"kcli consume {topic} | head -1; echo ${{PIPESTATUS[0]}}", bootstrap=kafka.bootstrap)
    assert done.stdout == b"line of some length\n141\n"
    assert done.stderr == b""


@pytest.mark.case("C2")
def test_a_full_disk_is_named(kafka: Kafka, numbers: str) -> None:
    """"""
    done = shell(f"kcli consume {numbers} -e > /dev/full", bootstrap=kafka.bootstrap)
    assert done.returncode == 1
    assert b"cannot write output: No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.case("C3")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signals_end_it_in_order(kafka: Kafka, numbers: str, number: signal.Signals, code: int) -> None:
    """"""
    with start("consume", numbers, bootstrap=kafka.bootstrap) as process:
        time.sleep(2)
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert len(out.splitlines()) == 300
    assert b"300 records" in err


@pytest.mark.case("S0-32")
def test_an_idle_timeout_ends_it_with_0(kafka: Kafka, numbers: str) -> None:
    assert len(consume(kafka, numbers, "--idle-timeout", "2s")) == 300


@pytest.mark.case("S0-32")
def test_new_records_appear_at_once(kafka: Kafka) -> None:
    topic = kafka.topic("follow")
    with start("consume", topic, "-n", "2", bootstrap=kafka.bootstrap) as process:
        time.sleep(1.5)
        ok(kcli_process("produce", topic, bootstrap=kafka.bootstrap, stdin=b"a\nb\n"))
        out, _ = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, b"a\nb\n")


def test_an_unknown_topic_is_named_and_exits_1(kafka: Kafka, numbers: str) -> None:
    done = kcli_process("consume", numbers + "x", bootstrap=kafka.bootstrap)
    assert done.returncode == 1
    assert f"topic {numbers}x does not exist".encode() in done.stderr
    assert numbers.encode() in done.stderr.split(b"do:")[1]


@pytest.mark.case("S4-23")
def test_an_unknown_partition_is_named_and_exits_1(kafka: Kafka, numbers: str) -> None:
    done = kcli_process("consume", numbers, "-p", "7", bootstrap=kafka.bootstrap)
    assert done.returncode == 1
    assert b"has no partition 7" in done.stderr


@pytest.mark.case("O5")
@pytest.mark.parametrize("more", [[], ["-e"]], ids=["following", "to the end"])
def test_a_start_beyond_the_end_is_out_of_range(kafka: Kafka, numbers: str, more: list[str]) -> None:
    done = kcli_process("consume", numbers, "-p", "0", "--offset", "1000", *more, bootstrap=kafka.bootstrap)
    assert done.returncode == 5
    assert b"offset 1000 is out of range" in done.stderr
    assert b"from 0 to 100" in done.stderr


def test_a_wrong_port_is_3_within_seconds() -> None:
    began = time.monotonic()
    done = kcli_process("consume", "t", bootstrap="127.0.0.1:1")
    assert (done.returncode, time.monotonic() - began < 8) == (3, True)
    assert b"cannot connect to 127.0.0.1:1" in done.stderr


def test_kcats_habit_is_explained() -> None:
    done = kcli_process("consume", "t", "-o", "beginning", bootstrap="127.0.0.1:1")
    assert done.returncode == 2
    assert b"--from-beginning" in done.stderr


def test_debug_proto_shows_pipelined_requests(kafka: Kafka, numbers: str) -> None:
    """The next fetch goes out before the answer to the last one is printed."""
    done = kcli_process("consume", numbers, "-e", "--debug=proto", bootstrap=kafka.bootstrap)
    trace = [line.split()[1:5] for line in done.stderr.decode().splitlines() if "→" in line or "←" in line]
    assert ["→", "bootstrap@" + kafka.bootstrap, "#0", "ApiVersions"] in trace
    fetches = [line for line in trace if line[3] == "Fetch"]
    assert fetches[0][0] == "→"


def judge(kafka: Kafka, *arguments: str) -> bytes:
    """What kcat prints."""
    found = shutil.which("kcat")
    if found is None:
        pytest.skip("kcat is not installed")
    done = subprocess.run([found, "-b", kafka.bootstrap, "-q", *arguments], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def odd(kafka: Kafka) -> str:
    """Nulls, empties, bytes, escapes and headers in one partition."""
    topic = kafka.topic("odd")
    rows: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]] = [
        (b"k", b'a"b\\c/d\n\r\t\x08\x0c\x00\x1f\x7f\xe2\x80\xa8\xf0\x9f\x98\x80', (("h", b"1"), ("h", None), ("e", b""))),
        (b"", b"", ()),
        (None, None, ()),
        (b"\xff", b"\xff\xfe", (("x", b"\xff"),)),
        (b"plain", b"text", (("a b", b"c,d=e"),)),
    ]  # fmt: skip
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for key, value, headers in rows:
            producer.send(ProducerRecord(topic, value, key, headers))
    return topic


def test_kcats_json_is_byte_for_byte_kcats(kafka: Kafka, odd: str) -> None:
    theirs = judge(kafka, "-C", "-t", odd, "-J", "-e")
    for option in (["-J"], ["-o", "kcat"]):
        assert ok(kcli_process("consume", odd, "-e", *option, bootstrap=kafka.bootstrap)) == theirs


def test_kcats_verbs_mean_what_they_mean_there(kafka: Kafka, odd: str) -> None:
    text = "%t %p %o %k %s %S %K %T %h %R%s %%\\n"
    theirs = judge(kafka, "-C", "-t", odd, "-f", text, "-e")
    assert ok(kcli_process("consume", odd, "-e", "-f", text, bootstrap=kafka.bootstrap)) == theirs


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_continues_where_it_was(kafka: Kafka, numbers: str, protocol: str) -> None:
    if protocol == "consumer" and kafka.version != "unknown" and int(kafka.version.split(".")[0]) < 4:
        pytest.skip(f"Kafka {kafka.version} has no KIP-848 groups")
    group = f"{numbers}-{protocol}"
    options = ["-g", group, "-e", "-X", f"group.protocol={protocol}"]
    first = consume(kafka, numbers, *options, "-n", "50")
    rest = consume(kafka, numbers, *options)
    assert len(first) == 50
    assert sorted(map(int, first + rest)) == list(range(300))
    assert consume(kafka, numbers, *options) == []


def test_kcat_continues_where_kcli_was_and_back(kafka: Kafka, numbers: str) -> None:
    group = f"{numbers}-shared"
    first = consume(kafka, numbers, "-g", group, "-n", "120")
    theirs = judge(
        kafka, "-G", group, "-c", "100", "-X", "auto.offset.reset=earliest", "-X", "enable.auto.commit=true", numbers
    )  # fmt: skip
    rest = consume(kafka, numbers, "-g", group, "-e")
    found = [*first, *theirs.decode().split(), *rest]
    assert sorted(map(int, found)) == list(range(300))


def test_ends_are_behind_transactions(kafka: Kafka) -> None:
    topic = kafka.topic("transactions")
    with Producer(bootstrap_servers=kafka.bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        for number in range(4):
            producer.begin_transaction()
            producer.send(ProducerRecord(topic, b"%d" % number))
            producer.flush()
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    assert consume(kafka, topic, "-e") == ["0", "2"]
    assert consume(kafka, topic, "-e", "-g", topic) == ["0", "2"]
    shown = consume(kafka, topic, "-e", "--print-control", "-o", "ndjson")
    assert [json.loads(line).get("control") for line in shown] == [
        None,
        "COMMIT",
        "ABORT",
        None,
        "COMMIT",
        "ABORT",
    ]
    assert consume(kafka, topic, "--tail", "1") == ["2"]


def test_merged_partitions_are_in_order_of_time(kafka: Kafka, numbers: str) -> None:
    assert consume(kafka, numbers, "--merge", "-e") == [str(i) for i in range(300)]


@pytest.mark.case("F8")
def test_compacted_topics_end(kafka: Kafka) -> None:
    """Positions go past gaps: --exit comes to an end where offsets are missing."""
    topic = kafka.topic(
        "compact",
        config={
            "cleanup.policy": "compact",
            "segment.ms": "100",
            "min.cleanable.dirty.ratio": "0.01",
            "max.compaction.lag.ms": "100",
        },
    )
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for i in range(300):
            producer.send(ProducerRecord(topic, b"%d" % i, b"%d" % (i % 3)))
            if i % 100 == 99:
                producer.flush()
                time.sleep(0.3)
    assert consume(kafka, topic, "-e")[-1] == "299"
    assert consume(kafka, topic, "--tail", "2") == ["298", "299"]


@pytest.mark.case("S1-15")
def test_what_brokers_keep_in_their_own_topics_is_readable(kafka: Kafka, numbers: str) -> None:
    """Of this very broker: a group's commits, and the states of a transaction in their order."""
    group = f"{numbers}-internal"
    consume(kafka, numbers, "-g", group, "-n", "7")
    mine = ("-e", "-o", "ndjson", "--where", f"key.data.group == '{group}' && key.name == 'OffsetCommit'")
    rows = [json.loads(line) for line in consume(kafka, "__consumer_offsets", *mine)]
    assert {row["key"]["data"]["topic"] for row in rows} == {numbers}
    last = {row["key"]["data"]["partition"]: row["value"]["data"]["offset"] for row in rows}
    assert sum(last.values()) == 7
    assert {row["value_encoding"] for row in rows} == {"consumer_offsets"}

    name = kafka.unused_name("internal")
    ok(
        kcli_process(
            "produce",
            kafka.topic("internal"),
            "--transactional-id",
            name,
            stdin=b"a\n",
            bootstrap=kafka.bootstrap,
        )
    )
    states = (
        "-e",
        "-s",
        "transaction_state",
        "-o",
        "json",
        "--where",
        f"key.data.transactional_id == '{name}'",
    )
    document = json.loads("\n".join(consume(kafka, "__transaction_state", *states)))
    seen = [row["value"]["data"]["transaction_status"] for row in document["items"]]
    assert seen == ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]


@pytest.mark.case("C13")
def test_bytes_of_records_cannot_reach_a_terminal(kafka: Kafka) -> None:
    """Escapes are made visible, in values too, unless --raw asks for them."""
    topic = kafka.topic("hostile")
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        producer.send(ProducerRecord(topic, b"\x1b]0;owned\x07\x9b31m"))
    shown = {}
    for flag in ("", "--raw"):
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(
                KCLI[0],
                [*KCLI, "consume", topic, "-e", *filter(None, [flag])],
                environment(kafka.bootstrap),
            )
        out = b""
        try:
            while data := os.read(fd, 65_536):
                out += data
        except OSError:
            pass
        os.waitpid(pid, 0)
        shown[flag] = out
    assert b"\x1b]0;owned" not in shown[""]
    assert b"owned" in shown[""]
    assert b"\x1b]0;owned" in shown["--raw"]
