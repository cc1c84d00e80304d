"""The proxy's inside: its thread and loop, a door per broker, a link per connection. No knobs here.

The loop's thread owns doors and links; ``call`` and ``run`` bring work to it and wait until it is done.
"""

import asyncio
import itertools
import socket
import threading
import time
import traceback
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from tests.proxy.addresses import Address
from tests.proxy.door import Door
from tests.proxy.exchange import ConnectionRecord
from tests.proxy.link import Link
from tests.proxy.log import Log
from tests.proxy.rules import Rules
from tests.proxy.upstream import learn

T = TypeVar("T")
_PATIENCE = 120.0


class Hub:
    """``welcomed`` are told of every new link, before its first byte is read."""

    def __init__(self, bootstrap: str) -> None:
        self.log = Log()
        self.rules = Rules()
        self.doors: dict[int, Door] = {}
        self.links: dict[Link, asyncio.Task[None]] = {}
        self.welcomed: list[Callable[[Link], None]] = []
        self.loop = asyncio.new_event_loop()
        self._bootstrap = bootstrap
        self._numbers = itertools.count(1)
        self._opening: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._work, name="proxy", daemon=True)

    def start(self) -> None:
        """Learns the brokers and opens the doors."""
        answer = learn(self._bootstrap)
        self._thread.start()
        for broker in answer.brokers:
            self.run(self._add_door(broker.node_id, (broker.host, broker.port)))

    def stop(self) -> None:
        """Closes everything and waits for the thread."""
        if self._thread.is_alive():
            self.run(self._close())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(_PATIENCE)
        self.loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs it in the loop's thread; its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(_PATIENCE)

    def call(self, function: Callable[[], T]) -> T:
        """Calls it in the loop's thread; its result."""

        async def work() -> T:
            return function()

        return self.run(work())

    def links_of(self, node: int | None) -> Iterator[Link]:
        """Connections to a node, or all, that have not come to their end."""
        return (link for link in list(self.links) if node in (None, link.record.node))

    def doors_of(self, node: int | None) -> list[Door]:
        """A node's door, or all."""
        return list(self.doors.values()) if node is None else [self.doors[node]]

    # --- the loop's thread ---------------------------------------------------------------------------

    def _work(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    async def _add_door(self, node: int, upstream: Address) -> Door:
        door = self.doors[node] = Door(node, upstream, self._welcome)
        await door.open()
        return door

    def _ours(self, node: int, address: Address) -> Address:
        """What a client is told instead of a node's address. A node that was not there before gets a door."""
        door = self.doors.get(node)
        if door is None:
            door = self.doors[node] = Door(node, address, self._welcome)
            opening = asyncio.create_task(door.open())
            self._opening.add(opening)
            opening.add_done_callback(self._opening.discard)
        elif door.upstream != address:
            door.leads_to(address)
        return door.address

    def _welcome(self, door: Door, client: socket.socket) -> None:
        record = ConnectionRecord(next(self._numbers), door.node, time.monotonic())
        link = Link(record, client, log=self.log, rules=self.rules, ours=self._ours)
        self.log.connections.append(record)
        for welcome in self.welcomed:
            welcome(link)
        if door.deaf:
            link.client.pause()
        if door.black:
            link.silence()
        self.links[link] = asyncio.create_task(self._live(door, link))
        self.log.changed()

    async def _live(self, door: Door, link: Link) -> None:
        try:
            await link.run(*((None, 0) if door.black else door.target))
        except asyncio.CancelledError:
            pass
        except BaseException:  # noqa: BLE001 - told when the proxy is left
            self.log.errors.append(traceback.format_exc())
        finally:
            del self.links[link]
            self.log.changed()

    async def _close(self) -> None:
        for door in self.doors.values():
            await door.close()
        tasks = list(self.links.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=5)
