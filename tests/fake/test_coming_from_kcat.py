"""The rows of docs/from/kcat.md whose difference is "nothing": both lines are run, and print or send the same."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.types import Record
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.run import environment, kcli_process, ok, run
from tests.warm_kcli import KCLI

PAGE = Path(__file__).parents[2] / "docs" / "from" / "kcat.md"
CONSUMED, PRODUCED, METADATA = "Consuming", "Producing", "Metadata and offsets"
FIRST, SECOND = 1_732_180_000_000, 1_732_190_000_000
"""The times in the lines of the page."""

pytestmark = pytest.mark.skipif(not shutil.which("kcat"), reason="kcat is not installed")


def same(heading: str) -> list[tuple[str, str]]:
    """The lines of kcat and of kcli that differ in nothing, of a section of the page."""
    section = PAGE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [re.split(r"(?<!\\)\|", row)[1:4] for row in section.splitlines() if row.startswith("| `")]
    lines = [[re.sub(r"^ `(.*)` $", r"\1", cell).replace(r"\|", "|") for cell in row] for row in rows]
    return [(theirs, ours) for theirs, ours, differs in lines if differs.strip().startswith("nothing")]


PRINTED_PAIRS = [pair for pair in same(CONSUMED) if {"-e", "-c"} & set(shlex.split(pair[0]))]
"""Those that end."""
PRODUCED_PAIRS = same(PRODUCED)


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    """A topic with nulls, empties, headers and times around those of the lines; one with a number."""
    with FakeCluster(1, topics={"orders": 3, "numbers": 1}) as made:
        headers = (("source", b"shop"), ("flag", None))
        values = [
            (b"k1", b"one"),
            (None, b"two"),
            (b"", b""),
            (b"k2", None),
            (b"k1", b"\xc3\xa9"),
            (None, None),
        ]
        for partition in range(3):
            rows = [
                Record("orders", partition, n, FIRST - 2_000 + n * 4_000_000, 0, *one, headers[: n % 3])
                for n, one in enumerate(values)
            ]
            made.append("orders", partition, bytes(batch_of(rows).raw))
        number = Record("numbers", 0, 0, FIRST, 0, None, b"\x00\x00\x01\x41", ())
        made.append("numbers", 0, bytes(batch_of([number]).raw))
        yield made


def kcat(line: str, bootstrap: str, folder: Path) -> bytes:
    """What kcat prints; ``line`` may redirect its input."""
    words = line.replace("kcat ", f"kcat -q -b {bootstrap} ", 1)
    done = subprocess.run(["bash", "-c", words], cwd=folder, capture_output=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize(("theirs", "ours"), PRINTED_PAIRS)
def test_the_same_records_are_printed(theirs: str, ours: str, cluster: FakeCluster, tmp_path: Path) -> None:
    printed = kcat(theirs, cluster.bootstrap, tmp_path)
    assert printed
    done = kcli_process(*shlex.split(ours)[1:], bootstrap=cluster.bootstrap)
    assert sorted(ok(done).splitlines()) == sorted(printed.splitlines())


@pytest.mark.parametrize(("theirs", "ours"), PRODUCED_PAIRS)
def test_the_same_records_are_sent(theirs: str, ours: str, cluster: FakeCluster, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one\ntwo\n|three\n")
    (tmp_path / "keyed.txt").write_text("k1:one\nno key\nk2:\n:\nk1:two:three\n")
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_bytes(f"\0{name}\n\n".encode())
    sent = []
    for tool, given in (("kcat", theirs), ("kcli", ours)):
        topic = f"sent-by-{tool}-{PRODUCED_PAIRS.index((theirs, ours))}"
        cluster.create_topic(topic, 3)
        line = given.replace("orders", topic)
        if tool == "kcat":
            kcat(line, cluster.bootstrap, tmp_path)
        else:
            words, _, file = line.partition(" < ")
            source = (tmp_path / file).read_bytes() if file else b""
            command = [*KCLI, *shlex.split(words)[1:]]
            ok(
                run(
                    command,
                    input=source,
                    capture_output=True,
                    cwd=tmp_path,
                    env=environment(cluster.bootstrap),
                )
            )
        sent.append(records(topic, cluster.bootstrap, ours))
    assert sent[0] == sent[1] != []


def records(topic: str, bootstrap: str, line: str) -> list[str]:
    """Key, value and headers of all records; the partition too where the line names it."""
    done = kcli_process("consume", topic, "-e", "-o", "ndjson", bootstrap=bootstrap)
    kept = ["key", "value", "headers", *(["partition"] if " -p " in line else [])]
    found = [json.loads(text) for text in ok(done).splitlines()]
    return sorted(json.dumps({name: one.get(name) for name in kept}) for one in found)


def test_most_rows_promise_nothing() -> None:
    """The table is read as it is meant."""
    assert len(PRINTED_PAIRS) > 12
    assert len(PRODUCED_PAIRS) > 8
    assert not same(METADATA)
