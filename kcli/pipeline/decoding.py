"""Keys and values as the JSON that a serde makes of them, and what could not be decoded: counted, and said once."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.kernels.active import decode_headers
from kcli.core.types import TopicPartition
from kcli.output.progress import counted
from kcli.serde.errors import DecodeError
from kcli.serde.serde import SerdeContext


class Undecoded(NamedTuple):
    """How many keys or values of a range could not be decoded; the offset of the first one and the reason."""

    failed: int
    offset: int
    why: str


ByRange = dict[tuple[str, str, int, int], Undecoded]
"""By part (``key``, ``value``), topic, partition, and start of the range."""


def join_counts(joined: ByRange, others: ByRange) -> None:
    """Adds the counts of other ranges; of several for a range, the largest: it was read several times."""
    for where, found in others.items():
        joined[where] = max(found, joined.get(where, found))


def undecoded_warnings(found: ByRange, serdes: Mapping[str, str]) -> Iterable[str]:
    """A text for the keys, and one for the values; ``serdes`` by part."""
    for part, serde in serdes.items():
        of_part = {where: each for where, each in found.items() if where[0] == part}
        if of_part:
            count = sum(each.failed for each in of_part.values())
            (_, topic, partition, _), first = min(of_part.items())
            yield (
                f"{counted(count, part)} could not be decoded with {serde} and {'is' if count == 1 else 'are'} null; "
                f"the first at {TopicPartition(topic, partition)}@{first.offset}: {first.why}"
            )


def decoded_texts(
    decode: Callable[[bytes, SerdeContext], str],
    part: str,
    topic: str,
    keys: Sequence[bytes | None],
    data: Sequence[bytes | None],
    blocks: Sequence[bytes] | None,
    failed: list[tuple[int, DecodeError]],
) -> list[str | None]:
    """What is decoded as JSON; null where there is nothing, or nothing that can be decoded: such rows are added to
    ``failed``.
    """
    found: list[str | None] = []
    for row, one in enumerate(data):
        if one is None:
            found.append(None)
            continue
        headers = () if blocks is None else decode_headers(blocks[row], 0, len(blocks[row]))
        try:
            found.append(decode(one, SerdeContext(topic, part, headers, keys[row])))
        except DecodeError as error:
            failed.append((row, error))
            found.append(None)
    return found
