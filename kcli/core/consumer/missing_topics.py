"""Which topics a subscription means: those that a pattern matches, as the metadata changes, and reports of those that do
not exist, once each, with the most similar names.

That is not an error: a consumer may subscribe before the topic is created. Runs in the consumer's thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from heapq import nsmallest
from typing import Any

from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.metadata import ClusterView, unknown_topic
from kcli.core.error_codes import NONE
from kcli.core.future import Future
from kcli.core.protocol.messages.metadata import MetadataRequest

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


REPORT_AFTER = 5.0
"""Seconds a topic must be unknown to the brokers: its creation takes a moment to propagate."""
_COMPARED = 4_000  # names compared at once: difflib takes 0.03 ms per name, and the poll waits for it


class MissingTopics:
    """``watch`` sets the names, ``report`` runs in every loop iteration. ``is_read``: whether a topic is assigned.

    A deleted topic with assigned partitions raises an error elsewhere and is not reported here.
    """

    def __init__(self, cluster: Cluster, is_read: Callable[[str], object]) -> None:
        self._cluster = cluster
        self._is_read = is_read
        self._names = frozenset[str]()
        self._view: ClusterView | None = None
        self._reported: set[str] = set()

    def watch(self, names: frozenset[str]) -> None:
        """Sets the topics that are subscribed to by name."""
        self._names, self._view = names, None
        self._reported &= names

    def report(self) -> None:
        """Logs topics that are missing, and those that have appeared since; does nothing unless the metadata changed."""
        view = self._cluster.view
        if view is self._view:
            return
        self._view = view
        for name in [name for name in self._reported if _is_there(view, name)]:
            self._reported.remove(name)
            self._cluster.hooks.log("info", "group", f"topic {name} exists now")
        news = {name for name in self._names - self._reported if self._is_missing(name)}
        if news:
            self._reported |= news
            answer = self._cluster.send(MetadataRequest(topics=None, allow_auto_topic_creation=False))
            answer.on_done(lambda done: self._log(news, done))

    def _is_missing(self, name: str) -> bool:
        return self._cluster.gone(name, REPORT_AFTER) is not None and not self._is_read(name)

    def _log(self, names: set[str], answer: Future[Any]) -> None:
        """Logs the missing topics, with similar names if the list of all topics could be obtained."""
        known: list[str] = []
        if answer.error is None:
            rows = answer.value.topics
            known = [row.name for row in rows if row.name and row.error_code == NONE and not row.is_internal]
        there, left = set(known), _COMPARED
        for name in sorted(names & self._reported):
            if name in there or name not in self._names:
                self._reported.discard(name)
            else:
                likely = _alike_in_length(name, known, left)
                left -= len(likely)
                error = unknown_topic(name, likely)
                text = f"{error.what}; it is subscribed to, and read as soon as it exists ({error.do})"
                self._cluster.hooks.log("warning", "group", text)


def _alike_in_length(name: str, known: list[str], count: int) -> list[str]:
    if len(known) <= count:
        return known
    return nsmallest(count, known, key=lambda other: abs(len(other) - len(name)))


def _is_there(view: ClusterView, name: str) -> bool:
    topic = view.topics.get(name)
    return topic is not None and topic.error == NONE and bool(topic.partitions)
