"""Which of the options that were found kcli has: the others are listed with the reason, none is lost silently. Pure."""

import re
from unicodedata import combining, normalize

from kcli.core.errors import ConfigError
from kcli.core.options import option_field, parse_value
from kcli.profiles.importing.found import Found, Pairs
from kcli.profiles.profile import MARKS, Pair
from kcli.profiles.resolve import parsed, parsed_registry
from kcli.profiles.secret_keys import absolute, is_registry_key
from kcli.profiles.sifting import sifted, without_other_mechanisms

_NAMELESS = "imported"
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
            pairs.append((key, absolute(key, _canonical(key, text), folder)))
    pairs, others = _of_one_mechanism(pairs, path)
    return found._replace(name=profile_name(found.name), pairs=pairs, dropped=dropped + others)


def with_own_names(found: list[Found]) -> list[Found]:
    """The same with a number after a name that several would have."""
    known: set[str] = set()
    named = []
    for one in found:
        name, number = one.name, 1
        while name in known:
            number += 1
            name = f"{one.name}-{number}"
        known.add(name)
        named.append(one._replace(name=name))
    return named


def _canonical(key: str, text: str) -> str:
    """The value as kcli spells it, where there is a choice: SASL_SSL for sasl_ssl."""
    option = option_field(key)
    return str(parse_value(option, text)) if option is not None and option.metadata["choices"] else text


def profile_name(text: str) -> str:
    """A name for a profile: letters (without their accents), digits, ``_ . -``; other characters become ``-``."""
    plain = "".join(sign for sign in normalize("NFKD", text) if not combining(sign))
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", plain).strip("-._") or _NAMELESS


def check_name(name: str) -> None:
    """ConfigError for a name that an option cannot tell from an address, or a file."""
    if not _NAME.fullmatch(name):
        near = profile_name(name)
        raise ConfigError(
            f"{name!r} is no name for a profile",
            why="a name has letters, digits, and _ . - after the first",
            do=f"did you mean {near!r}?" if near != _NAMELESS else "for example: prod-eu",
        )


def _of_one_mechanism(pairs: Pairs, path: str) -> tuple[Pairs, list[tuple[str, str]]]:
    """Without the options of SASL mechanisms other than that of the profile; and those with the reason."""
    errors: list[ConfigError] = []
    (kept,) = without_other_mechanisms(
        [[Pair(key, text, path) for key, text in pairs]], errors.append, errors.append
    )
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
