"""Which of the configured options a command uses: the rest is refused where ``-X`` names it, for nobody writes there what
is to have no effect, and passed over where it comes from a file or a variable, which commands share. Pure.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kcli.core.errors import ConfigError
from kcli.core.options import (
    OF_MEMBERS,
    ClientOptions,
    ConsumerOptions,
    ProducerOptions,
    ShareConsumerOptions,
    key_of,
    option_names,
)
from kcli.profiles.profile import COMMAND_LINE
from kcli.profiles.resolve import Resolved

Unused = tuple[str, str]
"""Why an option has no effect, and what to do instead."""

_OWNERS: tuple[tuple[type[ClientOptions], Unused], ...] = (
    (ProducerOptions, ("it is a producer option", "leave it out; `kcli produce TOPIC` takes it")),
    (ConsumerOptions, ("it is a consumer option", "leave it out; `kcli consume TOPIC` takes it")),
    (
        ShareConsumerOptions,
        ("it is for share groups", "leave it out; `kcli consume TOPIC -g GROUP --group-type share` takes it"),
    ),
)

_WITHOUT_TLS: Unused = (
    "security.protocol is {}: the connections are not encrypted",
    "add -X security.protocol=SSL, or leave it out",
)
_WITHOUT_SASL: Unused = (
    "security.protocol is {}: the connections do not authenticate",
    "add -X security.protocol=SASL_SSL, or leave it out",
)

_OF_CLASSIC = ("session_timeout_ms", "heartbeat_interval_ms", "partition_assignment_strategy")
_MEMBERS: Unused = ("it is for members of a group", "give -g GROUP, or leave it out")
_CLASSIC: Unused = ("with group.protocol=consumer the coordinator decides that", "leave it out")
_CONSUMER: Unused = (
    "with group.protocol=classic the members assign",
    "add -X group.protocol=consumer, or use partition.assignment.strategy",
)


def unused_options(
    resolved: Resolved,
    kinds: Iterable[type[ClientOptions]],
    refused: Mapping[str, Unused],
    own: Mapping[str, Any],
) -> dict[str, Unused]:
    """The configured options, by field name, that clients of these ``kinds`` do not use, ``refused`` among them.

    What the command has a flag for (``own``, None: not given) is overruled by it, which is no reason to refuse anything.
    """
    names = frozenset[str]().union(*map(option_names, kinds))
    protocol = str(resolved.values.get("security_protocol", "PLAINTEXT"))
    found: dict[str, Unused] = {}
    for name in resolved.values:
        if name not in names:
            found[name] = _owner(name)
        elif name in refused and own.get(name) is None:
            found[name] = refused[name]
        elif "ssl_" in name and protocol.endswith("PLAINTEXT"):
            found[name] = _under(protocol, _WITHOUT_TLS)
        elif name.startswith("sasl_") and not protocol.startswith("SASL"):
            found[name] = _under(protocol, _WITHOUT_SASL)
    return found


def unused_of_members(resolved: Resolved, group: str | None) -> dict[str, Unused]:
    """Options of a consumer that a run does not use as a member of this group, or without one."""
    if group is None:
        ignored = {"group_id": _MEMBERS} if resolved.values.get("group_id") else {}
        return dict.fromkeys(OF_MEMBERS, _MEMBERS) | ignored
    protocol = resolved.values.get("group_protocol", "classic")
    if protocol == "consumer":
        return dict.fromkeys(_OF_CLASSIC, _CLASSIC)
    return {"group_remote_assignor": _CONSUMER}


def check(resolved: Resolved, unused: Mapping[str, Unused], command: str) -> None:
    """ConfigError for the first of ``unused`` that was given with ``-X``."""
    for name, (why, do) in unused.items():
        if resolved.origins.get(name) == COMMAND_LINE:
            raise ConfigError(f"-X {key_of(name)} has no effect on `{command}`", why=why, do=do)


def _under(protocol: str, unused: Unused) -> Unused:
    why, do = unused
    return why.format(protocol), do


def _owner(name: str) -> Unused:
    return next(told for kind, told in _OWNERS if name in option_names(kind))
