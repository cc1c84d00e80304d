"""What the options on a load mean: the values that are sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.commands.shared.usage import usage
from kcli.flows.perf.marks import MARK_SIZE
from kcli.flows.perf.payload import Values, can_be_marked
from kcli.output.progress import counted

DEFAULT_SIZE = 1024  # bytes of a value
_MADE = (("record_size", "--record-size"), ("compressible", "--compressible"))


def values_of(flags: Mapping[str, Any], test: str) -> Values:
    """The values; ``flags`` are those of ``value_options``, or of ``made_value_options``."""
    file, delimiter = flags.get("payload_file"), flags.get("payload_delimiter")
    if file is None and delimiter is not None:
        raise usage(
            f"kcli perf {test}: --payload-delimiter without --payload-file",
            why="it separates the values of a file",
            do="add --payload-file FILE, or leave it out",
        )
    for name, option in _MADE:
        if file is not None and flags[name] is not None:
            raise usage(
                f"kcli perf {test}: {option} with --payload-file",
                why="the values are the lines of the file, as they are",
                do=f"leave {option} out, or --payload-file",
            )
    low, high = flags["record_size"] or (DEFAULT_SIZE, DEFAULT_SIZE)
    if low < 1:
        raise usage(
            f"kcli perf {test}: --record-size 0",
            why="a value has at least one byte",
            do="--record-size 1KiB",
        )
    return Values(low, high, flags["compressible"], file, delimiter or b"\n")


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


def check_warmup(flags: Mapping[str, Any], test: str) -> None:
    """The records of the warm-up are some of all."""
    most = flags["num_records"]
    if most is not None and flags["warmup_records"] >= most:
        raise usage(
            f"kcli perf {test}: --warmup-records {flags['warmup_records']} of --num-records {most}",
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
