"""Whether pyarrow is there, which some kernels need."""

from importlib.util import find_spec

from kcli.core.errors import ConfigError
from kcli.core.extras import installation


def check_pyarrow(purpose: str, *, otherwise: str = "", extra: str = "spark") -> None:
    """ConfigError without pyarrow. ``purpose``: what needs it, as a clause; ``otherwise``: what else can be done."""
    if find_spec("pyarrow") is None:
        raise ConfigError(
            f"pyarrow is not installed, and {purpose}",
            why="it is an extra of kcli",
            do=installation(extra) + (f", or {otherwise}" if otherwise else ""),
        )
