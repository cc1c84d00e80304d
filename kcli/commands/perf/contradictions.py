"""What contradicts among the options of a test, and what it could not do: usage errors, before anything is sent."""

from __future__ import annotations

import os

from kcli.commands.perf.options import PerfOptions, SendOptions
from kcli.commands.shared.usage import usage
from kcli.flows.perf.limits import KEYS, parse_limit, unmeasured
from kcli.flows.perf.marks import MARK_SIZE
from kcli.flows.perf.payload import Values, can_be_marked
from kcli.output.progress import counted

DEFAULT_SIZE = 1024  # bytes of a value


def values_of(asked: SendOptions, test: str) -> Values:
    """The values that are sent."""
    file, delimiter = asked.payload_file, asked.payload_delimiter
    if file is None and delimiter is not None:
        raise usage(
            f"kcli perf {test}: --payload-delimiter without --payload-file",
            why="it separates the values of a file",
            do="add --payload-file FILE, or leave it out",
        )
    for option, given in (("--record-size", asked.record_size), ("--compressible", asked.compressible)):
        if file is not None and given is not None:
            raise usage(
                f"kcli perf {test}: {option} with --payload-file",
                why="the values are the lines of the file, as they are",
                do=f"leave {option} out, or --payload-file",
            )
    low, high = asked.record_size or (DEFAULT_SIZE, DEFAULT_SIZE)
    if low < 1:
        raise usage(
            f"kcli perf {test}: --record-size 0",
            why="a value has at least one byte",
            do="--record-size 1KiB",
        )
    return Values(low, high, asked.compressible, file, delimiter or b"\n", asked.keys, asked.seed)


def check_markable(values: Values, what: str) -> None:
    """A usage error where records cannot be told apart. ``what``: the option or the test that needs it."""
    if can_be_marked(values):
        return
    if values.file is not None:
        raise usage(
            f"{what} with --payload-file",
            why="records are told apart by numbers at the beginning of their values, and a file is sent as it is",
            do="use --record-size, and --compressible for values that compress like yours",
        )
    raise usage(
        f"{what} with --record-size {values.low}",
        why=f"records are told apart by numbers at the beginning of their values, which need {MARK_SIZE} bytes",
        do=f"--record-size {MARK_SIZE} or more",
    )


def check_warmup(asked: PerfOptions, test: str) -> None:
    """The records of the warm-up are some of all."""
    most = asked.num_records
    if most is not None and asked.warmup_records >= most:
        raise usage(
            f"kcli perf {test}: --warmup-records {asked.warmup_records} of --num-records {most}",
            why="the records of the warm-up are part of them, and no record would be measured",
            do="more --num-records, or fewer --warmup-records",
        )


def check_shares(test: str, records: int | None, processes: int) -> None:
    """Each process has a share of the records."""
    if records is not None and records < processes:
        does = {"consume": "reads"}.get(test, "sends")
        raise usage(
            f"kcli perf {test}: {counted(records, 'record')} by {processes} processes",
            why=f"each of them {does} one at least",
            do="more --num-records, or fewer --processes",
        )


def check_report(asked: PerfOptions, test: str, *, checked: bool) -> None:
    """Usage errors for what a test will not measure, and for a page that could not be written after it.

    ``checked``: whether it compares the records that it reads.
    """
    why = None if asked.html is None else _unwritable(asked.html)
    if why is not None:
        raise usage(
            f"perf {test}: --html {asked.html or '(empty)'} cannot be written",
            why=why,
            do="name a file in a folder of yours; nothing was run",
        )
    for limit in asked.fail_if:
        why = unmeasured(limit, test, checked=checked)
        if why is not None:
            raise usage(
                f"perf {test}: --fail-if {limit.text} can never be judged",
                why=why,
                do="leave it out, or limit what is measured: " + _measured(test, checked=checked),
            )


def _unwritable(path: str) -> str | None:
    """Why the file cannot be written; None if it can."""
    if not path:
        return "the name is empty; perhaps a variable is not set"
    if os.path.exists(path) and not os.path.isfile(path):
        return "it is not a regular file, and would be replaced by one"
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        return "its folder does not exist, or may not be written to"
    return None


def _measured(test: str, *, checked: bool) -> str:
    limits = {name: parse_limit(f"{name}>1{'s' if 'latency' in key else ''}") for name, key in KEYS.items()}
    return ", ".join(
        name for name, limit in limits.items() if unmeasured(limit, test, checked=checked) is None
    )
