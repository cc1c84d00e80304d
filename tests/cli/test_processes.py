"""``consume --processes`` and ``produce --processes``: what they write and store is the same, in the same order.

Every option of both is in a table: with several processes it does what it does with one, or is refused by its name.
"""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from kcli.commands.consume import consume
from kcli.commands.produce import produce
from kcli.core.types import Record
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.run import Done, kcli_process, start

PATIENCE = 120.0
PARTITIONS, BATCHES, EACH = 3, 6, 7
STAMP = 1_700_000_000_000
VALUES = (
    b'{"a":%d}',
    b'{"a":"text"}',
    b"not json %d",
    b'{"a":{"b":[%d]}}',
    b'{"a":1,"a":%d}',
    b"\xff%d",
    b"{}",
)

SAME_OUTPUT: dict[str, tuple[str, ...]] = {
    "topics": (),
    "-t": ("-t", "t"),
    "--partitions": ("-p", "0,2"),
    "--isolation-level": ("--isolation-level", "read_uncommitted"),
    "--print-control": ("--print-control",),
    "--rack": ("--rack", "here"),
    "--offset": ("--offset", "5:20"),
    "--since": ("--since", str(STAMP + 9_000)),
    "--until": ("--until", str(STAMP + 30_000)),
    "--exact-times": ("--since", str(STAMP + 9_000), "--exact-times"),
    "--from-beginning": ("--from-beginning",),
    "--exit": (),
    "--max-messages": ("-n", "30", "-p", "1"),
    "--idle-timeout": ("--idle-timeout", "60s"),
    "--grep": ("--grep", "v:a"),
    "--where": ("--where", "value.a == 3 or value.a > 'b' or contains(value.a, 'x')"),
    "--key": ("--key", "k3", "--all-partitions"),
    "--all-partitions": ("--key", "k3", "--all-partitions"),
    "--select": ("--select", "key,value.a,headers.n"),
    "--sample": ("--sample", "1/3"),
    "--expect": ("--expect", str(PARTITIONS * BATCHES * EACH)),
    "--within": ("--expect", "3..", "--within", "60s", "-p", "1"),
    "--group": ("-g", "g"),
    "--commit": ("-g", "h", "--no-commit"),
    "--format": ("-f", r"%p:%o %k %v{.a} %h\n"),
    "--serde": ("-s", "value=json", "-o", "ndjson"),
    "-J": ("-J",),
    "--delimiter": ("-D", ";"),
    "--null-marker": ("--null-marker", "NULL"),
    "--raw": ("--raw",),
    "--on-out-of-range": ("--on-out-of-range", "earliest"),
    "--on-recreate": ("--on-recreate", "restart"),
    "--on-corrupt": ("--on-corrupt", "skip"),
}
"""Words with which the output, the messages and the exit code are those of one process."""
REFUSED: dict[str, tuple[str, ...]] = {
    "--tail": ("--tail", "5"),
    "--follow": ("--tail", "5", "--follow"),
    "--merge": ("--merge",),
    "--count": ("--count",),
    "--by": ("--count", "--by", "key"),
    "--top": ("--count", "--by", "key", "--top", "1"),
    "--latest-per-key": ("--latest-per-key",),
    "--with-tombstones": ("--latest-per-key", "--with-tombstones"),
    "--distinct": ("--distinct", "key"),
    "--group-type": ("-g", "g", "--group-type", "share"),
    "--on-each": ("-g", "g", "--group-type", "share", "--on-each", "reject"),
    "--ack-after-exec": ("-g", "g", "--group-type", "share", "--ack-after-exec", "true"),
}
ELSEWHERE = {"--processes", "--from-dir"}
"""--from-dir: the reading is that of brokers, ``tests/cli/test_from_dir.py``."""
FORMATS = ("value", "ndjson", "json", "csv", "raw", "kcat")
FORMATS_OF_ONE = ("table", "pretty", "hex")


def fill(cluster: FakeCluster) -> None:
    for partition in range(PARTITIONS):
        for number in range(BATCHES):
            rows = [
                Record(
                    "t", partition, at, STAMP + 1000 * at, 0, b"k%d" % (at % 5) if at % 7 else None,
                    _value(at), (("n", b"%d" % at),),
                )
                for at in range(number * EACH, number * EACH + EACH)
            ]  # fmt: skip
            cluster.append("t", partition, bytes(batch_of(rows).raw))


