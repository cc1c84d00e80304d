"""What a report says of its test besides figures: the configuration of its clients, versions and host. No secrets."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcli.core.classes import fields
from kcli.core.kernels.active import IMPLEMENTATION
from kcli.core.options import ClientOptions, key_of
from kcli.core.version import __version__

_LONG = "ssl_certificate_pem"  # a text of many lines


def client_configuration(
    options: ClientOptions, given: Iterable[str], matter: Sequence[str], test: Mapping[str, Any]
) -> dict[str, Any]:
    """By Kafka's names. ``given``: fields that were set, perhaps of other clients; ``matter``: fields that are listed in
    any case; ``test``: flags of the test, by their names; None: not given.
    """
    known = {one.name for one in fields(options) if not one.metadata.get("secret")} - {_LONG}
    found = {key_of(name): getattr(options, name) for name in sorted({*matter, *given} & known)}
    return {**found, **{name: value for name, value in test.items() if value is not None}}


def versions(kafka: str | None = None) -> dict[str, Any]:
    """Of kcli, Python, the kernels (``native`` or ``pure``), and of the brokers where it is known."""
    return {
        "kcli": __version__,
        "python": platform.python_version(),
        "kernels": IMPLEMENTATION,
        "kafka": kafka,
    }


def host() -> dict[str, Any]:
    """This machine: the CPUs that this process may use, architecture, system, and how busy it was in the last minute."""
    return {
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "load_1m": round(os.getloadavg()[0], 2),
    }
