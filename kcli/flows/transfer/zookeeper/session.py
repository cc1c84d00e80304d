"""A session with ZooKeeper, through kazoo: reads and writes many nodes at a time. The only module that uses kazoo.

kazoo runs its own threads; all methods here are called from one thread. Up to ``WINDOW`` requests are in flight, so
that thousands of nodes take a few round trips and memory stays limited. ``HOST[:PORT][,…][/chroot]`` is the format of
``zookeeper.connect``.
"""

from __future__ import annotations

import logging
import re
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from kcli.core.classes import dataclass
from kcli.core.clock import monotonic
from kcli.core.errors import (
    AuthError,
    ConfigError,
    ConnectError,
    KcliError,
    NotFoundError,
    OutcomeUnknownError,
)
from kcli.core.extras import library
from kcli.flows.rewind.plan import NotPossibleError
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


WINDOW = 256
EXTRA = "zookeeper"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Node:
    """The contents of a node. ``version`` counts its changes."""

    data: bytes
    version: int


@dataclass(frozen=True, slots=True)
class Write:
    """``version``: the expected version of the node; None: it must not exist, and is created."""

    path: str
    data: bytes
    version: int | None


class ZooKeeper:
    """``open`` and ``close`` it. ``timeout`` (seconds) limits the connection and each response.

    ConfigError where kazoo is not installed. ``log`` receives kazoo's log messages; without it they are dropped.
    """

    def __init__(self, hosts: Hosts, *, timeout: float, log: Callable[[str], None] | None = None) -> None:
        self.hosts = hosts
        self.timeout = timeout
        self._kazoo = library("kazoo.client", extra=EXTRA, wanted_by="--zookeeper")
        self._errors = library("kazoo.exceptions", extra=EXTRA, wanted_by="--zookeeper")
        self._log_to(log)
        self._client: Any = None

    def open(self) -> None:
        """Connects: ConnectError where no server responds, NotFoundError where the chroot is missing."""
        deadline = monotonic() + self.timeout
        _reach(self.hosts, deadline)
        self._client = self._kazoo.KazooClient(hosts=str(self.hosts), timeout=max(self.timeout, 1.0))
        try:
            if not self._client.start_async().wait(max(0.1, deadline - monotonic())):
                raise ConnectError(
                    f"no session with ZooKeeper at {self.hosts.servers}",
                    why=f"it accepts connections, but sent no ZooKeeper response within {self.timeout:g} s",
                    do="check that it is the client port of a ZooKeeper that has its quorum",
                )
            if self.hosts.chroot and self.node("/") is None:
                raise NotFoundError(
                    f"there is no {self.hosts.chroot} in ZooKeeper at {self.hosts.servers}",
                    why="the chroot that follows the hosts does not exist",
                    do="use that of zookeeper.connect of the brokers or consumers",
                )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the session; a lost session ends by itself."""
        client, self._client = self._client, None
        if client is None:
            return
        try:
            client.stop()
            client.close()
        except Exception as error:  # noqa: BLE001 - kazoo's own, of any kind: nothing is left to be done
            logging.getLogger("kazoo").debug("while closing: %s", error)

    def node(self, path: str) -> Node | None:
        """One node; None if it does not exist. Raises the errors that ``nodes`` returns."""
        found = self.nodes([path])[path]
        if isinstance(found, KcliError):
            raise found
        return found

    def nodes(self, paths: Iterable[str]) -> dict[str, Node | KcliError | None]:
        """The contents of nodes; None for a node that does not exist, an error for a node that cannot be read.

        ConnectError if the server no longer responds.
        """
        found: dict[str, Node | KcliError | None] = {}
        for path, response in self._pipelined(self._client.get_async, paths):
            found[path] = Node(response[0], response[1].version) if isinstance(response, tuple) else response
        return found

    def children(self, paths: Iterable[str]) -> dict[str, list[str] | KcliError | None]:
        """The sorted names of each node's children; None and errors as in ``nodes``."""
        found: dict[str, list[str] | KcliError | None] = {}
        for path, response in self._pipelined(self._client.get_children_async, paths):
            found[path] = sorted(response) if isinstance(response, list) else response
        return found

    def write(self, writes: Iterable[Write]) -> dict[str, KcliError | None]:
        """Sets or creates nodes, including their parents; None for each success.

        NotPossibleError if a node is not as expected, OutcomeUnknownError if there was no response.
        """
        by_path = {one.path: one for one in writes}
        outcomes: dict[str, KcliError | None] = {}
        for path, response in self._pipelined(
            lambda path: self._start(by_path[path]), by_path, lost=_unknown
        ):
            absent = NotPossibleError(f"{path} was not set", why="it has been deleted meanwhile")
            outcomes[path] = (
                response if isinstance(response, KcliError) else absent if response is None else None
            )
        return outcomes

    # --- requests in flight ------------------------------------------------------------------------------

    def _start(self, write: Write) -> Any:
        if write.version is None:
            return self._client.create_async(write.path, write.data, makepath=True)
        return self._client.set_async(write.path, write.data, version=write.version)

    def _pipelined(
        self,
        start: Callable[[str], Any],
        paths: Iterable[str],
        *,
        lost: Callable[[ConnectError, str], KcliError] | None = None,
    ) -> Iterator[tuple[str, Any]]:
        """Each path with its response, in order. ``lost`` makes the response after a lost connection, which else raises.

        After the first lost response nothing more is requested or awaited: each request would take a timeout.
        """
        left, waiting = iter(paths), deque[tuple[str, Any]]()
        gone: ConnectError | None = None
        while True:
            waiting.extend(
                (path, start(path) if gone is None else None) for path in islice(left, WINDOW - len(waiting))
            )
            if not waiting:
                return
            path, request = waiting.popleft()
            try:
                response = self._response(path, request, 0 if gone else self.timeout)
            except ConnectError as error:
                if lost is None:
                    raise
                gone = gone or error
                response = lost(gone, path)
            yield path, response

    def _response(self, path: str, request: Any, timeout: float) -> Any:
        """The response, None if there is no such node, or the server's error; ConnectError if there was no response."""
        if request is None:
            raise ConnectError(
                f"{path} was not requested",
                why="the connection ended before",
                do="check ZooKeeper, and try again",
            )
        try:
            return request.get(timeout=timeout)
        except self._errors.NoNodeError:
            return None
        except (self._errors.KazooException, self._client.handler.timeout_exception) as error:
            found = self._explained(path, error)
        if isinstance(found, ConnectError):
            raise found
        return found

    def _explained(self, path: str, error: Exception) -> KcliError:
        errors, servers = self._errors, self.hosts.servers
        if isinstance(error, errors.NoAuthError | errors.AuthFailedError):
            return AuthError(
                f"ZooKeeper at {servers} denies access to {path}",
                why=f"{type(error).__name__}: the node's ACL has no right for everyone, and kcli does not authenticate",
                do="grant access with setAcl in ZooKeeper's shell, or use a tool that authenticates",
            )
        if isinstance(error, errors.BadVersionError | errors.NodeExistsError):
            return NotPossibleError(
                f"{path} was not set",
                why="another client has set it since the plan was made",
                do="find out which client commits for this group, and run the command again to see the new plan",
            )
        lost = (
            errors.ConnectionLoss,
            errors.ConnectionClosedError,
            errors.SessionExpiredError,
            errors.OperationTimeoutError,
        )
        if isinstance(error, errors.ZookeeperError) and not isinstance(error, lost):
            return KcliError(f"ZooKeeper at {servers} refuses {path}", why=_reason(error))
        slow = not isinstance(error, errors.KazooException)
        return ConnectError(
            f"the connection to ZooKeeper at {servers} was lost at {path}",
            why=f"no response within {self.timeout:g} s" if slow else _reason(error),
            do="check the server; --timeout gives it more time",
        )

    def _log_to(self, log: Callable[[str], None] | None) -> None:
        logger = logging.getLogger("kazoo")
        logger.propagate = False
        logger.handlers[:] = [logging.NullHandler() if log is None else _Forward(log)]
        logger.setLevel(logging.CRITICAL if log is None else logging.DEBUG)


