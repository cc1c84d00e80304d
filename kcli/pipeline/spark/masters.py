"""Whether a standalone master can be reached: Spark itself tries for a minute, and then ends without a reason."""

import re
import socket

from kcli.core.errors import ConfigError, ConnectError

_SECONDS = 5.0
_PORT = 7077


def check_master(url: str) -> None:
    """ConnectError if no address of a ``spark://`` URL accepts connections; all other masters are left to Spark."""
    if not url.startswith("spark://"):
        return
    errors = []
    for host, port in _addresses(url):
        try:
            socket.create_connection((host, port), timeout=_SECONDS).close()
        except OSError as error:
            errors.append(f"{host}:{port}: {error.strerror or error}")
        else:
            return
    raise ConnectError(
        f"cannot reach Spark's master {url}",
        why="; ".join(errors),
        do="check host and port (the master's own page shows its URL), and that it runs",
    )


def _addresses(url: str) -> list[tuple[str, int]]:
    found = []
    for part in url.removeprefix("spark://").split(","):
        match = re.fullmatch(r"(\[[^\]/]+\]|[^:/]+)(?::(\d+))?", part)
        if match is None or int(match[2] or _PORT) > 65_535:
            raise ConfigError(f"--master {url}", why="it has no host and port", do="spark://HOST:7077")
        found.append((match[1].strip("[]"), int(match[2] or _PORT)))
    return found
