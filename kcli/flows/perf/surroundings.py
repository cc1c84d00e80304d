"""Where a performance test runs: this host and the versions on it. Read once, at the start of a run."""

from __future__ import annotations

import os
import platform
from typing import Any

from kcli.core.kernels.active import IMPLEMENTATION
from kcli.core.version import __version__


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
