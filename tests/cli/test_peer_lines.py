"""Lines that users of other tools type: each is accepted, or answered by a line that is, or said to be nothing of kcli.

Every command and flag of ``tests/peer_lines.py`` is typed behind ``kcli``, as somebody does whose fingers know the other
tool, and parsed without a cluster. What the remedy suggests is parsed too, with the flag where it does not have it yet: a
user types that next.
"""

import re
import shlex
from collections import Counter

import click
import pytest

from kcli.commands.shared.usage_errors import describe_usage
from kcli.core.errors import ConfigError
from tests.command_lines import in_text, parsed, problem
from tests.peer_lines import PEERS, rows

ACCEPTED, LINE, OPTION, NO_SUCH_THING, DEAD_END = "accepted", "line", "option", "no such thing", "dead end"
CASES = [
    (tool, command, flag)
    for tool in PEERS
    for command, flags in rows(tool)
    for flag in ([], *flags)
]  # fmt: skip
WORDS = {
    "get",
    "describe",
    "create",
    "alter",
    "delete",
    "reset",
    "clone",
    "security",
    "admin",
    "misc",
    "metadata",
    "fake",
    "cluster",
    "logdirs",
}
BARE = re.compile(r"(?<![\w'`-])--?[a-zA-Z][\w-]*")


def answer(command: list[str], flag: list[str], tries: int = 3) -> tuple[str, str]:
    """How kcli answers this line, and what it says at last."""
    error = refusal([*command, *flag])
    if error is None:
        return ACCEPTED, ""
    what, why, do = describe_usage(error)
    said = f"{what} · {why} · {do}"
    if (what.endswith("is not valid") and "did you mean" in do) or "there is no output format" in what:
        return OPTION, said
    if "kcli has no" in f"{why} {do}":
        return NO_SUCH_THING, said
    lines = [line for line in in_text(do) if line[-1] not in ("--help", "-h") and line[0] != "help"]
    for line in lines:
        if problem(line, complete=False):
            return DEAD_END, f"{said} · {problem(line, complete=False)}"
    if (
        lines
        and flag
        and not any(part in shlex.join(lines[0]) for part in flag)
        and command[:1] != lines[0][:1]
    ):
        again = tries and not translates(command) and refusal(command) is not None
        return answer(lines[0], flag, tries - 1) if again else (LINE, said)
    if lines:
        return LINE, said
    if BARE.search(re.sub(r"did you mean [^?]*\?|see `[^`]*`", "", do)):
        return OPTION, said
    return DEAD_END, said


def translates(command: list[str]) -> bool:
    """Whether the whole line is translated, with its flags."""
    return command[0].startswith(("-", "kafka", "connect")) or command[0] in WORDS


def refusal(words: list[str]) -> click.ClickException | None:
    """What the parser of kcli has against a line; nothing where only values are missing, wrong, or not there."""
    try:
        parsed(words)
    except click.exceptions.Exit:
        return None
    except (click.MissingParameter, click.BadOptionUsage, ConfigError):
        return None
    except click.BadParameter as error:
        return None if isinstance(getattr(error.param, "type", None), click.Path | click.File) else error
    except click.UsageError as error:
        return error
    return None


@pytest.mark.parametrize("tool", PEERS)
def test_no_line_of_another_tool_ends_in_nothing(tool: str) -> None:
    answers = {
        " ".join((*command, *flag)): answer(command, flag) for name, command, flag in CASES if name == tool
    }
    assert {line: said for line, (kind, said) in answers.items() if kind == DEAD_END} == {}
    count = Counter(kind for kind, _ in answers.values())
    works = count[ACCEPTED] + count[LINE] + count[OPTION]
    print(f"{tool}: {len(answers)} lines, {dict(count)}, {works / len(answers):.0%} by a line that works")
    assert works / len(answers) > 0.75
