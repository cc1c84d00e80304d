"""``docs/traceability.md`` has no gap and no dead link: every feature, case and goal, its place, its test.

The checker below takes the text and the top of a tree and answers with a list of faults, so that the last tests
here can give it broken pages and see that it notices.
"""

import ast
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = Path("docs/traceability.md")

CASES = {"N": 18, "B": 16, "G": 14, "O": 17, "P": 18, "F": 18, "M": 20, "C": 18, "T": 10, "S": 12, "K": 11}
GOALS = {"R": 25}
# Features may be added at the end of a section; none may be lost.
FEATURES_AT_LEAST = {"S0": 71, "S1": 16, "S2": 15, "S3": 8, "S4": 31}
MILESTONES = {"producer", "consumer", "shell", "groups", "mirror", "live screen", "spark", "security"}

ALL_CASES = frozenset(
    f"{family}{number}" for family, last in (CASES | GOALS).items() for number in range(1, last + 1)
)
_ROW_START = re.compile(r"\|\s*(?:[A-Z]\d+-)?[A-Z]?\d+\s*\|")
_CELL_END = re.compile(r"(?<!\\)\|")
_LINK = re.compile(r"\[([^]]*)\]\(([^)]*)\)")
_FEATURE = re.compile(r"(S[0-4])-([1-9]\d*)")
_CASES_OF_NAME = re.compile(r"test_((?:[a-z]\d+_)+)")
_IDS = r"[A-Z]\d+(?:(?:, | and )[A-Z]\d+)*"
_CASES_OF_DOCSTRING = re.compile(rf"^(?:(?:Kafka )?[Cc]ases? )?({_IDS})[:.]|\(({_IDS})\)")


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    text: str
    state: str  # built, planned, impossible
    detail: str  # the milestone, or the reason
    where: str
    test: str

    @property
    def links(self) -> list[tuple[str, str]]:
        return _LINK.findall(self.where) + _LINK.findall(self.test)


@dataclass(frozen=True, slots=True)
class CaseTest:
    """A test that carries ids of cases."""

    file: str
    name: str  # empty: any test of this file
    cases: frozenset[str]


def read_rows(page: str) -> tuple[list[Row], list[str]]:
    """The rows of all tables that begin with an id, and what could not be read as one."""
    rows, faults = [], []
    for line in page.splitlines():
        if not _ROW_START.match(line):
            continue
        cells = [cell.strip() for cell in _CELL_END.split(line)[1:-1]]
        if len(cells) != 5:
            faults.append(f"{cells[0]}: {len(cells)} cells instead of 5")
            continue
        state, _, detail = (part.strip() for part in cells[2].partition(":"))
        rows.append(Row(cells[0], cells[1], state, detail, cells[3], cells[4]))
    return rows, faults


def faults_of(page: str, tree: Path, tests: Iterable[CaseTest]) -> list[str]:
    """Everything that is wrong with the page, one line each."""
    rows, faults = read_rows(page)
    faults += _faults_of_ids([row.id for row in rows])
    for row in rows:
        faults += [f"{row.id}: {fault}" for fault in _faults_of_row(row, tree)]
    faults += _tests_not_listed(rows, tests)
    return faults


def _faults_of_ids(ids: list[str]) -> Iterator[str]:
    times = Counter(ids)
    yield from (f"{id_}: {count} rows" for id_, count in times.items() if count > 1)
    yield from (f"{id_}: no row" for id_ in sorted(ALL_CASES - times.keys()))
    last = dict(FEATURES_AT_LEAST)
    for id_ in times.keys() - ALL_CASES:
        feature = _FEATURE.fullmatch(id_)
        if not feature:
            yield f"{id_}: no such id"
        else:
            last[feature[1]] = max(last[feature[1]], int(feature[2]))
    for section, count in last.items():
        wanted = {f"{section}-{number}" for number in range(1, count + 1)}
        yield from (f"{id_}: no row" for id_ in sorted(wanted - times.keys()))


