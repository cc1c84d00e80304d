"""Runs one command line of kcli and counts what its threads call: ``python -m benchmarks._counted FILE WORDS...``.

Writes JSON to FILE: for each thread the number of calls of each function, written in Python or in C. Not counted are
constructors of built-in types and operators, which Python's profiler does not see either.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

_MAIN = "main"


class Calls:
    """The calls of one thread. ``profile`` is its profile function: Python does not call it for its own calls."""

    def __init__(self) -> None:
        self._python: Counter[CodeType] = Counter()
        self._native: Counter[tuple[str, CodeType]] = Counter()

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """Counts one event of ``sys.setprofile``."""
        if event == "call":
            self._python[frame.f_code] += 1
        elif event == "c_call":
            self._native[argument.__qualname__, frame.f_code] += 1

    def by_function(self) -> dict[str, int]:
        """How often each function was called; those in C are listed for each caller."""
        found: Counter[str] = Counter()
        for code, count in list(self._python.items()):
            found[_name(code)] += count
        for (name, caller), count in list(self._native.items()):
            found[f"{name} in {_name(caller)}"] += count
        return dict(found)


def _name(code: CodeType) -> str:
    return f"{_module(code.co_filename)}:{code.co_firstlineno} {code.co_qualname}"


def _module(path: str) -> str:
    """The path below the project, or the name of a file of Python's own library."""
    parts = Path(path).parts
    return "/".join(parts[parts.index("kcli") :]) if "kcli" in parts else parts[-1]


def main(report: str, words: list[str]) -> int:
    """Runs the command; its exit status. Threads are told apart by their names."""
    counted = {_MAIN: Calls()}

    def begin(frame: FrameType, event: str, argument: Any) -> None:
        own = counted.setdefault(threading.current_thread().name, Calls())
        sys.setprofile(own.profile)
        own.profile(frame, event, argument)

    from kcli.__main__ import run

    threading.setprofile(begin)
    sys.setprofile(counted[_MAIN].profile)
    code = run(words)
    sys.setprofile(None)
    Path(report).write_text(json.dumps({name: calls.by_function() for name, calls in counted.items()}))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
