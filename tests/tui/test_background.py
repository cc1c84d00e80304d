"""The colours suit the terminal's background: it is asked, nothing waits for it, and no answer is taken for typed."""

import fcntl
import os
import struct
import sys
import termios
import time

import pytest

from kcli.tui.background import QUESTION, Answers, light_by_environment
from kcli.tui.palette import DARK, LIGHT
from tests.terminal import Terminal

LIGHT_ANSWER, DARK_ANSWER = "\x1b]11;rgb:fbfb/fbfb/f8f8\x1b\\", "\x1b]11;rgb:12/15/1b\x07"
LAST = "\x1b[?62;22c"
MADE = [sys.executable, "-m", "tests.tui.screen_process", "plain"]


def awaiting() -> Answers:
    answers = Answers()
    answers.awaited = True
    return answers


@pytest.mark.parametrize(
    ("answer", "light"),
    [
        (LIGHT_ANSWER, True),
        (DARK_ANSWER, False),
        ("\x1b]11;rgb:f/f/f\x07", True),
        ("\x1b]11;rgba:0000/0000/0000/ffff\x07", False),
        ("\x1b]11;rgb:8080/8080/8080\x07", True),
        ("\x1b]11;rgb:0000/2b2b/3636\x1b\\", False),
        ("\x1b]11;rgb:fdfd/f6f6/e3e3\x1b\\", True),
        ("\x1b]11;?\x07", None),
        ("", None),
    ],
)
def test_what_is_answered(answer: str, light: bool | None) -> None:
    answers = awaiting()
    assert answers.typed(f"a{answer}b{LAST}c") == "abc"
    assert answers.light is light
    assert not answers.awaited


def test_answers_in_any_two_pieces_are_taken_out_between_keys() -> None:
    whole = f"\x1b[Aj{DARK_ANSWER}k\x1b{LIGHT_ANSWER}é{LAST}\x1b[Bq"
    for cut in range(len(whole) + 1):
        answers = awaiting()
        assert answers.typed(whole[:cut]) + answers.typed(whole[cut:]) == "\x1b[Ajk\x1bé\x1b[Bq", cut
        assert answers.light is True


def test_an_escape_that_nothing_follows_was_typed() -> None:
    answers = awaiting()
    assert answers.typed("j\x1b") == "j"
    assert answers.kept() == "\x1b"
    assert answers.kept() == ""
    assert answers.typed("\x1b", late=True) == "\x1b"
    assert answers.typed(LIGHT_ANSWER, late=True) == ""


def test_nothing_is_taken_out_once_the_last_answer_has_come() -> None:
    answers = awaiting()
    answers.typed(LAST)
    assert answers.typed(LIGHT_ANSWER + "\x1b") == LIGHT_ANSWER + "\x1b"
    assert answers.light is None


@pytest.mark.parametrize(
    ("value", "light"),
    [("0;15", True), ("0;default;15", True), ("0;7", True), ("15;0", False), ("7;8", False), ("default;default", False),
     ("", False)],
)  # fmt: skip
def test_colorfgbg_is_used_without_an_answer(value: str, light: bool) -> None:
    assert light_by_environment({"COLORFGBG": value}) is light
    assert not light_by_environment({})


def background(terminal: Terminal) -> str:
    return "#" + str(terminal.screen.buffer[8][terminal.screen.columns - 3].bg)


def opened(**environ: str) -> Terminal:
    terminal = Terminal(MADE, environ={**os.environ, "COLORTERM": "truecolor", **environ})
    terminal.wait(lambda: "40 groups" in terminal.text and "default" not in background(terminal))
    return terminal


@pytest.mark.parametrize("keys", ["", "jj"])
def test_the_screen_follows_the_answer_whenever_it_comes(keys: str) -> None:
    with opened() as terminal:
        assert background(terminal) == DARK.background
        terminal.press(keys + LIGHT_ANSWER[:9])
        time.sleep(0.02)
        terminal.press(LIGHT_ANSWER[9:] + LAST)
        terminal.wait(lambda: background(terminal) == LIGHT.background)
        assert "rgb:" not in terminal.text
        assert "fbfb" not in terminal.text
        terminal.press("q")
        assert terminal.ended() == 0
    assert terminal.written.count(QUESTION.encode()) == 1


def test_a_terminal_that_answers_nothing_delays_nothing() -> None:
    with opened() as terminal:
        assert background(terminal) == DARK.background
        terminal.press("/grou")
        terminal.wait("filter: grou", 5)
        terminal.press("q\x1b")
        terminal.press("\x1b")
        terminal.wait(lambda: "filter: grou" not in terminal.text, 5)


@pytest.mark.parametrize("environ", [{"TERM": "linux"}])
def test_the_console_is_not_asked(environ: dict[str, str]) -> None:
    with opened(**environ) as terminal:
        terminal.press("q")
        assert terminal.ended() == 0
    assert b"]11;" not in terminal.written


def test_an_answer_that_comes_after_the_end_was_begun_is_not_left_to_the_shell() -> None:
    with Terminal(MADE) as terminal:
        terminal.wait(lambda: QUESTION.encode() in terminal.written)
        terminal.press("q")
        terminal.watch(0.1)
        terminal.press(LIGHT_ANSWER + LAST)
        assert terminal.ended() == 0
        size = fcntl.ioctl(terminal.slave, termios.FIONREAD, b"\0" * 4)
        assert struct.unpack("i", size) == (0,)
