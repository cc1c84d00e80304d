"""Ctrl-C between any two bytecodes of chosen files, made deterministic with a trace function. Not a test."""

import sys
from collections.abc import Collection
from dis import opmap
from types import FrameType, ModuleType
from typing import Any, Self

_RETURN = opmap["RETURN_VALUE"]
"""Python looks for signals at calls and jumps, never between a value and its return."""


class Interrupter:
    """Raises KeyboardInterrupt at the ``at``-th bytecode that is run of ``modules``, in functions of these ``names``.

    ``hit`` says whether it came to that. No names: in all functions. A negative ``at`` never interrupts.
    """

    def __init__(self, at: int, *modules: ModuleType, names: Collection[str] = ()) -> None:
        self._left = at
        self._files = {module.__file__ for module in modules}
        self._names = names
        self._before: Any = None
        self.hit = False

    def __enter__(self) -> Self:
        self._before = sys.gettrace()
        if self._left >= 0:
            sys.settrace(self._enter)
        return self

    def __exit__(self, *_exc: object) -> None:
        sys.settrace(self._before)

    def _enter(self, frame: FrameType, _event: str, _value: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self._files or (self._names and code.co_name not in self._names):
            return None
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, frame: FrameType, event: str, _value: Any) -> Any:
        if event == "opcode" and not self.hit and frame.f_code.co_code[frame.f_lasti] != _RETURN:
            self._left -= 1
            if self._left < 0:
                self.hit = True
                raise KeyboardInterrupt
        return self._step
