"""A page as a list of steps: what is typed, with what the page says was printed, and what is prepared unseen.

In a block ```console a line ``$ COMMAND`` is typed, and the lines below it are what the terminal shows. A command with
an open quotation or a backslash at its end continues in lines that begin with ``> ``. The answer to a question is on the
line of the question, as a terminal shows it. ``<!-- setup: … -->`` is run without being shown.

The profiles that there are have the names in ``<!-- clusters: old new -->``; without it there is ``prod``. With
``<!-- clusters: sandbox -->`` there is none, and an empty sandbox ``default`` is up, as after the ``kcli sandbox up``
that such a page says first; with ``<!-- clusters: none -->`` there is nothing. Lines in which
``<!-- varies: REGEX -->`` is found need only have it, as where brokers choose at random. Reads and writes text.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_PART = re.compile(
    r"^<!-- setup:(?P<setup>.*?)-->$|^```console\n(?P<block>.*?)^```$", re.MULTILINE | re.DOTALL
)
SANDBOX = ["sandbox"]
_CLUSTERS = re.compile(r"^<!-- clusters: (.*?) -->$", re.MULTILINE)
_VARIES = re.compile(r"^<!-- varies: (.*?) -->$", re.MULTILINE)
_QUESTION = re.compile(r"(?:\[y/N\]|to confirm:) (.*)$")


@dataclass(frozen=True, slots=True)
class Command:
    """``text`` is given to bash; ``shown`` are its lines on the page, and ``output`` those below them."""

    text: str
    shown: tuple[str, ...]
    output: tuple[str, ...]

    @property
    def answers(self) -> list[str]:
        """What is typed at its questions, in order."""
        return [found[1] for line in self.output if (found := _QUESTION.search(line))]


@dataclass(frozen=True, slots=True)
class Setup:
    """Lines of bash, of which nothing is shown and none may fail."""

    text: str


Step = Command | Setup


@dataclass(frozen=True, slots=True)
class Page:
    """``steps`` are in the order in which they are run. The text is that of the file, or what it shall be."""

    text: str

    @property
    def steps(self) -> list[Step]:
        found: list[Step] = []
        for part in _PART.finditer(self.text):
            if part["setup"] is not None:
                found.append(Setup(part["setup"].strip() + "\n"))
            else:
                found += commands(part["block"])
        return found

    @property
    def clusters(self) -> list[str]:
        """The profiles to make, or ``SANDBOX`` alone."""
        found = _CLUSTERS.search(self.text)
        names = found[1].split() if found else ["prod"]
        return [name for name in names if name != "none"]

    def settled(self, lines: Sequence[str]) -> list[str]:
        """The lines, with the pattern in place of those that vary."""
        patterns = [re.compile(found) for found in _VARIES.findall(self.text)]
        return [next((one.pattern for one in patterns if one.search(line)), line) for line in lines]

    def with_outputs(self, outputs: Sequence[Sequence[str]]) -> "Page":
        """The page with other lines below its commands, in their order."""
        following = iter(outputs)

        def block(part: re.Match[str]) -> str:
            if part["block"] is None:
                return part[0]
            lines = [
                line for command in commands(part["block"]) for line in (*command.shown, *next(following))
            ]
            return "\n".join(["```console", *lines, "```"])

        return Page(_PART.sub(block, self.text))


def commands(block: str) -> list[Command]:
    """The commands of one block."""
    return list(_commands(block.splitlines()))


def _commands(lines: list[str]) -> Iterator[Command]:
    shown: list[str] = []
    output: list[str] = []
    for line in lines:
        if line.startswith("$ "):
            if shown:
                yield _command(shown, output)
            shown, output = [line], []
        elif line.startswith("> ") and shown and not output and _unfinished(shown):
            shown.append(line)
        else:
            assert shown, f"a block begins with a command, not with: {line}"
            output.append(line)
    if shown:
        yield _command(shown, output)


def _unfinished(shown: list[str]) -> bool:
    """Whether bash would ask for another line."""
    text = "\n".join(line[2:] for line in shown)
    try:
        shlex.split(text)
    except ValueError:
        return True
    return text.endswith("\\")


def _command(shown: list[str], output: list[str]) -> Command:
    return Command("\n".join(line[2:] for line in shown) + "\n", tuple(shown), tuple(output))


def pages() -> list[Path]:
    """All pages that have something to run."""
    return [
        path for path in sorted(DOCS.rglob("*.md")) if "\n```console\n" in path.read_text(encoding="utf-8")
    ]