class _Forward(logging.Handler):
    def __init__(self, log: Callable[[str], None]) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log(record.getMessage())


def good(found: Mapping[str, T | KcliError | None], errors: list[KcliError]) -> dict[str, T]:
    """The nodes that exist and can be read; errors are added to ``errors``."""
    errors += [one for one in found.values() if isinstance(one, KcliError)]
    return {path: one for path, one in found.items() if one is not None and not isinstance(one, KcliError)}


def _reach(hosts: Hosts, deadline: float) -> None:
    """Checks that any of the servers accepts connections: kazoo would retry indefinitely, and not report a reason."""
    reasons = []
    for at, address in enumerate(hosts.addresses):
        share = (deadline - monotonic()) / (len(hosts.addresses) - at)
        try:
            socket.create_connection(address, timeout=max(0.1, share)).close()
        except OSError as error:
            reasons.append(f"{address[0]}:{address[1]}: {(error.strerror or str(error)).lower()}")
        else:
            return
    raise ConnectError(
        f"cannot connect to ZooKeeper at {hosts.servers}",
        why="; ".join(reasons),
        do="check host and port (2181 unless given), and that it runs",
    )


def _unknown(error: ConnectError, path: str) -> KcliError:
    return OutcomeUnknownError(f"whether {path} was set is not known", why=error.why, do=error.do)


def _reason(error: Exception) -> str:
    name = type(error).__name__
    return f"{name}: {error}" if str(error) else name
