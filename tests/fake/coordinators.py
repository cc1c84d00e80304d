"""Which node coordinates which group and transactional id: by Java's hash, until a test moves it. And FindCoordinator."""

import struct
from typing import TYPE_CHECKING

from kcli.core.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from tests.fake.codes import Code

if TYPE_CHECKING:
    from tests.fake.state import Context

GROUP, TRANSACTION = 0, 1
_FIRST_WITH_KEYS = 4


class Coordinators:
    """``of(kind, key)`` is a node id; −1 while there is none."""

    def __init__(self, nodes: list[int]) -> None:
        self._nodes = nodes
        self._moved: dict[tuple[int, str], int] = {}
        self._instead: dict[int, int] = {}
        self._offline: dict[int, tuple[int, set[int]]] = {}

    def of(self, kind: int, key: str) -> int:
        count, offline = self._offline.get(kind, (1, set()))
        if abs(_java_hash(key)) % count in offline:
            return -1
        found = self._moved.get((kind, key))
        if found is None:
            home = self._nodes[abs(_java_hash(key)) % len(self._nodes)]
            found = self._instead.get(home, home)
        return found

    def move(self, kind: int, key: str, node: int) -> None:
        self._moved[kind, key] = node

    def lose(self, kind: int, partition: int, count: int) -> None:
        """The partition of the coordinators' topic, which has ``count``, has no leader."""
        self._offline.setdefault(kind, (count, set()))[1].add(partition)

    def abandon(self, node: int, heir: int) -> None:
        """All that ``node`` coordinates goes to ``heir``."""
        self._instead[node] = heir
        for home, instead in self._instead.items():
            if instead == node:
                self._instead[home] = heir
        for key, owner in self._moved.items():
            if owner == node:
                self._moved[key] = heir


async def find_coordinator(ctx: "Context", request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """One key in the old versions, many since v4 (KIP-699)."""
    if ctx.version >= _FIRST_WITH_KEYS:
        rows = [_lookup(ctx, request.key_type, key) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=rows)
    row = _lookup(ctx, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=row.error_code,
        error_message=row.error_message or "NONE",
        node_id=row.node_id,
        host=row.host,
        port=row.port,
    )


def _lookup(ctx: "Context", kind: int, key: str) -> Coordinator:
    if kind not in (GROUP, TRANSACTION):
        return _none(key, Code.INVALID_REQUEST)
    node = ctx.state.nodes.get(ctx.state.coordinators.of(kind, key))
    if node is None:
        return _none(key, Code.COORDINATOR_NOT_AVAILABLE)
    return Coordinator(key=key, node_id=node.id, host=node.host, port=node.port)


def _none(key: str, code: int) -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=Code(code).name)


def _java_hash(text: str) -> int:
    value = 0
    for (unit,) in struct.iter_unpack(">H", text.encode("utf-16-be")):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value
