"""Where to listen, as users write it: ``HOST:PORT``, ``[ADDRESS]:PORT``, ``:PORT``. Pure."""

import re
from ipaddress import ip_address

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError

_FORM = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+(?:%\w+)?)\]|(?P<host>[^\s:/\[\]@]*)):(?P<port>\d{1,5})")


class Address(NamedTuple):
    """``host`` empty is every address of this machine; ``port`` 0 is a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host or "*"
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ip_address(self.host.partition("%")[0]).is_loopback
        except ValueError:
            return self.host == "localhost"


def parse_address(text: str) -> Address:
    """Raises ConfigError."""
    found = _FORM.fullmatch(text)
    if found is None or int(found["port"]) > 65_535:
        several = re.fullmatch(r"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*", text)
        raise ConfigError(
            f"--listen {text} is not an address",
            why="an IPv6 address must be in brackets"
            if several
            else "it must be HOST:PORT, with a port up to 65535",
            do="for example: --listen 127.0.0.1:9308, --listen '[::1]:9308', or --listen :9308 for all addresses",
        )
    return Address(found["six"] or found["host"], int(found["port"]))
