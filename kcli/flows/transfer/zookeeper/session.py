"""A session with ZooKeeper, through kazoo: nodes read and written, many at a time. The only file that knows kazoo.

kazoo runs threads of its own; all methods here are called from one thread. Of many requests up to ``WINDOW`` are in
flight, so that thousands of nodes take a few round trips, and no more than these are held here.
"""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from kcli.core.clock import monotonic
from kcli.core.dataclass import dataclass
from kcli.core.errors import (
    AuthError,
    ConnectError,
    KcliError,
    NotFoundError,
    OutcomeUnknownError,
)
from kcli.flows.rewind.plan import NotPossibleError
from kcli.flows.transfer.zookeeper.hosts import Hosts
from kcli.serde.extras import library

WINDOW = 256
EXTRA = "zookeeper"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Node:
    """What a node holds. ``version`` counts how often that was set."""

    data: bytes
    version: int


@dataclass(frozen=True, slots=True)
class Write:
    """``version``: the one that the node must have; None: it must not be there, and is made."""

    path: str
    data: bytes
    version: int | None


class ZooKeeper:
    """``open`` it, ``close`` it. ``timeout`` (seconds) bounds the first contact and each answer.

    ConfigError where kazoo is not installed. ``log`` gets what kazoo says of itself; without it that goes nowhere.
    """

    def __init__(self, hosts: Hosts, *, timeout: float, log: Callable[[str], None] | None = None) -> None:
        self.hosts = hosts
        self.timeout = timeout
        self._kazoo = library("kazoo.client", extra=EXTRA, wanted_by="--zookeeper")
        self._errors = library("kazoo.exceptions", extra=EXTRA, wanted_by="--zookeeper")
        self._log_to(log)
        self._client: Any = None

    def open(self) -> None:
        """First contact: ConnectError where nobody answers, NotFoundError where the chroot is missing."""
        deadline = monotonic() + self.timeout
        _reach(self.hosts, deadline)
        self._client = self._kazoo.KazooClient(hosts=str(self.hosts), timeout=max(self.timeout, 1.0))
        try:
            if not self._client.start_async().wait(max(0.1, deadline - monotonic())):
                raise ConnectError(
                    f"no session with ZooKeeper at {self.hosts.servers}",
                    why=f"it takes connections, but did not answer as ZooKeeper does within {self.timeout:g} s",
                    do="check that it is the client port of a ZooKeeper that has its quorum",
                )
            if self.hosts.chroot and self.node("/") is None:
                raise NotFoundError(
                    f"there is no {self.hosts.chroot} in ZooKeeper at {self.hosts.servers}",
                    why="the chroot behind the hosts does not exist",
                    do="take it from zookeeper.connect of the brokers or consumers",
                )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the session; one that is lost ends by itself."""
        client, self._client = self._client, None
        if client is None:
            return
        try:
            client.stop()
            client.close()
        except Exception as error:  # noqa: BLE001 - kazoo's own, of any kind: nothing is left to be done
            logging.getLogger("kazoo").debug("while closing: %s", error)

    def node(self, path: str) -> Node | None:
        """One; None where it does not exist. Raises what ``nodes`` gives."""
        found = self.nodes([path])[path]
        if isinstance(found, KcliError):
            raise found
        return found

    def nodes(self, paths: Iterable[str]) -> dict[str, Node | KcliError | None]:
        """What they hold; None for what does not exist, an error for what may not be read.

        ConnectError where the server does not answer any more.
        """
        found: dict[str, Node | KcliError | None] = {}
        for path, answer in self._pipelined(self._client.get_async, paths):
            found[path] = Node(answer[0], answer[1].version) if isinstance(answer, tuple) else answer
        return found

    def children(self, paths: Iterable[str]) -> dict[str, list[str] | KcliError | None]:
        """The names below each, sorted; None and errors as in ``nodes``."""
        found: dict[str, list[str] | KcliError | None] = {}
        for path, answer in self._pipelined(self._client.get_children_async, paths):
            found[path] = sorted(answer) if isinstance(answer, list) else answer
        return found

    def write(self, writes: Iterable[Write]) -> dict[str, KcliError | None]:
        """Sets or makes nodes, with the nodes above them; None for what was done.

        NotPossibleError where the node is not the one that was expected, OutcomeUnknownError where nobody answered.
        """
        asked = {one.path: one for one in writes}
        outcomes: dict[str, KcliError | None] = {}
        for path, answer in self._pipelined(lambda path: self._start(asked[path]), asked, lost=_unknown):
            absent = NotPossibleError(f"{path} was not set", why="it has been deleted meanwhile")
            outcomes[path] = answer if isinstance(answer, KcliError) else absent if answer is None else None
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
        """Each path with its answer, in order. ``lost`` makes an answer of a connection that is: else it is raised.

        Behind the first one that is lost nothing more is asked, and no answer waited for: these would be as many
        timeouts.
        """
        left, waiting = iter(paths), deque[tuple[str, Any]]()
        gone: ConnectError | None = None
        while True:
            waiting.extend(
                (path, start(path) if gone is None else None) for path in islice(left, WINDOW - len(waiting))
            )
            if not waiting:
                return
            path, asked = waiting.popleft()
            try:
                answer = self._answer(path, asked, 0 if gone else self.timeout)
            except ConnectError as error:
                if lost is None:
                    raise
                gone = gone or error
                answer = lost(gone, path)
            yield path, answer

    def _answer(self, path: str, asked: Any, timeout: float) -> Any:
        """What came, None where there is no such node, or why the server refuses; ConnectError where nothing came."""
        if asked is None:
            raise ConnectError(f"{path} was not asked for")
        try:
            return asked.get(timeout=timeout)
        except self._errors.NoNodeError:
            return None
        except (self._errors.KazooException, self._client.handler.timeout_exception) as error:
            told = self._explained(path, error)
        if isinstance(told, ConnectError):
            raise told
        return told

    def _explained(self, path: str, error: Exception) -> KcliError:
        errors, servers = self._errors, self.hosts.servers
        if isinstance(error, errors.NoAuthError | errors.AuthFailedError):
            return AuthError(
                f"ZooKeeper at {servers} does not allow it: {path}",
                why=f"{type(error).__name__}: the node's ACL has no right for everybody, and kcli does not log in",
                do="give the right with setAcl in ZooKeeper's shell, or use a tool that logs in",
            )
        if isinstance(error, errors.BadVersionError | errors.NodeExistsError):
            return NotPossibleError(
                f"{path} was not set",
                why="somebody else has set it since the plan was made",
                do="find out who commits for this group, and look at the plan again",
            )
        if isinstance(error, errors.ZookeeperError) and not isinstance(error, self._lost_kinds()):
            return KcliError(f"ZooKeeper at {servers} refuses {path}", why=_reason(error))
        slow = not isinstance(error, errors.KazooException)
        return ConnectError(
            f"the connection to ZooKeeper at {servers} was lost at {path}",
            why=f"no answer within {self.timeout:g} s" if slow else _reason(error),
            do="check the server; --timeout gives it more time",
        )

    def _lost_kinds(self) -> tuple[type[Exception], ...]:
        errors = self._errors
        return (
            errors.ConnectionLoss,
            errors.ConnectionClosedError,
            errors.SessionExpiredError,
            errors.OperationTimeoutError,
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
    """What is there and may be read; what may not goes to ``errors``."""
    there: dict[str, T] = {}
    for path, told in found.items():
        if isinstance(told, KcliError):
            errors.append(told)
        elif told is not None:
            there[path] = told
    return there


def _reach(hosts: Hosts, deadline: float) -> None:
    """Whether any of the servers takes a connection: kazoo would try for ever, and not say why it fails."""
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
