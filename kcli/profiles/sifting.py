"""What is said about a client before it is parsed: options of other clients are set aside, and what this version cannot
obey is refused, as going on without it would reach another cluster, or the same one unprotected. Pure.
"""

from collections.abc import Sequence

from kcli.core.errors import ConfigError
from kcli.core.options import is_option
from kcli.serde.registry.keys import is_registry_key

_CREDENTIALS = "give sasl.mechanism with sasl.username and sasl.password"

Pair = tuple[str, str, str]
"""Key, value, where it was said."""

COMMAND_LINE = "-X"
_PROTOCOL, _SASL = "security.protocol", "sasl."


def sifted(ranked: Sequence[Sequence[Pair]]) -> tuple[list[Pair], tuple[tuple[str, str], ...]]:
    """The pairs that are options of kcli's clients, weakest first; and (key, origin) of those that mean nothing here.

    ``ranked`` holds a sequence for each kind of source, weakest first. ConfigError for what this version cannot do.
    """
    protocol, rank_of_protocol = _protocol(ranked)
    sasl = protocol.startswith("SASL")
    pairs: list[Pair] = []
    ignored: list[tuple[str, str]] = []
    for rank, source in enumerate(ranked):
        for pair in source:
            key, _text, origin = pair
            if is_registry_key(key):
                continue
            overruled = rank < rank_of_protocol
            if is_option(key) and not is_unsupported(key):
                if key.startswith(_SASL) and not sasl and rank > rank_of_protocol:
                    raise _without_sasl(key, origin, protocol)
                pairs.append(pair)
            elif _set_aside(pair, overruled=overruled, protocol=protocol):
                ignored.append((key, origin))
            else:
                pairs.append(pair)  # an unknown key: parsing it names the nearest
    return pairs, tuple(ignored)


def is_unsupported(key: str) -> bool:
    """Whether an option asks for what this version cannot do."""
    if is_option(key):
        return False
    from kcli.core.foreign_options import is_sasl, unsupported_tls  # rare: options that kcli does not have

    return is_sasl(key) or unsupported_tls(key) is not None


def _protocol(ranked: Sequence[Sequence[Pair]]) -> tuple[str, int]:
    """The security protocol that wins, and the rank of who said it; empty and −1 where nobody did."""
    found = [
        (text.strip().upper(), rank)
        for rank, source in enumerate(ranked)
        for key, text, _o in source
        if key == _PROTOCOL
    ]
    return found[-1] if found else ("", -1)


def _set_aside(pair: Pair, *, overruled: bool, protocol: str) -> bool:
    """Whether it changes nothing here; False for an unknown key. ``overruled``: a stronger source chose the protocol."""
    # As above: only for options that kcli does not have.
    from kcli.core.foreign_options import (
        instead_of_key,
        is_foreign,
        is_sasl,
        unsupported_sasl,
        unsupported_tls,
        whose,
    )

    key, _text, origin = pair
    if is_sasl(key):
        if overruled and not protocol.startswith("SASL"):
            return True
        why_not = unsupported_sasl(key)
        if why_not:
            raise ConfigError(f"{_named(key, origin)} is not supported yet", why=why_not, do=_CREDENTIALS)
        return False
    refused = unsupported_tls(key)
    if refused is not None:
        if overruled and protocol.endswith("PLAINTEXT"):
            return True
        why, do = refused
        raise ConfigError(f"{_named(key, origin)} is not supported yet", why=why, do=do)
    if not is_foreign(key):
        return False
    if origin == COMMAND_LINE:
        raise ConfigError(
            f"{_named(key, origin)} has no effect",
            why=f"it is an option of {whose(key)} that means nothing to kcli",
            do=f"leave it out; {instead_of_key(key)}".removesuffix("; "),
        )
    return True


def _without_sasl(key: str, origin: str, protocol: str) -> ConfigError:
    """Ignoring it would connect without the authentication that was meant."""
    said = f"security.protocol is {protocol or 'PLAINTEXT'}"
    instead = "leave it out"
    if origin.startswith(("KCLI_", "KAFKA_")):
        instead = f"unset {origin}, or choose -X security.protocol=PLAINTEXT"
    elif origin != COMMAND_LINE:
        instead = "take it out of that file, or choose -X security.protocol=PLAINTEXT"
    return ConfigError(
        f"{_named(key, origin)} has no effect",
        why=f"{said}: the connections do not authenticate",
        do=f"add -X security.protocol=SASL_SSL (SASL_PLAINTEXT without TLS); or {instead}",
    )


def _named(said: str, origin: str) -> str:
    """``sasl.mechanism (-X)``; a variable's name says by itself where it is."""
    return f"{said} ({origin})"
