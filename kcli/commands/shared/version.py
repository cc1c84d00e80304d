"""What ``kcli --version -v`` prints: the versions of kcli, Python and libraries, and which kernels are used."""

import platform
from importlib import metadata

from kcli.core.version import __version__

try:
    from kcli.core.kernels.active import IMPLEMENTATION as KERNELS
except ImportError as missing:  # KCLI_IMPL names one that is not installed
    KERNELS = f"not available ({missing})"

LIBRARIES = ("click", "rich", "msgspec", "crc32c", "lz4", "cramjam", "backports.zstd", "isal")


def version_details() -> str:
    """Lines of ``name: value``, the first one as without ``-v``."""
    details = [
        ("python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("platform", f"{platform.system()} {platform.machine()}"),
        ("records", KERNELS),
        *((name, _installed(name)) for name in LIBRARIES),
    ]
    return "\n".join((f"kcli {__version__}", *(f"{name}: {value}" for name, value in details)))


def kernels() -> str:
    """``native`` or ``pure``: what handles records, or why nothing does."""
    return KERNELS


def runtime() -> str:
    """kcli, Python and the system in one line."""
    return (
        f"kcli {__version__}, {platform.python_implementation()} {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}"
    )


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
