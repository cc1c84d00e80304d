"""Imports stand at the top of modules; the few inside functions are counted, and each says why.

A lazily loaded command, the library of an optional extra, or a rare path whose import would cost every start are reasons.
"""

import ast
from pathlib import Path

import kcli

_MOST = 200
_PACKAGE = Path(kcli.__file__).parent


def imports_in_functions(source: str) -> list[int]:
    """The lines of the first import of each group of adjacent ones inside functions."""
    tree = ast.parse(source)
    found = {
        (node.lineno, node.end_lineno or node.lineno)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    lines = source.splitlines()
    first, end = [], 0
    for start, stop in sorted(found):
        if any(line.strip() for line in lines[end : start - 1]) or not end:
            first.append(start)
        end = stop
    return first


def has_reason(source: str, line: int) -> bool:
    """Whether there is a comment on the line or the one before it."""
    lines = source.splitlines()
    return "#" in lines[line - 1] or lines[line - 2].strip().startswith("#")


def test_an_import_without_a_reason_is_found() -> None:
    source = "import os\n\ndef f():\n    import re\n    import sys\n\ndef g():\n    import re  # rare\n"
    assert imports_in_functions(source) == [4, 8]
    assert [has_reason(source, line) for line in (4, 8)] == [False, True]


def test_each_import_inside_a_function_has_a_reason() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(_PACKAGE.rglob("*.py"))}
    missing = [
        f"{path.relative_to(_PACKAGE)}:{line}"
        for path, source in sources.items()
        for line in imports_in_functions(source)
        if not has_reason(source, line)
    ]
    assert not missing, "imports inside functions without a comment that says why"


def test_imports_inside_functions_are_few() -> None:
    count = sum(
        isinstance(node, ast.Import | ast.ImportFrom)
        for path in _PACKAGE.rglob("*.py")
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    )
    assert count < _MOST
