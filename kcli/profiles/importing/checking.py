"""Which of the options that were found kcli has: the others are listed with the reason, none is lost silently. Pure."""

import re

from kcli.core.errors import ConfigError
from kcli.profiles.importing.found import Found, Pairs
from kcli.profiles.pairs import Pair
from kcli.profiles.profile import MARKS
from kcli.profiles.resolve import parsed, parsed_registry
from kcli.profiles.secret_keys import absolute
from kcli.profiles.sifting import sifted, without_other_mechanisms
from kcli.serde.registry.keys import is_registry_key

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def checked(found: Found, path: str, folder: str) -> Found:
    """The same, with what kcli does not understand among ``dropped``, with a name that it accepts, and with absolute
    paths: relative ones are to ``folder``, that of the imported file.
    """
    pairs: Pairs = []
    dropped = list(found.dropped)
    for key, text in found.pairs:
        reason = "" if key in MARKS else _reason(Pair(key, text, path))
        if reason:
            dropped.append((key, reason))
        else:
            pairs.append((key, absolute(key, text, folder)))
    pairs, others = _of_one_mechanism(pairs, path)
    return Found(profile_name(found.name), pairs, dropped + others)


def profile_name(text: str) -> str:
    """A name for a profile: letters, digits, ``_ . -``; other characters become ``-``."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.") or "imported"


def check_name(name: str) -> None:
    """ConfigError for a name that an option cannot tell from an address, or a file."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r} is no name for a profile",
            why="a name has letters, digits, and _ . - after the first",
            do=f"did you mean {profile_name(name)!r}?",
        )


def _of_one_mechanism(pairs: Pairs, path: str) -> tuple[Pairs, list[tuple[str, str]]]:
    """Without the options of SASL mechanisms other than that of the profile; and those with the reason."""
    errors: list[ConfigError] = []
    (kept,) = without_other_mechanisms([[Pair(key, text, path) for key, text in pairs]], errors.append)
    left = [(pair.key, pair.text) for pair in kept]
    gone = [pair[0] for pair in pairs if pair not in left and pair[1]]
    return left, [(key, error.why) for key, error in zip(gone, errors, strict=False)]


def _reason(pair: Pair) -> str:
    """Why the option cannot be carried over; empty if it can."""
    errors: list[ConfigError] = []
    pairs, ignored = sifted([[pair]], errors.append)
    if ignored:
        return "it means nothing to kcli"
    if is_registry_key(pair.key):
        parsed_registry([pair], errors.append)
    elif pairs:
        parsed([pair], errors.append)
    return f"{errors[0].why}; {errors[0].do}".removesuffix("; ") if errors else ""
