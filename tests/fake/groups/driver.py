"""Drives the coordinator in tests: a loop that never sleeps, a clock set by hand, requests and answers as bytes.

Each request is encoded and decoded in its version before the coordinator sees it, and each answer on its way
back: what a version cannot carry gets lost here as it would on the wire.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, TypeVar

from kcli.core.protocol import compiler
from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import Struct
from tests.fake.groups.coordinator import Groups

S = TypeVar("S", bound=Struct)

METHODS = {
    "JoinGroup": "join",
    "SyncGroup": "sync",
    "Heartbeat": "heartbeat",
    "LeaveGroup": "leave",
    "OffsetCommit": "commit",
    "OffsetFetch": "fetch_offsets",
    "OffsetDelete": "delete_offsets",
    "ConsumerGroupHeartbeat": "consumer_heartbeat",
    "ConsumerGroupDescribe": "consumer_describe",
    "ListGroups": "list_groups",
    "DescribeGroups": "describe",
    "DeleteGroups": "delete",
}


@dataclass
class FakeTopic:
    topic_id: bytes
    partitions: int


class Parked:
    """A request that may not be answered yet."""

    def __init__(self, driver: "Driver", task: asyncio.Task[Any]) -> None:
        self._driver, self._task = driver, task

    @property
    def waits(self) -> bool:
        self._driver.settle()
        return not self._task.done()

    @property
    def answer(self) -> Any:
        assert not self.waits, "still parked"
        return self._task.result()

    def disconnect(self) -> None:
        """The connection dies: the server cancels the task."""
        self._task.cancel()
        self._driver.settle()


class Driver:
    """Topics ``a`` and ``b`` with four and three partitions. Requests go out in the newest version."""

    def __init__(self, **settings: Any) -> None:
        self.now = 1000.0
        self.topics = {name: FakeTopic(name.encode() * 16, n) for name, n in {"a": 4, "b": 3}.items()}
        self.groups = Groups(lambda: self.topics, lambda: self.now, **settings)
        self._loop = asyncio.new_event_loop()

    def ask(self, request: Request, version: int | None = None, **more: Any) -> Any:
        """The answer, which must be there at once."""
        return self.park(request, version, **more).answer

    def park(
        self, request: Request, version: int | None = None, *, client: str = "test", **more: Any
    ) -> Parked:
        """Sends without waiting for the answer."""
        task = self._loop.create_task(
            self._exchange(request, request.versions[1] if version is None else version, client, more)
        )
        self.settle()
        return Parked(self, task)

    def settle(self) -> None:
        """Lets the loop do what it can do now."""

        async def turns() -> None:
            for _ in range(5):
                await asyncio.sleep(0)

        self._loop.run_until_complete(turns())

    def advance(self, seconds: float) -> None:
        """Time passes, a tick each 50 ms as in the server."""
        end = self.now + seconds
        while self.now < end - 1e-9:
            self.now = min(self.now + 0.05, end)
            self.groups.tick(self.now)
        self.settle()

    def close(self) -> None:
        """Requests that are parked indefinitely are cancelled, as at the end of a server."""
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self.settle()
        self._loop.close()

    async def _exchange(self, request: Request, version: int, client: str, more: dict[str, Any]) -> Response:
        method = getattr(self.groups, METHODS[request.api_name])
        flexible = version >= request.flexible
        answer = await method(
            over_the_wire(request, version, flexible=flexible),
            version=version,
            client_id=client,
            client_host="/127.0.0.1",
            **more,
        )
        assert type(answer) is request.response
        return over_the_wire(answer, version, flexible=flexible)


def over_the_wire(value: S, version: int, *, flexible: bool) -> S:
    """``value`` as the other side reads it."""
    encoded, _ = compiler.encode(value, version, flexible=flexible)
    decoded, end = compiler.decode(type(value), memoryview(bytes(encoded)), 0, version, flexible=flexible)
    assert end == len(encoded)
    return decoded
