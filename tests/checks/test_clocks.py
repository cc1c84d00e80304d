"""Who reads which clock: timeouts of the core know the monotonic one only (case N17)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "kcli" / "core"
CLOCK = "kcli/core/clock.py"

WALL_MS_FOR = {
    "kcli/core/consumer/positions.py": "auto.offset.reset=by_duration looks for records by their timestamps",
    "kcli/core/consumer/topic_records.py": "since= and until= of read_topic are relative to now",
    "kcli/core/producer/column_submission.py": "the timestamp of a row that has none",
    "kcli/core/consumer/open_transactions.py": "how long ago a broker's timestamp was, for a message",
    "kcli/core/net/tls/failures.py": "the time of day in an error about a certificate",
    "kcli/core/net/tls/pem_files.py": "whether a certificate of one's own is valid now",
    "kcli/core/offline/transactions.py": "how long transactions have been open, as brokers reckon it for a list",
    "kcli/core/producer/producer.py": "the timestamp of a record that has none",
}
"""The only places that may ask for the time of day, and what for: none of them waits by it."""

_OF_TIME = frozenset({"time", "time_ns", "localtime", "gmtime", "ctime", "clock_gettime", "clock_gettime_ns"})
_OF_DATETIME = frozenset({"now", "utcnow", "today"})


def wall_clocks(source: str) -> Iterator[str]:
    """What reads the time of day in a source text: ``line: name``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from (f"{node.lineno}: {one.name}" for one in node.names if one.name in _OF_TIME)
        elif isinstance(node, ast.Attribute):
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else ""
            owner = node.value.id if isinstance(node.value, ast.Name) else owner
            if (owner == "time" and node.attr in _OF_TIME) or (
                owner in ("datetime", "date") and node.attr in _OF_DATETIME
            ):
                yield f"{node.lineno}: {owner}.{node.attr}"
        elif isinstance(node, ast.Constant) and node.value == "wall_ms":
            yield f"{node.lineno}: wall_ms by its name"


def asks_wall_ms(source: str) -> bool:
    return any(
        (isinstance(node, ast.Attribute) and node.attr == "wall_ms")
        or (isinstance(node, ast.ImportFrom) and any(one.name == "wall_ms" for one in node.names))
        for node in ast.walk(ast.parse(source))
    )


def sources() -> dict[str, str]:
    return {str(path.relative_to(ROOT)): path.read_text() for path in sorted(CORE.rglob("*.py"))}


@pytest.mark.case("N17")
def test_only_one_file_of_the_core_reads_the_time_of_day() -> None:
    found = {file: told for file, text in sources().items() if (told := list(wall_clocks(text)))}
    assert set(found) == {CLOCK}, found


@pytest.mark.case("N17")
def test_the_wall_clock_is_read_for_timestamps_only() -> None:
    asking = {file for file, text in sources().items() if asks_wall_ms(text)}
    assert asking - {CLOCK} <= WALL_MS_FOR.keys()


@pytest.mark.parametrize(
    "text",
    [
        "import time\ndeadline = time.time() + 5",
        "from time import time",
        "import time\nnow = time.time_ns",
        "import datetime\nnow = datetime.datetime.now()",
        "from datetime import datetime\nnow = datetime.utcnow()",
    ],
)
def test_the_check_notices(text: str) -> None:
    assert list(wall_clocks(text))


@pytest.mark.parametrize(
    "text", ["import time\nnow = time.monotonic()", "from time import perf_counter", "x.now()"]
)
def test_the_check_leaves_others_alone(text: str) -> None:
    assert not list(wall_clocks(text))


@pytest.mark.parametrize("text", ["from kcli.core.clock import wall_ms", "clock.wall_ms()"])
def test_the_check_finds_reads_of_the_clock(text: str) -> None:
    assert asks_wall_ms(text)
