"""The options that several tests have: on what is sent and read, and on what is reported."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kcli.commands.shared.options import TOPIC, CountType, DurationType, option
from kcli.commands.shared.params import DELIMITER, SIZE_RANGE, THROUGHPUT, Rate, Word
from kcli.core.classes import dataclass
from kcli.flows.perf.limits import KEYS, Limit, parse_limit

if TYPE_CHECKING:
    from kcli.flows.perf.payload import Keys

Decorator = Callable[[Any], Any]


def parse_share(text: str) -> float:
    """``0.6``; ValueError if it is no number from 0 to 1."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:  # nan, too
        raise ValueError(f"{text!r} is not a share in the range 0 to 1, such as 0.6")
    return share


def parse_keys(text: str) -> Keys:
    """``range:1000`` or ``random:1000``."""
    from kcli.flows.perf.payload import Keys  # only where keys are made

    match = re.fullmatch("(range|random):([0-9]{1,9})", text)
    if match is None or not int(match[2]):
        raise ValueError(f"{text!r} is neither range:N nor random:N, with N keys")
    return Keys(int(match[2]), match[1] == "random")


SHARE = Word("share", parse_share)
LIMIT = Word("condition", parse_limit, tuple(f"{name}>" for name in KEYS))


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfOptions:
    """Those that all tests have. Times are in seconds; the ``warmup_records`` are part of ``num_records``."""

    topic: str
    num_records: int | None
    duration: float | None
    warmup_records: int
    reporting_interval: float
    fail_if: tuple[Limit, ...]
    html: str | None

    @property
    def measured_records(self) -> int | None:
        """How many come after the warm-up; None where their number has no limit."""
        return None if self.num_records is None else self.num_records - self.warmup_records

    @property
    def warmup_text(self) -> str:
        """What a plan adds for the warm-up."""
        return f"; the first {self.warmup_records:,} are not measured" if self.warmup_records else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOptions(PerfOptions):
    """Those on what is sent: ``record_size`` in bytes, from and to; of a file only where a test can send one."""

    throughput: Rate
    record_size: tuple[int, int] | None
    compressible: float | None
    payload_file: str | None = None
    payload_delimiter: bytes | None = None
    keys: Keys | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceOptions(SendOptions):
    """Those of ``kcli perf produce``. ``verify``: read back what was confirmed. ``transaction_duration`` is in seconds,
    None without the option.
    """

    processes: int
    verify: bool
    transactional_id: str | None
    transaction_duration: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeOptions(PerfOptions):
    """Those of ``kcli perf consume``. ``idle_timeout`` is in seconds, None without the option."""

    group: str | None
    group_type: str | None
    from_latest: bool
    idle_timeout: float | None
    processes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndToEndOptions(SendOptions):
    """Those of ``kcli perf e2e``. ``idle_timeout``: seconds to wait for a confirmed record."""

    group: str | None
    idle_timeout: float


def topic_option(text: str) -> Decorator:
    """``-t TOPIC``."""
    return option("-t", "--topic", type=TOPIC, required=True, metavar="TOPIC", help=text)


def amount_options(records: str, duration: str) -> Decorator:
    """``--num-records`` and ``--duration``, with their help texts."""
    options = (
        option("--num-records", type=CountType(1), metavar="N", help=records),
        option("--duration", type=DurationType(positive=True), metavar="DUR", help=duration),
    )
    return lambda function: _with(function, options)


def value_options(function: Any) -> Any:
    """``--record-size``, ``--payload-file``, ``--payload-delimiter``, ``--compressible``, ``--keys`` and ``--seed``."""
    return _with(function, (_RECORD_SIZE, _PAYLOAD_FILE, _PAYLOAD_DELIMITER, _COMPRESSIBLE, _KEYS, _SEED))


def made_value_options(function: Any) -> Any:
    """``--record-size`` and ``--compressible``: for a test that marks its values: not those of a file."""
    return _with(function, (_RECORD_SIZE, _COMPRESSIBLE))


_TRANSACTION_OPTIONS = (
    option(
        "--transactional-id",
        metavar="ID",
        help="send in transactions with this transactional id; of several processes with ID-0, ID-1 and so on",
    ),
    option(
        "--transaction-duration",
        type=DurationType(positive=True),
        metavar="DUR",
        help="how long a transaction is open before it is committed (default: 3s); without --transactional-id with a "
        "random one",
    ),
)
_RECORD_SIZE = option(
    "--record-size",
    type=SIZE_RANGE,
    metavar="SIZE|MIN..MAX",
    help="bytes of a value; all sizes of a range are equally frequent (default: 1KiB)",
)
_PAYLOAD_FILE = option(
    "--payload-file",
    type=click.Path(exists=True, dir_okay=False, readable=True),
    metavar="FILE",
    help="send the lines of FILE, in order and over and over, instead of made values",
)
_PAYLOAD_DELIMITER = option(
    "--payload-delimiter",
    type=DELIMITER,
    metavar="DELIM",
    help=r"what ends a value in --payload-file; escapes \n \t \0 \xNN (default: \n)",
)
_COMPRESSIBLE = option(
    "--compressible",
    type=SHARE,
    metavar="SHARE",
    help="the share of a value, 0 to 1, that compresses to nothing; the rest is random bytes "
    "(default: random capital letters, as Kafka's tool sends)",
)


_KEYS = option(
    "--keys",
    type=Word("keys", parse_keys),
    metavar="range:N|random:N",
    help="keys 0 to N-1, one after the other or chosen at random (default: none)",
)
_SEED = option(
    "--seed",
    type=CountType(0),
    default=0,
    metavar="N",
    help="the same N makes the same values and random keys (default: 0)",
)


def throughput_option(text: str) -> Decorator:
    """``--throughput``."""
    return option("--throughput", type=THROUGHPUT, default="-1", metavar="N|SIZE/s", help=text)


def warmup_option(text: str) -> Decorator:
    """``--warmup-records``."""
    return option("--warmup-records", type=CountType(0), default=0, metavar="N", help=text)


def transaction_options(function: Any) -> Any:
    """``--transactional-id`` and ``--transaction-duration``."""
    return _with(function, _TRANSACTION_OPTIONS)


def report_options(function: Any) -> Any:
    """``--reporting-interval``, ``--fail-if`` and ``--html``."""
    return _with(function, _REPORT_OPTIONS)


_REPORT_OPTIONS = (
    option(
        "--reporting-interval",
        type=DurationType(positive=True),
        default="5s",
        metavar="DUR",
        help="how often a line of figures is written while the test runs (default: 5s)",
    ),
    option(
        "--fail-if",
        "fail_if",
        type=LIMIT,
        multiple=True,
        metavar="CONDITION",
        help="exit with 8 if this is true at the end, as 'p99>50ms', 'rate<100k' or 'errors>0'; repeatable",
    ),
    option(
        "--html",
        metavar="FILE",
        help="also write the result as a page with plots; it is replaced atomically",
    ),
)


def _with(function: Any, options: tuple[Decorator, ...]) -> Any:
    for decorate in reversed(options):
        function = decorate(function)
    return function
