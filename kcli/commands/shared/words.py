"""What one word of the command line means: the functions of the types in ``params.py``, which imports them with the first
word that has to be parsed. Times and offsets are parsed by ``kcli.core.positions``.
"""

import re
from math import inf
from typing import TYPE_CHECKING

import click

from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.usage import usage
from kcli.commands.shared.word_values import Codec, Rate, TopicPartitions, is_text, raw_bytes
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError
from kcli.core.names import is_topic_name
from kcli.core.positions import OffsetSpec, RangeSpec, parse_offset, parse_range, read_instant
from kcli.core.types import CODEC_NAMES, Header

if TYPE_CHECKING:
    from kcli.flows.expectation import Expectation
    from kcli.flows.filters.field_paths import FieldPath

_SIZES = {"": 1, "b": 1, "k": 1000, "kb": 1000, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9}
_SIZES |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tb": 10**12, "tib": 1 << 40}
_NUMBER = r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)"
_ESCAPE = r"(?s)\\(x[0-9A-Fa-f]{2}|.?)"
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}


def parse_size(text: str) -> int:
    """Bytes: ``512``, ``1KiB``, ``10MB`` (powers of ten; with ``i``, of two)."""
    match = re.fullmatch(_NUMBER, text.strip())
    factor = _SIZES.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise ValueError(f"{text!r} is not a size such as 512, 1KiB or 10MB")
    size = float(match[1]) * factor
    if size == inf:
        raise ValueError("no size is so large")
    return round(size)


def parse_size_range(text: str) -> tuple[int, int]:
    """``1KiB`` or ``100..2000``: smallest and largest."""
    low, dots, high = text.partition("..")
    smallest = parse_size(low)
    largest = parse_size(high) if dots else smallest
    if largest < smallest:
        raise ValueError(f"{text!r} ends before it starts")
    return smallest, largest


def parse_rate(text: str) -> Rate:
    """``1000`` is records a second, ``10MB/s`` bytes."""
    amount = text.strip().removesuffix("/s")
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", amount):
        rate = Rate(records=float(amount))
    else:
        try:
            rate = Rate(bytes=float(parse_size(amount)))
        except ValueError:
            raise ValueError(f"{text!r} is not a rate such as 1000 (records a second) or 10MB/s") from None
    if not (rate.records or rate.bytes):
        raise ValueError("a rate must be more than 0")
    return rate


def parse_partitions(text: str) -> tuple[int, ...]:
    """``0,2,5-7``, in order, without repeats."""
    return _parse_numbers(text, "partitions", "0,2,5-7")


def parse_brokers(text: str) -> tuple[int, ...]:
    """``1,2,5-7``, in order, without repeats."""
    return _parse_numbers(text, "broker ids", "1,2,5-7")


def _parse_numbers(text: str, what: str, example: str) -> tuple[int, ...]:
    found: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})(?:-([0-9]{1,9}))?\s*", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise ValueError(f"{text!r} is not a list of {what} such as {example}")
        if int(match[2] or match[1]) - int(match[1]) > 100_000:
            raise ValueError(f"{part!r} names more {what} than any cluster has")
        found |= dict.fromkeys(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(found)


def parse_topic_partitions(text: str) -> TopicPartitions:
    """``orders`` or ``orders:0,2-4``; a topic's name has no colon."""
    topic, colon, numbers = text.strip().partition(":")
    if not is_topic_name(topic):
        raise ValueError(f"{topic!r} is not a valid topic name; write orders or orders:0,2-4")
    return TopicPartitions(topic, parse_partitions(numbers) if colon else None)


def parse_assignment(text: str) -> tuple[tuple[int, ...], ...]:
    """``1:2,2:3``: the brokers of each partition's replicas, as many of each and none twice."""
    parts = tuple(tuple(map(_node_id, part.split(":"))) for part in text.split(","))
    for number, part in enumerate(parts):
        if len(set(part)) < len(part):
            raise ValueError(f"partition {number} has two replicas on one broker: {':'.join(map(str, part))}")
        if len(part) != len(parts[0]):
            raise ValueError(f"partition {number} has not as many replicas as partition 0: {text}")
    return parts


def _node_id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 1 << 31):
        raise ValueError(
            f"{text!r} is not the id of a broker; write 1:2,2:3 for two partitions of two replicas each"
        )
    return int(text)


def parse_topic_map(text: str) -> tuple[str, str]:
    """``A=B``: two names of topics."""
    name, sign, other = text.strip().partition("=")
    if not (sign and is_topic_name(name) and is_topic_name(other)):
        raise ValueError(f"{text!r} does not map one topic to another: orders=orders.v2")
    return name, other


