"""The value types that commands share: each converts one word of the command line, or says what it expects.

Loaded by commands, not at start. What the words mean is in ``words.py``.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kcli.commands.shared.options import DURATION, CountType, ParamType, option
from kcli.commands.shared.usage import usage
from kcli.commands.shared.word_values import Codec, Rate, TopicPartitions, is_text, raw_bytes
from kcli.core.names import is_topic_name
from kcli.core.types import CODEC_NAMES

if TYPE_CHECKING:
    from kcli.core.positions import RangeSpec

__all__ = (
    "BROKERS", "CODEC", "DELIMITER", "DURATION", "EXPECTATION", "FIELDS", "HEADERS", "INSTANT", "OFFSET",
    "OFFSET_RANGE", "PARTITIONS", "RATE", "SERDE", "SIZE", "SIZE_RANGE", "SUBJECT", "TOPIC_MAP", "TOPIC_PARTITIONS",
    "VALUE_PATH", "Codec", "Rate", "TopicPartitions", "is_text", "raw_bytes",
)  # fmt: skip


class Word(ParamType):
    """A type made from a function, which raises ValueError with a sentence; ``kcli help`` explains its ``concept``."""

    def __init__(
        self,
        name: str,
        parse: Callable[[str], Any],
        words: tuple[str, ...] = (),
        completes: str = "",
        concept: str = "",
    ) -> None:
        self.name = name
        self.concept = concept
        self.words = words
        self.completes = completes
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The parsed value; a default that is no text stays as it is."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _late(name: str) -> Callable[[str], Any]:
    """A function of ``words.py``, imported with the first word: most options are not given."""

    def parse(text: str) -> Any:
        from kcli.commands.shared import words  # as above

        return getattr(words, name)(text)

    return parse


def bytes_a_second(throttle: Rate | None, path: str) -> int | None:
    """The limit of ``--throttle`` of the command; usage error for a rate of records."""
    if throttle is None:
        return None
    if throttle.bytes is None:
        raise usage(
            f"{path}: --throttle needs a unit",
            why="it limits bytes a second",
            do="write --throttle 50MB/s, or --throttle 50MiB/s",
        )
    return max(1, int(throttle.bytes))


_ONE_TOPIC = ("topics alter", "topics copy", "topics trim")


def check_topic_name(name: str, command: str) -> None:
    """A usage error of ``command`` for a name that no topic can have."""
    if name.startswith("^") or (command in _ONE_TOPIC and any(sign in name for sign in "*?[")):
        raise usage(
            f"kcli {command}: {name!r} is not a valid topic name",
            why="it looks like a pattern, which may match several topics",
            do="name one topic: `kcli topics list --match GLOB` shows them",
        )
    if not is_topic_name(name):
        raise usage(
            f"kcli {command}: {name!r} is not a valid topic name",
            why="a topic name has 1 to 249 letters, digits, dots, underscores or hyphens",
            do=_legal(name) if command == "topics create" else "`kcli topics list` lists the topics",
        )


def _legal(name: str) -> str:
    """The remedy: valid topic names similar to ``name``."""
    near = [re.sub(r"[^A-Za-z0-9._-]+", sign, name) for sign in ".-"]
    return f"write {' or '.join(near)}" if all(map(is_topic_name, near)) else "choose another name"


SERDES_BOTH_WAYS = (
    "str", "json", "short", "int", "long", "float", "double", "hex", "base64", "avro", "protobuf", "jsonschema",
)  # fmt: skip
"""The serdes that read and write; the others only read."""

SERDES = (
    *SERDES_BOTH_WAYS, "glue", "apicurio",
    "consumer_offsets", "transaction_state", "share_group_state", "cluster_metadata",
)  # fmt: skip
"""Offered by completion for ``-s``: ``kcli.serde.NAMES``, which is not loaded for a help text."""

OFFSET_WORDS = (
    "earliest", "latest", "max-timestamp", "earliest-local", "latest-tiered", "earliest-pending-upload", "stored",
)  # fmt: skip
"""Offered by completion for offsets; the special ones as in ``kcli.core.positions``."""

SIZE = Word("size", _late("parse_size"))
SIZE_RANGE = Word("sizes", _late("parse_size_range"))
RATE = Word("rate", _late("parse_rate"))
PARTITIONS = Word("partitions", _late("parse_partitions"))
BROKERS = Word("brokers", _late("parse_brokers"))
NAMED_TOPIC = Word("topic", str, completes="topics")
"""A topic, or what is written in its place."""
TOPIC_PARTITIONS = Word("topic", _late("parse_topic_partitions"), completes="topics")
TOPIC_MAP = Word("topics", _late("parse_topic_map"))
HEADERS = Word("header", _late("parse_headers"))
SERDE = Word("serde", str, SERDES, concept="serdes")
CODEC = Word("codec", _late("parse_codec"), CODEC_NAMES)
DELIMITER = Word("delimiter", _late("parse_delimiter"))
OFFSET = Word("offset", _late("offset"), OFFSET_WORDS[:-1], concept="offsets")
OFFSET_RANGE = Word("range", _late("offset_range"), OFFSET_WORDS, concept="offsets")
INSTANT = Word("time", _late("instant"), concept="times")
FIELDS = Word("fields", str, completes="fields")
SUBJECT = Word("subject", str, completes="subjects")
EXPECTATION = Word("expectation", _late("expectation"))
VALUE_PATH = Word("path", _late("value_path"), completes="value-fields")
RECORDED_TIME = Word("time", _late("recorded_time"), concept="times")


def serde_option(text: str) -> Callable[[Any], Any]:
    """``-s``; ``{names}`` in its help becomes the serdes that both read and write. ``serdes.py`` opens them."""
    return option(
        "-s",
        "--serde",
        "serdes",
        type=SERDE,
        multiple=True,
        metavar="[key=|value=]SERDE",
        help=text.format(names=", ".join(SERDES_BOTH_WAYS)),
    )


def checkpoint_option(text: str) -> Callable[[Any], Any]:
    """``--checkpoint``, a file that keeps the position."""
    return option("--checkpoint", metavar="FILE", help=text)


def since_option(text: str, kind: Word = INSTANT) -> Callable[[Any], Any]:
    """``--since``, where reading begins."""
    return option("--since", type=kind, metavar="TIME", help=text)


def until_option(text: str, kind: Word = INSTANT) -> Callable[[Any], Any]:
    """``--until``, where reading ends."""
    return option("--until", type=kind, metavar="TIME", help=text)


def exact_times_option() -> Callable[[Any], Any]:
    """``--exact-times``: records are chosen by their own times, and not by where the range begins and ends."""
    return option(
        "--exact-times",
        is_flag=True,
        help="read past the limits in time, to the end, and choose each record by its own time",
    )


_MOST_PROCESSES = 256


def processes_option(text: str) -> Callable[[Any], Any]:
    """``--processes``."""
    return option(
        "--processes", type=CountType(1, _MOST_PROCESSES), default=1, metavar="N", help=f"{text} (default: 1)"
    )


def check_exact_times(command: str, spec: "RangeSpec") -> None:
    """A usage error for ``--exact-times`` with a range that no time limits."""
    if not any(end is not None and end.kind == "timestamp" for end in spec):
        raise usage(
            f"kcli {command}: --exact-times without a time",
            why="it chooses records by their times, and no time is given",
            do="give --since or --until, or leave it out",
        )


def partitions_option(text: str, kind: Word = PARTITIONS) -> Callable[[Any], Any]:
    """``-p``, the partitions that are read."""
    return option("-p", "--partitions", type=kind, metavar="LIST", help=text)


def offset_option(text: str, kind: Word = OFFSET_RANGE, *, name: str = "offset") -> Callable[[Any], Any]:
    """``--offset``, a range; ``name`` is that of the parameter."""
    return option("--offset", name, type=kind, metavar="SPEC", help=text)


def delimiter_option(text: str) -> Callable[[Any], Any]:
    """``-D``, what is between records."""
    return option("-D", "--delimiter", type=DELIMITER, metavar="DELIM", help=text)


def null_marker_option(text: str) -> Callable[[Any], Any]:
    """``--null-marker``, a text that stands for null."""
    return option("--null-marker", metavar="STR", help=text)


def rate_option(text: str) -> Callable[[Any], Any]:
    """``--rate``, a limit."""
    return option("--rate", type=RATE, metavar="RATE", help=text)


def config_option(text: str) -> Callable[[Any], Any]:
    """``--config``: pairs of a key and its value for Kafka."""
    return option(
        "--config", "configs", multiple=True, metavar="KEY=VALUE", callback=_config_pairs, help=text
    )


def _config_pairs(
    context: click.Context, _param: click.Parameter, texts: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """The keys and values of ``--config``; a usage error for what is none, and for a key that has two values."""
    command = context.command_path.removeprefix("kcli ")
    found: dict[str, str] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        key = key.strip()
        if not sign or not key:
            raise usage(
                f"{command}: --config {text!r} is not KEY=VALUE",
                why="there is no = in it" if not sign else "there is no key before the =",
                do="write --config retention.ms=3600000",
            )
        value = config_value(command, "--config", key, value)
        if found.setdefault(key, value) != value:
            raise usage(
                f"{command}: --config {key} has two values",
                why=f"they are {found[key]} and {value}",
                do="leave one of them out",
            )
    return tuple(found.items())


def config_value(command: str, flag: str, key: str, value: str) -> str:
    """The value for Kafka: ``7d`` is 604800000; a usage error for a unit that the key does not have."""
    from kcli.flows.configs.units import number_of  # only where a configuration is given

    try:
        return number_of(key, value)
    except ValueError as error:
        raise usage(
            f"{command}: {flag} {key}={value} is not valid",
            why=str(error),
            do=f"write {flag} {key}=NUMBER, or a number with one of its units",
        ) from None


def on_recreate_option(text: str) -> Callable[[Any], Any]:
    """``--on-recreate``, what follows when a topic that is read is created again."""
    return option("--on-recreate", type=click.Choice(["fail", "restart"]), default="fail", help=text)


THROUGHPUT = Word("throughput", _late("parse_throughput"))
