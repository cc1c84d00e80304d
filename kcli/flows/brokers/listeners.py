"""Where a broker listens, and the controller that it may be as well: of its configuration, which it reports itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.admin.quorum import Endpoint
from kcli.core.errors import KcliError, NotFoundError

ROLES, NAMES = "process.roles", "controller.listener.names"
LISTENERS, ADVERTISED = "listeners", "advertised.listeners"
_KEYS = (ROLES, NAMES, LISTENERS, ADVERTISED)
_ANY_HOST = ("", "0.0.0.0", "::")  # noqa: S104 - what listeners bind, and nobody connects to


def listener_configs(admin: Admin, numbers: Collection[int]) -> dict[int, dict[str, str] | KcliError]:
    """The values of these keys that are set, by broker."""
    resources = {number: ConfigResource(ConfigKind.BROKER, str(number)) for number in numbers}
    found = admin.describe_configs([*resources.values()], keys=_KEYS) if resources else {}
    return {number: _values(found[resource]) for number, resource in resources.items()}


def _values(entries: object) -> dict[str, str] | KcliError:
    if isinstance(entries, KcliError):
        return entries
    assert isinstance(entries, list)
    return {entry.name: entry.value for entry in entries if entry.value}


def controller_endpoints(admin: Admin, number: int) -> tuple[Endpoint, ...]:
    """Of a controller that is broker ``number``, too; empty where there is no such broker, or it does not say. Raises the
    error of one that could not be asked.
    """
    found = listener_configs(admin, [number])[number]
    if isinstance(found, NotFoundError):
        return ()
    if isinstance(found, KcliError):
        raise found
    return endpoints_in(found)


def endpoints_in(configs: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Those of the controller that others can connect to."""
    names = _controller_names(configs)
    found = {one.listener: one for one in listeners_in(configs) if one.host not in _ANY_HOST}
    return tuple(found[name] for name in names if name in found)


def listeners_in(configs: Mapping[str, str]) -> list[Endpoint]:
    """All listeners of a node: as it advertises them, else as it binds them."""
    found: dict[str, Endpoint] = {}
    for key in (ADVERTISED, LISTENERS):
        for one in parse_listeners(configs.get(key, "")):
            found.setdefault(one.listener, one)
    return list(found.values())


def _controller_names(configs: Mapping[str, str]) -> list[str]:
    return [name.strip() for name in configs.get(NAMES, "").split(",") if name.strip()]


def parse_listeners(text: str) -> list[Endpoint]:
    """Those of Kafka's own form, ``NAME://HOST:PORT,…``; what is not of it is left out."""
    found = []
    for word in text.split(","):
        name, _, address = word.strip().partition("://")
        host, _, port = address.rpartition(":")
        if port.isdecimal():
            found.append(Endpoint(name, host.removeprefix("[").removesuffix("]"), int(port)))
    return found