def parse_headers(text: str) -> tuple[Header, ...]:
    """One header, or with ``@FILE`` those of its lines; a header whose name begins with @ is written ``\\@n=v``."""
    if not text.startswith("@"):
        return (parse_header(text.removeprefix("\\") if text.startswith("\\@") else text),)
    try:
        with open(text[1:], encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            lines = [line.removesuffix("\n").removesuffix("\r") for line in file]
    except OSError as error:
        raise ValueError(
            f"{text[1:]} cannot be read: {(error.strerror or str(error)).lower()}; -H @FILE reads headers from a "
            f"file, and a header of that name is -H '\\{text}'"
        ) from None
    return tuple(parse_header(line) for line in lines if line)


def parse_header(text: str) -> Header:
    """``n=v``; ``n=`` is empty, ``n`` is null. A name that is not UTF-8 stays bytes.

    ``n:v``, as kafkactl and rpk write headers, is an error: a null header whose name has a colon is ``n\\:v``.
    """
    name, sign, value = text.partition("=")
    if not name:
        raise ValueError(
            f"{text!r} has no name; write NAME=VALUE, NAME= for an empty value, or NAME for a null one"
        )
    if not sign:
        if re.search(r"(?<!\\):", name):
            first, _, rest = name.partition(":")
            escaped = re.sub(r"(?<!\\):", r"\\:", name)
            raise usage(
                f"kcli produce: -H {name} has a colon and no =",
                why="a header is written as NAME=VALUE; NAME alone is a header with a null value",
                do=f"did you mean -H '{first}={rest.lstrip()}'? A null header of this name is -H '{escaped}'",
            )
        name = name.replace("\\:", ":")
    return name if is_text(name) else raw_bytes(name), raw_bytes(value) if sign else None


def expectation(text: str) -> "Expectation":
    """``N``, ``N..M`` or ``N..`` records."""
    from kcli.flows.expectation import parse_expectation  # not for --help

    return parse_expectation(text)


def value_path(text: str) -> "FieldPath":
    """``value.customer.id``: a path into the value."""
    from kcli.flows.filters.field_paths import FieldPathError, parse_fields  # not for --help

    path = text.strip()
    if not path.startswith(("value.", "value[")):
        raise ValueError(f"{text!r} is not a path into the value, such as value.customer.id")
    try:
        (field, *more) = parse_fields(path)
    except FieldPathError as error:
        raise ValueError(str(error)) from None
    if more or field.name != path:
        raise ValueError(f"{text!r} is more than one path, such as value.customer.id")
    return field


def parse_codec(text: str) -> Codec:
    """``zstd`` or ``gzip:6``."""
    name, colon, level = text.strip().partition(":")
    name = name.lower()
    if name not in CODEC_NAMES:
        raise ValueError(
            f"{text!r} is not one of {', '.join(CODEC_NAMES)}, or one with a level, such as gzip:6"
        )
    if not colon:
        return Codec(name)
    if not re.fullmatch(r"[+-]?[0-9]{1,3}", level):
        raise ValueError(f"the level in {text!r} is not a number")
    try:
        from kcli.core.codecs.codec import check_level, codec_by_name  # few runs need it

        check_level(codec_by_name(name), int(level))
    except ConfigError as error:
        raise ValueError(error.why) from None
    return Codec(name, int(level))


def parse_delimiter(text: str) -> bytes:
    r"""One or more bytes; escapes ``\n \t \r \0 \\ \xNN``."""
    if not text:
        raise ValueError(r"a delimiter has at least one byte; \0 is the byte 0")
    out, at = b"", 0
    for match in re.finditer(_ESCAPE, text):
        out += raw_bytes(text[at : match.start()])
        escape = match[1]
        if len(escape) == 3:
            out += bytes([int(escape[1:], 16)])
        elif escape in _ESCAPES:
            out += _ESCAPES[escape]
        else:
            raise ValueError(rf"\{escape} is not an escape: \n \t \r \0 \\ \xNN")
        at = match.end()
    return out + raw_bytes(text[at:])


def instant(text: str) -> int:
    """An instant, in ms; what is to be said of it follows when the command runs."""
    found = read_instant(text, wall_ms())
    _remember(found.note)
    return found.ms


def recorded_time(text: str) -> str:
    """An instant as it is written: what it means depends on a recording."""
    read_instant(text, wall_ms())
    return text


def offset(text: str) -> OffsetSpec:
    """A position; as above."""
    found = parse_offset(text, wall_ms())
    _remember(found.note)
    return found


def offset_range(text: str) -> RangeSpec:
    """A position or a range of two; as above."""
    found = parse_range(text, wall_ms())
    for end in found:
        _remember(end.note if end is not None else "")
    return found


def _remember(note: str) -> None:
    context = click.get_current_context(silent=True)
    if note and context is not None:
        context.ensure_object(GlobalValues).notes += (note,)


_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_RECORDS = r"([0-9]+(?:\.[0-9]+)?)([kKmMgG]?)"
_EXAMPLES = "50000 or 50k (records a second), 10MB/s, or -1 for no limit"


def parse_throughput(text: str) -> Rate:
    """``50k`` is records a second, ``10MB/s`` bytes; both are None for ``-1``."""
    word = text.strip()
    if word == "-1":
        return Rate()
    match = re.fullmatch(_RECORDS, word)
    try:
        rate = (
            Rate(records=float(match[1]) * _FACTORS[match[2].lower()])
            if match
            else Rate(bytes=float(parse_size(word.removesuffix("/s"))))
        )
    except ValueError:
        raise ValueError(f"{text!r} is not a throughput such as {_EXAMPLES}") from None
    if not (rate.records or rate.bytes):
        raise ValueError(f"a throughput is more than 0: {_EXAMPLES}")
    if rate.records == inf:
        raise ValueError("no throughput is so high; -1 is no limit")
    return rate
