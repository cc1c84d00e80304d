"""Nothing of kcli executes or unpickles what it reads (X3): found in its syntax, so that no name of a variable counts."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kcli

pytestmark = pytest.mark.case("X3")
PACKAGE = Path(kcli.__file__).parent
MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve"}
CALLS = {"eval", "exec", "compile", "__import__"}
YAML = {"load", "load_all", "unsafe_load", "full_load", "unsafe_load_all", "full_load_all"}
MADE_HERE = {
    *(("core/protocol/compiler.py", call) for call in ("exec", "compile")),
    *(("core/classes.py", call) for call in ("exec", "eval")),
}
"""Source code that is made from field tables and names of fields; no byte of a peer is in it."""
TO_WORKERS = {
    ("flows/perf/workers.py", "pickle"),
    ("flows/consume/ahead.py", "marshal"),
    ("flows/inputs/shared.py", "marshal"),
}
"""For processes of this run, and from them, by pipes and memory that only these have: options with their secrets, and
what forks of this process make of records.
"""

OWN_FILES = {("flows/consume/buckets.py", "marshal")}
"""Read from a file without a name that this process has written, and that no other can open by its path."""


WORDS = re.compile(rf"\b(?:{'|'.join(MODULES)}|yaml)\b|(?<![.\w])(?:{'|'.join(CALLS)})\b")
"""Without a match there is nothing to parse: those of ``CALLS`` count as names alone."""


def unsafe(source: str) -> Iterator[str]:
    if not WORDS.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from MODULES & {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            yield from MODULES & {(node.module or "").partition(".")[0]}
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name):
                yield from CALLS & {called.id}
            elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                yield from YAML & {called.attr} if called.value.id == "yaml" else ()


def test_nothing_that_is_read_is_executed() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) > 500
    found = {
        (path.relative_to(PACKAGE).as_posix(), one) for path in files for one in unsafe(path.read_text())
    }
    assert found == MADE_HERE | TO_WORKERS | OWN_FILES


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from marshal import loads",
        "eval(text)",
        "def f():\n    return yaml.load(text, yaml.Loader)",
    ],
)
def test_unsafe_code_is_found(source: str) -> None:
    assert list(unsafe(source))


@pytest.mark.parametrize(
    "source", ["yaml.safe_load(text)", "re.compile(text)", "json.loads(text)", "evaluate(x)"]
)
def test_safe_code_is_not(source: str) -> None:
    assert not list(unsafe(source))
