r"""The text of ``sasl.jaas.config``: one login module and its options. Pure: nothing in it is run or loaded.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="a\"b";

Follows Kafka's ``JaasConfig``, which reads it with Java's ``StreamTokenizer``: quotes of both kinds, Java's escapes in
them, comments. Errors never contain the text, since passwords stand in it.
"""

import re
from typing import NamedTuple

from kcli.core.errors import ConfigError

_TOKENS = re.compile(
    r"""(?P<gap>(?:\s|//[^\n]*|/\*.*?\*/)+)
    |(?P<quoted>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<sign>[=;])
    |(?P<word>[^\s"'=;]+)""",
    re.VERBOSE | re.DOTALL,
)
_FLAGS = ("required", "requisite", "sufficient", "optional")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_FORM = 'write MODULE required NAME="VALUE" …;'


class LoginModule(NamedTuple):
    """``name`` is the class, ``options`` what follows it."""

    name: str
    options: dict[str, str]


def parse_jaas(text: str, origin: str) -> LoginModule:
    """The login module; ConfigError says what is wrong, without the text."""
    tokens = _tokens(text, origin)
    if len(tokens) < 2:
        raise _invalid(
            origin, "there is no login module in it" if not tokens else "a control flag is missing"
        )
    (name, _), (flag, _) = tokens[:2]
    if flag.lower() not in _FLAGS:
        raise _invalid(origin, f"after the login module {name} one of {', '.join(_FLAGS)} has to follow")
    options: dict[str, str] = {}
    at = 2
    while at < len(tokens) and tokens[at] != (";", "sign"):
        key, sign, value = (*tokens[at : at + 3], ("", ""), ("", ""))[:3]
        if key[1] == "sign" or sign != ("=", "sign") or value[1] not in ("word", "quoted"):
            raise _invalid(origin, f'option {len(options) + 1} is not of the form NAME="VALUE"')
        options[key[0]] = value[0]
        at += 3
    if at >= len(tokens):
        raise _invalid(origin, "the semicolon at the end is missing")
    if at + 1 < len(tokens):
        raise _invalid(origin, "a client has one login module, and there is more after the first")
    return LoginModule(name, options)


def _tokens(text: str, origin: str) -> list[tuple[str, str]]:
    """The tokens of the text, each with its kind."""
    found, at = [], 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise _invalid(origin, "a quote is not closed")
        kind = str(match.lastgroup)
        if kind == "quoted":
            found.append((_ESCAPE.sub(_unescaped, match[0][1:-1]), kind))
        elif kind != "gap":
            found.append((match[0], kind))
        at = match.end()
    return found


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape, 8)) if escape[0] in "01234567" else _ESCAPES.get(escape, escape)


def _invalid(origin: str, why: str) -> ConfigError:
    return ConfigError(f"sasl.jaas.config cannot be read (from {origin})", why=why, do=_FORM)
