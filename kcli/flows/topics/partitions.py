"""A change of the number of partitions that a topic has, and how many new ones are too many for brokers to be asked."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.errors import ConnectError, KcliError, NotValidatedError, TimedOutError
from kcli.core.exit_codes import ExitCode
from kcli.flows.permitted import denied_topics
from kcli.output.progress import counted

_MANY = 10_000
ADDED = "Added partitions cannot be removed, and records with the same key may go to another partition than before."


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


class AddedPartitions(NamedTuple):
    """``wanted`` partitions instead of those that the topic with this id ``has``; None where it is not known."""

    topic: str
    wanted: int
    topic_id: str = ""
    has: int | None = None

    @property
    def added(self) -> int:
        """How many are new; negative where it has more."""
        return 0 if self.has is None else self.wanted - self.has

    @property
    def needed(self) -> bool:
        """Whether there are fewer."""
        return self.added > 0

    @property
    def danger(self) -> str | None:
        """Why ``--yes`` is not sufficient."""
        return many_partitions(self.added)

    @property
    def note(self) -> str:
        """What the number means."""
        if self.added < 0:
            return "refused: Kafka cannot remove partitions"
        return f"{self.added:,} added" if self.added else "has as many already"

    @property
    def fewer(self) -> FewerPartitionsError | None:
        """The error where the topic has more."""
        if self.has is None or self.added >= 0:
            return None
        return FewerPartitionsError(
            f"topic {self.topic} has {counted(self.has, 'partition')}, it cannot have {self.wanted:,}",
            why="Kafka cannot remove partitions of a topic: their records would be lost",
            do="create another topic with fewer partitions, and copy the records with "
            "`kcli consume TOPIC -e -o ndjson | kcli produce NEW -i ndjson`",
        )

    def row(self) -> dict[str, Any]:
        """The row of the plan, with the keys of a changed configuration."""
        return {
            "topic": self.topic,
            "key": "partitions",
            "change": "increase",
            "old": None if self.has is None else str(self.has),
            "old_source": None,
            "new": None if self.has is None else str(self.wanted),
            "new_source": None,
            "sensitive": False,
        }

    def lines(self) -> list[str]:
        """The lines of the plan."""
        found = [f"  partitions: {self.has:,} → {self.wanted:,}, {self.note}"]
        if self.danger is not None:
            found.append("So many are not checked by the brokers before --confirm NAME is given.")
        return found


def rejections(admin: Admin, asked: Sequence[AddedPartitions]) -> dict[str, KcliError]:
    """Why partitions are refused, by topic; NotValidatedError where brokers did not check it."""
    found: dict[str, KcliError] = {one.topic: error for one in asked if (error := one.fewer) is not None}
    counts = {one.topic: one.wanted for one in asked if one.needed and one.danger is None}
    many = [one.topic for one in asked if one.needed and one.danger is not None]
    try:
        answers = admin.create_partitions(counts, validate_only=True) if counts else {}
    except NotValidatedError as error:
        answers = {**dict.fromkeys(counts, error), **_denied(admin, list(counts))}
    found |= {topic: error for topic, error in answers.items() if error is not None}
    return found | _denied(admin, many)


def _denied(admin: Admin, topics: Sequence[str]) -> dict[str, KcliError]:
    """Where the permission is missing: that can be known without the brokers' check."""
    return denied_topics(admin, topics, "ALTER", "could not add partitions to topic {}")


def add_partitions(admin: Admin, wanted: Sequence[AddedPartitions]) -> dict[str, KcliError | None]:
    """Adds them; by topic the error if it failed, NotKnownError if brokers do not show them."""
    if not wanted:
        return {}
    try:
        return admin.create_partitions({one.topic: one.wanted for one in wanted})
    except (ConnectError, TimedOutError) as error:
        first = quote(wanted[0].topic)
        error.do = (
            f"partitions may have been added: `kcli topics describe {first}` shows whether they were"
            if len(wanted) == 1
            else "partitions may have been added: run it again, and see the plan"
        )
        return dict.fromkeys((one.topic for one in wanted), error)
