"""``kcli top`` over a real broker: three live groups, beside ``kcli groups lag`` and Kafka's own script."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import confluent_kafka
import pytest

from tests.fault.watching import soon
from tests.integration.kafka_script import consumer_groups
from tests.kafka import Kafka
from tests.run import environment, kcli_process, ok
from tests.terminal import Terminal

pytestmark = pytest.mark.integration

PATIENCE = 120.0
PARTITIONS = 2
HEALTHY, SLOW, STALLED = "healthy", "slow", "stalled"


class Member(threading.Thread):
    """One member of a group. ``pace``: records a second at most; 0: it commits the beginning and never again."""

    def __init__(self, kafka: Kafka, topic: str, group: str, pace: float, frozen: threading.Event) -> None:
        super().__init__(daemon=True)
        self.group, self._pace, self._frozen = group, pace, frozen
        self._ended = threading.Event()
        self._consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": kafka.bootstrap,
                "group.id": group,
                "client.id": f"client-of-{group}",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 50,
            }
        )
        self._consumer.subscribe([topic])

    def run(self) -> None:
        began, read, committed_at = time.monotonic(), 0, 0.0
        while not self._ended.is_set():
            if self._frozen.is_set():
                self._consumer.pause(self._consumer.assignment())
                self._consumer.poll(0.1)
                continue
            record = self._consumer.poll(0.05)
            if self._pace == 0 and not committed_at and self._consumer.assignment():
                beginning = [
                    confluent_kafka.TopicPartition(one.topic, one.partition, 0)
                    for one in self._consumer.assignment()
                ]
                self._consumer.commit(offsets=beginning, asynchronous=False)
                committed_at = time.monotonic()
            if record is None or record.error():
                continue
            read += 1
            if self._pace and time.monotonic() - committed_at > 0.3:
                self._consumer.commit(asynchronous=False)
                committed_at = time.monotonic()
            early = began + read / self._pace - time.monotonic() if self._pace else 0.0
            if early > 0:
                time.sleep(min(early, 0.1))
        self._consumer.close()

    def end(self) -> None:
        """It leaves the group."""
        self._ended.set()
        self.join()


@pytest.fixture(scope="module")
def frozen() -> threading.Event:
    """Set: nobody writes, and nobody commits."""
    return threading.Event()


@pytest.fixture(scope="module")
def groups(kafka: Kafka, frozen: threading.Event) -> Iterator[Mapping[str, str]]:
    """The names of three groups that read a topic to which is written."""
    topic = kafka.topic("top", partitions=PARTITIONS)
    names = {kind: kafka.unused_name(kind) for kind in (HEALTHY, SLOW, STALLED)}
    paces = {HEALTHY: 100_000.0, SLOW: 30.0, STALLED: 0.0}
    members = [Member(kafka, topic, names[kind], paces[kind], frozen) for kind in names]
    ended = threading.Event()
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 5})

    def produce() -> None:
        while not ended.wait(0.05):
            if not frozen.is_set():
                for one in range(10):
                    producer.produce(topic, b"%d" % one, partition=one % PARTITIONS)
                producer.flush()

    writer = threading.Thread(target=produce, daemon=True)
    for thread in (*members, writer):
        thread.start()
    yield names
    ended.set()
    writer.join()
    for member in members:
        member.end()


def row_of(text: str, name: str) -> tuple[str, list[str]]:
    """The verdict in the line of a group, and the words after its name."""
    for line in text.splitlines():
        words = line.split()
        if name in words[1:4]:
            at = words.index(name)
            return words[at - 1], words[at + 1 :]
    return "", []


def number(text: str) -> int:
    return int(text.replace(",", ""))


def lag_by(kafka: Kafka, kind: str, names: Mapping[str, str]) -> list[dict[str, Any]]:
    done = kcli_process(
        "groups",
        "lag",
        *names.values(),
        "--by",
        kind,
        "--time",
        "off",
        "-o",
        "json",
        bootstrap=kafka.bootstrap,
    )
    items: list[dict[str, Any]] = json.loads(ok(done))["items"]
    return items


def all_have_committed(kafka: Kafka, names: Mapping[str, str]) -> bool:
    """In all partitions."""
    words = [*names.values(), "--by", "partition", "--time", "off", "-o", "json"]
    done = kcli_process("groups", "lag", *words, bootstrap=kafka.bootstrap)
    return done.returncode == 0 and all(
        one["committed"] is not None for one in json.loads(done.stdout)["items"]
    )


def by_script(kafka: Kafka, names: Mapping[str, str]) -> dict[tuple[str, int], tuple[int, int, int]]:
    """Committed offset, end and lag of group and partition."""
    words = [word for name in names.values() for word in ("--group", name)]
    done = consumer_groups(kafka, "--describe", *words)
    lines = (line.split() for line in done.stdout.splitlines())
    return {
        (line[0], int(line[2])): (int(line[3]), int(line[4]), int(line[5]))
        for line in lines
        if line[:1] and line[0] in names.values()
    }


@pytest.mark.case("R22")
def test_the_screen_says_what_groups_lag_and_kafkas_script_say(
    kafka: Kafka, groups: Mapping[str, str], frozen: threading.Event
) -> None:
    soon(lambda: all_have_committed(kafka, groups), "all groups have committed", 60)
    argv = [sys.executable, "-m", "kcli", "top", *groups.values(), "--interval", "1s"]
    with Terminal(argv, columns=159, rows=40, environ=environment(kafka.bootstrap)) as terminal:
        terminal.wait("3 groups")
        wanted = {groups[HEALTHY]: "ok", groups[SLOW]: "slow", groups[STALLED]: "stalled"}
        terminal.wait(
            lambda: all(row_of(terminal.text, name)[0] == word for name, word in wanted.items()),
            seconds=120,  # falling behind is seen over some time
        )
        frozen.set()
        time.sleep(1)  # for a commit that was under way
        terminal.press("r")
        terminal.watch(2)
        sums = {one["group"]: one for one in lag_by(kafka, "group", groups)}
        parts = lag_by(kafka, "partition", groups)
        theirs = by_script(kafka, groups)
        assert {
            (one["group"], one["partition"]): (one["committed"], one["end"], one["lag_records"])
            for one in parts
        } == theirs
        for name, one in sums.items():
            lag, *_, members, state, topics = row_of(terminal.text, name)[1]
            assert (state, members, topics) == ("Stable", "1", "1")
            assert (
                number(lag)
                == one["lag_records"]
                == sum(row[2] for at, row in theirs.items() if at[0] == name)
            )
        assert sums[groups[STALLED]]["lag_records"] > sums[groups[SLOW]]["lag_records"] > 0
        terminal.press("g\r")  # the most lag is in the first line: the group that is stalled
        terminal.wait("MARGIN")
        terminal.wait(f"group {groups[STALLED]}")

        def partitions() -> dict[tuple[str, int], tuple[int, int, int]]:
            lines = [line.split() for line in terminal.screen.display if " client-of-" in line]
            rows = [[number(word) for word in words if word.replace(",", "").isdigit()] for words in lines]
            return {(groups[STALLED], row[0]): (row[1], row[2], row[3]) for row in rows if len(row) > 3}

        expected = {at: row for at, row in theirs.items() if at[0] == groups[STALLED]}
        terminal.wait(lambda: len(partitions()) == len(expected))  # a screen may be read while it is written
        assert partitions() == expected
        terminal.press("q")
        assert terminal.ended() == 0


@pytest.mark.case("R22")
def test_once_in_a_real_terminal(kafka: Kafka, groups: Mapping[str, str], frozen: threading.Event) -> None:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    soon(lambda: all_have_committed(kafka, groups), "all groups have committed", 60)
    frozen.set()
    time.sleep(1)
    lags = {one["group"]: one["lag_records"] for one in lag_by(kafka, "group", groups)}
    tmux = ["tmux", "-L", f"kcli-{os.getpid()}", "-f", "/dev/null"]
    command = [sys.executable, "-m", "kcli", "top", *groups.values(), "--interval", "1s"]

    def screen() -> str:
        return subprocess.run(
            [*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True
        ).stdout

    def wait(word: str, *, shown: bool = True) -> str:
        until = time.monotonic() + PATIENCE
        while (word in (text := screen())) != shown:
            assert time.monotonic() < until, f"{word}\n{text}"
            time.sleep(0.1)
        return text

    variables = environment(kafka.bootstrap)
    subprocess.run(
        [*tmux, "new-session", "-d", "-x", "120", "-y", "30", "sh"],
        env={**variables, "PS1": "$ "},
        check=True,
    )
    try:
        subprocess.run([*tmux, "send-keys", subprocess.list2cmdline(command), "Enter"], check=True)
        text = wait("3 groups")
        assert {name: number(row_of(text, name)[1][0]) for name in groups.values()} == lags
        for key, word in (
            ("2", "WORST LAG"),
            ("3", "LEADERS"),
            ("4", "ENDPOINT"),
            ("7", "WHAT"),
            ("1", "VERDICT"),
            ("Enter", "COMMITTED"),
        ):
            subprocess.run([*tmux, "send-keys", key], check=True)
            wait(word)
        subprocess.run([*tmux, "send-keys", "q"], check=True)
        wait("COMMITTED", shown=False)  # the screen before is back
        subprocess.run([*tmux, "send-keys", "echo ended-$?", "Enter"], check=True)
        wait("ended-0")
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
