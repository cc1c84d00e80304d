"""The change of ``kcli topics alter --partitions``: how many a topic has and is to have."""

from __future__ import annotations

from typing import Any

from kcli.core.admin.acls import AclOperation, is_allowed
from kcli.core.admin.admin import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.error_codes import TOPIC_AUTHORIZATION_FAILED
from kcli.core.errors import BrokerError, ConnectError, KcliError, NotValidatedError, TimedOutError
from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import on_topic
from kcli.output.progress import counted

_MANY = 10_000


def many_partitions(count: int) -> str | None:
    """Why ``count`` new partitions at once have to be confirmed by name; None for as many as clusters usually have.

    The brokers are not asked before that: checking the request takes as much of their memory as fulfilling it.
    """
    if count <= _MANY:
        return None
    return f"{count:,} partitions at once can exhaust the memory of the controllers and brokers"


class FewerPartitionsError(KcliError):
    """Kafka cannot remove partitions."""

    exit_code = ExitCode.REFUSED


class AddedPartitions:
    """``count`` partitions instead of those that the topic has."""

    key = "partitions"

    def __init__(self, topic: TopicInfo, count: int) -> None:
        self.topic, self.count, self.has = topic, count, len(topic.partitions)

    @property
    def needed(self) -> bool:
        """Whether there are fewer."""
        return self.count > self.has

    @property
    def danger(self) -> str | None:
        """Why ``--yes`` is not sufficient."""
        return many_partitions(self.count - self.has)

    def rejected(self, admin: Admin) -> KcliError | None:
        """Why it is refused, if it is; NotValidatedError where brokers did not check it."""
        if self.count < self.has:
            return FewerPartitionsError(
                f"topic {self.topic.name} has {counted(self.has, 'partition')}, it cannot have {self.count:,}",
                why="Kafka cannot remove partitions of a topic: their records would be lost",
                do="create another topic with fewer partitions, and copy the records with "
                "`kcli consume TOPIC -e -o ndjson | kcli produce NEW -i ndjson`",
            )
        if not self.needed:
            return None
        if self.danger is not None:
            return self._denied(admin)
        try:
            return admin.create_partitions({self.topic.name: self.count}, validate_only=True)[self.topic.name]
        except NotValidatedError as error:
            return self._denied(admin) or error

    def _denied(self, admin: Admin) -> KcliError | None:
        """Whether the permission is missing: that can be known without the brokers' check."""
        name = self.topic.name
        operations = admin.topic_operations([name])[name]
        if isinstance(operations, KcliError):
            return operations
        if is_allowed(operations, AclOperation.ALTER):
            return None
        what = f"could not add partitions to topic {name}"
        return BrokerError(TOPIC_AUTHORIZATION_FAILED, what, needs=[on_topic("ALTER", name)])

    def make(self, admin: Admin) -> KcliError | None:
        """Adds them; the error if it failed, NotKnownError if brokers do not show them."""
        try:
            return admin.create_partitions({self.topic.name: self.count})[self.topic.name]
        except (ConnectError, TimedOutError) as error:
            error.do = f"partitions may have been added: `kcli topics describe {self.topic.name}` shows whether they were"
            return error

    def row(self) -> dict[str, Any]:
        """The row of the plan."""
        return {
            "topic": self.topic.name,
            "key": self.key,
            "change": "increase",
            "old": str(self.has),
            "old_source": None,
            "new": str(self.count),
            "new_source": None,
            "sensitive": False,
            "note": self._note() or None,
        }

    def lines(self) -> list[str]:
        """The lines of the plan."""
        note = self._note()
        found = [f"  {self.key}: {self.has:,} → {self.count:,}" + (f", {note}" if note else "")]
        if self.needed:
            found.append(
                "Added partitions cannot be removed, and records with the same key may go to another partition "
                "than before."
            )
        if self.danger is not None:
            found.append("So many are not checked by the brokers before --confirm NAME is given.")
        return found

    def _note(self) -> str:
        if self.count < self.has:
            return "refused: Kafka cannot remove partitions"
        return f"{self.count - self.has:,} added" if self.needed else "has as many already"
