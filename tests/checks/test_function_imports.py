"""Imports stand at the top of modules; each of the few inside functions says why.

A lazily loaded command, the library of an optional extra, or a rare path whose import would cost every start are reasons.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import kcli

_INDENTED = re.compile(r"^[ \t].*\bimport\b|:[ \t]*(import|from)\b|;[ \t]*(import|from)\b", re.MULTILINE)
"""Without a match there is no import inside a function, and nothing to parse."""
_PACKAGE = Path(kcli.__file__).parent


def imports_in_functions(source: str) -> list[int]:
    """The lines of the first import of each group of adjacent ones inside functions."""
    lines = source.splitlines()
    first, end = [], 0
    for start, stop in sorted({(node.lineno, node.end_lineno or node.lineno) for node in nodes_of(source)}):
        if any(line.strip() for line in lines[end : start - 1]) or not end:
            first.append(start)
        end = stop
    return first


def nodes_of(source: str) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports inside functions; those of a function in a function come once for each of the two."""
    if not _INDENTED.search(source):
        return
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    yield node


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
