"""Lines that are JSON objects, of which decoding would keep only the last of several members of one name. Pure.

A member that is read (``names``) and occurs twice makes its line bad input: which of the two is meant is not known.
"""

import json
import re
from collections.abc import Sequence
from operator import methodcaller
from typing import Any

from kcli.flows.inputs.item import BadLine, InputRow, Item
from kcli.flows.inputs.lines import LineParser, ParseLine

_ESCAPED_NAME = re.compile(rb"\\u00[567]")
"""A small letter or ``_``, which no writer escapes; other escapes are usual in values."""


class JsonLineParser(LineParser):
    """Looks for repeated members in a portion of lines at once: a name that occurs twice in a line may be one."""

    def __init__(self, parse: ParseLine, names: Sequence[str], *, longest: int) -> None:
        super().__init__(parse, longest=longest)
        self._without_check = parse
        self._names = frozenset(names)
        self._counts = [methodcaller("count", b'"%b"' % name.encode()) for name in names]

    def _items(self, lines: list[bytes | None]) -> list[Item]:
        self._parse = self._checked if self._may_repeat(lines) else self._without_check
        return super()._items(lines)

    def _checked(self, line: bytes, number: int) -> InputRow | None:
        if self._may_repeat([line]):
            self._refuse_repeated(line)
        return self._without_check(line, number)

    def _may_repeat(self, lines: Sequence[bytes | None]) -> bool:
        return any(max(map(count, filter(None, lines)), default=0) > 1 for count in self._counts) or any(
            map(_ESCAPED_NAME.search, filter(None, lines))
        )

    def _refuse_repeated(self, line: bytes) -> None:
        try:
            pairs: Any = json.loads(
                line.decode("utf-8-sig", "replace"),
                parse_int=str,
                parse_float=str,
                object_pairs_hook=lambda pairs: [name for name, _value in pairs],
            )
        except (ValueError, RecursionError):  # of this the decoder of the line says more
            return
        names = pairs if isinstance(pairs, list) else []
        for name in self._names:
            if names.count(name) > 1:
                raise BadLine(f"it has the member `{name}` {names.count(name)} times")
