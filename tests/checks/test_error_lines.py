"""Errors that somebody can do something about have all three lines: what, why, what to do.

Read from the sources: each place where such an error is made gives ``why`` and ``do``, which may be expressions. In
``core`` these are only names that do not exist: its other errors are those of an API, and of what brokers send. A dialog
of ``tui`` has one line for an error.
"""

import ast
from pathlib import Path

from tests.checks.source_calls import places

HANDLED = {
    "ConfigError", "ConnectError", "DownloadError", "FailedRecordsError", "FileError", "GapsError",
    "InputError", "ExtraMissingError", "JournalError", "MismatchError", "NotFoundError", "NotPublishedError",
    "ReadBackError", "RecordsDifferError", "Refused", "RefusedError", "SandboxError", "SparkError",
    "StartError", "TargetError", "TimedOutError", "UsageError", "usage",
}  # fmt: skip
EVERYWHERE = {"NotFoundError"}
OTHERS = ("core", "tui")
NEVER_SHOWN = {
    "commands/complete.py:_secret_of_file",
    "commands/complete.py:_Completion.run",
    "flows/monitor/playback.py:Recording.at",
}
"""Completion shows no errors; a recording counts its broken lines."""


def name_of(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def is_short(call: ast.Call) -> bool:
    given = {keyword.arg for keyword in call.keywords}
    return None not in given and not given >= {"why", "do"}


def test_errors_that_somebody_can_do_something_about_say_why_and_what_to_do() -> None:
    found = places(rf"\b({'|'.join(HANDLED)})\(", lambda call: name_of(call) in HANDLED and is_short(call))
    short = {
        f"{place}: {ast.unparse(call)}"
        for place, calls in found.items()
        for call in calls
        if place not in NEVER_SHOWN and (name_of(call) in EVERYWHERE or Path(place).parts[0] not in OTHERS)
    }
    assert short == set()


def test_an_error_without_a_remedy_is_found() -> None:
    short, whole = ("NotFoundError('x', why='y')", "NotFoundError('x', why='y', do='z')")
    for text, missing in ((short, True), (whole, False)):
        (statement,) = ast.parse(text).body
        assert isinstance(statement, ast.Expr)
        assert isinstance(statement.value, ast.Call)
        assert name_of(statement.value) in HANDLED
        assert is_short(statement.value) is missing
