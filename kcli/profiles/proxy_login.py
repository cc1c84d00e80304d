"""The login that ``proxy.url`` may have before its host, as options of its own: the URL that is shown has none. Pure."""

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from kcli.profiles.profile import Pair
from kcli.profiles.secret_keys import PROXY, source_key

_USER, _PASSWORD = "proxy.username", "proxy.password"


def without_logins(ranked: Sequence[Sequence[Pair]]) -> list[list[Pair]]:
    """The pairs of all sources, weakest first, with user and password taken out of the URL of a proxy. Of the login of a
    weaker source, and of a URL that a later one replaces, nothing is left: it is for another proxy.
    """
    urls = [(at, pair) for at, pairs in enumerate(ranked) for pair in pairs if _is_url(pair)]
    strongest, last = urls[-1] if urls else (-1, None)
    found: list[list[Pair]] = []
    for at, pairs in enumerate(ranked):
        own = [pair for pair in pairs if at >= strongest or not _is_of_login(pair)]
        found.append([one for pair in own for one in split_login([pair])[: None if pair is last else 1]])
    return found


def left_out(ranked: Sequence[Sequence[Pair]]) -> list[str]:
    """What is said of logins that ``without_logins`` leaves out, but for those in a URL."""
    strongest, url = [(at, pair) for at, pairs in enumerate(ranked) for pair in pairs if _is_url(pair)][-1]
    return [
        f"{pair.key} ({pair.origin}) is not used: it is for another proxy than {PROXY} of {url.origin}"
        for pairs in ranked[:strongest]
        for pair in pairs
        if _is_of_login(pair) and pair.text
    ]


def split_login(pairs: Iterable[Pair]) -> list[Pair]:
    """The same pairs, with the login of a URL as ``proxy.username`` and ``proxy.password``."""
    found: list[Pair] = []
    for pair in pairs:
        scheme = re.match(r"(?:[A-Za-z][A-Za-z0-9+.-]*://)?", pair.text)
        assert scheme is not None
        login, at, host = pair.text[scheme.end() :].rpartition("@")
        if not at or not _is_url(pair):
            found.append(pair)
            continue
        user, colon, password = login.partition(":")
        found.append(pair._replace(text=f"{scheme[0]}{host}"))
        found.append(pair._replace(key=_USER, text=unquote(user)))
        if colon:
            found.append(pair._replace(key=_PASSWORD, text=unquote(password)))
    return found


def _is_url(pair: Pair) -> bool:
    return pair.key == PROXY


def _is_of_login(pair: Pair) -> bool:
    named = source_key(pair.key)
    return pair.key in (_USER, _PASSWORD) or (named is not None and named[0] == _PASSWORD)
