"""Connects to brokers as every client does, and records when each stage was complete. Owns a loop of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from kcli.core.classes import dataclass, field
from kcli.core.cluster.brokers import CONTROL
from kcli.core.cluster.cluster import Cluster
from kcli.core.errors import KcliError, RequestTimeoutError
from kcli.core.future import Future
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.net.channel import Channel, Stage, TlsSession
from kcli.core.net.resolve import is_literal
from kcli.core.options import ClientOptions
from kcli.core.protocol import compiler
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcli.core.types import Node

RESOLVED, CONNECTED, SECURED = (stage.value for stage in Stage)
VERSIONS, AUTHENTICATED, METADATA = "versions", "authenticated", "metadata"
"""The stages after ``Stage``: responses to ApiVersions and Metadata, and the first request that SASL permits."""

_MORE = 1.0
"""Seconds that a broker gets for metadata after the time for its connection."""


@dataclass(slots=True)
class Contact:
    """What happened with one address. ``times``: when each stage was complete, in seconds after the start.

    ``apis``: version ranges by API key. ``identity``: who the client says that it is, for messages. ``error``: why it
    ended; None if metadata was received.
    """

    node: Node
    tls_wanted: bool
    sasl_wanted: bool
    times: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    addresses: str = ""
    peer: str = ""
    tls: TlsSession | None = None
    identity: str = ""
    apis: Mapping[int, tuple[int, int]] | None = None
    metadata: MetadataResponse | None = None
    error: KcliError | None = None

    @property
    def is_literal(self) -> bool:
        """Whether the host is an IP address."""
        return is_literal(self.node.host)

    @property
    def address(self) -> str:
        """``host:port``."""
        return self.node.address


class _Repeated:
    """Decodes what brokers respond to Metadata without topics, once for those that say the same: of 1,000 brokers these
    are a million rows. Which controller a broker names is not compared: with KRaft it is one of them at random.
    """

    def __init__(self) -> None:
        self._version = -1
        self._known = b""
        self._found: Any = None

    def decode(
        self, kind: type[Any], frame: memoryview, pos: int, version: int, *, flexible: bool
    ) -> tuple[Any, int]:
        """As ``compiler.decode``."""
        end = len(frame) - _behind_controller(version, flexible=flexible)
        known = bytes(frame[pos : end - 4 if version else end]) + bytes(frame[end:])
        if version == self._version and known == self._known:
            return self._found, len(frame)
        self._found, at = compiler.decode(kind, frame, pos, version, flexible=flexible)
        self._version, self._known = version, known
        return self._found, at


def _behind_controller(version: int, *, flexible: bool) -> int:
    """Bytes of a response without topics behind the controller's id: the count of topics, operations, a code, tags."""
    topics = 1 if flexible else 4
    operations, code = 4 if 8 <= version <= 10 else 0, 2 if version >= 13 else 0
    return topics + operations + code + (1 if flexible else 0)


class Contacts:
    """``meet`` may be called several times; a context manager, or ``close``.

    ``warnings``: (area, text), as clients report them. All else goes to ``hooks``.
    """

    def __init__(self, options: ClientOptions, seconds: float, hooks: Hooks = NO_HOOKS) -> None:
        self.warnings: list[tuple[str, str]] = []
        self._hooks = hooks
        self._options = options
        self._seconds = seconds
        self._began: dict[int, tuple[Contact, float]] = {}
        self._repeated = _Repeated()
        self._cluster = Cluster(options, hooks=Hooks(log=self._log, wire=self._wire))
        self._loop, self._brokers = self._cluster.loop, self._cluster.brokers
        self._brokers.asks_first = True
        self._brokers.on_channel = self._watch

    def __enter__(self) -> Contacts:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._cluster.close()

    def meet(self, nodes: Sequence[Node]) -> list[Contact]:
        """Contacts these brokers at the same time. A node with a negative id is an address that the user gave."""
        options = self._options
        tls, sasl = options.security_protocol.endswith("SSL"), options.security_protocol.startswith("SASL")
        user = options.sasl_username or options.sasl_kerberos_principal
        who = f"as {user} with " if user else "with "
        found = [
            Contact(node, tls_wanted=tls, sasl_wanted=sasl, identity=who + options.sasl_mechanism)
            for node in nodes
        ]
        now = self._loop.now()
        futures: list[Future[Any]] = []
        for contact in found:
            self._began[contact.node.id] = contact, now
            future: Future[Any] = Future(self._loop.wait)
            deadline = now + self._seconds + _MORE
            request = MetadataRequest(topics=[])
            request.decode_with(self._repeated.decode)
            self._brokers.send(contact.node, CONTROL, request, future, now, deadline)
            future.on_done(partial(self._ended, contact))
            futures.append(future)
        if futures:
            self._loop.poll(self._seconds + 2 * _MORE, *futures)
        for contact, future in zip(found, futures, strict=True):
            self._finish(contact, future)
        return found

    def _ended(self, contact: Contact, _future: Future[Any]) -> None:
        contact.seconds = self._passed(contact.node.id)

    def _finish(self, contact: Contact, future: Future[Any]) -> None:
        offer = self._brokers.offer(contact.node, CONTROL)
        contact.apis = offer.apis if offer is not None else None
        contact.seconds = contact.seconds or self._passed(contact.node.id)
        if not future.done:
            contact.error = RequestTimeoutError(
                f"no response from {contact.node} in {contact.seconds:.3g} s",
                why="it does not respond to Metadata",
                do="check that the broker is not stopped or overloaded",
            )
        elif future.error is None:
            contact.metadata = future.value
        elif isinstance(future.error, KcliError):
            contact.error = future.error
        else:
            raise future.error

    def _passed(self, number: int) -> float:
        return self._loop.now() - self._began[number][1]

    def _watch(self, channel: Channel) -> None:
        contact, _ = self._began[channel.node.id]

        def reached(stage: Stage) -> None:
            contact.times[stage.value] = self._passed(contact.node.id)
            if stage is Stage.RESOLVED:
                way = "" if channel.detour is None else f",{channel.detour.via}"
                contact.addresses = ", ".join(channel.addresses) + way  # of a proxy, or of the mapped host
            elif stage is Stage.CONNECTED:
                contact.peer = channel.peer
            else:
                contact.tls = channel.tls_session

        channel.on_stage = reached

    def _wire(self, direction: str, node: Node, number: int, api: str, version: int, size: int) -> None:
        if self._hooks.wire is not None:
            self._hooks.wire(direction, node, number, api, version, size)
        contact, _ = self._began[node.id]
        stage = {
            ("←", "ApiVersions"): VERSIONS,
            ("→", "Metadata"): AUTHENTICATED,
            ("←", "Metadata"): METADATA,
        }
        reached = stage.get((direction, api))
        if reached is not None:
            contact.times[reached] = self._passed(node.id)

    def _log(self, level: str, area: str, text: str) -> None:
        if level == "warning":
            self.warnings.append((area, text))
        else:
            self._hooks.log(level, area, text)