def _value(number: int) -> bytes:
    text = VALUES[number % len(VALUES)]
    return text % number if b"%d" in text else text


@pytest.fixture(scope="module")
def filled() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": PARTITIONS}) as made:
        fill(made)
        yield made


def read(cluster: FakeCluster, *words: str) -> Done:
    return kcli_process("consume", *words, bootstrap=cluster.bootstrap)


def messages(done: Done) -> list[str]:
    """Without what depends on the time that it took."""
    return [line.partition(" (")[0].partition(" in ")[0] for line in _lasting(done.err)]


def _lasting(text: str) -> list[str]:
    """Without what only a busy machine is told: that something is waited for, and how far the run is."""
    return [
        line
        for line in text.splitlines()
        if not line.startswith("waiting for ") and not re.search(r"^\w+ [\d,]+ records?, .* records/s", line)
    ]


def options_of(command: object) -> set[str]:
    return {max(p.opts, key=len) for p in command.params}  # type: ignore[attr-defined]


def test_every_option_of_consume_is_in_a_table() -> None:
    assert {"topics", "-t", *ELSEWHERE, *SAME_OUTPUT, *REFUSED} == (options_of(consume) - {"--topic"}) | {
        "-t"
    }


def test_output_is_that_of_one_process(filled: FakeCluster) -> None:
    for option, words in SAME_OUTPUT.items():
        line = (*(() if "-t" in words else ("t",)), "-e", *words, "-X", "fetch.max.wait.ms=50")
        one, several = (
            read(filled, *(f"g{n}" if word == "g" else word for word in line), "--processes", n)
            for n in ("1", "2")
        )
        assert several.code == one.code, (option, several.err)
        assert sorted(several.stdout.splitlines()) == sorted(one.stdout.splitlines()), option
        assert messages(several) == messages(one), option


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_that_of_one_process(filled: FakeCluster, kind: str) -> None:
    line = ("t", "-p", "1", "-e", "-o", kind)  # of one partition, so that there is one order
    one, several = (read(filled, *line, "--processes", n) for n in ("1", "2"))
    if kind == "json":
        assert json.loads(several.out)["items"] == json.loads(one.out)["items"]
    else:
        assert several.stdout == one.stdout
    assert several.code == one.code == 0


def test_what_needs_one_process_is_refused_by_name(filled: FakeCluster) -> None:
    for option, words in REFUSED.items():
        done = read(filled, "t", *words, "--processes", "2")
        assert done.code == 2, option
        assert "consume: --processes and " in done.err, option
        assert not done.stdout
    for kind in FORMATS_OF_ONE:
        done = read(filled, "t", "-e", "-o", kind, "--processes", "2")
        assert (done.code, f"--processes with -o {kind}" in done.err) == (2, True)


def test_a_group_commits_what_was_written(filled: FakeCluster) -> None:
    whole = PARTITIONS * BATCHES * EACH
    first = read(filled, "t", "-g", "parts", "-n", "40", "--processes", "2", "-f", r"%p:%o\n")
    rest = read(filled, "t", "-g", "parts", "-e", "--processes", "2", "-f", r"%p:%o\n")
    found = [*first.out.splitlines(), *rest.out.splitlines()]
    assert (first.code, rest.code) == (0, 0)
    assert len(first.out.splitlines()) == 40
    assert len(found) == len(set(found)) == whole


def test_a_damaged_batch_is_named_and_what_precedes_it_is_written() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        rows = [Record("t", 0, at, STAMP, 0, None, b"v%d" % at, ()) for at in range(4)]
        cluster.append("t", 0, bytes(batch_of(rows[:2]).raw))
        damaged = bytearray(batch_of(rows[2:]).raw)
        damaged[-3] ^= 0xFF
        cluster.append("t", 0, bytes(damaged))
        one, several = (read(cluster, "t", "-e", "--processes", n) for n in ("1", "2"))
    assert (several.code, several.out) == (one.code, one.out) == (5, "v0\nv1\n")
    assert messages(several) == messages(one)


# --- processes that die --------------------------------------------------------------------------------


def children(process: "Popen[bytes]", count: int) -> list[int]:
    """The processes of a run, once there are so many."""
    return wait_for(lambda: [pid for pid in _children(process.pid) if _is_fork(pid, process.pid)], count)


