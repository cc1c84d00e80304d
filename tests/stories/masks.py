"""Whether two outputs of a command are alike: equal but for what differs from run to run. Pure.

Each pattern is as narrow as it can be: counts, offsets, names, states and exit codes are compared as they are, lengths of
time to a minute and a half, sizes to a tenth. Blanks are compared as one or as several, because the width of a column
follows its longest cell; rules likewise. Where a text is wrapped is not compared, because the home of the reader is part
of some lines. Lines that say that a machine is busy are left out.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_FURTHER = 4  # blanks
TOLERANCE = 90.0
"""Seconds by which two lengths of time may differ."""


class Mask(NamedTuple):
    """Texts of ``pattern`` need only be alike, which is any two of them without ``alike``."""

    sign: str
    pattern: str
    alike: Callable[[str, str], bool] = lambda _one, _other: True


def _seconds(text: str) -> float:
    sizes = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
    return sum(float(number) * sizes[unit] for number, unit in re.findall(r"([\d.]+)([dhms])", text))


def _about_as_long(one: str, other: str) -> bool:
    """Nothing is only like nothing."""
    first, second = _seconds(one), _seconds(other)
    return bool(first) == bool(second) and abs(first - second) <= TOLERANCE


def _size(text: str) -> float:
    number, unit = text.split(" ")
    return float(number) * {"B": 1.0, "kB": 1e3, "MB": 1e6}[unit]


def _about_as_large(one: str, other: str) -> bool:
    first, second = _size(one), _size(other)
    return abs(first - second) <= max(first, second) / 10


MASKS = (
    Mask("<time>", r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"),
    Mask("<journal>", r"\b\d{8}-\d{6}-[0-9a-f]{6}\b"),
    Mask("<uuid>", r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
    Mask("<address>", r"\b127\.0\.0\.1(?::| +)\d{4,5}\b"),
    Mask(
        "<cluster>",
        r"(?:(?<=cluster |eassign/| source )|(?<=^  from ))[A-Za-z0-9_-]{22}(?![\w-])"
        r"|(?<=, id )[A-Za-z0-9_-]{22}$|(?<= to )[A-Za-z0-9_-]{22}(?=, behind)",
    ),
    Mask("<job>", r"(?<=job )[A-Za-z0-9_-]{8}-[0-9a-f]{8}\b|^[A-Za-z0-9_-]{8}-[0-9a-f]{8}(?=  )"),
    Mask("<milliseconds>", r'(?<="timestamp":)\d{13}\b'),
    Mask("<overhead>", r"^kcli used .* of CPU .*$"),
    Mask(
        "<compared>", r"^(?:p50|p99|cpu)\b.*$"
    ),  # of two runs; the rate of a steady load is the same each time
    Mask("<batches>", r"\b\d+ % of \d+ batch(?:es)?(?= untouched)"),
    Mask("<interval>", r"\([-+][\d.]+ … [-+][\d.]+ %\)"),
    Mask("<change>", r"(?<=it changed by )[-+][\d.]+%"),
    Mask("<java>", r"\bon Java .*$"),
    Mask("<took>", r"\bin [\d.]+ s(?:: [\d,]+ records/s)?"),
    Mask("<producer id>", r"\b\d+(?= +(?:true|false)$)"),
    Mask("<bytes>", r"(?<=has )\d+(?= bytes$)|(?<=manifest says )\d+"),
    Mask("<rate>", r"\b[\d,.]+ (?:records|[kM]?B)/s|(?<=rate<3k: it is )[\d,]+"),
    Mask("<size>", r"\b[\d.]+ [kM]?B\b", _about_as_large),
    Mask("<latency>", r"\b[\d.]+ (?:µs|ms|s)\b(?! left)"),
    Mask("<duration>", r"(?<![\w.@-])(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?<=[dhms])(?!\w)", _about_as_long),
)

_BUSY = re.compile(r"waiting for \S+ …$|not the same: host\.load_1m: |\d of \d brokers answer$")
_ANY = re.compile("|".join(f"(?P<m{number}>{mask.pattern})" for number, mask in enumerate(MASKS)))


def alike(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether a page may keep what it shows."""
    said, now = (_unwrapped([line for line in lines if not _BUSY.match(line)]) for lines in (shown, printed))
    return len(said) == len(now) and all(map(_alike, said, now))


def _unwrapped(lines: Sequence[str]) -> list[str]:
    """Each text in one line: what is wrapped goes on four blanks further in."""
    found: list[str] = []
    begun = 0
    for line in lines:
        text = line.lstrip(" ")
        if found and text and len(line) - len(text) == begun + _FURTHER:
            found[-1] += f" {text}"
        else:
            found.append(line)
            begun = len(line) - len(text)
    return found


def _alike(one: str, other: str) -> bool:
    (first, found), (second, others) = _parts(one), _parts(other)
    return first == second and all(
        MASKS[number].alike(text, like) for (number, text), (_, like) in zip(found, others, strict=True)
    )


def _parts(line: str) -> tuple[str, list[tuple[int, str]]]:
    """The line with signs in place of what differs, and what that is, with the numbers of its masks."""
    found: list[tuple[int, str]] = []

    def sign(match: re.Match[str]) -> str:
        number = int(str(match.lastgroup)[1:])
        found.append((number, match[0]))
        return MASKS[number].sign

    text = _ANY.sub(sign, line)
    return re.sub(r" {2,}", "  ", re.sub(r"─{2,}", "──", text)).rstrip(), found
