"""What is imported on use: modules of a package (PEP 562), and optional dependencies; where one of these is missing, the
error names the command that installs its extra.
"""

import importlib
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from kcli.core.errors import ConfigError

PACKAGE = "kcli-kafka"
_SEALED = {"/usr/lib/kcli": "the Debian package", "/opt/kcli": "the container image"}
"""Environments without pip to which nothing can be added, by their folder."""


def modules_on_use(package: str) -> Callable[[str], ModuleType]:
    """The ``__getattr__`` of a package: its modules by name."""

    def module(name: str) -> ModuleType:
        try:
            return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":
                raise  # a module that this one imports
            raise AttributeError(f"{package} has no module {name}") from None

    return module


def library(module: str, *, extra: str, wanted_by: str) -> Any:
    """The module; ConfigError says what to install. It includes the reason of the failed import."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"{wanted_by} needs a library that is not installed", why=str(error), do=installation(extra)
        ) from None


def installation(extra: str) -> str:
    """What to run so that this kcli has the extra: an instruction for the ``do`` of an error."""
    from importlib.util import find_spec  # few runs need it

    prefix = sys.prefix
    holds = {name: os.path.exists(os.path.join(prefix, name)) for name in _RECORDS}
    active = prefix in (sys.base_prefix, os.environ.get("VIRTUAL_ENV", ""))
    return installation_in(prefix, extra, holds, active=active, pip=find_spec("pip") is not None)


_RECORDS = _PEX, _PIPX, _UV = "PEX-INFO", "pipx_metadata.json", "uv-receipt.toml"
"""Files by which pex, pipx and uv mark an environment of theirs."""


def installation_in(prefix: str, extra: str, holds: dict[str, bool], *, active: bool, pip: bool) -> str:
    """The same for the environment in the folder ``prefix``. ``holds``: which of the marks are in it; ``active``: whether
    ``pip`` on the command line is that of this environment, as far as can be seen; ``pip``: whether it has one.
    """
    what = f"'{PACKAGE}[{extra}]'"
    from shlex import quote  # few runs need it

    sealed = "the .pex" if holds[_PEX] else None if pip else _SEALED.get(prefix)
    if sealed:
        return f"nothing can be added to {sealed}; install kcli with it: pipx install {what}"
    if holds[_PIPX]:
        return f"pipx runpip {quote(os.path.basename(prefix))} install {what}"
    python = quote(os.path.join(prefix, "bin", "python"))
    if holds[_UV] or not pip:
        return f"uv pip install --python {python} {what}"
    return f"pip install {what}" if active else f"{python} -m pip install {what}"
