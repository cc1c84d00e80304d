"""What some words of the command line stand for, and their bytes."""

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.types import TopicPartition


class Codec(NamedTuple):
    """``gzip:6``: ``name`` for ``compression.type``, ``level`` or None."""

    name: str
    level: int | None = None


class Rate(NamedTuple):
    """``1000`` records a second, or ``10MB/s``; the other field is None."""

    records: float | None = None
    bytes: float | None = None


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    """``orders:0,2-4``: some partitions of a topic; ``partitions`` None: all of them."""

    topic: str
    partitions: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return (
            self.topic if self.partitions is None else f"{self.topic}:{','.join(map(str, self.partitions))}"
        )

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp.topic == self.topic and (self.partitions is None or tp.partition in self.partitions)


def raw_bytes(text: str) -> bytes:
    """The bytes that the shell passed."""
    return text.encode("utf-8", "surrogateescape")


def is_text(word: str) -> bool:
    """Whether the shell passed UTF-8."""
    return not any("\ud800" <= char <= "\udfff" for char in word)
