"""Topics that a followed source does not have any more: when that is certain, and what becomes of their copies.

A list of topics is no proof. A cluster that was wiped or replaced, a permission that was taken away, and a broker that
has just started leave topics out as well; a copy that was deleted for that would be lost when it is needed most. So a
topic counts as deleted only after several looks, each of which says that it does not exist, by its name, in the same
cluster that shows other topics, and not that it may not be described.
"""

from collections.abc import Callable, Collection, Sequence

from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.clock import monotonic
from kcli.core.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.errors import BrokerError, KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.errors import SourceDeletedError, may_pass, recreated_source
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.topics.preflight import ConflictError
from kcli.flows.topics.delete import TopicDeletion

_LOOKS = 3  # in a row
_LASTING = 60.0  # seconds between the first and the last of them, before a copy is deleted


class Sight(NamedTuple):
    """One look at the source at a time (seconds of one clock). ``topics``: all that it lists; ``unknown``: those of the
    others that do not exist, by name.
    """

    at: float
    cluster: str
    topics: Collection[str]
    unknown: Collection[str]


class Deletions:
    """Which of the copied topics were deleted, over several looks in at least so many ``seconds``. ``cluster``: the id of
    the one they are copied from. Pure.

    ``doubt`` says why topics that are missing do not count as deleted, after the last look; empty without such a reason.
    """

    def __init__(self, cluster: str, seconds: float) -> None:
        self._cluster, self._seconds = cluster, seconds
        self._missing: dict[str, tuple[int, float]] = {}  # looks in a row, and when the first one was
        self.doubt = ""

    def look(self, copied: Collection[str], sight: Sight) -> list[str]:
        """The topics that are certain to be deleted, from now on. ``copied`` are those that have not been so far."""
        missing = [name for name in copied if name not in sight.topics]
        self.doubt = self._doubt(copied, missing, sight) if missing else ""
        unknown = [] if self.doubt else [name for name in missing if name in sight.unknown]
        before, now = self._missing, sight.at
        self._missing = {}
        for name in unknown:
            looks, since = before.get(name, (0, now))
            self._missing[name] = looks + 1, since
        return [
            name
            for name, (looks, since) in self._missing.items()
            if looks >= _LOOKS and now - since >= self._seconds
        ]

    def _doubt(self, copied: Collection[str], missing: Sequence[str], sight: Sight) -> str:
        if not self._cluster or sight.cluster != self._cluster:
            return f"the source is cluster {sight.cluster or 'without an id'} now, not {self._cluster or 'known'}"
        if not sight.topics:
            return "the source shows no topic at all"
        if len(missing) > 1 and len(missing) == len(copied):
            return "all topics of the job are missing at once"
        hidden = [name for name in missing if name not in sight.unknown]
        return f"topic {hidden[0]} may not be described" if hidden else ""


class Deleted(NamedTuple):
    """What has become of the copy of a deleted topic. ``error``: why it is kept though it was to be deleted; ``undo``:
    the journal of its deletion; neither where copies are kept.
    """

    source: str
    target: str
    error: KcliError | None = None
    undo: str = ""


