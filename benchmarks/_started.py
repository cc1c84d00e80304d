"""Runs one command line of kcli and counts what its start makes: ``python -m benchmarks._started FILE WORDS...``.

Writes JSON to FILE: the modules of kcli that were imported, its classes, and the regular expressions that it compiled.
"""

from __future__ import annotations

import builtins
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

_make_class = builtins.__build_class__
_compile = re.compile
_made: Counter[str] = Counter()


def _counted_class(body: Any, name: str, *bases: Any, **options: Any) -> Any:
    _made["classes"] += body.__globals__["__name__"].startswith("kcli")
    return _make_class(body, name, *bases, **options)


def _counted_pattern(pattern: Any, flags: Any = 0) -> Any:
    if sys._getframe(1).f_globals["__name__"].startswith("kcli"):
        _made["patterns"] += 1
    return _compile(pattern, flags)


def main(report: str, words: list[str]) -> int:
    """Runs the command; its exit status."""
    builtins.__build_class__ = _counted_class
    re.compile = _counted_pattern
    from kcli.__main__ import run

    code = run(words)
    modules = sum(name.partition(".")[0] == "kcli" for name in sys.modules)
    counts = {"modules": modules, "classes": _made["classes"], "patterns": _made["patterns"]}
    Path(report).write_text(json.dumps(counts))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