def _faults_of_row(row: Row, tree: Path) -> Iterator[str]:
    if not row.text:
        yield "says nothing"
    match row.state:
        case "built":
            if row.detail:
                yield f"built needs no {row.detail!r}"
            if not _LINK.search(row.where):
                yield "built, but no link says where"
            if not _LINK.search(row.test):
                yield "built, but no link to a test"
        case "planned":
            if row.detail not in MILESTONES:
                yield f"planned for an unknown milestone {row.detail!r}"
        case "impossible":
            if not row.detail:
                yield "impossible without a reason"
        case _:
            yield f"unknown state {row.state!r}"
    for text, target in row.links:
        fault = _fault_of_link(text, target, tree)
        if fault:
            yield fault
    for text, target in _LINK.findall(row.test):
        if not target.startswith("../tests/"):
            yield f"{text} is no test"


def _fault_of_link(text: str, target: str, tree: Path) -> str | None:
    """What is wrong with ``[file.py#Symbol](../path/file.py)`` or ``[test_file.py::test_name](…)``."""
    path = Path(os.path.normpath(tree / PAGE.parent / target))
    if not (target and path.is_relative_to(tree) and path.exists()):
        return f"{target} does not exist"
    name, mark, symbol = re.fullmatch(r"(.*?)(?:(::|#)(.*))?", text, re.S).groups()
    if name.rstrip("/") != path.name:
        return f"{text!r} names another file than {target}"
    if not mark:
        return None
    if path.suffix != ".py":
        return f"{text!r}: only Python files have symbols"
    if mark == "::" and not symbol.rpartition("::")[2].startswith("test_"):
        return f"{text!r} names no test"
    found = names_of_tests(path) if mark == "::" else symbols(path)
    wanted = symbol.partition("[")[0]
    return None if wanted in found else f"{wanted} is not in {target}"


def _tests_not_listed(rows: list[Row], tests: Iterable[CaseTest]) -> Iterator[str]:
    listed = {row.id: _tests_of(row) for row in rows}
    for test in tests:
        for id_ in sorted(test.cases):
            names = listed.get(id_, {}).get(test.file, set())
            if not (names and (not test.name or names & {"", test.name})):
                yield f"{id_}: {test.file}::{test.name} is not listed".replace(":: is", " is")


def _tests_of(row: Row) -> dict[str, set[str]]:
    """The tests of a row by file; an empty name when the row means the whole file."""
    listed: dict[str, set[str]] = {}
    for text, target in _LINK.findall(row.test):
        name = text.partition("::")[2].rpartition("::")[2].partition("[")[0]
        listed.setdefault(os.path.normpath(PAGE.parent / target), set()).add(name)
    return listed


# What stands in a Python file


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def symbols(path: Path) -> set[str]:
    """Names of classes, functions and constants at the top, and ``Class.member``."""
    return set(_symbols(_parsed(path).body))


