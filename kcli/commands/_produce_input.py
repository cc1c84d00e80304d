"""What ``kcli produce`` reads: which flags go with which format, the files, stdin, how much there is."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kcli.commands.shared.params import raw_bytes
from kcli.commands.shared.usage import usage

if TYPE_CHECKING:
    from kcli.core.options import ProducerOptions
    from kcli.flows.inputs.feed import InputFormat
    from kcli.serde.names import SerdeSpecs
    from kcli.serde.opening import Serdes

FORMATS = ("lines", "ndjson", "kcat", "raw", "csv", "file", "failed")

_MEANT_FOR: dict[str, tuple[str, frozenset[str]]] = {
    "key": ("-k", frozenset({"lines", "raw", "file", "failed"})),
    "key_delimiter": ("-K", frozenset({"lines", "failed"})),
    "delimiter": ("-D", frozenset({"lines", "pattern", "failed"})),
    "empty_is_null": ("-Z", frozenset({"lines", "pattern", "csv", "failed"})),
    "null_marker": ("--null-marker", frozenset({"lines", "pattern", "csv", "failed"})),
}
_NAMES_PARTITION = frozenset({"ndjson", "kcat", "csv", "failed"})


def input_format(flags: dict[str, Any], options: ProducerOptions, *, keep: bool) -> InputFormat:
    """What the flags say about the input. A flag that would mean nothing is a usage error."""
    from kcli.core.kernels.active import encode_headers
    from kcli.flows.inputs.feed import InputFormat
    from kcli.flows.inputs.headers import HeaderBlocks
    from kcli.flows.inputs.lines import LineFormat

    kind = _kind(flags)
    for name, (flag, kinds) in _MEANT_FOR.items():
        if flags[name] not in (None, False) and kind not in kinds:
            raise usage(
                f"kcli produce: {flag} with {'-f' if kind == 'pattern' else f'-i {kind}'}",
                why="records of that format say by themselves what it would say",
                do=f"leave {flag} out",
            )
    if flags["key"] is not None and flags["key_delimiter"] is not None:
        raise usage(
            "kcli produce: -k and -K together",
            why="one gives all records the same key, the other takes it from the line",
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
    kind: str = flags["input_format"] or ("pattern" if flags["pattern"] else "lines")
    if flags["pattern"] and kind not in ("pattern", "failed"):
        raise usage(
            f"kcli produce: -f with -i {kind}",
            why="the pattern says what a record looks like, and so does the format",
            do="use one of them",
        )
    return kind


def _check_pattern(form: InputFormat) -> None:
    from kcli.flows.inputs.pattern import Pattern, PatternError

    try:
        Pattern(form.pattern, form.how.delimiter)
    except PatternError as error:
        raise usage(
            f"kcli produce: -f '{form.pattern}' is not an input pattern",
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
    """The input of which ``serdes`` make bytes."""
    from dataclasses import replace

    from kcli.flows.inputs.encoding import Encoding

    said = {"key": specs.key, "value": specs.value}
    asked = " ".join(f"-s {part}={spec}" for part, spec in said.items() if spec is not None)
    return replace(form, encoding=Encoding(serdes, topic), serdes=asked)


def encoded_key(form: InputFormat) -> InputFormat:
    """The key of ``-k`` as its serde writes it, once for all; a usage error when it cannot."""
    from dataclasses import replace

    from kcli.flows.inputs.item import BadLine

    try:
        return replace(form, how=form.how._replace(key=form.encoding.text("key", form.how.key)))
    except BadLine as bad:
        raise usage(
            "kcli produce: the key of -k cannot be written",
            why=bad.reason,
            do="nothing was sent; correct -k or -s",
        ) from None


def signature(form: InputFormat) -> str:
    """The flags that say what a record is, for a checkpoint."""
    how = form.how
    parts = {
        "-f": form.pattern.encode("utf-8", "surrogateescape") or None,
        "-D": None if how.delimiter == b"\n" else how.delimiter,
        "-K": how.key_delimiter,
    }
    said = [f"{flag}={value!r}" for flag, value in parts.items() if value is not None]
    return " ".join([form.kind, *said, *([form.serdes] if form.serdes else [])])


def check_inputs(files: Sequence[str]) -> None:
    """Opens each input once, before anything is sent: one that is missing stops the run early."""
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
    """Bytes of all inputs, None when that cannot be known."""
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
