"""The input of ``kcli produce``: its format, the files, stdin, their size."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcli.commands.produce.options import ProduceOptions
from kcli.commands.shared.params import raw_bytes
from kcli.commands.shared.usage import usage
from kcli.core.classes import replace
from kcli.core.kernels.active import encode_headers
from kcli.core.options import ProducerOptions
from kcli.flows.inputs.input_format import FORMATS, Encoding, FromValue, HeaderBlocks, InputFormat
from kcli.flows.inputs.item import BadLine
from kcli.flows.inputs.lines import LineFormat

if TYPE_CHECKING:
    from kcli.serde.names import SerdeSpecs
    from kcli.serde.opening import Serdes


def input_format(asked: ProduceOptions, client: ProducerOptions) -> InputFormat:
    """The format of the input, as the options describe it; a usage error for an invalid pattern."""
    marker = asked.null_marker
    how = LineFormat(
        delimiter=asked.delimiter or b"\n",
        key=None if asked.key is None else raw_bytes(asked.key),
        key_delimiter=asked.key_delimiter,
        headers=encode_headers(asked.headers),
        empty_is_null=asked.empty_is_null or asked.tombstone,
        null_marker=None if marker is None else raw_bytes(marker),
    )
    form = InputFormat(
        asked.kind,
        how,
        HeaderBlocks(asked.headers),
        asked.pattern or "",
        longest=client.max_request_size,
        keep=asked.failed is not None,
    )
    if form.kind == "pattern":
        _check_pattern(form, asked.delimiter)
    if asked.key_from or asked.headers_from or asked.partition_from:
        form.from_value = FromValue(asked.key_from, asked.headers_from, asked.partition_from)
    if client.partitioner == "manual":
        asked.check_partitions()
    return form


def _check_pattern(form: InputFormat, delimiter: bytes | None) -> None:
    from kcli.flows.inputs.pattern import Pattern, PatternError  # only with -f

    try:
        terminator = Pattern(form.pattern, form.how.delimiter).terminator
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
    if delimiter not in (None, terminator):
        raise usage(
            f"kcli produce: -D with -f '{form.pattern}'",
            why="this pattern determines itself where a record ends",
            do="leave -D out, or let the pattern end in a verb",
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
    if form.from_value is not None:
        named = form.from_value._asdict().items()
        given += [f"--{part}-from={path.name}" for part, path in named if path is not None]
    return " ".join([form.kind, *given, *([form.serdes] if form.serdes else [])])


def check_inputs(files: Sequence[str]) -> None:
    """Opens each input once, so that a missing one is reported before anything is sent."""
    for name in files or ("-",):
        os.close(opened(name))


def check_outputs(asked: ProduceOptions) -> None:
    """A usage error where ``--failed`` or ``--checkpoint`` is a file of the input, or both are one file."""
    if asked.failed == "-":
        raise usage(
            "kcli produce: --failed -",
            why="what failed is written to a file, and - is stdin where it is read again",
            do="name a file; ./- is one of that name",
        )
    named = [("--failed", asked.failed), ("--checkpoint", asked.checkpoint)]
    outputs = [(flag, path) for flag, path in named if path is not None]
    others = outputs[1:]
    others += [] if asked.is_one else [("input", name) for name in asked.files or ("-",)]
    for flag, path in outputs:
        same = _file_of(path)
        for other, name in others:
            if other != flag and same is not None and same == _file_of(name):
                raise usage(
                    f"kcli produce: {flag} and {other} are one file, {path}",
                    why="one would be written over the other",
                    do=f"name another file for {flag}",
                )


def _file_of(name: str) -> tuple[int, int] | str | None:
    """What two names of one file have in common; None for stdin where it is no file, and for devices."""
    try:
        status = os.fstat(0) if name == "-" else os.stat(name)
    except OSError:
        return None if name == "-" else os.path.realpath(name)
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


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
