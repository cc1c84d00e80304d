"""A subscription by pattern: which topics it matches, as the metadata changes."""

import re

from kcli.core.cluster.cluster import Cluster

_PATIENCE = 2.0  # seconds a topic may be missing before it is dropped


class TopicPattern:
    """All topics whose names ``pattern`` matches from the beginning; internal ones only if ``internal``."""

    def __init__(self, cluster: Cluster, pattern: re.Pattern[str], *, internal: bool) -> None:
        self._cluster = cluster
        self._pattern = pattern
        self._internal = internal
        self._version = -1

    def match_topics(self) -> frozenset[str] | None:
        """The topics that it matches now; None if the metadata has not changed since the last call."""
        view = self._cluster.view
        if view.version == self._version:
            return None
        self._version = view.version
        return frozenset(
            name
            for name, topic in view.topics.items()
            if topic.partitions and self._pattern.match(name) and (self._internal or not topic.internal)
            if self._cluster.gone(name, _PATIENCE) is None
        )
