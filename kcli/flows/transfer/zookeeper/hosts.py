"""``HOST[:PORT][,…][/chroot]``, the format of ``zookeeper.connect``. Pure."""

import re
from dataclasses import dataclass

from kcli.core.errors import ConfigError
from kcli.flows.transfer.zookeeper.offset_node import is_node_name

PORT = 2181
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\],]+)(?::([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Hosts:
    """The servers of one ensemble, and its chroot: empty, or for example ``/kafka``."""

    addresses: tuple[tuple[str, int], ...]
    chroot: str = ""

    @property
    def servers(self) -> str:
        """``a:2181,[::1]:2182``."""
        return ",".join(
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.addresses
        )

    def __str__(self) -> str:
        return self.servers + self.chroot


def parse_hosts(text: str) -> Hosts:
    """Raises ConfigError for an invalid list."""
    servers, slash, chroot = text.strip().partition("/")
    addresses = []
    for word in servers.split(","):
        match = _HOST.fullmatch(word.strip())
        port = int(match[2] or PORT) if match else 0
        if match is None or not 0 < port < 65536:
            raise _invalid(text, f"{word.strip()!r} is not HOST or HOST:PORT")
        addresses.append((match[1].strip("[]"), port))
    root = chroot.strip("/")
    if root and not all(map(is_node_name, root.split("/"))):
        raise _invalid(text, f"ZooKeeper does not accept the name /{chroot} for a node")
    return Hosts(tuple(addresses), f"{slash}{root}" if root else "")


def _invalid(text: str, why: str) -> ConfigError:
    do = "write it as zookeeper.connect: zk1:2181,zk2:2181/chroot"
    return ConfigError(f"--zookeeper {text} is not valid", why=why, do=do)
