"""Optional dependencies: imported on use; when missing, the error names their extra."""

import importlib
from typing import Any

from kcli.core.errors import ConfigError

PACKAGE = "kcli-kafka"


def library(module: str, *, extra: str, wanted_by: str) -> Any:
    """The module; ConfigError says what to install. It includes the reason of the failed import."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"{wanted_by} needs a library that is not installed",
            why=str(error),
            do=f"pip install '{PACKAGE}[{extra}]'",
        ) from None
