"""``python -m tests.checks.traceability`` prints the table of what kcli has to do, where it is done, and its tests.

It joins `docs/cases.toml` (what kcli has to do, and where it is done) with the tests that are marked
``@pytest.mark.case("N9")``; a module's ``pytestmark`` counts for the module as a whole. Everything is read from the
sources, nothing is imported.
"""

import ast
import sys
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
CASES = "docs/cases.toml"
MILESTONES = {
    "live screen": "`top`, `perf`, long runs",
    "spark": "jobs on Spark",
    "security": "SASL, TLS in full, profiles and secrets",
}
HEAD = f"""# Traceability

What kcli has to do, where it is built, and the tests that hold it.

The features come from five documents: the proposal to rewrite Kafka's clients, the proposal for offset management,
KIP-62, KIP-347, and a description of Kafka 0.7 with its tools. The cases are ways in which networks, brokers, files and
people fail, and the goals say how often they may.

Texts and states are in `docs/cases.toml`; the tests of a row are marked `@pytest.mark.case("ID")`. A state is
`built` (the row has a test that passes, no more), `planned: MILESTONE` or `impossible: REASON` (Kafka's protocol rules it
out). `tests/checks/traceability.py` checks that no case lacks a test.

| milestone | brings |
| --- | --- |
{"".join(f"| {name} | {what} |{chr(10)}" for name, what in MILESTONES.items())}"""


@dataclass(slots=True)
class Case:
    """A feature, case or goal, and the tests that carry its id: (file, test; empty for the whole file)."""

    id: str
    text: str
    state: str
    where: list[str] = field(default_factory=list)
    tests: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Section:
    id: str
    title: str
    kind: str
    intro: str
    cases: list[Case]


def read_sections(tree: Path) -> list[Section]:
    """Everything in the table of cases, without tests."""
    table = tomllib.loads((tree / CASES).read_text(encoding="utf-8"))
    return [
        Section(
            found["id"],
            found["title"],
            found["kind"],
            found.get("intro", ""),
            [Case(id_, **values) for id_, values in found["case"].items()],
        )
        for found in table["section"]
    ]


def marked_tests(tree: Path, files: Collection[str] = ()) -> Iterator[tuple[str, str, str]]:
    """(id, file, name of the test) of every marker, by file and line; of these ``files``, or of all."""
    for path in sorted((tree / "tests").rglob("test_*.py")):
        file = path.relative_to(tree).as_posix()
        if (files and file not in files) or "mark.case" not in path.read_text(encoding="utf-8"):
            continue  # without parsing it
        module = parsed(path)
        for node in module.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
                yield from ((id_, file, "") for id_ in ids_in(node.value))
        for node in functions_of(module):
            if node.name.startswith("test_"):
                yield from ((id_, file, node.name) for mark in node.decorator_list for id_ in ids_in(mark))


def functions_of(scope: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Those that pytest would find, in their order."""
    for node in scope.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from functions_of(node)


def ids_in(expression: ast.expr) -> Iterator[str]:
    """The arguments of each ``pytest.mark.case`` in it, also within a list or a ``pytest.param``."""
    for node in ast.walk(expression):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr == "case" and ast.unparse(node.func) == "pytest.mark.case":
            yield from (str(word.value) for word in node.args if isinstance(word, ast.Constant))


def joined(tree: Path) -> tuple[list[Section], list[str]]:
    """The sections with their tests, and everything that is wrong with them, one line each."""
    sections = read_sections(tree)
    cases = {case.id: case for section in sections for case in section.cases}
    faults = []
    for id_, file, name in marked_tests(tree):
        if id_ in cases:
            cases[id_].tests.append((file, name))
        else:
            faults.append(f"{file}::{name}: no case {id_!r}")
    for section in sections:
        numbers = [case.id.removeprefix(section.id).lstrip("-") for case in section.cases]
        if numbers != [str(n) for n in range(1, len(numbers) + 1)]:
            faults.append(f"section {section.id}: ids are not consecutive")
        faults += [f"{case.id}: {fault}" for case in section.cases for fault in faults_of(case, tree)]
    return sections, faults


def faults_of(case: Case, tree: Path) -> Iterator[str]:
    state, _, detail = case.state.partition(": ")
    match state:
        case "built":
            if not case.where:
                yield "built, but does not say where"
            if not case.tests:
                yield "built, but no test has this id"
        case "planned":
            if detail not in MILESTONES:
                yield f"planned for an unknown milestone {detail!r}"
        case "impossible":
            if not detail:
                yield "impossible without a reason"
        case _:
            yield f"unknown state {state!r}"
    for place in case.where:
        file, _, symbol = place.partition(":")
        if not (tree / file).exists():
            yield f"{file} does not exist"
        elif symbol and symbol not in symbols(tree / file):
            yield f"{symbol} is not in {file}"


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def symbols(path: Path) -> set[str]:
    """Names of classes, functions and constants of a module, and ``Class.member``."""
    return set(_symbols(parsed(path).body))


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


def page_of(sections: list[Section]) -> str:
    parts = [HEAD]
    for section in sections:
        parts.append(f"\n## {section.id} {section.title}\n\n")
        if section.intro:
            parts.append(f"{section.intro}\n\n")
        parts.append(f"| id | {section.kind} | state | where | test |\n| --- | --- | --- | --- | --- |\n")
        parts += [row_of(case) for case in section.cases]
    return "".join(parts)


def row_of(case: Case) -> str:
    where = ", ".join(_link(*place.partition(":")[::2], mark="#") for place in case.where)
    tests = ", ".join(_link(file, name, mark="::") for file, name in case.tests)
    cells = (cell.replace("|", "\\|") for cell in (case.id, case.text, case.state, where, tests))
    return f"| {' | '.join(cells)} |\n"


def _link(file: str, symbol: str, mark: str) -> str:
    return f"[{Path(file).name}{mark + symbol if symbol else ''}](../{file})"


def main() -> int:
    """Exit status 1 where a case is wrong."""
    sections, faults = joined(ROOT)
    print(page_of(sections), end="")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
