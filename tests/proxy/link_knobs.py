"""Knobs that act on whole connections and doors, of one node or (``node=None``) of all. Any thread."""

import itertools
import random
from collections import Counter

from tests.proxy.hub import Hub
from tests.proxy.link import Link
from tests.proxy.passing import FIN, RESET


class Lifetime:
    """Every connection ends after a random time, by RST and FIN in turn. ``ended`` counts by kind."""

    def __init__(self, hub: Hub, low: float, high: float, rng: random.Random, node: int | None) -> None:
        self.ended: Counter[str] = Counter()
        self._hub, self._low, self._high, self._rng, self._node = hub, low, high, rng, node
        self._kinds = itertools.cycle((RESET, FIN))
        self._over = False

    def begin(self, link: Link) -> None:
        if self._node in (None, link.record.node):
            self._hub.loop.call_later(self._rng.uniform(self._low, self._high), self._end, link)

    def remove(self) -> None:
        """Connections live on from now on."""
        self._over = True

    def __enter__(self) -> "Lifetime":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.remove()

    def _end(self, link: Link) -> None:
        if self._over or not link.record.alive:
            return
        kind = next(self._kinds)
        link.end(kind, f"its time was over: {kind}")
        self.ended[kind] += 1


class LinkKnobs:
    """What a Proxy can do to connections."""

    _hub: Hub

    def reset_all(self, node: int | None = None) -> int:
        """RST to every client; how many connections that ended."""
        return self._end_all(RESET, "reset with all others", node, deaf=True)

    def half_close(self, node: int | None = None) -> int:
        """FIN to every client; what they send is still taken, nothing is answered. How many connections."""
        return self._end_all(FIN, "half-closed by the proxy", node, deaf=False)

    def lifetime(
        self, low: float, high: float, *, rng: random.Random | None = None, node: int | None = None
    ) -> Lifetime:
        """Ends every connection, those that stand and those that come, ``low`` to ``high`` seconds from its begin."""
        rule = Lifetime(self._hub, low, high, rng or random.Random(), node)

        def begin() -> None:
            self._hub.welcomed.append(rule.begin)
            for link in self._hub.links_of(node):
                rule.begin(link)

        self._hub.call(begin)
        return rule

    def bandwidth(self, bytes_per_second: float, node: int | None = None) -> None:
        """So many bytes a second go through each connection, each way; 0 takes the limit away."""

        def narrow(link: Link) -> None:
            if node in (None, link.record.node):
                for wire in filter(None, (link.client, link.upstream)):
                    wire.narrow(bytes_per_second)

        def begin() -> None:
            self._hub.welcomed.append(narrow)
            for link in self._hub.links_of(node):
                narrow(link)

        self._hub.call(begin)

    def black_hole(self, node: int) -> None:
        """Connections stand and are accepted, everything is swallowed, nothing is said."""

        def begin() -> None:
            for door in self._hub.doors_of(node):
                door.black = True
            for link in self._hub.links_of(node):
                link.silence()

        self._hub.call(begin)

    def stop_reading(self, node: int) -> None:
        """Nothing is read from clients; answers still go out. Who connects now has a tiny window to send into."""

        async def begin() -> None:
            for door in self._hub.doors_of(node):
                door.deaf = True
                await door.open()
            for link in self._hub.links_of(node):
                link.client.pause()

        self._hub.run(begin())

    def refuse(self, node: int) -> None:
        """Connecting is refused; what stands, stands."""

        async def begin() -> None:
            for door in self._hub.doors_of(node):
                await door.shut()

        self._hub.run(begin())

    def heal(self, node: int | None = None) -> None:
        """Takes black holes, stopped reading and refusals away. A connection that lost bytes stays silent."""

        async def begin() -> None:
            for door in self._hub.doors_of(node):
                door.black = door.deaf = False
                await door.open()
            for link in self._hub.links_of(node):
                link.client.resume()

        self._hub.run(begin())

    def _end_all(self, kind: str, how: str, node: int | None, *, deaf: bool) -> int:
        return self._hub.call(
            lambda: sum([link.end(kind, how, deaf=deaf) for link in self._hub.links_of(node)])
        )
