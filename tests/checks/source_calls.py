"""The calls in kcli's sources, and the functions that they are in. Not a test."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def calls(tree: ast.AST, path: str = "") -> Iterator[tuple[str, ast.Call]]:
    """Each call, with the qualified name of the function that it is in."""
    for node in ast.iter_child_nodes(tree):
        inner = path
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{path}.{node.name}".lstrip(".")
        elif isinstance(node, ast.Call):
            yield path, node
        yield from calls(node, inner)


def places(words: str, wanted: Callable[[ast.Call], bool]) -> dict[str, list[ast.Call]]:
    """``file:function`` below ``kcli/`` with its wanted calls; files without a match of ``words`` are passed over."""
    found: dict[str, list[ast.Call]] = {}
    for path in sorted((ROOT / "kcli").rglob("*.py")):
        text = path.read_text()
        if not re.search(words, text):
            continue
        for function, call in calls(ast.parse(text)):
            if wanted(call):
                found.setdefault(f"{path.relative_to(ROOT / 'kcli')}:{function}", []).append(call)
    return found
