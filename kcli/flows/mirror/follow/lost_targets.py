"""Topics of the target that are deleted, or created again, while a mirror follows its source.

What is written to such a topic fails. A partition at rest writes nothing: it would be caught up in a topic that is gone,
for as long as its source is quiet.
"""

from collections.abc import Callable, Iterable

from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.flows.mirror.copy.errors import lost_topic
from kcli.flows.mirror.copy.partition_copy import PartitionCopy


class LostTargets:
    """``copies``: what is copied now."""

    def __init__(self, target: Admin, copies: Callable[[], Iterable[PartitionCopy]]) -> None:
        self._target = target
        self._copies = copies
        self._missing: set[str] = set()

    def look(self) -> list[tuple[PartitionCopy, KcliError]]:
        """The partitions whose topic two looks in a row have not found, with the errors that end them: one broker may not
        know a new topic yet.
        """
        there = {topic.name: topic.topic_id for topic in self._target.list_topics()}
        lost = [
            copy
            for copy in self._copies()
            if copy.error is None and copy.begun and there.get(copy.target.topic) != copy.topic_ids.target
        ]
        before, self._missing = self._missing, {copy.target.topic for copy in lost}
        return [
            (
                copy,
                lost_topic(
                    copy.source.topic,
                    copy.target.topic,
                    f"{copy.source} was copied to it up to offset {copy.position}",
                    created_again=copy.target.topic in there,
                ),
            )
            for copy in lost
            if copy.target.topic in before
        ]
