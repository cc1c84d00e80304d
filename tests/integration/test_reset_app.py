"""Applications of Kafka Streams on a real broker are reset, and count the same again; beside Kafka's own tools."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import _kafka_tools as tools
from kcli.core import Admin
from tests.integration.kafka_script import reset_application, sorted_lines, streams_groups
from tests.integration.test_share_and_streams_groups import needs_lag_of_share_groups, wait_until
from tests.kafka import Kafka
from tests.run import Done, kcli_process

pytestmark = pytest.mark.integration
WORD_COUNT = Path(__file__).with_name("WordCount.java")
LINES = [f"{'a ' * (number % 3 + 1)}b{number % 5} c" for number in range(60)]
EXPECTED = {"a": 120, **{f"b{number}": 12 for number in range(5)}, "c": 60}
PARTITIONS = 2
PATIENCE = 120.0
BOTH = pytest.mark.parametrize("protocol", ["classic", "streams"])
ONE_IS_LONG = pytest.mark.parametrize(
    "protocol", [pytest.param("classic", marks=pytest.mark.long), "streams"]
)


def run(kafka: Kafka, *arguments: str, code: int = 0, stdin: bytes = b"") -> Done:
    done = kcli_process(*arguments, bootstrap=kafka.bootstrap, stdin=stdin)
    assert done.code == code, (done.out, done.err)
    return done


class App:
    """A word count of its own, which reads ``source``, and writes what it has counted to a new topic at each start."""

    def __init__(self, kafka: Kafka, protocol: str, folder: Path, store: str = "memory") -> None:
        if protocol == "streams":
            needs_lag_of_share_groups(kafka)
        self.kafka, self.protocol, self.folder, self.store = kafka, protocol, folder, store
        self.name, self.source = kafka.unused_name("count"), kafka.topic("lines", partitions=PARTITIONS)
        self.write(LINES)

    def write(self, lines: list[str]) -> None:
        """To the partitions in turn, so that with two lines neither is empty."""
        for number in range(PARTITIONS):
            text = "".join(f"{line}\n" for line in lines[number::PARTITIONS])
            if text:
                run(self.kafka, "produce", self.source, "-p", str(number), "-q", stdin=text.encode())

    def counts(self, *, until: dict[str, int] | None = None) -> dict[str, int]:
        """Runs it until it has counted ``until`` and all is committed; what it has counted at the end."""
        sink = self.kafka.topic("counted", partitions=2)
        with self.running(sink):
            wanted, end = EXPECTED if until is None else until, time.monotonic() + PATIENCE
            while (found := self._read(sink)) != wanted or self._lag() != 0:
                assert time.monotonic() < end, (found, self._lag())
                time.sleep(0.5)
        self._emptied()
        return self._read(sink)

    @contextmanager
    def running(self, sink: str) -> Iterator[subprocess.Popen[bytes]]:
        command = tools.tool(
            str(WORD_COUNT), tools.STREAMS, *([tools.ROCKSDB] if self.store == "rocksdb" else [])
        )
        if command is None:
            pytest.skip("there is no Java to run Kafka Streams")
        words = [
            self.kafka.bootstrap,
            self.name,
            self.protocol,
            self.source,
            sink,
            str(self.folder),
            self.store,
            "1",
        ]
        process = subprocess.Popen(
            [*command, *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()  # it leaves its group
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _read(self, sink: str) -> dict[str, int]:
        done = run(self.kafka, "consume", sink, "-e", "-f", "%k %v\n")
        return {word: int(count) for word, count in (line.split() for line in done.out.splitlines())}

    def _lag(self) -> int | None:
        """None before each partition of the source has a commit."""
        done = kcli_process("groups", "lag", self.name, "-o", "json", bootstrap=self.kafka.bootstrap)
        rows = done.items if done.code == 0 else []
        lags = [row["lag_records"] for row in rows if row["topic"] == self.source]
        return None if len(lags) < PARTITIONS or None in lags else sum(lags)

    def exported(self, *words: str) -> str:
        """The commits of its group, when those on deleted topics are forgotten: the coordinator is told of a deletion."""

        def done() -> Done:
            return kcli_process("groups", "export", self.name, *words, bootstrap=self.kafka.bootstrap)

        wait_until(lambda: done().code == 0)
        return done().out

    def _emptied(self) -> None:
        """Streams leaves its group only at the end of its session, unless it is removed."""
        run(self.kafka, "groups", "remove-members", self.name, "--yes", "-q")

    def internal(self) -> set[str]:
        with Admin(bootstrap_servers=self.kafka.bootstrap) as admin:
            return {topic.name for topic in admin.list_topics() if topic.name.startswith(f"{self.name}-")}

    @property
    def changelog(self) -> str:
        return f"{self.name}-counts-changelog"

    @property
    def repartition(self) -> str:
        return f"{self.name}-words-repartition"


@pytest.mark.long
@BOTH
def test_an_application_that_was_reset_counts_as_a_new_one_does(
    kafka: Kafka, protocol: str, tmp_path: Path
) -> None:
    app = App(kafka, protocol, tmp_path)
    assert app.counts() == EXPECTED
    assert app.internal() == {app.changelog, app.repartition}
    done = run(kafka, "groups", "reset-app", app.name, "--yes", "-o", "json")
    rows = {(row["topic"], row["partition"]): row for row in done.items}
    assert {key: (row["new"], row["status"], row["action"]) for key, row in rows.items()} == {
        (app.source, 0): (0, "done", "commit"),
        (app.source, 1): (0, "done", "commit"),
        (app.changelog, None): (None, "done", "delete_topic"),
        (app.repartition, None): (None, "done", "delete_topic"),
    }
    assert app.internal() == set()
    offsets = [json.loads(line) for line in app.exported("--format", "ndjson").splitlines()]
    assert {(row["topic"], row["partition"], row["offset"], row["metadata"]) for row in offsets} == {
        (app.source, 0, 0, ""),
        (app.source, 1, 0, ""),
    }
    assert app.counts() == EXPECTED


@BOTH
def test_what_it_does_is_what_kafkas_tool_does(kafka: Kafka, protocol: str, tmp_path: Path) -> None:
    """The same plan, and after either the application has the same offsets and no internal topic."""
    app = App(kafka, protocol, tmp_path)
    assert app.counts() == EXPECTED
    judge = reset_application(kafka, "--application-id", app.name, "--input-topics", app.source, "--dry-run")
    plan = json.loads(run(kafka, "groups", "reset-app", app.name, "--dry-run", "-o", "json").out)["items"]
    for row in plan:
        if row["partition"] is not None:
            assert f"Topic: {row['topic']} Partition: {row['partition']} Offset: {row['new']}" in judge.stdout
    doomed = sorted(row["topic"] for row in plan if row["partition"] is None)
    (names,) = re.findall(r"internal topics \[(.*)\]", judge.stdout)
    assert sorted(names.split(", ")) == doomed
    assert app.internal() == set(doomed)
    done = reset_application(kafka, "--application-id", app.name, "--input-topics", app.source)
    assert done.returncode == 0, done.stdout + done.stderr
    assert app.internal() == set()
    left = run(kafka, "groups", "reset-app", app.name, "--yes", "-o", "json").items
    assert {(row["topic"], row["partition"], row["status"]) for row in left} == {
        (app.source, 0, "unchanged"),
        (app.source, 1, "unchanged"),
    }
    assert app.counts() == EXPECTED


@pytest.mark.long
def test_offsets_alone_would_count_twice(kafka: Kafka, tmp_path: Path) -> None:
    """Why a rewind of the inputs is refused while there are internal topics, and what it would lead to."""
    app = App(kafka, "streams", tmp_path)
    assert app.counts() == EXPECTED
    refused = run(
        kafka, "groups", "rewind", app.name, "--topic", app.source, "--to", "earliest", "--yes", code=7
    )
    assert f"kcli groups reset-app {app.name}" in refused.err
    assert app.changelog in refused.err
    for line in (
        ("groups", "delete-offsets", app.name, "-t", app.source, "--yes"),
        ("groups", "import", "-", "--group", app.name, "--yes"),
    ):
        stdin = f"{app.source},0,0\n".encode() if "import" in line else b""
        assert f"kcli groups reset-app {app.name}" in run(kafka, *line, code=7, stdin=stdin).err
    done = streams_groups(
        kafka,
        "--reset-offsets",
        "--group",
        app.name,
        "--all-input-topics",
        "--to-earliest",
        "--execute",
    )
    assert done.returncode == 0, done.stdout
    assert app.counts(until={word: 2 * count for word, count in EXPECTED.items()})["c"] == 120


@ONE_IS_LONG
def test_an_application_that_runs_is_refused_and_left_alone(
    kafka: Kafka, protocol: str, tmp_path: Path
) -> None:
    app = App(kafka, protocol, tmp_path)
    sink = kafka.topic("counted")
    with app.running(sink):
        wait_until(lambda: app._lag() == 0)
        for more in ("--dry-run", "--yes"):
            refused = run(kafka, "groups", "reset-app", app.name, more, "-o", "json", code=7)
            assert {row["status"] for row in json.loads(refused.out)["items"]} == {"refused"}
            assert f"kcli groups remove-members {app.name}" in refused.err
        assert app.internal() == {app.changelog, app.repartition}
        assert app._lag() == 0
    app._emptied()


def test_the_form_of_kafkas_script_is_its_text(kafka: Kafka, tmp_path: Path) -> None:
    app = App(kafka, "streams", tmp_path)
    everything = [
        (section, more, verbose)
        for section in ("--offsets", "--members", "--state")
        for more, verbose in (((), ()), (("-v",), ("--verbose",)))
    ]

    def same(section: str, more: tuple[str, ...], verbose: tuple[str, ...]) -> None:
        mine = run(kafka, "groups", "describe", app.name, section, "-o", "kafka", *more).out
        judge = streams_groups(kafka, "--describe", "--group", app.name, section, *verbose)
        assert sorted_lines(mine) == sorted_lines(judge.stdout), section

    def drained() -> bool:
        """Both partitions of the source, and both of the repartition topic."""
        rows = run(kafka, "groups", "lag", app.name, "-o", "json").items
        return [row["lag_records"] for row in rows] == [0] * 4

    with app.running(kafka.topic("counted")):
        wait_until(lambda: app._lag() == 0 and drained())
        for line in everything:
            same(*line)
    app._emptied()
    for line in everything[::2]:
        same(*line)


@pytest.mark.long
def test_topics_of_an_application_whose_name_begins_alike_stay(kafka: Kafka, tmp_path: Path) -> None:
    """Kafka's tool would delete them: it takes all names that begin with that of the application."""
    app = App(kafka, "classic", tmp_path)
    assert app.counts() == EXPECTED
    other = f"{app.name}-2"
    alike = f"{other}-counts-changelog"
    run(kafka, "topics", "create", alike, "--yes")
    run(kafka, "groups", "create", other, "-t", app.source, "--from", "latest", "--yes")
    judge = reset_application(kafka, "--application-id", app.name, "--dry-run")
    assert alike in judge.stdout
    refused = run(kafka, "groups", "reset-app", app.name, "--yes", code=7)
    assert other in refused.err
    assert app.internal() == {app.changelog, app.repartition, alike}
    words = [word for topic in (app.changelog, app.repartition) for word in ("--internal-topic", topic)]
    assert " ".join(["kcli groups reset-app", app.name, *words]) in refused.err
    run(kafka, "groups", "reset-app", app.name, *words, "--yes")
    assert app.internal() == {alike}


