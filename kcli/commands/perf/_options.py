"""The options that several tests have on what is sent and read; for reports see ``_report_options.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kcli.commands.shared.options import TOPIC, CountType, DurationType
from kcli.commands.shared.params import DELIMITER, SIZE_RANGE, THROUGHPUT, Word

Decorator = Callable[[Any], Any]
_MOST_PROCESSES = 256


def parse_share(text: str) -> float:
    """``0.6``; ValueError if it is no number from 0 to 1."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:  # nan, too
        raise ValueError(f"{text!r} is not a share in the range 0 to 1, such as 0.6")
    return share


SHARE = Word("share", parse_share)


def topic_option(text: str) -> Decorator:
    """``-t TOPIC``."""
    return click.option("-t", "--topic", type=TOPIC, required=True, metavar="TOPIC", help=text)


def amount_options(records: str, duration: str) -> Decorator:
    """``--num-records`` and ``--duration``, with their help texts."""
    options = (
        click.option("--num-records", type=CountType(1), metavar="N", help=records),
        click.option("--duration", type=DurationType(positive=True), metavar="DURATION", help=duration),
    )
    return lambda function: _with(function, options)


def value_options(function: Any) -> Any:
    """``--record-size``, ``--payload-file``, ``--payload-delimiter`` and ``--compressible``."""
    return _with(function, (_RECORD_SIZE, _PAYLOAD_FILE, _PAYLOAD_DELIMITER, _COMPRESSIBLE))


def made_value_options(function: Any) -> Any:
    """``--record-size`` and ``--compressible``: for a test that marks its values: not those of a file."""
    return _with(function, (_RECORD_SIZE, _COMPRESSIBLE))


_RECORD_SIZE = click.option(
    "--record-size",
    type=SIZE_RANGE,
    metavar="SIZE|MIN..MAX",
    help="Bytes of a value; all sizes of a range are equally frequent.  [default: 1KiB]",
)
_PAYLOAD_FILE = click.option(
    "--payload-file",
    type=click.Path(exists=True, dir_okay=False, readable=True),
    metavar="FILE",
    help="Send the lines of FILE, in order and over and over, instead of made values.",
)
_PAYLOAD_DELIMITER = click.option(
    "--payload-delimiter",
    type=DELIMITER,
    metavar="DELIM",
    help=r"What ends a value in --payload-file; escapes \n \t \0 \xNN.  [default: \n]",
)
_COMPRESSIBLE = click.option(
    "--compressible",
    type=SHARE,
    metavar="SHARE",
    help="The share of a value, 0 to 1, that compresses to nothing; the rest is random bytes.  "
    "[default: random capital letters, as Kafka's tool sends]",
)


def throughput_option(text: str) -> Decorator:
    """``--throughput``."""
    return click.option("--throughput", type=THROUGHPUT, default="-1", metavar="N|SIZE/s", help=text)


def warmup_option(text: str) -> Decorator:
    """``--warmup-records``."""
    return click.option("--warmup-records", type=CountType(0), default=0, metavar="N", help=text)


def processes_option(text: str) -> Decorator:
    """``--processes``."""
    return click.option(
        "--processes",
        type=CountType(1, _MOST_PROCESSES),
        default=1,
        metavar="N",
        help=f"{text}  [default: 1]",
    )


def _with(function: Any, options: tuple[Decorator, ...]) -> Any:
    for option in reversed(options):
        function = option(function)
    return function
