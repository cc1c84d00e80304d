"""Where the options come from with which kcli secures a connection and logs in: for errors of both, loaded only there.

A file that a variable names, or a profile in use, is not in the line that failed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcli.core.options import key_of
from kcli.output.sanitise import visible_line
from kcli.profiles.profile import COMMAND_LINE
from kcli.profiles.sources import COMMAND_CONFIG

if TYPE_CHECKING:
    from kcli.profiles.resolve import Resolved

_OF_LOGINS = (
    "security_protocol",
    "sasl_mechanism",
    "sasl_username",
    "ssl_ca_location",
    "ssl_certificate_location",
)


def login_origins(
    what: str, clusters: Sequence["Resolved"], files: Sequence[str], *, by_variable: bool
) -> str:
    """``security.protocol SASL_SSL (from a.properties, KCLI_COMMAND_CONFIG)`` for the cluster that ``what`` is about:
    that of the addresses in it, else every one. Empty where the command line gives all of it. ``files``: those of
    ``-F``, or of the variable.
    """
    about = [one for one in clusters if any(address in what for address in _addresses(one))] or clusters
    texts = (_text(one, files, by_variable=by_variable) for one in about)
    return "; ".join(dict.fromkeys(filter(None, texts)))


def _addresses(resolved: "Resolved") -> list[str]:
    brokers = str(resolved.values.get("bootstrap_servers", ""))
    return [one.strip() for one in brokers.split(",") if one.strip()]


def _text(resolved: "Resolved", files: Sequence[str], *, by_variable: bool) -> str:
    by_source: dict[str, list[str]] = {}
    for name in _OF_LOGINS:
        if name in resolved.values and resolved.uses(name):
            source = _source(resolved, name, files, by_variable=by_variable)
            by_source.setdefault(source, []).append(f"{key_of(name)} {resolved.values[name]}")
    by_source.pop("", None)
    return ", ".join(f"{', '.join(said)} (from {source})" for source, said in by_source.items())


def _source(resolved: "Resolved", name: str, files: Sequence[str], *, by_variable: bool) -> str:
    """The source of an option; empty for the command line, where it can be seen."""
    origin = resolved.origins[name]
    if origin == COMMAND_LINE:
        return ""
    path = origin.rpartition(":")[0]
    if path in files:
        return f"{visible_line(path)}, {COMMAND_CONFIG if by_variable else '-F'}"
    profile = resolved.profile
    if profile is not None and any(pair.origin == origin for pair in profile.pairs):
        return f"profile {profile.name}"
    return visible_line(origin)
