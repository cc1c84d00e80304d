"""Which topics and partitions of a group are rewound: ``--topic``, ``--exclude-topic``, ``--all-topics``. Pure."""

import re
from collections.abc import Collection, Iterable, Mapping

from kcli.core.classes import dataclass, field
from kcli.core.errors import ConfigError, NotFoundError
from kcli.core.near_names import near_names
from kcli.core.types import TopicPartition

Numbers = frozenset[int] | None
"""Partitions of a topic; None: all of them."""

_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Scope:
    """``topics``: the named topics with their partitions. ``excluded`` takes precedence."""

    topics: Mapping[str, Numbers] = field(default_factory=dict)
    excluded: frozenset[str] = frozenset()
    all_topics: bool = False

    def names(
        self, group: str, committed: Collection[TopicPartition], given: Collection[TopicPartition]
    ) -> list[str]:
        """The topics to rewind. ``given``: partitions for which a file, another group or a journal has offsets.

        Raises ConfigError where the group has commits on several topics and none was chosen, or where no topic is left.
        """
        if given:
            named = _topics(tp for tp in given if self.wants(tp))
        elif self.topics:
            named = list(self.topics)
        else:
            named = _topics(committed)
            if not named or (not self.all_topics and len(set(named) - self.excluded) != 1):
                raise _unclear(group, named)
        chosen = [name for name in named if name not in self.excluded]
        if not chosen:
            raise ConfigError(
                f"no topic of group {group} is chosen",
                why="the topics that were named are excluded, or have no offsets here",
                do="check --topic and --exclude-topic",
            )
        return chosen

    def check_excluded(self, partitions: Collection[TopicPartition]) -> None:
        """Raises NotFoundError for an excluded topic that has none of ``partitions``, which are all there are."""
        there = {*_topics(partitions), *self.topics}
        for name in sorted(self.excluded - there):
            near = near_names(name, there)
            raise NotFoundError(
                f"--exclude-topic {name} excludes nothing",
                why="that topic is not among those to be rewound",
                do=f"did you mean {near[0]}?"
                if near
                else f"the topics are {', '.join(sorted(there)[:5])}"
                if there
                else "there are none",
            )

    def wants(self, tp: TopicPartition) -> bool:
        """Whether a partition is in scope."""
        if tp.topic in self.excluded:
            return False
        if not self.topics:
            return True
        numbers = self.topics.get(tp.topic, frozenset())
        return numbers is None or tp.partition in numbers

    def touches(self, committed: Iterable[TopicPartition]) -> bool:
        """Whether any of these committed partitions of a group is in scope."""
        return any(map(self.wants, committed))

    def partitions(
        self,
        topic: str,
        present: Iterable[int],
        committed: Collection[TopicPartition],
        *,
        given: Collection[TopicPartition] = (),
        committed_only: bool = False,
    ) -> list[TopicPartition]:
        """The partitions of one topic, in order; includes named partitions that the topic does not have.

        ``committed_only`` omits partitions without a commit unless they were named.
        """
        if given:
            return sorted(tp for tp in given if tp.topic == topic and self.wants(tp))
        numbers = self.topics.get(topic)
        partitions = [TopicPartition(topic, n) for n in sorted(present if numbers is None else numbers)]
        named = topic in self.topics
        return [tp for tp in partitions if named or not committed_only or tp in committed]


def parse_topics(words: Iterable[str]) -> dict[str, Numbers]:
    """Parses ``T`` or ``T:0,2-4``; naming a topic twice gives the partitions of both. Raises ValueError on bad syntax."""
    found: dict[str, Numbers] = {}
    for word in words:
        topic, colon, text = word.partition(":")
        if not topic:
            raise ValueError(f"{word!r} names no topic; examples: orders, orders:0,2-4")
        numbers = _numbers(text, word) if colon else None
        before = found.get(topic, frozenset())
        found[topic] = None if numbers is None or before is None else before | numbers
    return found


def _numbers(text: str, word: str) -> frozenset[int]:
    numbers: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part.strip())
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if high < low or high - low > _MOST:
            raise ValueError(f"{word!r} is not a topic with partitions; example: orders:0,2-4")
        numbers.update(range(low, high + 1))
    return frozenset(numbers)


def _topics(partitions: Iterable[TopicPartition]) -> list[str]:
    return sorted({tp.topic for tp in partitions})


def _unclear(group: str, named: list[str]) -> ConfigError:
    if not named:
        return ConfigError(
            f"group {group} has committed nothing",
            why="the topics that it reads are therefore not known",
            do="name them with --topic",
        )
    shown = ", ".join(named[:5]) + (", …" if len(named) > 5 else "")
    return ConfigError(
        f"ambiguous: group {group} has commits on {len(named)} topics",
        why=f"no topic was chosen, and it has committed offsets of {shown}",
        do="choose with --topic TOPIC, or all with --all-topics",
    )