class DeletedTopics:
    """Looks for deletions while a source is followed. ``copies``: those of now; ``end_of``: the end of a partition of the
    source that was seen last, −1 if there is none. ``deletes``: the copy on the target is deleted as well.
    """

    def __init__(
        self,
        source: Admin,
        target: Admin,
        clusters: tuple[str, str],
        copies: Callable[[], Sequence[PartitionCopy]],
        end_of: Callable[[TopicPartition], int],
        *,
        deletes: bool,
    ) -> None:
        self._source, self._target = source, target
        self._target_cluster = clusters[1]
        self._copies = copies
        self._end_of = end_of
        self._deletes = deletes
        self._deletions = Deletions(clusters[0], _LASTING if deletes else 0.0)
        self._deleted: set[str] = set()
        self._again: set[str] = set()  # of these, copies whose deletion failed and may succeed later
        self._returned: set[str] = set()
        self.doubt = ""

    def look(self, available: Collection[str]) -> list[Deleted]:
        """The deletions that are certain since the last call, and what was done. ``available``: the topics of the source.

        ``doubt`` is why missing topics are not taken for deleted, where that is new. Raises errors of the source.
        """
        copies: dict[str, list[PartitionCopy]] = {}
        for copy in self._copies():
            copies.setdefault(copy.source.topic, []).append(copy)
        self._deleted -= set(available)
        self._again &= self._deleted
        copied = [name for name in copies if name not in self._deleted]
        missing = [name for name in copied if name not in available]
        self._returned -= set(missing)
        cluster = self._source.describe_cluster().cluster_id if missing else ""
        sight = Sight(monotonic(), cluster, available, _unknown(self._source, missing))
        before = self._deletions.doubt
        certain = self._deletions.look(copied, sight)
        self.doubt = self._deletions.doubt if self._deletions.doubt != before else ""
        self._deleted |= set(certain)
        found = [self._process(name, copies[name]) for name in certain]
        for name in sorted(self._again.difference(certain)):
            self._again.discard(name)
            later = self._process(name, copies[name])
            found += [later] if name not in self._again else []
        return found

    def returned(self, available: Collection[str]) -> dict[str, KcliError]:
        """The topics that were deleted and are there again, each once: why their partitions do not continue."""
        found: dict[str, KcliError] = {}
        for copy in self._copies():
            name = copy.source.topic
            back = name in available and name not in self._returned
            if back and isinstance(copy.error, SourceDeletedError):
                found.setdefault(name, recreated_source(copy.source, copy.position))
        self._returned |= found.keys()
        return found

    def _process(self, name: str, copies: Sequence[PartitionCopy]) -> Deleted:
        target = copies[0].target.topic
        if not self._deletes:
            return Deleted(name, target)
        try:
            self._check_complete(target, copies)
            return Deleted(name, target, undo=self._delete(target, copies[0].topic_ids.target))
        except KcliError as error:
            if may_pass(error):
                self._again.add(name)
            return Deleted(name, target, error)

    def _check_complete(self, target: str, copies: Sequence[PartitionCopy]) -> None:
        """ConflictError unless everything is copied, up to the ends that were seen last."""
        for copy in copies:
            end = self._end_of(copy.source)
            broken = copy.error is not None and not isinstance(copy.error, SourceDeletedError)
            if broken or copy.gaps or end < 0 or copy.position < end:
                known = f"its end was seen at {end}" if end >= 0 else "its end is not known"
                why = f"{copy.source} is copied up to offset {copy.position}, and {known}"
                raise ConflictError(
                    f"the copy {target} of a deleted topic is kept",
                    why=str(copy.error) if broken else "it has gaps" if copy.gaps else why,
                    do="delete it yourself when it is not needed any more",
                )

    def _delete(self, target: str, topic_id: str) -> str:
        """Deletes the topic that was copied to, and no other one of its name; returns the id of the journal."""
        change = TopicDeletion([target])
        (item,) = change.decide(self._target)
        if item.outcome is not Outcome.PLANNED or item.facts is None:
            assert item.error is not None
            raise item.error
        if not topic_id or item.facts.topic_id != topic_id:
            raise ConflictError(
                f"topic {target} of the target is kept",
                why="it is not known to be the one that was copied to: its topic id is another one, or brokers have none",
                do="delete it yourself when it is not needed any more",
            )
        journal = change.journal(self._target, [item])
        assert journal is not None, "internal topics are never copied to"
        journal.write(self._target_cluster)
        for error in change.apply(self._target, [item]).values():
            if error is not None:
                raise error
        for left in change.read_back(self._target, [item]).values():
            if isinstance(left, KcliError):
                raise left
            if left.error is not None:
                raise left.error
        return journal.id


def _unknown(source: Admin, names: Sequence[str]) -> list[str]:
    """Those of the topics that do not exist, as brokers say of each name; not those that may not be described."""
    found = source.topic_operations(names) if names else {}
    return [
        name
        for name, one in found.items()
        if isinstance(one, BrokerError) and one.code == UNKNOWN_TOPIC_OR_PARTITION
    ]
