"""The kcli commands in a text of shell, and what the command tree says to them. Nothing is run. Not a test.

``invocations`` finds each ``kcli …`` of pipes, lists, loops, ``$(…)`` and ``<(…)``; redirections are left out, and a
variable stays as it is written. ``parsed`` has click parse one, ``problem`` says what it has against one.
"""

import re
from collections.abc import Iterator

import click

from kcli.cli import cli
from kcli.commands.shared.command import Command
from kcli.commands.shared.global_values import GlobalValues
from kcli.core.errors import ConfigError
from kcli.profiles.profile import MARKS
from kcli.profiles.resolve import resolve
from kcli.profiles.sources import Sources

SUBSTITUTED = "x"
"""Stands for what a command substitution prints."""
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`(kcli (?!__)[^`]+)`(?!`)|``(kcli .+?)``")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LEFT_OUT = ("…", "...")
PLACEHOLDER = re.compile(r"[A-Z]+|[a-z]+\|[a-z|]+")
_NO_FILE = "cannot be read: no such file"
_BEFORE_COMMANDS = frozenset({"do", "then", "else", "time", "sudo", "!", "{", "&&", "||", "|", ";", "&", "("})
_REDIRECTION = re.compile(r"\d*(?:>>?|<)&?\s*(?=[^\s(])|\d*<<-?\s*(?=\S)")
_OPERATOR = re.compile(r"&&|\|\||[|;&()\n]")
_ASSIGNMENT = re.compile(r"\w+=")
_DOUBLE = {"\\", '"', "$", "`", "\n"}


def invocations(text: str) -> list[list[str]]:
    """The words of each kcli command, without ``kcli``."""
    words: list[str] = []
    found: list[list[str]] = []
    for word in [*_Words(text, found), ";"]:
        if _OPERATOR.fullmatch(word):
            found += _commands(words)
            words = []
        else:
            words.append(word)
    return found


def _commands(words: list[str]) -> list[list[str]]:
    """At most one: where a simple command begins with kcli, after assignments and words of the shell's own."""
    for at, word in enumerate(words):
        if word == "kcli" or word.endswith("/kcli"):
            return [words[at + 1 :]]
        if word not in _BEFORE_COMMANDS and not _ASSIGNMENT.match(word):
            return []
    return []


class _Words:
    """Words and operators of a text, in order; the commands inside of substitutions are added to ``inner``."""

    def __init__(self, text: str, inner: list[list[str]]) -> None:
        self._text, self._at, self._inner = text.replace("\\\n", " "), 0, inner

    def __iter__(self) -> Iterator[str]:
        while self._at < len(self._text):
            sign = self._text[self._at]
            if sign in " \t":
                self._at += 1
            elif sign == "#":
                self._at = (self._text + "\n").index("\n", self._at)
            elif self._text.startswith("<(", self._at):
                self._substitution(2)
                yield SUBSTITUTED
            elif moved := _REDIRECTION.match(self._text, self._at):
                self._at = moved.end()
                self._word()
            elif operator := _OPERATOR.match(self._text, self._at):
                self._at = operator.end()
                yield operator[0].replace("\n", ";")
            else:
                yield self._word()

    def _word(self) -> str:
        parts: list[str] = []
        while self._at < len(self._text) and not re.match(r"[\s|;&()<>]", self._text[self._at]):
            parts.append(self._part())
        return "".join(parts)

    def _part(self) -> str:
        text, at = self._text, self._at
        if text.startswith("$(", at):
            self._substitution(2)
            return SUBSTITUTED
        if text[at] == "'":
            self._at = text.index("'", at + 1) + 1
            return text[at + 1 : self._at - 1]
        if text[at] == '"':
            self._at += 1
            return self._quoted()
        escaped = text[at] == "\\"
        self._at += 2 if escaped else 1
        return text[at + escaped : self._at]

    def _quoted(self) -> str:
        parts: list[str] = []
        while (sign := self._text[self._at]) != '"':
            if self._text.startswith("$(", self._at):
                self._substitution(2)
                parts.append(SUBSTITUTED)
                continue
            escaped = sign == "\\" and self._text[self._at + 1] in _DOUBLE
            parts.append(self._text[self._at + escaped])
            self._at += 1 + escaped
        self._at += 1
        return "".join(parts)

    def _substitution(self, size: int) -> None:
        """Up to the parenthesis that ends it; quotation marks inside are taken as balanced."""
        begin = self._at = self._at + size
        depth = 1
        while depth:
            depth += {"(": 1, ")": -1}.get(self._text[self._at], 0)
            self._at += 1
        self._inner += invocations(self._text[begin : self._at - 1])


def parsed(words: list[str]) -> click.Command:
    """The command that these words call; an error of click's where its parser refuses them, also for an ``-o`` that the
    command does not have, and a ConfigError for an ``-X`` that no client has.
    """
    values = GlobalValues()
    ctx: click.Context | None = None
    found: click.Command = cli
    name, rest = "kcli", words
    while True:
        ctx = found.make_context(name, list(rest), parent=ctx, obj=values)
        left = [*getattr(ctx, "_protected_args", []), *ctx.args]
        if not isinstance(found, click.Group) or not left:
            break
        child, found_child, rest = found.resolve_command(ctx, left)
        assert child is not None
        assert found_child is not None
        name, found = child, found_child
    if isinstance(found, Command) and values.output not in (None, *found.outputs):
        raise click.UsageError(f"there is no output format {values.output!r}", ctx)
    properties = [text for text in values.command_property if text.partition("=")[0] not in MARKS]
    resolve(Sources(properties=properties), need_broker=False)
    return found


def in_text(text: str) -> Iterator[list[str]]:
    """The commands in running text and tables."""
    for found in INLINE.findall(COMMENT.sub("", FENCE.sub("", text))):
        yield from invocations(" ".join((found[0] or found[1]).replace("\\|", "|").split()))


def problem(words: list[str], *, complete: bool) -> str:
    """What the command tree has against it. In running text arguments may be missing, and values placeholders."""
    given = [word for word in words if word not in LEFT_OUT]
    try:
        parsed(given)
    except click.exceptions.Exit:
        pass  # --help, --version
    except click.MissingParameter as error:
        return error.format_message() if complete and given == words else ""
    except click.BadOptionUsage as error:
        return error.format_message() if complete or given[-1] != error.option_name else ""
    except click.BadParameter as error:
        if (
            isinstance(getattr(error.param, "type", None), click.Path | click.File)
            or _NO_FILE in error.message
        ):
            return ""  # it is the reader's file
        return "" if not complete and any(map(_placeholder, words)) else error.format_message()
    except ConfigError as error:
        return str(error) if complete else ""
    except click.UsageError as error:
        return "" if not complete and any(map(PLACEHOLDER.fullmatch, words[:2])) else error.format_message()
    return ""


def _placeholder(word: str) -> bool:
    return bool(PLACEHOLDER.fullmatch(word.rpartition("=")[2]))
