"""``kcli perf compare`` as a user runs it: without a cluster, of two files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.run import kcli, kcli_process
from tests.unit.flows.perf.made_up_runs import made_up_item

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the report of a made-up run; returns its path."""

    def report(name: str, seed: int, fields: dict[str, Any] | None = None, **how: Any) -> str:
        item = made_up_item(Random(seed), **{"noise": 0.005, "drift": 0.005, **how}) | (fields or {})
        path = tmp_path / name
        path.write_text(json.dumps({"kind": "PerfReport", "api": "kcli/v1", "items": [item], "warnings": []}))
        return str(path)

    return report


def test_a_slowdown_is_named_with_its_interval(write: Write) -> None:
    done = kcli("perf", "compare", write("a", 1), write("b", 2, level=1.2))
    assert done.code == 0
    heading, rate, *_ = done.out.splitlines()
    assert heading.split() == [
        "METRIC", "UNIT", "BEFORE", "AFTER", "CHANGE-PERCENT", "LOW-PERCENT", "HIGH-PERCENT", "VERDICT",
    ]  # fmt: skip
    assert rate.split()[0] == "rate"
    assert rate.endswith("slower")
    assert "rate: slower by 1" in done.err
    assert "cpu: more CPU by " in done.err


def test_no_difference_is_said(write: Write) -> None:
    done = kcli("perf", "compare", write("a", 1), write("b", 2))
    assert done.code == 0
    assert done.err.count("no difference (") == 4


def test_a_document_has_the_changes_and_what_is_not_the_same(write: Write) -> None:
    one = write("a", 1, {"configuration": {"acks": "all"}})
    other = write("b", 2, {"configuration": {"acks": "1"}}, level=1.2)
    done = kcli("perf", "compare", one, other, "-o", "json")
    document = json.loads(done.out)
    assert document["kind"] == "PerfComparison"
    assert document["unlike"] == [{"what": "configuration.acks", "before": "all", "after": "1"}]
    assert (document["test"], document["threshold_percent"]) == ("produce", 5.0)
    assert [item["metric"] for item in document["items"]] == ["rate", "p50", "p99", "cpu"]
    rate = document["items"][0]
    assert rate["low_percent"] < rate["change_percent"] < rate["high_percent"] < 0
    assert "not the same: configuration.acks: all and 1" in done.err
    lines = kcli("perf", "compare", one, other, "-o", "ndjson").out.splitlines()
    assert {json.loads(line)["kind"] for line in lines} == {"PerfDifference"}


def test_runs_of_one_file_that_are_no_repetitions_are_named(write: Write, tmp_path: Path) -> None:
    """They are pooled, and the mean of two different tests is the figure of none."""
    mixed = tmp_path / "mixed"
    runs = [
        write(f"a{acks}", seed, {"configuration": {"acks": acks}})
        for seed, acks in enumerate(("all", "1", "0"))
    ]
    mixed.write_text("".join(Path(run).read_text() for run in runs))
    done = kcli("perf", "compare", str(mixed), runs[0])
    assert done.code == 0
    assert f"not the same within {mixed}: configuration.acks: all and 1" in done.err
    assert "not the same: " not in done.err


def test_a_limit_on_a_change_is_exit_8(write: Write) -> None:
    one, same, slow = write("a", 1), write("b", 2), write("c", 3, level=1.2)
    limits = ("--fail-if", "rate<-5%", "--fail-if", "p99>100%")
    assert kcli("perf", "compare", one, same, *limits).code == 0
    done = kcli("perf", "compare", one, slow, *limits)
    assert done.code == 8
    assert "--fail-if rate<-5%: it changed by -1" in done.err
    assert "p99>100%" not in done.err


def test_one_of_the_runs_may_come_by_stdin(write: Write) -> None:
    one, other = write("a", 1), write("b", 2)
    done = kcli_process("perf", "compare", one, "-", stdin=Path(other).read_bytes())
    assert done.returncode == 0
    assert done.stdout.decode() == kcli("perf", "compare", one, other).out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("{a}", "{short}"), "too short to be compared: 20 intervals in 2.0 s"),
        (("{e2e}", "{a}"), "only runs of the same test can be compared"),
        (("{a}", "{a}", "--fail-if", "p95>5%"), "did you mean p9"),
        (("{a}", "{a}", "--fail-if", "p99>5ms"), "a change is a percentage"),
        (("{a}", "{a}", "--threshold", "-1%"), "not a percentage"),
        (("{a}",), "AFTER"),
        (("-", "-"), "stdin can be read once"),
        (("{a}", "nowhere.json"), "cannot read nowhere.json"),
        (("{a}", "{a}", "-o", "kafka"), "kafka"),
    ],
)
def test_what_cannot_be_compared_is_exit_2(write: Write, words: tuple[str, ...], text: str) -> None:
    files = {"a": write("a", 1, intervals=60), "short": write("s", 2, intervals=20)}
    files["e2e"] = write("e", 3, {"test": "e2e"}, intervals=60)
    done = kcli("perf", "compare", *(word.format(**files) for word in words))
    assert (done.code, done.out) == (2, "")
    assert text in done.err


def test_several_runs_of_a_file_are_compared_together(write: Write, tmp_path: Path) -> None:
    several = tmp_path / "several.ndjson"
    for seed in (1, 2, 3):
        item = made_up_item(Random(seed), intervals=60)
        with several.open("a") as file:
            file.write(json.dumps({"kind": "PerfReport", **item}) + "\n")
    done = kcli("perf", "compare", str(several), write("a", 9, intervals=60), "-o", "json")
    document = json.loads(done.out)
    assert (document["runs_before"], document["runs_after"]) == (3, 1)