def wait_for(look: Callable[[], list[int]], count: int) -> list[int]:
    deadline = time.monotonic() + PATIENCE
    while len(found := look()) < count:
        assert time.monotonic() < deadline, f"there are {found}"
        time.sleep(0.01)
    return found


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _is_fork(pid: int, parent: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() == Path(f"/proc/{parent}/cmdline").read_bytes()
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find the processes")
def test_consume_goes_on_without_a_process_that_died() -> None:
    with FakeCluster(1, topics={"t": PARTITIONS}) as cluster:
        process = start(
            "consume", "t", "-f", r"%p:%o\n", "--processes", "2", "-X", "fetch.max.wait.ms=50",
            bootstrap=cluster.bootstrap, stdout=PIPE, stderr=PIPE,
        )  # fmt: skip
        for pid in children(process, 2):
            os.kill(pid, signal.SIGKILL)
        fill(cluster)
        assert process.stdout is not None
        found = [process.stdout.readline().decode().strip() for _ in range(PARTITIONS * BATCHES * EACH)]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert sorted(found) == sorted(f"{p}:{o}" for p in range(PARTITIONS) for o in range(BATCHES * EACH))
    assert process.returncode == 130
    assert b"a process of --processes was ended by SIGKILL" in err


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find the processes")
def test_produce_loses_nothing_with_a_process_that_died() -> None:
    with FakeCluster(1, topics={"t": PARTITIONS}) as cluster:
        process = start(
            "produce", "t", "-i", "ndjson", "--processes", "2",
            bootstrap=cluster.bootstrap, stdin=PIPE, stdout=PIPE, stderr=PIPE,
        )  # fmt: skip
        pids = children(process, 2)
        os.kill(pids[0], signal.SIGKILL)
        _, err = process.communicate(b"".join(b'{"value":"%d"}\n' % n for n in range(40_000)), PATIENCE)
        assert process.returncode == 0, err
        assert b"40,000 records confirmed" in err
        assert b"a process of --processes was ended by SIGKILL" in err
        stored = read(cluster, "t", "-e")
    assert sorted(map(int, stored.out.split())) == list(range(40_000))


# --- produce -------------------------------------------------------------------------------------------

LINES = "".join(
    json.dumps({"key": f"k{n % 17}" if n % 5 else None, "value": json.dumps({"id": n, "p": n % PARTITIONS})})
    + "\n"
    if n % 97
    else "no json\n"
    for n in range(4_000)
).encode()
PRODUCE_SAME: dict[str, tuple[str, ...]] = {
    "topic": (),
    "--header": ("-H", "h=1"),
    "--key-from": ("--key-from", "value.id"),
    "--headers-from": ("--headers-from", "value"),
    "--partition-from": ("--partition-from", "value.p"),
    "--partition": ("-p", "1"),
    "--partitioner": ("--partitioner", "consistent"),
    "--serde": ("-s", "value=str"),
    "--compression": ("-z", "lz4"),
    "--acks": ("--acks", "1"),
    "--idempotent": ("--no-idempotent",),
    "--transactional-id": ("--transactional-id", "one", "--transaction-every", "3000"),
    "--transaction-every": ("--transactional-id", "two", "--transaction-every", "3000"),
    "--rate": ("--rate", "1000MB/s"),
    "--allow-auto-topic-creation": ("--allow-auto-topic-creation",),
    "--expect": ("--expect", "1.."),
    "--failed": ("--failed", "{folder}/failed-{n}"),
    "--checkpoint": ("--checkpoint", "{folder}/at-{n}", "--failed", "{folder}/too-{n}"),
    "--on-bad-input": ("--on-bad-input", "fail"),
    "--tee": ("--tee",),
    "--input": ("-i", "ndjson"),
    "-t": ("-t", "{topic}"),
    "files": ("{folder}/input",),
}
"""With -i ndjson: what is stored, in what order for each key, and the messages are those of one process."""
PRODUCE_LINES: dict[str, tuple[tuple[str, ...], bytes]] = {
    "--format": (("-f", r"%k=%v\n"), b"".join(b"k%d=%d\n" % (n % 7, n) for n in range(3_000))),
    "--delimiter": (("-D", ";", "-z", "gzip"), b";".join(b"%d" % n for n in range(3_000))),
    "--key-delimiter": (("-K", ":", "-z", "zstd"), b"".join(b"k%d:%d\n" % (n % 7, n) for n in range(3_000))),
    "--empty-is-null": (("-Z", "-s", "value=str"), b"a\n\nb\n" * 900),
    "--null-marker": (("--null-marker", "a", "-s", "value=str"), b"a\n\nb\n" * 900),
    "--key": (("-k", "k", "-s", "value=str"), b"a\n\nb\n" * 900),
}
PRODUCE_REFUSED: dict[str, tuple[str, ...]] = {
    "--value": ("--value", "v"),
    "--tombstone": ("-k", "k", "--tombstone"),
    "plain lines": (),
    "raw": ("-i", "raw"),
    "file": ("-i", "file"),
    "sizes": ("-f", "%R%s"),
}


def stored(cluster: FakeCluster, topic: str) -> dict[tuple[object, ...], list[object]]:
    """Values and headers by partition and key, in order; those without a key go to any partition."""
    found: dict[tuple[object, ...], list[object]] = {}
    for partition in range(PARTITIONS):
        for record in cluster.log(topic, partition).records():
            place = ("any",) if record.key is None else (partition, record.key)
            found.setdefault(place, []).append((record.value, record.headers))
    return {place: sorted(rest, key=str) if place == ("any",) else rest for place, rest in found.items()}


def send(cluster: FakeCluster, topic: str, data: bytes, processes: str, *words: str) -> Done:
    named = () if "-t" in words else (topic,)
    return kcli_process(
        "produce", *named, *words, "--processes", processes, bootstrap=cluster.bootstrap, stdin=data
    )


def test_every_option_of_produce_is_in_a_table() -> None:
    here = {*PRODUCE_SAME, *PRODUCE_LINES, *PRODUCE_REFUSED} - {"plain lines", "raw", "file", "sizes", "-t"}
    assert here | {"--processes", "--topic"} == options_of(produce)


def test_what_is_stored_is_that_of_one_process(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(LINES)
    cases = [(option, words, LINES) for option, words in PRODUCE_SAME.items()]
    cases += [(option, *case) for option, case in PRODUCE_LINES.items()]
    names = [f"t{n}-{at}" for at in range(len(cases)) for n in (1, 2)]
    with FakeCluster(1, topics=dict.fromkeys(names, PARTITIONS)) as cluster:
        for at, (option, words, data) in enumerate(cases):
            form = ("-i", "ndjson") if data is LINES and "-i" not in words else ()
            done = {}
            for n in ("1", "2"):
                own = [word.format(folder=tmp_path, n=n, topic=f"t{n}-{at}") for word in words]
                done[n] = send(cluster, f"t{n}-{at}", data, n, *form, *own)
            said = {n: done[n].err.replace(f"t{n}-{at}", "t").replace(str(tmp_path), "") for n in ("1", "2")}
            one, two = (said[n].replace(f"-{n}", "") for n in ("1", "2"))
            assert done["2"].code == done["1"].code, (option, two)
            assert _without_time(two) == _without_time(one), option
            assert stored(cluster, f"t2-{at}") == stored(cluster, f"t1-{at}"), option
    for name in ("failed", "too"):
        assert (tmp_path / f"{name}-1").read_bytes() == (tmp_path / f"{name}-2").read_bytes()


def _without_time(text: str) -> list[str]:
    return sorted(
        line.partition(" in ")[0].partition(" (")[0] for line in _lasting(text) if "ransaction" not in line
    )


def test_a_checkpoint_is_continued_by_any_number_of_processes(tmp_path: Path) -> None:
    at, source = tmp_path / "at", tmp_path / "input"
    good = b"".join(b'{"value":"%d"}\n' % n for n in range(30_000))
    bad = good[: len(good) // 2].rpartition(b"\n")[0] + b"\nno json\n"
    source.write_bytes(bad)
    with FakeCluster(1, topics={"t": PARTITIONS}) as cluster:
        words = ("-i", "ndjson", "--checkpoint", str(at), "--on-bad-input", "fail", str(source))
        assert send(cluster, "t", b"", "2", *words).code == 6
        source.write_bytes(good)
        assert send(cluster, "t", b"", "2", *words).code == 0
        found = read(cluster, "t", "-e").out.split()
    assert sorted(map(int, found)) == list(range(30_000))


def test_what_cannot_be_shared_out_is_refused_by_name() -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster:
        for name, words in PRODUCE_REFUSED.items():
            done = send(cluster, "t", b"", "2", *words)
            assert done.code == 2, name
            assert "--processes" in done.err, name
        assert cluster.log("t", 0).end_offset == 0
