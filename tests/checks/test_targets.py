"""Every test runs in exactly one of the targets of `make`: none forgotten, none run twice."""

import ast
import os
import re
import shlex
import subprocess
from itertools import chain, combinations
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from tests.checks.once_more import FOLDER
from tests.conftest import FIXTURES, ON_REAL_BROKERS

ROOT = Path(__file__).parents[2]
TARGETS = ("test", "test-long", "test-brokers", "test-kerberos", "test-spark-cluster", "chaos")
MARKERS = ("computing", "integration", "brokers", "kerberos", "spark_cluster", "soak", "long")


def printed(target: str) -> str:
    """The commands of a target, without what the present run of make was given."""
    own = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PYTEST"))
    }
    command = ["make", "--dry-run", target]
    done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


def runs_of_pytest(target: str) -> list[list[str]]:
    """The command lines with which a target runs pytest, without those on another version of Kafka."""
    commands = re.split(r"\|\||&&|;|\n", printed(target).replace("\\\n", " "))
    runs = [shlex.split(command) for command in commands if "-m pytest" in command]
    return [run for run in runs if "--kafka-version" not in run]


RUNS = {target: runs_of_pytest(target) for target in TARGETS}
COMBINATIONS = list(chain.from_iterable(combinations(MARKERS, n) for n in range(len(MARKERS) + 1)))


def expression(run: list[str]) -> str:
    """What `-m` says to pytest, not to Python."""
    return run[run.index("-m", run.index("pytest")) + 1]


@pytest.mark.parametrize("marks", COMBINATIONS, ids=str)
def test_a_test_with_any_markers_runs_once(marks: tuple[str, ...]) -> None:
    found = [
        target
        for target, runs in RUNS.items()
        for run in runs
        if Expression.compile(expression(run)).evaluate(lambda name, **_: name in marks)
    ]
    assert len(found) == 1, (marks, found)


def test_make_can_make_all_that_its_list_has() -> None:
    """A prerequisite by the name of a variable that is defined further down is another file."""
    targets = set(
        re.findall(r"^make ([a-z-]+)", printed("help").replace("echo '", "").replace('echo "', ""), re.M)
    )
    assert {*TARGETS, "dist", "site", "fuzz"} < targets
    for target in targets:
        assert printed(target), target


def test_the_expressions_know_no_other_marker() -> None:
    words = {word for runs in RUNS.values() for run in runs for word in re.findall(r"\w+", expression(run))}
    assert words - {"and", "not", "or"} == set(MARKERS)


def test_failed_tests_of_each_phase_run_once_more_at_the_end() -> None:
    phases = [run[run.index("--phase") + 1] for run in RUNS["test"]]
    assert len(set(phases)) == len(phases) == 3  # each has a file of its own
    commands = printed("test").replace("\\\n", " ").strip().splitlines()
    for phase in phases:  # red, unless that file is there
        assert commands[-1].count(f"|| [ -e {FOLDER}/{phase} ]; }}") == 1
    assert f"rm -rf {FOLDER}" in commands[-2]
    last = commands[-1].rpartition("[ $waited -eq 0 ] && [ $computed -eq 0 ] && ")[2]
    assert shlex.split(last)[1:] == ["-m", "tests.checks.once_more"]
    assert not any("--phase" in run for target in TARGETS[1:] for run in RUNS[target])


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_covers_all_suites(target: str) -> None:
    assert RUNS[target]
    files = {path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py")}
    for run in RUNS[target]:
        suites = [Path(word) for word in run if word.startswith("tests/")]
        forgotten = [file for file in files if not any(file.is_relative_to(suite) for suite in suites)]
        assert forgotten == []
        assert not {"-k", "--deselect", "--ignore"} & set(run)


def on_real_brokers(file: Path) -> bool:
    """Whether a test or a fixture of the file asks for a broker, or has the mark."""
    text = file.read_text(encoding="utf-8")
    if not any(word in text for word in ("integration", *FIXTURES)):
        return False  # without parsing it
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr == "integration":
            return True
        if isinstance(node, ast.FunctionDef) and FIXTURES & {one.arg for one in node.args.args}:
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            fixture = node.name.startswith("test_") or "fixture" in decorators
            if fixture and not any(f"'{name}'" in decorators for name in FIXTURES):  # of parametrize
                return True
    return False


def test_all_tests_on_real_brokers_are_where_the_second_phase_looks_for_them() -> None:
    """`pytest_ignore_collect` leaves out other files."""
    tests = sorted((ROOT / "tests").rglob("test_*.py")) + sorted((ROOT / "tests").rglob("conftest.py"))
    found = {path.relative_to(ROOT).as_posix() for path in tests if on_real_brokers(path)}
    assert {"tests/proxy/test_hold.py", "tests/fake/test_like_a_real_broker.py"} < found  # the search works
    assert [name for name in found if not name.startswith(ON_REAL_BROKERS)] == []
