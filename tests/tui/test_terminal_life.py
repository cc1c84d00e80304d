"""T3, T4, T5, T10: any size of the terminal, its end, signals, defects, and Ctrl-Z: it is given back as it was."""

import os
import re
import signal
import stat
import sys
import time
from pathlib import Path

import pytest

from tests.terminal import PATIENCE, Terminal
from tests.tui.screen_process import CRASHES, SECRET

MADE = [sys.executable, "-m", "tests.tui.screen_process"]
ON_WHILE_RUNNING = {1000, 1003, 1004, 1006, 1015, 1049, 2004}
"""Private modes: mouse, focus, the alternate screen, bracketed paste."""


def made(what: str = "plain", state: Path | None = None, **environ: str) -> Terminal:
    variables = {**os.environ, **environ, **({} if state is None else {"XDG_STATE_HOME": str(state)})}
    terminal = Terminal([*MADE, what], environ=variables)
    if what == "plain":
        terminal.wait("40 groups")
        terminal.wait(lambda: 2004 in terminal.modes)
    return terminal


def is_as_before(terminal: Terminal) -> bool:
    """Cursor, screen, mouse, paste, line wrapping, echo."""
    modes = terminal.modes
    return (
        not any(modes[one] for one in ON_WHILE_RUNNING if one in modes)
        and modes.get(25, True)
        and modes.get(7, True)
        and terminal.attributes == terminal.before
    )


def stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.case("T3")
def test_any_size_and_a_hundred_sizes_in_a_row() -> None:
    with made() as terminal:
        for columns, rows in (
            (1, 1),
            (20, 5),
            (300, 100),
            (1, 100),
            (300, 1),
            *((7 + n, 3 + n % 40) for n in range(100)),
        ):
            terminal.resize(columns, rows)
            terminal.press("j")
            terminal.read(0.005)
        sizes = ((1, 1), (20, 5), (300, 100), (1, 100), (300, 1), *((7 + n, 3 + n % 40) for n in range(100)))
        for columns, rows in sizes:
            terminal.resize(columns, rows)
            terminal.press("j")
            terminal.read(0.005)
        for columns, rows in ((1, 1), (20, 5), (300, 100), (120, 30)):
            terminal.resize(columns, rows)
            for _ in range(8):
                terminal.read(0.03)
        terminal.wait("40 groups")
        assert terminal.process.poll() is None
        terminal.press("q")
        assert terminal.ended() == 0


@pytest.mark.case("T4")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_signal_ends_it_in_order(number: signal.Signals, status: int) -> None:
    with made() as terminal:
        os.kill(terminal.process.pid, number)
        assert terminal.ended() == status
        assert is_as_before(terminal)


@pytest.mark.case("T4")
def test_a_second_signal_ends_it_at_once_and_still_gives_the_terminal_back() -> None:
    with made() as terminal:
        os.kill(terminal.process.pid, signal.SIGSTOP)
        while not stopped(terminal.process.pid):
            time.sleep(0.01)
        os.kill(terminal.process.pid, signal.SIGTERM)
        os.kill(terminal.process.pid, signal.SIGHUP)
        os.kill(terminal.process.pid, signal.SIGCONT)
        assert terminal.ended() in (129, 143)
        assert is_as_before(terminal)


@pytest.mark.case("T4")
def test_a_second_signal_ends_it_although_its_terminal_takes_nothing_any_more() -> None:
    """As after Ctrl-S: a frame on its way fills it."""
    with made() as terminal:
        os.kill(terminal.process.pid, signal.SIGSTOP)
        while not stopped(terminal.process.pid):
            time.sleep(0.01)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCONT):
            os.kill(terminal.process.pid, number)
        assert terminal.process.wait(PATIENCE) in (129, 143)
        assert terminal.attributes == terminal.before


@pytest.mark.case("T4")
def test_ctrl_c_and_q_end_it_with_0() -> None:
    for key in ("q", "\x03"):
        with made() as terminal:
            terminal.press(b"\xff\xfe\xc3")  # not UTF-8: no key
            terminal.press(key)
            assert terminal.ended() == 0
            assert is_as_before(terminal)


@pytest.mark.case("T4")
@pytest.mark.parametrize(("ignored", "status"), [(False, 129), (True, 1)])
def test_no_process_is_left_where_the_terminal_was_closed(ignored: bool, status: int) -> None:
    argv = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh"] if ignored else []
    with Terminal([*argv, *MADE, "plain"]) as terminal:
        terminal.wait("40 groups")
        terminal.hang_up()
        assert terminal.process.wait(120) == status


@pytest.mark.case("T5", "T9")
@pytest.mark.parametrize("where", CRASHES)
def test_a_defect_gives_the_terminal_back_and_leaves_a_traceback_without_values(
    where: str, tmp_path: Path
) -> None:
    with made(where, tmp_path) as terminal:
        assert terminal.ended() == 1
        assert is_as_before(terminal)
        shown = bytes(terminal.written).decode()
    last = shown[shown.rindex("kcli: ") :]
    [path] = (tmp_path / "kcli/crashes").iterdir()
    assert re.sub(r"\r\n {6}", " ", last).split("\r\n") == [
        "kcli: internal error: ValueError: boom (hidden) \\x1b[31m",
        "  why: this is a defect of kcli",
        f"  do: report it; {path} has the traceback",
        "",
    ]
    report = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "Traceback (most recent call last)" in report
    assert "screen_process.py" in report
    assert "boom (hidden) \\x1b[31m" in report
    assert "Traceback" not in shown
    assert SECRET not in shown + report


@pytest.mark.case("T10")
def test_ctrl_z_and_its_signal_give_the_terminal_back_until_it_continues() -> None:
    with made() as terminal:
        for number in (None, signal.SIGTSTP):
            if number is None:
                terminal.press("\x1a")
            else:
                os.kill(terminal.process.pid, number)
            terminal.wait(lambda: stopped(terminal.process.pid) and is_as_before(terminal))
            terminal.screen.reset()
            os.kill(terminal.process.pid, signal.SIGCONT)
            terminal.wait("40 groups")
            terminal.wait(lambda: all(terminal.modes[one] for one in ON_WHILE_RUNNING))
        terminal.press("q")
        assert terminal.ended() == 0
        assert is_as_before(terminal)


@pytest.mark.case("T10")
def test_a_stop_at_any_moment_of_continuing_is_obeyed_and_gives_the_terminal_back() -> None:
    """Twelve moments: a stop that came before the screen was complete was lost, or left its modes set."""
    with made() as terminal:
        for number in range(12):
            os.kill(terminal.process.pid, signal.SIGTSTP)
            terminal.wait(lambda: stopped(terminal.process.pid) and is_as_before(terminal))
            os.kill(terminal.process.pid, signal.SIGCONT)
            terminal.watch(number * 0.004)
        terminal.wait("40 groups")
        terminal.press("q")
        assert terminal.ended() == 0
        assert is_as_before(terminal)


@pytest.mark.parametrize(
    "environ",
    [
        {"TERM": "screen", "COLUMNS": "40", "LINES": "10"},
        {"TERM": "linux", "NO_COLOR": "1", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    ],
    ids=["screen", "linux"],
)
def test_other_terminals_do_not_break_it(environ: dict[str, str]) -> None:
    with made(**environ) as terminal:
        terminal.wait(
            lambda: "? help" in terminal.screen.display[-1] or "1 groups" in terminal.screen.display[-1]
        )
        terminal.press("jj?")
        terminal.read(0.2)
        terminal.press("q")
        assert terminal.ended() == 0
        assert b"\\u2" not in terminal.written, "boxes and bars have a likeness in every character set"
