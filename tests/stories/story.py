"""Runs a page from the top to the bottom, as a reader would type it, in a home of its own."""

import difflib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.kafka import Kafka
from tests.run import ROOT, environment
from tests.stories.clusters import Clusters, show_as_default, write_profiles
from tests.stories.masks import alike
from tests.stories.page import SANDBOX, Command, Page, Setup
from tests.stories.shell import Shell

HOME = "/home/ops"
"""What pages show in place of the home in which they were run."""


BOOTSTRAP, SANDBOXES = "127.0.0.1:9092", ".local/state/kcli/sandboxes"

_DAY, _LONGEST = 86_400, 90.0
"""Seconds of a day, in UTC, and of a story on a busy machine."""


class Told(NamedTuple):
    """``page`` has what its commands print now, or is the page that was told where all of that is alike.

    ``different`` are commands that print something else, with both outputs. ``unsaid`` are those that failed without an
    ``echo $?`` after them, by which the page would say so.
    """

    page: Page
    different: list[str]
    unsaid: list[str]


class Typed(NamedTuple):
    """A command, what it printed, and its exit status."""

    command: Command
    lines: list[str]
    code: int


def told(page: Page, clusters: Clusters, home: Path) -> Told:
    """Runs all steps, also after a command that failed. What is yesterday when it begins is so when it ends."""
    if (left := -time.time() % _DAY) < _LONGEST:
        time.sleep(left)
    home.mkdir()
    kafkas = clusters.empty(len(page.clusters))
    if page.clusters == SANDBOX:
        show_as_default(kafkas[0], home / SANDBOXES)
    else:
        write_profiles(home / ".config/kcli/config.toml", page.clusters, kafkas)
    typed: list[Typed] = []
    environ = _environment(home)
    with _sandboxes_ended(home / SANDBOXES, environ if not kafkas else {}), Shell(home, environ) as shell:
        for step in page.steps:
            if isinstance(step, Setup):
                shell.run(f"set -e\n{step.text}set +e\n")
            else:
                code, lines = shell.run(step.text, step.answers)
                typed.append(Typed(step, _as_shown(page, lines, home, kafkas), code))
    settled = page.settled
    different = [
        _difference(one) for one in typed if not alike(settled(one.command.output), settled(one.lines))
    ]
    now = page.with_outputs([one.lines for one in typed]) if different else page
    return Told(now, different, _unsaid(typed))


@contextmanager
def _sandboxes_ended(folder: Path, environ: dict[str, str]) -> Iterator[None]:
    """A page that fails in its middle leaves no brokers behind. Without ``environ`` it has started none."""
    try:
        yield
    finally:
        for left in folder.iterdir() if environ and folder.exists() else ():
            command = [sys.executable, "-m", "kcli", "sandbox", "down", left.name, "--delete", "-q"]
            subprocess.run(command, env=environ, check=False, capture_output=True)


def _as_shown(page: Page, lines: Sequence[str], home: Path, kafkas: Sequence[Kafka]) -> list[str]:
    """With the home of the reader, and with the port that a first sandbox has."""
    shown = [line.replace(str(home), HOME) for line in lines]
    return [
        line.replace(kafkas[0].bootstrap, BOOTSTRAP) if page.clusters == SANDBOX else line for line in shown
    ]


def _difference(one: Typed) -> str:
    lines = difflib.ndiff(one.command.output, one.lines)
    return "\n".join([*one.command.shown, *lines])


def _unsaid(typed: Sequence[Typed]) -> list[str]:
    following = [*(one.command.text.strip() for one in typed[1:]), ""]
    ends = zip(typed, following, strict=True)
    return [
        f"{one.command.text.strip()}: {one.code}" for one, after in ends if one.code and after != "echo $?"
    ]


def _environment(home: Path) -> dict[str, str]:
    """Nobody's settings, a home of its own, and this kcli first in the path."""
    kept = {name: value for name, value in environment().items() if not name.startswith("XDG_")}
    return {
        **kept,
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "KCLI_CACHE": os.environ.get("KCLI_CACHE", str(ROOT / ".cache/kcli")),
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }
