"""Command lines that are copied: quoted for a shell, whatever the names are."""

import subprocess

import pytest

from kcli.tui.actions import TO_GROUP, UNDO, Wish
from kcli.tui.shell import command, rewind_command, word

HOSTILE = [
    "a b",
    "it's",
    "$(id)",
    "`id`",
    "a\nb",
    "\x1b[201~id\n",
    "\\",
    "-rf",
    "é日",
    "\u202eabc",
    "",
    "a!b",
    "\x7f",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_shell_reads_the_name_back_and_sees_no_control_character(name: str) -> None:
    written = word(name)
    assert not any(ord(char) < 0x20 or ord(char) in (0x7F, 0x202E) for char in written)
    done = subprocess.run(
        ["bash", "-c", f"printf %s {written}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )
    assert done.stdout.decode() == name


def test_names_that_look_like_options_come_behind_a_guard() -> None:
    assert command(("groups", "lag"), ("-x",), (), ("-b", "h:1")) == "kcli groups lag -b h:1 -- -x"


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (Wish("g", value="earliest"), "kcli groups rewind g --to earliest --all-topics --wait"),
        (Wish("g", value="-1000", topic="t"), "kcli groups rewind g --to -1000 --topic t --wait"),
        (
            Wish("g", value="@-1h", topic="t", partition=3, live=True),
            "kcli groups rewind g --to @-1h --topic t:3 --live",
        ),
        (Wish("g", TO_GROUP, "a b"), "kcli groups rewind g --to-group 'a b' --wait"),
        (Wish("g", UNDO), "kcli groups rewind g --undo --wait"),
        (
            Wish("-g", UNDO, "20261123-091403-3fa9c1"),
            "kcli groups rewind --undo=20261123-091403-3fa9c1 --wait -- -g",
        ),
    ],
)
def test_a_wish_is_the_command_that_fulfils_it(wish: Wish, expected: str) -> None:
    assert rewind_command(wish) == expected
