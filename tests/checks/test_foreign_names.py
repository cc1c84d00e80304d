"""What kcli uses of others beyond their interface: names with an underscore in front, with a reason and versions.

Such a name may go with any release of its library. So pyproject.toml has an upper bound for each of these libraries, and
what is tried is the oldest and the newest version that it allows (``make test-lowest``, ``make test-latest``).
"""

import ast
import importlib
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REQUIREMENTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DECISION = "0141-what-is-used-of-libraries-beyond-their-interface.md"

PYTHON = {
    "_signal": "signal, without the enumerations that it makes at import",
    "_socket": "socket, likewise",
    "_random": "random, without the tables that it computes at import",
    "_sha2": "hashlib, without OpenSSL",
    "_sha256": "the same before Python 3.12",
    "_collections": "where the standard library has what collections.namedtuple is made of",
    "_tuplegetter": "of it: the attribute of a named tuple",
    "_run_exitfuncs": "of atexit: what a process that ends early has to do first",
    "_exit": "os._exit is documented",
    "_getframe": "sys._getframe is documented",
    "_asdict": "of named tuples: documented",
    "_fields_": "of ctypes: documented",
}
"""Names of Python's own, which are documented, or have been there in all versions that are supported."""

FOREIGN: dict[str, tuple[str, dict[str, str]]] = {
    "kcli/commands/shared/options.py": (
        "click",
        dict.fromkeys(
            ("_match_long_opt", "_match_short_opt", "_long_opt", "_short_opt"),
            "an option whose value attaches by = only, and repeats that are errors: click has no hook between its words",
        ),
    ),
    "kcli/tui/driver.py": (
        "textual",
        {
            "_xterm_parser": "keys of a terminal: the driver of a terminal that is not stdin reads them itself",
            "_timeout_time": "when a lone escape is the key",
            "_auto_restart": "the base class asks it after a stop",
            "_debug": "of the base class, handed to the parser",
            "_writer_thread": "of the base class, which waits for it",
        },
    ),
    "kcli/tui/app.py": (
        "textual",
        {
            "_styles_cache": "lines that are drawn anew only where they changed",
            "_driver": "the driver that the app made, which is kcli's",
            "_close_messages_no_wait": "ends the app within the deadline, even where a worker hangs",
            "_exception_event": "set when a screen failed, which ends the app",
        },
    ),
    "kcli/docgen/frames.py": (
        "textual",
        {
            "_compositor": "draws a screen into lines, for the pictures of the documentation",
            "_background_screens": "the screens behind a dialog, likewise",
        },
    ),
    "kcli/pipeline/spark/session.py": (
        "pyspark",
        {
            "_active_spark_context": "whether there is a context, without making one",
            "_gateway": "whether its Java still answers",
        },
    ),
    "kcli/pipeline/spark/query.py": ("pyspark", {"_jdf": "the plan that Spark made of a data frame"}),
    "kcli/pipeline/spark/runner.py": (
        "pyspark",
        {"_accumulatorRegistry": "what became of the parts of a job that was given up"},
    ),
    "kcli/pipeline/spark/undecoded.py": (
        "pyspark",
        {"_deserialize_accumulator": "an accumulator on a worker, which has no context"},
    ),
}
"""By file: the library, and what is used with the reason."""

TRIED = {"click": ("8.2.0", "8.5.1"), "textual": ("8.2.6", "8.2.8"), "pyspark": ("4.2.0", "4.3.0")}
"""The oldest and the newest version with which the tests of these files passed."""


def private(name: str) -> bool:
    return name.startswith("_") and name != "_" and not (name.startswith("__") and name.endswith("__"))


@cache
def trees() -> dict[str, ast.Module]:
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text())
        for path in sorted((ROOT / "kcli").rglob("*.py"))
    }


def defined(tree: ast.AST) -> set[str]:
    """Names that a module of kcli gives to something of its own, attributes and slots included."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.Constant(value=str(name)) if name.isidentifier():
                found.add(name)
    return found


def foreign_names(tree: ast.AST, own: set[str]) -> set[str]:
    """Names with an underscore that are used in a module, and nowhere in kcli made."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if name not in own:
                found.add(name)
            case ast.ImportFrom(module=str(module), names=names, level=0) if (
                module.partition(".")[0] != "kcli"
            ):
                found.update(module.split("."), (one.name for one in names))
            case ast.Import(names=names):
                found.update(part for one in names for part in one.name.split("."))
    return {name for name in found if private(name)}


def test_what_is_used_beyond_an_interface_has_a_row() -> None:
    own = set().union(*(defined(tree) for tree in trees().values())) - ALSO_STORED
    used = {path: foreign_names(tree, own) - PYTHON.keys() - OF_THE_KERNELS for path, tree in trees().items()}
    assert {path: names for path, names in used.items() if names} == {
        path: set(names) for path, (_, names) in FOREIGN.items()
    }


ALSO_STORED = {
    *("_fields_", "_timeout_time", "_match_long_opt", "_match_short_opt", "_long_opt", "_short_opt"),
    *("_active_spark_context", "_gateway"),
}
"""Names of others that kcli also sets, or names in a text."""
OF_THE_KERNELS = {"_arrow_array", "_arrow_schema", "_arrow_stream"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("parser._hidden()", {"_hidden"}),
        ("parser._mine", set()),
        ("from lib._inner import thing", {"_inner"}),
        ("from lib import _thing as thing", {"_thing"}),
        ("import lib._inner", {"_inner"}),
        ("from kcli._inner import _thing", set()),
        ("thing.__dict__", set()),
    ],
)
def test_each_way_to_use_one_is_seen(source: str, expected: set[str]) -> None:
    assert foreign_names(ast.parse(source), {"_mine"}) == expected


@pytest.mark.parametrize("library", TRIED)
def test_the_bounds_are_the_versions_that_were_tried(library: str) -> None:
    assert {name for name, _ in FOREIGN.values()} == TRIED.keys()
    lines = [
        *REQUIREMENTS["dependencies"],
        *(one for some in REQUIREMENTS["optional-dependencies"].values() for one in some),
    ]
    (bounds,) = {
        found[1] for line in lines if (found := re.match(rf"{library}(?:\[\w+\])?(>=[\d.]+,<[\d.]+)", line))
    }
    low, high = (tuple(map(int, one.split("."))) for one in re.findall(r"[\d.]+", bounds))
    oldest, newest = (tuple(map(int, one.split("."))) for one in TRIED[library])
    assert oldest[: len(low)] == low
    assert newest < high
    assert high == ((newest[0] + 1,) if len(high) == 1 else (newest[0], newest[1] + 1)), "the next version"


@pytest.mark.parametrize("library", TRIED)
def test_the_page_has_every_row(library: str) -> None:
    page = (ROOT / "docs" / "decisions" / DECISION).read_text()
    assert f"| {library} | {TRIED[library][0]} to {TRIED[library][1]} |" in page
    for name, names in FOREIGN.values():
        if name == library:
            assert all(f"`{one}`" in page for one in names)
    assert importlib.util.find_spec(library)
