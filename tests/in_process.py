"""Runs kcli's command line in this process, with an environment of its own: quick. Not a test."""

import io
import os
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest.mock import patch

from kcli.__main__ import run
from tests.command import environment
from tests.printed_json import check_printed
from tests.returned_codes import check_returned


class Done(NamedTuple):
    """What became of a run."""

    code: int
    out: str
    err: str


class Stream(io.TextIOWrapper):
    """A stream without a file descriptor, which keeps what was written."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True)

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined, no-any-return]


def kcli(*arguments: str, bootstrap: str = "", **variables: str) -> Done:
    """One command to its end. ``variables`` are added to an environment without kcli's own."""
    out, err = Stream(), Stream()
    given = environment(bootstrap, **variables)
    with patch.dict(os.environ, given, clear=True), redirect_stdout(out), redirect_stderr(err):
        code = run(list(arguments))
    done = Done(code, out.text(), err.text())
    check_printed(done.out, done.err)
    check_returned(arguments, code)
    return done
