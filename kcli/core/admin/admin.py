"""The admin client: one object over the plural calls of this package. Blocks in its own loop's poll only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.core.admin import topics
from kcli.core.admin.configs import ConfigEntry, describe_topic_configs
from kcli.core.admin.topics import Outcome, TopicInfo
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.metadata import ClusterView
from kcli.core.cluster.offsets import OffsetInfo, list_offsets
from kcli.core.errors import KcliError
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.options import ClientOptions, build
from kcli.core.types import TopicPartition, TopicSpec


class Admin:
    """``Admin(bootstrap_servers="host:9092")``; a context manager. ``timeout`` is in seconds, per call."""

    def __init__(
        self,
        options: ClientOptions | None = None,
        hooks: Hooks = NO_HOOKS,
        *,
        timeout: float = 10.0,
        **values: Any,
    ) -> None:
        self.cluster = Cluster(options or build(ClientOptions, values), hooks=hooks)
        self._timeout = timeout

    def __enter__(self) -> Admin:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def connect(self) -> ClusterView:
        """First contact; ConnectError says which address failed and why."""
        return self.cluster.connect(self._timeout)

    def cluster_id(self) -> str:
        """The cluster's id; empty where brokers give none."""
        return self.connect().cluster_id or ""

    def list_topics(self) -> list[TopicInfo]:
        """All topics, by name."""
        self.connect()
        view = self.cluster.all_topics(self._deadline())
        return [topics.topic_info(view.topics[name]) for name in sorted(view.topics)]

    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicInfo | KcliError]:
        """Each name's topic, or why not."""
        self.connect()
        return topics.describe_topics(self.cluster, names, self._deadline())

    def create_topics(self, specs: Sequence[TopicSpec], *, validate_only: bool = False) -> Outcome:
        """Creates topics, or has the broker check that it could."""
        self.connect()
        return topics.create_topics(self.cluster, specs, self._deadline(), validate_only=validate_only)

    def delete_topics(self, names: Sequence[str]) -> Outcome:
        """Deletes topics with all their records."""
        self.connect()
        return topics.delete_topics(self.cluster, names, self._deadline())

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, committed_only: bool = False
    ) -> dict[TopicPartition, OffsetInfo | KcliError]:
        """Offsets by time (ms), or by place: −1 the end, −2 the start."""
        self.connect()
        return list_offsets(self.cluster, wanted, self._deadline(), committed_only=committed_only)

    def describe_topic_configs(self, names: Sequence[str]) -> dict[str, list[ConfigEntry] | KcliError]:
        """All configuration entries of each topic."""
        self.connect()
        return describe_topic_configs(self.cluster, names, self._deadline())

    def close(self) -> None:
        """Closes the connections."""
        self.cluster.close()

    def _deadline(self) -> float:
        return self.cluster.deadline(self._timeout)
