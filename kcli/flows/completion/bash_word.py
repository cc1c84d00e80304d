"""The word that bash completes, and what replaces it. Pure.

readline replaces only what follows the last break (``COMP_WORDBREAKS``: blanks, ``:``, ``=`` …) or an open quote, and
inserts candidates unchanged: each is cut and quoted here accordingly, so that a name is always a single word to the
shell.
"""

from typing import NamedTuple

from kcli.flows.completion.shell_words import literal

_KEPT_BREAK = "@"
"""The only break of bash that is part of what is replaced; the other breaks are kept (``rl_special_prefixes``)."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,@=+-")


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