def _symbols(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    for node in body:
        match node:
            case ast.ClassDef():
                yield prefix + node.name
                yield from _symbols(node.body, f"{prefix}{node.name}.")
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield prefix + node.name
            case ast.Assign():
                yield from (prefix + target.id for target in node.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name()):
                yield prefix + node.target.id
            case ast.If() | ast.Try():
                yield from _symbols(node.body, prefix)


def names_of_tests(path: Path) -> set[str]:
    """Test functions, and methods as ``Class::test`` and ``test``."""
    names = (name.replace(".", "::") for name in symbols(path))
    return {said for name in names for said in (name, name.rpartition("::")[2]) if "test_" in said}


def find_case_tests(tree: Path) -> list[CaseTest]:
    """The tests of the tree that carry the id of a case, by name, mark or docstring."""
    found = []
    for path in sorted((tree / "tests").rglob("*.py")):
        file = path.relative_to(tree).as_posix()
        module = _parsed(path)
        found.append(CaseTest(file, "", cases_of_docstring(module)))
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found.append(CaseTest(file, node.name, cases_of(node)))
    return found


def cases_of(test: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    said: list[str] = []
    if match := _CASES_OF_NAME.match(test.name):
        said += match[1].upper().split("_")
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.case":
            said += [str(word.value) for word in mark.args if isinstance(word, ast.Constant)]
    return ALL_CASES & frozenset(said) | cases_of_docstring(test)


def cases_of_docstring(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Ids at its beginning, ``N9: …`` or ``N9.``, or in parentheses, ``… (N9, N10)``."""
    found = _CASES_OF_DOCSTRING.findall(ast.get_docstring(node) or "")
    return ALL_CASES & frozenset(re.findall(r"[A-Z]\d+", " ".join(a + b for a, b in found)))


# The page


def test_page_has_no_gap_and_no_dead_link():
    faults = faults_of((ROOT / PAGE).read_text(encoding="utf-8"), ROOT, find_case_tests(ROOT))
    assert not faults, "\n".join(faults)


# The checker, which must be seen to fail

GOOD_PLACE = "[good.py#Loop.poll](../kcli/good.py)"
GOOD_TEST = "[test_good.py::test_n4_names_http](../tests/test_good.py)"


@pytest.fixture
def tree(tmp_path) -> Path:
    """A little project with one module and one test."""
    for folder in ("docs", "kcli", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "kcli/good.py").write_text(
        "LIMIT = 1\nclass Loop:\n    turns: int = 0\n    def poll(self): ...\n"
    )
    (tmp_path / "tests/test_good.py").write_text("def test_n4_names_http(): ...\n")
    return tmp_path


def page_with(**changed: str) -> str:
    """A page without a fault, but for the rows that are given: by their id, ``S0_1`` for ``S0-1``."""
    ids = [f"{section}-{n + 1}" for section, count in FEATURES_AT_LEAST.items() for n in range(count)]
    rows = {id_: f"| {id_} | something | planned: mirror | | |" for id_ in [*ids, *sorted(ALL_CASES)]}
    rows["N4"] = f"| N4 | not Kafka | built | {GOOD_PLACE} | {GOOD_TEST} |"
    rows |= {id_.replace("_", "-"): line for id_, line in changed.items()}
    return "# A page\n\n| id | case | state | where | test |\n| --- | --- | --- | --- | --- |\n" + "\n".join(
        line for line in rows.values() if line
    )


def check(page: str, tree: Path) -> list[str]:
    return faults_of(page, tree, find_case_tests(tree))


def test_checker_is_content_with_a_good_page(tree):
    more = f"| S0-{FEATURES_AT_LEAST['S0'] + 1} | one more | impossible: Kafka forbids it | | |"
    assert check(page_with() + "\n" + more, tree) == []


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"B7": ""}, "B7: no row"),
        ({"S0_3": ""}, "S0-3: no row"),
        ({"S2_15": ""}, "S2-15: no row"),
        ({"B7": "| B8 | twice | planned: mirror | | |"}, "B8: 2 rows"),
        ({"B7": "| B17 | not in the list | planned: mirror | | |"}, "B17: no such id"),
        ({"B7": "| S9-1 | no such section | planned: mirror | | |"}, "S9-1: no such id"),
        ({"B7": "| B7 | a cell is missing | planned: mirror | |"}, "B7: 4 cells instead of 5"),
        ({"B7": "| B7 | | planned: mirror | | |"}, "B7: says nothing"),
        ({"B7": "| B7 | x | done | | |"}, "B7: unknown state 'done'"),
        ({"B7": "| B7 | x | planned | | |"}, "B7: planned for an unknown milestone ''"),
        ({"B7": "| B7 | x | planned: someday | | |"}, "B7: planned for an unknown milestone 'someday'"),
        ({"B7": "| B7 | x | impossible | | |"}, "B7: impossible without a reason"),
        ({"B7": f"| B7 | x | built | | {GOOD_TEST} |"}, "B7: built, but no link says where"),
        ({"B7": f"| B7 | x | built | {GOOD_PLACE} | soon |"}, "B7: built, but no link to a test"),
        ({"B7": f"| B7 | x | built: nearly | {GOOD_PLACE} | {GOOD_TEST} |"}, "B7: built needs no 'nearly'"),
        ({"B7": f"| B7 | x | built | {GOOD_PLACE} | {GOOD_PLACE} |"}, "B7: good.py#Loop.poll is no test"),
        ({"N4": f"| N4 | x | planned: mirror | {GOOD_PLACE} | |"},
         "N4: tests/test_good.py::test_n4_names_http is not listed"),
    ],
)  # fmt: skip
def test_checker_finds(changed, fault, tree):
    assert fault in check(page_with(**changed), tree)


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("[gone.py](../kcli/gone.py)", "../kcli/gone.py does not exist"),
        ("[good.py](kcli/good.py)", "kcli/good.py does not exist"),
        ("[hosts](../../../../../../../etc/hosts)", "../../../../../../../etc/hosts does not exist"),
        ("[bad.py](../kcli/good.py)", "'bad.py' names another file than ../kcli/good.py"),
        ("[good.py#Loop.push](../kcli/good.py)", "Loop.push is not in ../kcli/good.py"),
        ("[good.py#poll](../kcli/good.py)", "poll is not in ../kcli/good.py"),
        ("[test_good.py::test_gone](../tests/test_good.py)", "test_gone is not in ../tests/test_good.py"),
        ("[test_good.py::names](../tests/test_good.py)", "'test_good.py::names' names no test"),
        ("[docs#Loop](../docs)", "'docs#Loop': only Python files have symbols"),
    ],
)
def test_checker_finds_the_dead_link(link, fault, tree):
    assert check(page_with(B7=f"| B7 | x | planned: mirror | {link} | |"), tree) == [f"B7: {fault}"]


@pytest.mark.parametrize(
    "link",
    ["[kcli/](../kcli)", "[good.py](../kcli/good.py)", "[good.py#LIMIT](../kcli/good.py)",
     "[good.py#Loop](../kcli/good.py)", "[good.py#Loop.turns](../kcli/good.py)",
     "[test_good.py::test_n4_names_http[plain]](../tests/test_good.py)"],
)  # fmt: skip
def test_checker_follows_the_link(link, tree):
    assert check(page_with(B7=f"| B7 | x | planned: mirror | {link} | |"), tree) == []


@pytest.mark.parametrize(
    ("source", "cases"),
    [
        ("def test_n4_http(): ...", {"N4"}),
        ("def test_f3_f4_bad_lengths(): ...", {"F3", "F4"}),
        ("def test_v2_of_f3(): ...", set()),
        ("def test_n4(): ...", set()),
        ("def test_n99_is_no_case(): ...", set()),
        ('def test_http():\n    """N4: names it."""', {"N4"}),
        ('def test_http():\n    """N4, N9 and N10: names them."""', {"N4", "N9", "N10"}),
        ('def test_http():\n    """Names it, and goes on (N4, N9)."""', {"N4", "N9"}),
        ('def test_http():\n    """Kafka cases N4 and N9: names them."""', {"N4", "N9"}),
        ('def test_escapes():\n    """C1 controls are made visible: see there."""', set()),
        ('@pytest.mark.case("N4", "N9")\nasync def test_http(): ...', {"N4", "N9"}),
        ('@pytest.mark.parametrize("N4", [])\ndef test_http(): ...', set()),
    ],
)
def test_cases_that_a_test_carries(source, cases):
    assert cases_of(ast.parse(source).body[0]) == cases


def test_a_file_that_carries_a_case_is_listed_by_itself_or_by_a_test_in_it(tree):
    (tree / "tests/test_dns.py").write_text('"""Names that do not resolve (N1)."""\ndef test_one(): ...\n')
    assert check(page_with(), tree) == ["N1: tests/test_dns.py is not listed"]
    for link in ("[test_dns.py](../tests/test_dns.py)", "[test_dns.py::test_one](../tests/test_dns.py)"):
        assert check(page_with(N1=f"| N1 | no name | planned: mirror | | {link} |"), tree) == []
