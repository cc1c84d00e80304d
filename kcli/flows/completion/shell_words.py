"""The words of a command line that is being typed, as a shell would read them. Pure: nothing is ever executed.

bash and zsh pass what was typed, including quotes. Only certain values are used: a word with a command substitution,
or with a variable that is not in the environment, has no known value.
"""

import re
from collections.abc import Mapping

_BLANKS = " \t\n"
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\}")


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
