"""What all nodes of a fake cluster share. Loop thread only; handlers get it in their context."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kcli.core.protocol.api import Response
from tests.fake.acl_admin import Acl
from tests.fake.controller_admin import Quorum
from tests.fake.coordinators import Coordinators
from tests.fake.groups.coordinator import Groups
from tests.fake.journal import Journal
from tests.fake.producer_ids import ProducerIds
from tests.fake.quota_admin import Entity
from tests.fake.sasl import Session
from tests.fake.scram_store import ScramStore
from tests.fake.settings import Settings
from tests.fake.share_groups import ShareGroups
from tests.fake.token_admin import Tokens
from tests.fake.topics import Topics
from tests.fake.transactions import Transactions

if TYPE_CHECKING:
    from tests.fake.node import Node


class State:
    """Topics, coordinators, transactions, groups, and the nodes by id."""

    def __init__(self, node_ids: list[int], settings: Settings) -> None:
        self.settings = settings
        self.topics = Topics(node_ids, settings)
        self.journal = Journal(self.topics.name_of)
        self.coordinators = Coordinators(node_ids)
        self.producer_ids = ProducerIds()
        self.transactions = Transactions(self)
        self.nodes: dict[int, Node] = {}
        self.hidden_nodes: set[int] = set()
        """Nodes that metadata does not list: dead for so long that the controller noticed."""
        self.controller = node_ids[0]
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        """What was set on brokers and groups, by kind and name; topics have theirs."""
        self.acls: set[Acl] = set()
        self.quotas: dict[Entity, dict[str, float]] = {}
        self.scram = ScramStore(settings)
        self.tokens = Tokens()
        self.quorum = Quorum()
        self.further_levels: dict[str, int] = {}
        """The finalized levels of ``settings.further_features``."""
        self.stopped_brokers: set[int] = set()
        """Brokers that are registered and gone for good: fenced, and no nodes."""
        self.bugs: list[BaseException] = []
        """Exceptions in handlers; the cluster raises the first one when it is closed."""
        self.groups = Groups(self.topics.infos, time.monotonic, **settings.groups)
        self.share = ShareGroups(self)
        self._changed = asyncio.Event()

    @property
    def now_ms(self) -> int:
        return int(time.time() * 1000)

    @property
    def now(self) -> float:
        """The clock of group coordinators."""
        return time.monotonic()

    def listed(self) -> list["Node"]:
        """The nodes that metadata names."""
        return [node for number, node in self.nodes.items() if number not in self.hidden_nodes]

    def delete_topic(self, name: str, *, keeps_commits: bool = False) -> None:
        """The topic, and what groups have committed for it, unless they keep it for now."""
        self.topics.delete(name)
        if not keeps_commits:
            self.groups.forget_topic(name)
        self.changed()

    def changed(self) -> None:
        """Wakes fetches that wait: something was appended, or moved."""
        self._changed.set()
        self._changed = asyncio.Event()
        self.journal.poke()

    async def wait_changed(self, seconds: float) -> None:
        """Returns at the next change, or after ``seconds``."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass


@dataclass(frozen=True, slots=True)
class Context:
    """Who asks whom, in which version."""

    state: State
    node: int
    version: int
    client_id: str
    client_host: str
    session: Session


Handler = Callable[[Context, Any], Awaitable[Response | None]]
