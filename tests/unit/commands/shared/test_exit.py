"""Exit codes and their precedence; errors in words."""

import errno
import itertools
import json
import os

import click
import pytest

from kcli.commands.shared.confirm import ASK, GO, IMPOSSIBLE, MISMATCH, STOP, decide
from kcli.commands.shared.exit import report_error
from kcli.commands.shared.global_values import GlobalValues
from kcli.core.errors import BrokerError, ConnectError, KcliError
from kcli.core.exit_codes import worst

ORDER = [130, 5, 4, 7, 3, 6, 2, 8, 1]
"""The contract's sentence: signal, 5, 4, 7, 3, then 6 if anything was done, 8, 1; 2 is before 8."""


def test_nothing_failed_is_0() -> None:
    assert worst([], done=True) == 0
    assert worst([0, 0], done=False) == 0


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations([c for c in ORDER if c != 6], 2)))
def test_of_two_codes_the_earlier_in_the_contract_wins(first: int, second: int) -> None:
    assert worst([second, first], done=False) == first


@pytest.mark.parametrize(
    ("code", "status"), [(1, 6), (2, 6), (6, 6), (8, 8), (3, 3), (5, 5), (7, 7), (130, 130)]
)
def test_done_turns_a_run_time_error_into_partly(code: int, status: int) -> None:
    assert worst([code], done=True) == status


def test_partly_beats_a_failed_check() -> None:
    assert worst([8, 1], done=True) == 6
    assert worst([8, 1], done=False) == 8


def settled(
    error: BaseException, values: GlobalValues, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    code = report_error(error, values)
    out, err = capsys.readouterr()
    assert out == ""
    return code, err


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt_that_an_error_passed_on_is_130_and_silent(
    interrupt: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    """Up to Python 3.11 __set_name__ passes on what interrupts it as the cause of a RuntimeError."""
    error = RuntimeError("Error calling __set_name__")
    error.__cause__ = interrupt
    assert settled(error, GlobalValues(), capsys) == (130, "")


@pytest.mark.case("N18")
@pytest.mark.parametrize("name", [None, "module.py"])
@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
def test_too_many_open_files_are_no_defect(
    capsys: pytest.CaptureFixture[str], code: int, name: str | None
) -> None:
    """Whatever was to be opened: a pipe, a module, a file of the user's. As where it is a connection, it is 3."""
    status, said = settled(OSError(code, os.strerror(code), name), GlobalValues(), capsys)
    assert status == 3
    assert said.startswith("kcli: no more files can be opened\n  why: too many open files")
    assert said.endswith(
        "do: raise the limit of open files: `ulimit -n` shows it, `ulimit -n 1024` sets it\n"
    )


@pytest.mark.case("S0-5")
def test_three_lines(capsys: pytest.CaptureFixture[str]) -> None:
    error = KcliError("what", why="why", do="do")
    assert settled(error, GlobalValues(), capsys) == (1, "kcli: what\n  why: why\n  do: do\n")
    assert settled(ConnectError("what"), GlobalValues(), capsys) == (3, "kcli: what\n")


@pytest.mark.case("C13")
def test_broker_text_cannot_draw_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    error = BrokerError(42, "topic x", message="\x1b[2J\nkcli: all is well")
    _code, err = settled(error, GlobalValues(), capsys)
    assert "\x1b" not in err
    assert err.count("\n") == 2


@pytest.mark.case("C13", "X21")
@pytest.mark.parametrize("output", [None, "json"])
def test_neither_a_traceback_nor_json_of_a_broker_s_text_can(
    output: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "\x1b[2J\x9b\u202e\nkcli: all is well"
    try:
        raise BrokerError(42, "topic x", message=text) from KcliError(text)
    except BrokerError as error:
        _code, err = settled(error, GlobalValues(output=output, debug=()), capsys)
    assert "Traceback" in err
    assert not set("\x1b\x9b\u202e") & set(err)
    assert not [line for line in err.splitlines() if line.startswith("kcli: all")]


@pytest.mark.parametrize("kind", ["json", "ndjson"])
def test_json_errors(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, err = settled(KcliError("w", why="y", do="d"), GlobalValues(output=kind), capsys)
    assert code == 1
    assert json.loads(err) == {"kind": "Error", "code": 1, "what": "w", "why": "y", "do": "d"}


@pytest.mark.parametrize(
    ("error", "status"),
    [(click.exceptions.Exit(3), 3), (SystemExit(2), 2), (KeyboardInterrupt(), 130), (click.Abort(), 130)],
)
def test_quiet_ends(error: BaseException, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert settled(error, GlobalValues(), capsys) == (status, "")


@pytest.mark.case("C17")
@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread")])
def test_too_little_memory_is_no_defect(error: BaseException, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = settled(error, GlobalValues(), capsys)
    assert status == 1
    assert text.startswith("kcli: out of memory\n  why: the system has no more memory")


def test_an_unexpected_os_error_on_a_named_file_is_not_internal(capsys: pytest.CaptureFixture[str]) -> None:
    error = PermissionError(13, "Permission denied", "/x/y")
    expected = "kcli: /x/y: Permission denied\n  do: check who may read and write it: ls -ld /x/y\n"
    assert settled(error, GlobalValues(), capsys) == (1, expected)


def test_a_full_disk_under_a_named_file_is_not_that_of_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    error = OSError(errno.ENOSPC, "No space left on device", "/x/y")
    expected = "kcli: /x/y: No space left on device\n  do: free space there, then run it again\n"
    assert settled(error, GlobalValues(), capsys) == (1, expected)


FLAGS = {
    "name": "orders",
    "dry_run": False,
    "yes": False,
    "confirmed": (),
    "no_input": False,
    "terminal": True,
}


@pytest.mark.parametrize(
    ("flags", "verdict"),
    [
        ({}, ASK),
        ({"terminal": False}, IMPOSSIBLE),
        ({"no_input": True}, IMPOSSIBLE),
        ({"yes": True}, GO),
        ({"yes": True, "terminal": False, "no_input": True}, GO),
        ({"confirmed": ["orders"], "terminal": False}, GO),
        ({"confirmed": ["other", "orders"], "terminal": False, "danger": True}, GO),
        ({"confirmed": ["other"]}, MISMATCH),
        ({"confirmed": ["other", "another"], "yes": True}, MISMATCH),
        ({"confirmed": ["other"], "among": ["other"], "yes": True}, GO),
        ({"confirmed": ["other"], "among": ["other"], "yes": True, "danger": True}, ASK),
        ({"dry_run": True, "yes": True}, STOP),
        ({"name": None, "confirmed": ["x"]}, ASK),
    ],
)
def test_confirmation_on_a_terminal_and_without(flags: dict[str, object], verdict: str) -> None:
    assert decide(**{**FLAGS, **flags}) == verdict  # type: ignore[arg-type]
