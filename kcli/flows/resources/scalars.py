"""What text without quotes means in YAML: what YAML 1.1 and 1.2 both say; where they differ, nothing. Pure.

Parsers of YAML 1.1 (PyYAML, Ruby's, older ones of Go) read ``yes`` as true, ``010`` as 8 and ``1:30`` as 90; those of 1.2
do not. Whoever reviews a file should not need to know which one reads it, so it has to say what it means.
"""

from __future__ import annotations

import re
from enum import Enum

from kcli.core.classes import NamedTuple


class Sort(Enum):
    """What a scalar is."""

    EMPTY = "nothing"
    TRUTH = "true or false"
    WHOLE = "a whole number"
    NUMBER = "a number"
    TEXT = "text"
    UNCLEAR = "unclear"


class Meaning(NamedTuple):
    """``value``: None, a bool, an int, a float or text; of what is unclear, why it is."""

    sort: Sort
    value: bool | int | float | str | None


_WORDS = {
    **{word: Meaning(Sort.EMPTY, None) for word in ("", "~", "null", "Null", "NULL")},
    **{word: Meaning(Sort.TRUTH, True) for word in ("true", "True", "TRUE")},
    **{word: Meaning(Sort.TRUTH, False) for word in ("false", "False", "FALSE")},
}
_TOO_LARGE = float("inf")
_OLD_TRUTHS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_FIRST = frozenset("0123456789+-.~ntfyoNTFYO")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_UNCLEAR = (
    (re.compile(r"[-+]?0[0-7_]+"), "it is octal in YAML 1.1 and decimal in YAML 1.2"),
    (re.compile(r"[-+]?0[0-9_]+"), "a decimal number does not begin with 0"),
    (
        re.compile(r"[-+]?0[xX][0-9a-fA-F_]+"),
        "it is hexadecimal in YAML, and Kafka knows decimal numbers only",
    ),
    (re.compile(r"[-+]?0[oO][0-7_]+"), "it is octal in YAML 1.2 and text in YAML 1.1"),
    (re.compile(r"[-+]?0[bB][01_]+"), "it is binary in YAML 1.1 and text in YAML 1.2"),
    (re.compile(r"[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+"), "it is a number to the base of 60 in YAML 1.1"),
    (re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*"), "it is a number in YAML 1.1 and text in YAML 1.2"),
    (re.compile(r"\+[0-9.]+|[-+]?(?:\.[0-9]+|[0-9]+\.)"), "a number begins and ends with a digit"),
    (re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"), "it is no number that Kafka knows"),
)


def meaning_of(text: str) -> Meaning:
    """The meaning of ``text`` as it stands without quotes."""
    if text and text[0] not in _FIRST:
        return Meaning(Sort.TEXT, text)
    found = _WORDS.get(text)
    if found is not None:
        return found
    if _WHOLE.fullmatch(text):
        return Meaning(Sort.WHOLE, int(text)) if len(text) <= 20 else Meaning(Sort.TEXT, text)
    if _NUMBER.fullmatch(text) and (number := float(text)) < _TOO_LARGE:
        return Meaning(Sort.NUMBER, number)
    old = _OLD_TRUTHS.get(text.lower())
    if old is not None:
        return Meaning(Sort.UNCLEAR, f"it is {old} in YAML 1.1 and text in YAML 1.2")
    for pattern, why in _UNCLEAR:
        if pattern.fullmatch(text):
            return Meaning(Sort.UNCLEAR, why)
    return Meaning(Sort.TEXT, text)
