"""No loop builds the same collection each time to look one thing up in it: with n things that would be n² steps."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kcli

COMPREHENSIONS = (ast.SetComp, ast.ListComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.While, *COMPREHENSIONS)
BUILDERS = {"set", "frozenset", "list", "tuple", "sorted", "dict"}
WORDS = re.compile(rf"\bin (?:[{{\[(]|(?:{'|'.join(BUILDERS)})\()")
"""Without a match there is nothing to parse."""


def builds(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in BUILDERS
    return isinstance(node, COMPREHENSIONS)


def stored(loop: ast.AST) -> set[str]:
    """The names that change from one turn of the loop to the next."""
    return {
        node.id for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def rebuilt(node: ast.AST, changing: set[str] | None = None) -> Iterator[str]:
    """Look-ups in what the innermost loop around them builds anew from nothing that changes in it."""
    if isinstance(node, ast.Compare) and changing is not None:
        for operator, looked_in in zip(node.ops, node.comparators, strict=True):
            if not isinstance(operator, ast.In | ast.NotIn) or not builds(looked_in):
                continue
            own = stored(looked_in)
            used = {name.id for name in ast.walk(looked_in) if isinstance(name, ast.Name)} - own
            if not used & changing:
                yield ast.unparse(node)
    inside = stored(node) if isinstance(node, LOOPS) else changing
    if isinstance(node, ast.FunctionDef):
        inside = None
    for child in ast.iter_child_nodes(node):
        once = isinstance(node, ast.For) and child is node.iter
        yield from rebuilt(child, changing if once else inside)


def test_no_loop_rebuilds_what_it_looks_into() -> None:
    package = Path(kcli.__file__).parent
    texts = {path.relative_to(package).as_posix(): path.read_text() for path in sorted(package.rglob("*.py"))}
    assert len(texts) > 500
    found = [
        (name, one) for name, text in texts.items() if WORDS.search(text) for one in rebuilt(ast.parse(text))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "for r in routes:\n    if r.to in {x.frm for x in routes}: pass",
            ["r.to in {x.frm for x in routes}"],
        ),
        ("a = [r for r in rows if r.tp not in set(chosen)]", ["r.tp not in set(chosen)"]),
        ("a = [s([r for r in rows if r.tp in set(m.tps)]) for m in members]", ["r.tp in set(m.tps)"]),
        ("for n, many in groups:\n    if own in [(n, x) for x in many]: pass", []),
        ("for n in {x.name for x in rows}:\n    pass", []),
        ("for x in rows:\n    chosen = x.all\n    found = 1 in set(chosen)", []),
        ("def f():\n    return one in set(many)", []),
    ],
)
def test_it_is_found(source: str, expected: list[str]) -> None:
    assert list(rebuilt(ast.parse(source))) == expected
