"""Exit codes have names: their numbers stand in one module."""

import ast
import re
from pathlib import Path

import kcli
from kcli.core.exit_codes import ExitCode

SOURCES = sorted(Path(kcli.__file__).parent.rglob("*.py"))
WORDS = re.compile(r"\b(?:exit_code|PARTLY|also)\b")
"""Without one of these names there is nothing to parse."""
NUMBERS = {int(code) for code in ExitCode} - {0}


def test_no_exit_code_is_a_number() -> None:
    found = [
        f"{path}:{node.lineno}"
        for path in SOURCES
        if path.name != "exit_codes.py" and WORDS.search(text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt | ast.expr | ast.keyword) and is_numbered(node)
    ]
    assert not found, f"use ExitCode in {found}"


def is_numbered(node: ast.AST) -> bool:
    """``exit_code = 7``, ``code=7``, ``also=[7]``, ``… .exit_code == 7``."""
    if isinstance(node, ast.Assign):
        return any(name(target) in ("exit_code", "PARTLY") for target in node.targets) and number(node.value)
    if isinstance(node, ast.keyword):
        values = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
        return node.arg in ("also", "exit_code") and any(map(number, values))
    if isinstance(node, ast.Compare):
        return name(node.left) == "exit_code" and any(map(number, node.comparators))
    return False


def name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in NUMBERS
