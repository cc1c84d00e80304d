"""The words of a command line that is being typed, as a shell would read them, and what replaces the last one in bash.
Pure: nothing is ever executed.

bash and zsh pass what was typed, including quotes. Only certain values are used: a word with a command substitution,
or with a variable that is not in the environment, has no known value.

readline replaces only what follows the last break (``COMP_WORDBREAKS``: blanks, ``:``, ``=`` …) or an open quote, and
inserts candidates unchanged: each is cut and quoted here accordingly, so that a name is always a single word to the
shell.
"""

import re
from collections.abc import Mapping, Sequence

from kcli.core.classes import NamedTuple

_BLANKS = " \t\n"
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\}")
_KEPT_BREAK = "@"
"""The only break of bash that is part of what is replaced; the other breaks are kept (``rl_special_prefixes``)."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,@=+-")


def split_words(line: str) -> list[str]:
    """The words with their quotes. The last one is being typed: empty where the line ends with a blank."""
    words = [""]
    quote, escaped = "", False
    for sign in line:
        if escaped:
            escaped = False
        elif sign == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in _BLANKS:
            if words[-1]:
                words.append("")
            continue
        words[-1] += sign
    return words


def literal(word: str, environ: Mapping[str, str]) -> str | None:
    """The shell's value of ``word``, whose last quote may be open; None if only executing it would show."""
    out, quote, at = "", "", 0
    while at < len(word):
        sign = word[at]
        at += 1
        if sign == "\\" and quote != "'":
            if quote and word[at : at + 1] not in ('"', "\\", "$", "`"):
                out += sign
            out += word[at : at + 1]
            at += 1
        elif sign == quote:
            quote = ""
        elif sign in "'\"" and not quote:
            quote = sign
        elif sign == "$" and quote != "'":
            found = _VARIABLE.match(word, at)
            value = environ.get(found[1] or found[2]) if found else None
            if found is None or value is None:
                return None
            out += value
            at = found.end()
        elif sign == "`" and quote != "'":
            return None
        else:
            out += sign
    return out


class BashWord(NamedTuple):
    """``prefix`` is the beginning of the name. ``kept`` of its characters stay; ``head`` is inserted before the rest.

    ``quote`` is the open quote, or empty.
    """

    prefix: str
    kept: int
    head: str
    quote: str


def bash_word(raw: str, breaks: str) -> BashWord | None:
    """The word being typed, where a name may be the value of ``--option=``; None if it cannot be determined."""
    begin = raw.index("=") + 1 if raw.startswith("--") and "=" in raw else 0
    replaced, quote, at = 0, "", 0
    while at < len(raw):
        sign = raw[at]
        at += 1
        if sign == "\\":
            at += 1
        elif sign in "'\"":
            if raw.find(sign, at) >= 0:
                return None  # a closed or an escaped quote: not supported
            replaced, quote = at, sign
            break
        elif sign in breaks:
            replaced = at - (sign == _KEPT_BREAK)
    prefix = literal(raw[begin:], {})
    if prefix is None:
        return None
    kept = literal(raw[begin : replaced - len(quote)], {}) if replaced > begin else ""
    if kept is None:
        return None
    return BashWord(prefix, len(kept), raw[replaced:begin], quote)


def insertion(name: str, word: BashWord) -> str | None:
    """The text that bash inserts for ``name``; None where it cannot be written within the open quote."""
    rest = name[word.kept :]
    if word.quote == "'":
        quoted = rest.replace("'", "'\\''")
    elif word.quote:
        if "!" in rest:
            return None  # within double quotes it expands history and cannot be escaped
        quoted = "".join("\\" + sign if sign in '"$`\\' else sign for sign in rest)
    else:
        quoted = "".join(sign if sign in _PLAIN or not sign.isascii() else "\\" + sign for sign in rest)
    return word.head + quoted


_FIELD = re.compile(r"""(?:[^\W\d]\w*|\.|"(?:[^"\\]|\\.)*"?|\[-?\d*\]?)+\Z""")


def last_field(text: str) -> str:
    """The field at the end of a list or an expression that is being typed: ``value.to`` of ``key, value.to``."""
    found = _FIELD.search(text)
    return found[0] if found else ""


def topics_among(words: Sequence[str | None]) -> tuple[str, ...]:
    """The words that may name the topic of ``consume`` or ``produce``, the likeliest first. Without the options of the
    command it is not known which of them a value follows: those of ``-t`` count, else what follows no option, else all.
    """
    begin = next((at + 1 for at, word in enumerate(words) if at and word in _OF_RECORDS), len(words))
    named: list[str] = []
    alone: list[str] = []
    rest: list[str] = []
    after, ended = "", False
    for word in words[begin:]:
        if word is None or word == "":
            after = ""
        elif ended or not word.startswith("-"):
            (named if after in _TOPIC else rest if after else alone).append(word)
            after = ""
        elif word == "--":
            ended, after = True, ""
        elif word.startswith("--topic="):
            named.append(word.partition("=")[2])
        elif word.startswith("-t") and len(word) > len("-t"):
            named.append(word[2:])
        else:
            after = "" if word.startswith("--") and "=" in word else word
    return tuple(dict.fromkeys(named or alone or rest))[:_MOST_TOPICS]


_OF_RECORDS, _TOPIC, _MOST_TOPICS = ("consume", "produce"), ("-t", "--topic"), 4
