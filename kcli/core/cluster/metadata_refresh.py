"""When metadata are requested again: their age, the pauses after failures and while something is missing, and since when
a topic is missing. Pure: given ``now``, reads no clock. ``Cluster`` sends the requests.
"""

from collections.abc import Iterable

from kcli.core.cluster.metadata import ClusterView, topic_missing
from kcli.core.cluster.retry import Backoff
from kcli.core.options import ClientOptions

STALE = float("-inf")


class MetadataRefresh:
    """A request is due from ``due_at`` on (STALE: at once), but not sent before ``not_before``.

    ``failures``: how many requests in a row have failed.
    """

    def __init__(self, options: ClientOptions) -> None:
        self.due_at = STALE
        self.not_before = 0.0
        self.failures = 0
        self._max_age = options.metadata_max_age_ms / 1000
        self._pause = options.retry_backoff_ms / 1000
        self._backoff = Backoff.of_requests(options)
        self._missing_since: dict[str, float] = {}

    def failed(self, now: float) -> None:
        """A request has failed: the pause before the next one grows (KIP-580)."""
        self.failures += 1
        self.not_before = now + self._backoff.next()

    def answered(self, now: float, view: ClusterView, names: Iterable[str]) -> bool:
        """``view`` is that of a response about ``names``; returns whether it has something that is still to come."""
        self.failures = 0
        self.due_at = now + self._max_age
        incomplete = False
        for name in names:
            topic = view.topics.get(name)
            if topic_missing(topic):
                # Counted from the first response without the topic. A response that has it ends the count: a
                # topic that is being created is there for some brokers and not for others.
                self._missing_since.setdefault(name, now)
            else:
                self._missing_since.pop(name, None)
            if topic is not None and (topic.error or any(part.leader < 0 for part in topic.partitions)):
                incomplete = True
        if incomplete:
            # An election, or a topic that is being created: asked again after a pause that grows (KIP-580), as
            # long as something is missing.
            self.due_at = STALE
            self.not_before = now + self._backoff.next()
        else:
            self._backoff.reset()
            # At most one request per retry.backoff.ms, also without a failure: each NOT_LEADER_OR_FOLLOWER asks
            # for one.
            self.not_before = now + self._pause
        return incomplete

    def missing_for(self, topic: str, now: float) -> float | None:
        """For how many seconds brokers have not known the topic; None if they do, or were not asked."""
        since = self._missing_since.get(topic)
        return None if since is None else now - since
