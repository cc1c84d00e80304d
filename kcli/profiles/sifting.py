"""What is given to a client before it is parsed: options of other clients are set aside, and what this version cannot
obey is refused, as going on without it would reach another cluster, or the same one unprotected: options, and
values that other programs would replace, as ``${env:PASSWORD}``. Pure.
"""

import re
from collections.abc import Sequence

from kcli.core.errors import ConfigError
from kcli.core.options import field_of, is_option, mechanisms_of, option_field
from kcli.profiles.environment import KAFKA_PREFIX
from kcli.profiles.profile import COMMAND_LINE, Pair, Report, raise_error
from kcli.profiles.secret_keys import is_registry_key, is_secret_key, source_key

_PROTOCOL = "security.protocol"
_MECHANISM = "sasl.mechanism"


def sifted(
    ranked: Sequence[Sequence[Pair]], report: Report = raise_error
) -> tuple[list[Pair], tuple[tuple[str, str], ...]]:
    """The pairs that are options of kcli's clients, weakest first; and (key, origin) of those that mean nothing here.

    ``ranked`` holds a sequence for each kind of source, weakest first. ``report`` is called for what this version
    cannot do.
    """
    protocol, rank_of_protocol = chosen_protocol(ranked)
    pairs: list[Pair] = []
    ignored: list[tuple[str, str]] = []
    for rank, source in enumerate(ranked):
        for pair in source:
            if is_registry_key(pair.key):
                continue
            if source_key(pair.key) or (is_option(pair.key) and not is_unsupported(pair.key)):
                pairs.append(pair)
                continue
            try:
                foreign = _set_aside(pair, overruled=rank < rank_of_protocol, protocol=protocol)
            except ConfigError as error:
                report(error)
                continue
            if foreign:
                ignored.append((pair.key, pair.origin))
            else:
                pairs.append(pair)  # an unknown key: parsing it names the nearest
    return pairs, tuple(ignored)


def is_unsupported(key: str) -> bool:
    """Whether an option asks for what this version cannot do."""
    if is_option(key):
        return False
    from kcli.core.foreign_options import (  # rare: options that kcli does not have
        unsupported_sasl,
        unsupported_tls,
    )

    return unsupported_tls(key) is not None or unsupported_sasl(key) is not None


def is_refused(key: str) -> bool:
    """Whether a variable that other programs may set is refused: a misspelt option of SASL, but no option of a broker."""
    from kcli.core.foreign_options import BROKER_SASL_KEYS, is_sasl  # as above

    return is_unsupported(key) or (is_sasl(key) and key not in BROKER_SASL_KEYS)


def check_protocol(ranked: Sequence[Sequence[Pair]], report: Report) -> None:
    """Reports credentials that would not be used, since a run that connects without them is not what is wanted.

    They may be overruled: a stronger source that chooses another protocol means it.
    """
    protocol, rank_of_protocol = chosen_protocol(ranked)
    if protocol.startswith("SASL"):
        return
    for source in reversed(ranked[max(rank_of_protocol, 0) :]):
        for pair in source:
            if pair.key.startswith("sasl.") and pair.text and (is_option(pair.key) or source_key(pair.key)):
                report(_without_sasl(pair, protocol))
                return


def without_other_mechanisms(
    ranked: Sequence[Sequence[Pair]], report: Report, ignored: Report
) -> list[list[Pair]]:
    """The pairs without the options of SASL mechanisms other than the one that is chosen.

    They are overruled where a stronger source chooses the mechanism. Otherwise those of -X go to ``report``: what they
    were to do would not happen. Those of other sources go to ``ignored``, since Java ignores them. An empty value is no
    option.
    """
    mechanism, rank_of_mechanism = _chosen_mechanism(ranked)
    if not mechanism:
        return list(map(list, ranked))
    empty = {field_name(pair.key): not pair.text for source in ranked for pair in source}
    found: list[list[Pair]] = []
    for rank, source in enumerate(ranked):
        found.append([])
        for pair in source:
            name = field_name(pair.key)
            users = mechanisms_of(name)
            if not users or mechanism in users:
                found[-1].append(pair)
            elif rank >= rank_of_mechanism and not empty[name]:
                reject = report if pair.origin == COMMAND_LINE else ignored
                reject(_of_another_mechanism(pair, mechanism, users))
    return found


def _chosen_mechanism(ranked: Sequence[Sequence[Pair]]) -> tuple[str, int]:
    """The mechanism that wins, and the rank of its source; empty for none, or for one that does not exist."""
    found = [
        (pair.text.strip(), rank)
        for rank, source in enumerate(ranked)
        for pair in source
        if field_name(pair.key) == "sasl_mechanism"
    ]
    name, rank = found[-1] if found else ("", -1)
    known = field_of(_MECHANISM).metadata["choices"]
    return next((one for one in known if one.lower() == name.lower()), ""), rank


