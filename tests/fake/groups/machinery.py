"""The parts of the coordinator, put together once."""

from collections.abc import Callable, Mapping

from tests.fake.groups.commit import Commits
from tests.fake.groups.consumer_heartbeat import ConsumerHeartbeats
from tests.fake.groups.deadlines import Deadlines
from tests.fake.groups.deletion import Deletions
from tests.fake.groups.fetch import Fetches
from tests.fake.groups.join import Joins
from tests.fake.groups.leave import Leaves
from tests.fake.groups.membership import Memberships
from tests.fake.groups.offsets import Offsets
from tests.fake.groups.rebalance import Rebalances
from tests.fake.groups.registry import Registry
from tests.fake.groups.settings import Settings
from tests.fake.groups.topics import Topic, Topics


class Machinery:
    """What is stored (``registry``, ``offsets``, ``deadlines``) and what works on it, by kind of request."""

    def __init__(
        self, topics: Callable[[], Mapping[str, Topic]], now: Callable[[], float], settings: Settings
    ) -> None:
        self.topics = Topics(topics)
        self.deadlines = Deadlines()
        self.registry = Registry(self.deadlines)
        self.offsets = Offsets()
        self.rebalances = Rebalances(self.deadlines, now, settings)
        self.joins = Joins(self.rebalances, settings)
        self.memberships = Memberships(self.rebalances)
        self.heartbeats = ConsumerHeartbeats(self.topics, self.deadlines, now, settings)
        self.leaves = Leaves(self.registry, self.memberships, self.heartbeats)
        self.commits = Commits(self.registry, self.offsets, self.topics, self.rebalances, settings)
        self.fetches = Fetches(self.registry, self.offsets, self.topics)
        self.deletions = Deletions(self.registry, self.offsets, self.topics, settings)
