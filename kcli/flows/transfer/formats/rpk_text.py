"""rpk's ``group seek --to-file``: lines ``TOPIC PARTITION OFFSET``, separated by a blank or a tab. Pure.

It names no group. Empty lines are skipped, as in rpk; multiple blanks, which rpk rejects, and a header line are
accepted too, so that columns of a table can be pasted. Source: redpanda, src/go/rpk/pkg/cli/group/seek.go.
"""

from kcli.flows.transfer.formats import fields
from kcli.flows.transfer.formats.fields import BrokenFileError
from kcli.flows.transfer.saved_offset import SavedOffset

_HEADER = ["topic", "partition", "offset"]


def read_rpk(text: str) -> list[SavedOffset]:
    """The offsets; BrokenFileError names the invalid line."""
    found: list[SavedOffset] = []
    headed = False
    for number, line in enumerate(text.split("\n"), 1):
        place, words = f"line {number}", line.split()
        if not words:
            continue
        if not found and not headed and [word.lower() for word in words] == _HEADER:
            headed = True
            continue
        found.append(_saved(place, words))
    return found


def _saved(place: str, words: list[str]) -> SavedOffset:
    if len(words) != len(_HEADER):
        raise BrokenFileError(place, f"it has {len(words)} words, not TOPIC PARTITION OFFSET")
    return SavedOffset(
        fields.topic(place, words[0]),
        fields.partition(place, words[1]),
        fields.offset(place, words[2]),
        place=place,
    )