def test_the_offsets_can_be_restored(kafka: Kafka, tmp_path: Path) -> None:
    app = App(kafka, "streams", tmp_path)
    assert app.counts() == EXPECTED
    before = app.exported()
    done = run(kafka, "groups", "reset-app", app.name, "--yes", "-o", "json")
    (undo,) = {row["undo"] for row in done.items if row["partition"] is not None}
    run(kafka, "groups", "rewind", app.name, f"--undo={undo}", "--yes")
    after = set(app.exported().splitlines())
    assert {line for line in before.splitlines() if line.startswith(f"{app.source},")} == after


def test_groups_of_streams_are_deleted_and_restored(kafka: Kafka, tmp_path: Path) -> None:
    """What Kafka's tool does with --delete; and the application goes on from the restored offsets."""
    app = App(kafka, "streams", tmp_path)
    assert app.counts() == EXPECTED
    done = run(kafka, "groups", "delete", app.name, "--yes", "-o", "json")
    assert [(row["type"], row["status"]) for row in done.items] == [("streams", "done")]
    assert run(kafka, "groups", "list", "--match", app.name, "-o", "json").items == []
    run(kafka, "undo", json.loads(done.out)["undo"], "--yes")
    app.write(["a b0"])
    assert app.counts(until={"a": 121, "b0": 13}) == {"a": 121, "b0": 13}


@pytest.mark.long
@BOTH
def test_state_on_disk_is_counted_anew_once_it_is_removed(
    kafka: Kafka, protocol: str, tmp_path: Path
) -> None:
    """The same with stores of RocksDB, whose folder the plan tells to remove."""
    app = App(kafka, protocol, tmp_path / "state", store="rocksdb")
    assert app.counts() == EXPECTED
    plan = run(kafka, "groups", "reset-app", app.name, "--dry-run")
    assert "delete state.dir of each instance" in " ".join(plan.out.split())
    run(kafka, "groups", "reset-app", app.name, "--yes")
    app.folder = tmp_path / "new"
    assert app.counts() == EXPECTED
