"""What the deletions of groups and of their offsets have in common: the journal, and the error of the read-back."""

from collections.abc import Collection, Mapping

from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.journal import Draft, OffsetEntry, ShareOffsetEntry


class StillThereError(KcliError):
    """What was to be deleted is there when it is read back."""

    exit_code = ExitCode.REFUSED

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} was deleted, and is there",
            why="it was read after the deletion: a client that uses it has made it again",
            do="stop that client, and try again",
        )


FORGOTTEN = (
    "What is acknowledged after the start offsets is forgotten, also by an undo: it will be delivered again."
)
"""Of share groups: brokers report how much that is, not which records."""


def journal_of(
    admin: Admin,
    command: str,
    offsets: Mapping[str, Mapping[TopicPartition, OffsetAndMetadata]],
    shares: Collection[str],
) -> Draft | None:
    """The offsets of groups, of which ``shares`` are share groups, with the ids of topics; None where there are none."""
    topics = sorted({tp.topic for of_group in offsets.values() for tp in of_group})
    found = admin.describe_topics(topics) if topics else {}
    ids = {name: topic.topic_id for name, topic in found.items() if isinstance(topic, TopicInfo)}
    entries = [
        (ShareOffsetEntry if group in shares else OffsetEntry).of(group, tp, commit, ids.get(tp.topic, ""))
        for group, of_group in offsets.items()
        for tp, commit in sorted(of_group.items())
    ]
    return Draft(command, entries) if entries else None
