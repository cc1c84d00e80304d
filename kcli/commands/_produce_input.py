"""The input of ``kcli produce``: the flags of each format, the files, stdin, their size."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kcli.commands.shared.params import raw_bytes
from kcli.commands.shared.usage import usage
from kcli.core.kernels.active import encode_headers
from kcli.core.options import ProducerOptions
from kcli.flows.inputs.encoding import Encoding
from kcli.flows.inputs.headers import HeaderBlocks
from kcli.flows.inputs.input_format import FORMATS, InputFormat
from kcli.flows.inputs.item import BadLine
from kcli.flows.inputs.lines import LineFormat

if TYPE_CHECKING:
    from kcli.serde.names import SerdeSpecs
    from kcli.serde.opening import Serdes

_MEANT_FOR: dict[str, tuple[str, frozenset[str]]] = {
    "key": ("-k", frozenset({"lines", "raw", "file", "failed"})),
    "key_delimiter": ("-K", frozenset({"lines", "failed"})),
    "delimiter": ("-D", frozenset({"lines", "pattern", "failed"})),
    "empty_is_null": ("-Z", frozenset({"lines", "pattern", "csv", "failed"})),
    "null_marker": ("--null-marker", frozenset({"lines", "pattern", "csv", "failed"})),
}
_NAMES_PARTITION = frozenset({"ndjson", "kcat", "csv", "failed"})


def input_format(flags: dict[str, Any], options: ProducerOptions, *, keep: bool) -> InputFormat:
    """The format of the input, as given by the flags; a usage error for a flag that the format ignores."""
    kind = _kind(flags)
    for name, (flag, kinds) in _MEANT_FOR.items():
        if flags[name] not in (None, False) and kind not in kinds:
            raise usage(
                f"kcli produce: {flag} with {'-f' if kind == 'pattern' else f'-i {kind}'}",
                why="records of that format contain what it would set",
                do=f"leave {flag} out",
            )
    if flags["key"] is not None and flags["key_delimiter"] is not None:
        raise usage(
            "kcli produce: -k and -K together",
            why="-k gives all records the same key, -K reads it from each line",
            do="use one of them",
        )
    marker = flags["null_marker"]
    how = LineFormat(
        delimiter=flags["delimiter"] or b"\n",
        key=None if flags["key"] is None else raw_bytes(flags["key"]),
        key_delimiter=flags["key_delimiter"],
        headers=encode_headers(flags["headers"]),
        empty_is_null=flags["empty_is_null"],
        null_marker=None if marker is None else raw_bytes(marker),
    )
    form = InputFormat(
        kind,
        how,
        HeaderBlocks(flags["headers"]),
        flags["pattern"] or "",
        longest=options.max_request_size,
        keep=keep,
    )
    if kind == "pattern":
        _check_pattern(form)
    if options.partitioner == "manual":
        _check_partitions(flags, kind)
    return form


def _kind(flags: dict[str, Any]) -> str:
    given = flags["pattern"] is not None
    kind: str = flags["input_format"] or ("pattern" if given else "lines")
    if given and kind not in ("pattern", "failed"):
        raise usage(
            f"kcli produce: -f with -i {kind}",
            why="both determine what a record looks like",
            do="use one of them",
        )
    return kind


def _check_pattern(form: InputFormat) -> None:
    from kcli.flows.inputs.pattern import Pattern, PatternError  # only with -f

    try:
        Pattern(form.pattern, form.how.delimiter)
    except PatternError as error:
        if re.fullmatch("--?[A-Za-z].*", form.pattern):
            raise usage(
                f"kcli produce: -f needs a PATTERN, and the next word is {form.pattern}",
                why="the word after -f is the pattern, whatever it begins with",
                do=r"write the pattern behind -f, as in -f '%k\t%v\n', or leave -f out",
            ) from None
        if form.pattern.strip().lower() in FORMATS:
            raise usage(
                f"kcli produce: -f {form.pattern} is not an input pattern",
                why=f"it has no verb; {form.pattern.strip().lower()} is an input format",
                do=f"use -i {form.pattern.strip().lower()}",
            ) from None
        raise usage(
            f"kcli produce: -f '{form.pattern}' is not a valid input pattern",
            why=str(error),
            do=r"write for example -f '%k\t%v\n'; `kcli produce --help` lists the verbs",
        ) from None


def _check_partitions(flags: dict[str, Any], kind: str) -> None:
    """With --partitioner manual each record has to name its partition, or -p does for all."""
    if flags["partition"] is not None or kind in _NAMES_PARTITION:
        return
    if kind == "pattern" and "%p" in flags["pattern"]:
        return
    raise usage(
        "kcli produce: --partitioner manual without partitions",
        why=f"{'this pattern' if kind == 'pattern' else f'-i {kind}'} has no field for the partition",
        do="give -p N, or use -i ndjson, csv or kcat, or -f with %p",
    )


def encoded(form: InputFormat, serdes: Serdes | None, topic: str, specs: SerdeSpecs) -> InputFormat:
    """The format with ``serdes`` that encode keys and values."""
    parts = {"key": specs.key, "value": specs.value}
    given = " ".join(f"-s {part}={spec}" for part, spec in parts.items() if spec is not None)
    return replace(form, encoding=Encoding(serdes, topic), serdes=given)


def encoded_key(form: InputFormat) -> InputFormat:
    """The format with the key of ``-k`` encoded by its serde; a usage error if that is impossible."""
    try:
        return replace(form, how=form.how._replace(key=form.encoding.text("key", form.how.key)))
    except BadLine as bad:
        raise usage(
            "kcli produce: the key of -k cannot be encoded",
            why=bad.reason,
            do="nothing was sent; correct -k or -s",
        ) from None


def signature(form: InputFormat) -> str:
    """The flags that determine what a record is, for a checkpoint."""
    how = form.how
    parts = {
        "-f": form.pattern.encode("utf-8", "surrogateescape") or None,
        "-D": None if how.delimiter == b"\n" else how.delimiter,
        "-K": how.key_delimiter,
    }
    given = [f"{flag}={value!r}" for flag, value in parts.items() if value is not None]
    return " ".join([form.kind, *given, *([form.serdes] if form.serdes else [])])


def check_inputs(files: Sequence[str]) -> None:
    """Opens each input once, so that a missing one is reported before anything is sent."""
    for name in files or ("-",):
        os.close(opened(name))


def opened(name: str) -> int:
    """A descriptor of the input; ``-`` is stdin."""
    if name == "-":
        return os.dup(_stdin())
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        raise usage(
            f"kcli produce: cannot read {name}",
            why=(error.strerror or str(error)).lower(),
            do="check the name; nothing was sent",
        ) from None
    return descriptor


def _stdin() -> int:
    try:
        descriptor = sys.stdin.fileno()
        os.fstat(descriptor)
    except (AttributeError, OSError, ValueError):
        raise usage(
            "kcli produce: stdin is closed",
            why="there is nothing to read",
            do="name a FILE, or pipe lines in",
        ) from None
    return descriptor


def total_size(files: Sequence[str]) -> int | None:
    """The size of all inputs in bytes; None if it is unknown."""
    total = 0
    for name in files or ("-",):
        try:
            status = os.stat(name) if name != "-" else os.fstat(0)
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total or None
