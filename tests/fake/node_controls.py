"""The knobs that change nodes, as methods of FakeCluster: whether they live, hang, and what they offer."""

import ssl
from collections.abc import Mapping

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from tests.fake.node import Node
from tests.fake.state import State
from tests.fake.thread import LoopThread


class NodeControls:
    """Needs ``_state`` and ``_thread``. Node ids are those of metadata: 1, 2, 3."""

    _state: State
    _thread: LoopThread

    def stop(self, node: int, *, how: str = "reset", fail_over: bool = False) -> None:
        """The broker is gone: connects are refused, connections end by ``reset`` or ``close``.

        Nothing else moves unless ``fail_over`` (or ``fail_over(node)`` later), as before the controller notices.
        """
        self._thread.run(self._node(node).stop(how))
        if fail_over:
            self.fail_over(node)

    def start(self, node: int) -> None:
        """The broker is back on the same port, in metadata and in all in-sync replicas; it leads nothing it lost."""

        def start() -> None:
            self._node(node).start()
            self._state.hidden_nodes.discard(node)
            for place in self._state.topics.all_partitions():
                if node in place.replicas and node not in place.isr:
                    place.isr.append(node)

        self._thread.call(start)

    def fail_over(self, node: int) -> None:
        """The controller notices that a broker is dead: its leaders and coordinators move, metadata forgets it."""

        def fail_over() -> None:
            state = self._state
            alive = [n.id for n in state.nodes.values() if n.is_up and n.id != node]
            state.hidden_nodes.add(node)
            for place in state.topics.all_partitions():
                if place.leader == node:
                    place.lead(next((n for n in place.isr if n in alive), -1))
                if node in place.isr and len(place.isr) > 1:
                    place.isr.remove(node)
            if alive:
                state.coordinators.abandon(node, alive[0])
                state.controller = alive[0] if state.controller == node else state.controller
            state.changed()

        self._thread.call(fail_over)

    def pause(self, node: int) -> None:
        """SIGSTOP: connects succeed, nothing is read or written any more."""
        self._thread.call(self._node(node).running.clear)

    def resume(self, node: int) -> None:
        """SIGCONT: what was sent meanwhile is read and carried out now."""
        self._thread.call(self._node(node).running.set)

    def use_tls(self, context: ssl.SSLContext | None, node: int | None = None) -> None:
        """New connections to a node, or to all, speak TLS with this certificate; None: plaintext."""

        def use() -> None:
            for each in self._each(node):
                each.tls = context

        self._thread.call(use)

    def advertise(self, node: int, host: str) -> None:
        """The host that the cluster names for a broker; it listens where it was."""
        self._thread.call(lambda: setattr(self._node(node), "host", host))

    def announce(self, node: int, port: int) -> None:
        """The port that the cluster names for a broker, as of a proxy before it; it listens where it was."""
        self._thread.call(lambda: setattr(self._node(node), "port", port))

    def reset_connections(self, node: int | None = None, *, how: str = "reset") -> None:
        """Ends the connections of one node or of all; new ones are welcome."""

        async def disconnect() -> None:
            for each in [self._node(node)] if node is not None else list(self._state.nodes.values()):
                await each.disconnect(how)

        self._thread.run(disconnect())

    def close_connection(self, number: int, *, how: str = "reset") -> None:
        """Ends one connection, named by ``Seen.connection``."""

        async def disconnect() -> None:
            for each in self._state.nodes.values():
                await each.disconnect(how, of=number)

        self._thread.run(disconnect())

    def cap_versions(
        self, versions: Mapping[type[Request], int | tuple[int, int]], node: int | None = None
    ) -> None:
        """Offers no newer version of these APIs (or exactly a range), on new and on open connections."""

        def cap() -> None:
            for each in self._each(node):
                offered = each.offered()
                for kind, version in versions.items():
                    low = offered.get(kind.api_key, (0, 0))[0]
                    each.capped[kind.api_key] = version if isinstance(version, tuple) else (low, version)

        self._thread.call(cap)

    def hide(self, *kinds: type[Request], node: int | None = None) -> None:
        """Does not offer these APIs."""
        assert ApiVersionsRequest not in kinds, "every broker has ApiVersions"

        def hide() -> None:
            for each in self._each(node):
                each.hidden |= {kind.api_key for kind in kinds}

        self._thread.call(hide)

    def _node(self, number: int) -> Node:
        return self._state.nodes[number]

    def _each(self, node: int | None) -> list[Node]:
        return list(self._state.nodes.values()) if node is None else [self._node(node)]
