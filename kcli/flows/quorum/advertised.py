"""Where a controller listens that is a broker as well: its broker reports its configuration, of which that follows."""

from __future__ import annotations

from collections.abc import Mapping

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.admin.quorum import Endpoint
from kcli.core.errors import KcliError

ROLES, NAMES = "process.roles", "controller.listener.names"
LISTENERS, ADVERTISED = "listeners", "advertised.listeners"


def broker_listeners(admin: Admin, number: int) -> dict[str, str] | KcliError:
    """The values of these keys in the configuration of a broker, as far as they are set; the error if it reports none."""
    resource = ConfigResource(ConfigKind.BROKER, str(number))
    keys = (ROLES, NAMES, LISTENERS, ADVERTISED)
    entries = admin.describe_configs([resource], keys=keys)[resource]
    if isinstance(entries, KcliError):
        return entries
    return {entry.name: entry.value for entry in entries if entry.value}


def controller_endpoints(admin: Admin, number: int) -> tuple[Endpoint, ...]:
    """Of a controller that is broker ``number``, too; empty where that does not report any."""
    found = broker_listeners(admin, number)
    return () if isinstance(found, KcliError) else endpoints_in(found)


def endpoints_in(configs: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Those of the controller: advertised ones first, else those on which it listens."""
    names = [name.strip() for name in configs.get(NAMES, "").split(",") if name.strip()]
    found: dict[str, Endpoint] = {}
    for key in (ADVERTISED, LISTENERS):
        for one in parse_listeners(configs.get(key, "")):
            if one.listener in names and one.host not in ("", "0.0.0.0", "::"):  # noqa: S104 - is none to connect to
                found.setdefault(one.listener, one)
    return tuple(found[name] for name in names if name in found)


def parse_listeners(text: str) -> list[Endpoint]:
    """The listeners of Kafka's own form, ``NAME://HOST:PORT,…``; what is not of it is left out."""
    found = []
    for word in text.split(","):
        name, _, address = word.strip().partition("://")
        host, _, port = address.rpartition(":")
        if port.isdecimal():
            found.append(Endpoint(name, host.removeprefix("[").removesuffix("]"), int(port)))
    return found
