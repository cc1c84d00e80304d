"""The word that bash completes, and what replaces it. Pure.

readline replaces only what stands behind the last break (``COMP_WORDBREAKS``: blanks, ``:``, ``=`` …) or behind an open
quote, and inserts candidates as they are: each is cut and quoted for its place here, so that no name can be more than
a word to the shell.
"""

from typing import NamedTuple

from kcli.flows.completion.shell_words import literal

_KEPT_BREAK = "@"
"""Of bash's breaks the one that begins what is replaced, where the others end what stays (``rl_special_prefixes``)."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,@=+-")


class BashWord(NamedTuple):
    """``prefix`` is the beginning of the name. ``kept`` of its characters stay; ``head`` is typed again before the rest.

    ``quote`` is the quote that is open, or empty.
    """

    prefix: str
    kept: int
    head: str
    quote: str


def bash_word(raw: str, breaks: str) -> BashWord | None:
    """What is being typed, of which a name may be the value of ``--option=``; None where that cannot be told."""
    begin = raw.index("=") + 1 if raw.startswith("--") and "=" in raw else 0
    replaced, quote, at = 0, "", 0
    while at < len(raw):
        sign = raw[at]
        at += 1
        if sign == "\\":
            at += 1
        elif sign in "'\"":
            if raw.find(sign, at) >= 0:
                return None  # a quote that is closed again, or an escaped one: not worth the rules
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
    """What bash is to insert for ``name``; None where the open quote has no way to write it."""
    rest = name[word.kept :]
    if word.quote == "'":
        quoted = rest.replace("'", "'\\''")
    elif word.quote:
        if "!" in rest:
            return None  # within double quotes it recalls history, and nothing takes that from it
        quoted = "".join("\\" + sign if sign in '"$`\\' else sign for sign in rest)
    else:
        quoted = "".join(sign if sign in _PLAIN or not sign.isascii() else "\\" + sign for sign in rest)
    return word.head + quoted
