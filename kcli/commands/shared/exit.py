"""How a command ends: exceptions as three lines on stderr, the exit status, and signals that let it clean up.

``report_error`` is called once, in ``__main__``. Commands that continue after a failure use ``Invocation.failed`` and
``Invocation.finish``, which call ``print_error`` and ``kcli.core.exit_codes.worst``.
"""

import _signal as signal  # type: ignore[import-not-found] # all of `signal` that is used here, without its enumerations
import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from kcli.commands.shared.global_values import GlobalValues
from kcli.core.error_codes import RAISE_FILE_LIMIT
from kcli.core.errors import BrokerError, KcliError, StoppedError
from kcli.core.exit_codes import ExitCode, signalled
from kcli.output.sanitise import visible, visible_json
from kcli.output.terminal import is_terminal, terminal_size

_NO_THREAD = "can't start new thread"  # a RuntimeError: there is no memory for its stack
_DISK = frozenset((errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, errno.EBADF, errno.EROFS))


class Declined(KcliError):  # noqa: N818 - an answer, not a fault
    """The user did not confirm."""


class WriteError(KcliError):
    """Writing to stdout failed."""


def report_error(error: BaseException, values: GlobalValues | None) -> int:
    """Prints ``error`` on stderr and returns the exit status; a closed pipe ends the process."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0
    if _is_interrupt(error):
        return ExitCode.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        die_of_sigpipe()
    if isinstance(error, OSError) and error.errno in _DISK and error.filename is None:
        abandon(1)
        acted = values is not None and values.invocation is not None and values.invocation.changes
        error = WriteError(
            f"cannot write output: {os.strerror(error.errno or 0)}",
            why=f"writing to stdout failed ({errno.errorcode[error.errno or 0]})",
            do="what was changed stays, and the same line would do it again: look what is there first"
            if acted
            else "free space, or write to another file; the output is incomplete",
        )
    if values is not None and values.debug is not None:
        print_traceback(error)
    code, what, why, do = describe(error)
    for one in getattr(error, "each", ()):
        print_error(*describe(one), values)
    if values is not None and values.invocation is not None:
        why = values.invocation.with_origin(error, why)
    print_error(code, what, why, do, values)
    return code


def _is_interrupt(error: BaseException) -> bool:
    """Ctrl-C, by whatever it was passed on: up to Python 3.11 a class that is just being made turns it into a
    RuntimeError ("Error calling __set_name__").
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt | click.Abort | StoppedError):
            return True
        cause = cause.__cause__
    return False


def die_of_sigpipe() -> NoReturn:
    """Ends by SIGPIPE, which the shell shows as 141, as any Unix filter whose reader has closed the pipe."""
    abandon(1)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGPIPE)
    os._exit(ExitCode.CLOSED_PIPE)  # only where SIGPIPE is blocked


def abandon(descriptor: int) -> None:
    """Discards what stdout (1) or stderr (2) has buffered: else the interpreter's exit would fail on it again."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def describe(error: BaseException) -> tuple[int, str, str, str]:
    """Status, what, why, do."""
    if isinstance(error, KcliError):
        return error.exit_code, _failed(error), error.why, error.do
    if isinstance(error, click.ClickException):
        from kcli.commands.shared.usage_errors import describe_usage  # tables for errors only

        return (ExitCode.USAGE, *describe_usage(error))
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        where = f" (at {os.fsdecode(error.filename)})" if error.filename is not None else ""
        return (
            ExitCode.UNREACHABLE,  # as where it is a connection: chance decides what is opened last
            "no more files can be opened",
            f"{os.strerror(error.errno).lower()}{where}",
            RAISE_FILE_LIMIT,
        )
    if isinstance(error, OSError) and error.filename is not None:
        from kcli.files.atomic import described  # few runs need it

        return (ExitCode.FAILED, *described(error))
    if isinstance(error, MemoryError) or str(error) == _NO_THREAD:
        return (
            ExitCode.FAILED,
            "out of memory",
            "the system has no more memory, or a limit is reached (ulimit -v, a container's limit)",
            "raise the limit; `ulimit -a` shows it",
        )
    return (
        ExitCode.FAILED,
        f"internal error: {type(error).__name__}: {error}",
        "this is a defect of kcli",
        "run again with --debug and report what it prints",
    )


def _failed(error: KcliError) -> str:
    """The error's text; where it names only the step that a broker rejected, with "failed"."""
    step = error.what if isinstance(error, BrokerError) and error.what == error.where else ""
    verb = step.partition(" ")[0]
    return f"{step} failed" if verb.endswith("ing") or verb in ("fetch", "JoinGroup") else error.what


def print_traceback(error: BaseException) -> None:
    """On stderr, for ``--debug``. A message may quote a peer: it is one line, with everything unprintable visible."""
    import traceback  # only for --debug

    for part in traceback.format_exception(error):
        is_frame = part[:1].isspace() or part.startswith("Traceback ")
        text = visible(part.rstrip("\n"))
        with contextlib.suppress(OSError, ValueError):
            click.echo(text if is_frame else text.replace("\n", "\\n"), err=True)


def error_document(code: int, what: str, why: str, do: str) -> str:
    """The error as one line of JSON, for ``-o json`` and ``-o ndjson``."""
    import json  # only with JSON output

    document = {"kind": "Error", "code": code, "what": what, "why": why, "do": do}
    return visible_json(json.dumps(document, ensure_ascii=False))


def print_error(code: int, what: str, why: str, do: str, values: GlobalValues | None) -> None:
    """Three lines on stderr, or one object where the output is JSON. A closed stderr is no reason to fail."""
    why = "" if why in what else why
    if values is not None and values.invocation is not None:
        do = values.invocation.with_user(do)
    if values is not None and values.output in ("json", "ndjson"):
        text = error_document(code, what, why, do)
    else:
        lines = [
            f"kcli: {what.removeprefix('kcli ')}",
            f"  why: {why}" if why else "",
            f"  do: {do}" if do else "",
        ]
        text = "\n".join(visible(line).replace("\n", " ") for line in lines if line)
        if is_terminal(sys.stderr):
            from kcli.output.folding import folded_text  # few runs need it

            text = folded_text(text, terminal_size(sys.stderr).columns)
    with contextlib.suppress(OSError, ValueError):
        click.echo(text, err=True)


@contextmanager
def orderly_end() -> Iterator[None]:
    """Within the block both raise SystemExit with 128 + the signal; not where the parent ignores them (nohup)."""

    def leave(signum: int, _frame: object) -> None:
        raise SystemExit(signalled(signum))

    handled = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is not signal.SIG_IGN]
    before = {signum: signal.signal(signum, leave) for signum in handled}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
