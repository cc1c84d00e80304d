"""The terminal that pages are typed at."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.shell import Shell, StepError


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with Shell(tmp_path, dict(os.environ)) as found:
        yield found


def test_a_shell_keeps_its_state_from_step_to_step(shell: Shell, tmp_path: Path) -> None:
    assert shell.run("cd /; word=kept; false\n") == (1, [])
    assert shell.run("echo $?\n") == (0, ["1"])
    assert shell.run("echo $word in $PWD\n") == (0, ["kept in /"])


def test_programs_see_a_terminal_and_its_lines_are_whole(shell: Shell) -> None:
    code, lines = shell.run("test -t 0 && test -t 2 && stty size && printf '%0200d\\n\\n' 7\n")
    assert (code, lines) == (0, ["60 100", f"{7:0200d}"])
    assert shell.run("printf 'half done\\r\\e[Kdone\\n'\n") == (0, ["done"])


def test_questions_are_answered_as_the_page_does(shell: Shell) -> None:
    ask = "read -rp 'Proceed? [y/N] ' said; echo \"said $said\"\n"
    assert shell.run(ask, ["y"]) == (0, ["Proceed? [y/N] y", "said y"])
    with pytest.raises(StepError, match="asks what the page does not answer"):
        shell.run(ask)


def test_a_failed_setup_ends_the_shell(shell: Shell) -> None:
    with pytest.raises(StepError, match="did not end"):
        shell.run("set -e\nfalse\n")
