"""What is written to stderr while a screen has the terminal."""

import io

from kcli.output.talk import Talk
from kcli.tui.stderr_log import HeldBack


def test_messages_go_to_another_stream_for_a_while_and_without_colour() -> None:
    terminal, file = io.StringIO(), io.StringIO()
    talk = Talk(terminal, color="always", isatty=True)
    with talk.sent_to(file):
        talk.warn("one")
    talk.warn("two")
    assert file.getvalue() == "warning: one\n"
    assert terminal.getvalue() == "\x1b[33mwarning: two\x1b[0m\n"


def test_messages_that_are_held_back_are_kept_once_and_bounded() -> None:
    held = HeldBack()
    for number in range(80):
        held.write("the same\n")
        held.write(f"line {number}\n")
    assert list(held.lines)[:3] == ["the same", "line 0", "line 1"]
    assert len(held.lines) + held.more == 81
    assert len(held.lines) == 50