def field_name(key: str) -> str:
    """The name of the option that a key gives, or says where to read; empty for a key of no client."""
    named = source_key(key)
    found = option_field(named[0] if named is not None else key)
    return found.name if found is not None else ""


def _of_another_mechanism(pair: Pair, mechanism: str, users: Sequence[str]) -> ConfigError:
    return ConfigError(
        f"{_named(pair.key, pair.origin)} has no effect",
        why=f"{_MECHANISM} is {mechanism}, and it is an option of {' and '.join(users)}",
        do=f"leave it out, or choose -X {_MECHANISM}={users[-1]}",
    )


def chosen_protocol(ranked: Sequence[Sequence[Pair]]) -> tuple[str, int]:
    """The security protocol that wins, and the rank of its source; empty and −1 where none is given."""
    found = [
        (pair.text.strip().upper(), rank)
        for rank, source in enumerate(ranked)
        for pair in source
        if pair.key == _PROTOCOL
    ]
    return found[-1] if found else ("", -1)


def _set_aside(pair: Pair, *, overruled: bool, protocol: str) -> bool:
    """Whether it changes nothing here; False for an unknown key. ``overruled``: a stronger source chose the protocol.

    What KAFKA_* variables say of TLS may be meant for a broker in the same container.
    """
    # As above: only for options that kcli does not have.
    from kcli.core.foreign_options import (
        instead_of_key,
        is_default_of_tls,
        is_foreign,
        unsupported_sasl,
        unsupported_tls,
        whose,
    )

    key, text, origin = pair
    refused = unsupported_sasl(key)
    if refused is not None:
        if overruled and not protocol.startswith("SASL"):
            return True
        why, do = refused
        raise ConfigError(f"{_named(key, origin)} is not supported", why=why, do=do)
    refused = unsupported_tls(key)
    if refused is not None:
        plaintext = not protocol.endswith("SSL")
        if (plaintext and (overruled or origin.startswith(KAFKA_PREFIX))) or is_default_of_tls(key, text):
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


def _without_sasl(pair: Pair, protocol: str) -> ConfigError:
    """Ignoring it would connect without the authentication that was meant. A protocol that is chosen by a stronger source
    means it, also where it is the one that holds anyway.
    """
    protocol = protocol or "PLAINTEXT"
    instead = "leave it out"
    if pair.origin.startswith(("KCLI_", "KAFKA_")):
        instead = f"unset {pair.origin}, or choose -X security.protocol={protocol}"
    elif pair.origin != COMMAND_LINE:
        instead = f"take it out of that file, or choose -X security.protocol={protocol}"
    return ConfigError(
        f"{_named(pair.key, pair.origin)} has no effect",
        why=f"security.protocol is {protocol}: the connections do not authenticate",
        do="add -X security.protocol=SASL_SSL"
        + ("" if protocol == "SSL" else " (SASL_PLAINTEXT without TLS)")
        + f"; or {instead}",
    )


def _named(said: str, origin: str) -> str:
    """``sasl.mechanism (-X)``; a variable's name says by itself where it is."""
    return f"{said} ({origin})"


_PLACEHOLDER = r"\$\{[A-Za-z_][\w.-]*:[^{}]*\}|^\$\{[^{}]*\}$"
"""``${PROVIDER:…}`` of Java's config providers anywhere, ``${NAME}`` as the whole value."""
_PREFIXES = ("file:", "env:", "cmd:", "command:")


def check_literal(key: str, text: str, origin: str) -> None:
    """ConfigError for a placeholder, which is not in the error: what is around it may be a part of a password."""
    secret = is_secret_key(key)
    instead = (
        f"use {key}_file or {key}_command"
        if secret
        else "write the value itself, or set it with -X or a variable"
    )
    if "${" in text and re.search(_PLACEHOLDER, text):
        raise ConfigError(
            f"{key} has a placeholder ${{…}} (from {origin})",
            why="kcli does not replace placeholders: it would be used as it is written",
            do=instead,
        )
    prefix = next((one for one in _PREFIXES if text.startswith(one)), "")
    if secret and prefix:
        raise ConfigError(
            f"{key} begins with {prefix} (from {origin})",
            why="kcli would use it as it is written, and not what it points to",
            do={
                "file:": f"name the file with {key}_file",
                "env:": f"set the variable KCLI_X_{key.upper().replace('.', '_')}",
            }.get(prefix, f"give the command with {key}_command"),
        )
