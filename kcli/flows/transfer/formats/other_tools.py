"""Files of other tools, with the offsets of one group. Pure.

- kcl's ``group seek --to-file``: a JSON list of objects with ``topic``, ``partition`` and ``offset``. It names no group,
  and kcl itself writes no such file: it is written by hand. Source: twmb/kcl, commands/admin/group/seek.go.
- kafka-utils' ``kafka-consumer-manager offset_save`` and ``offset_restore``: ``{"groupid": "g", "offsets": {"topic":
  {"0": 12}}}``; partitions are keys, hence text. Source: Yelp/kafka-utils, kafka_consumer_manager/commands.
- rpk's ``group seek --to-file``: lines ``TOPIC PARTITION OFFSET``, separated by a blank or a tab. It names no group.
  Empty lines are skipped, as in rpk; multiple blanks, which rpk rejects, and a header line are accepted too, so that
  columns of a table can be pasted. Source: redpanda, src/go/rpk/pkg/cli/group/seek.go.

Each function returns the offsets; BrokenFileError names the invalid line or entry, counted from 1.
"""

from typing import Any

from kcli.flows.transfer.formats import fields
from kcli.flows.transfer.formats.fields import BrokenFileError
from kcli.flows.transfer.saved_offset import SavedOffset

_RPK_HEADER = ["topic", "partition", "offset"]


def read_kcl(document: list[Any]) -> list[SavedOffset]:
    """kcl's file."""
    found = []
    for number, entry in enumerate(document, 1):
        location = f"entry {number}"
        if not isinstance(entry, dict):
            raise BrokenFileError(location, "it is not an object with topic, partition and offset")
        missing = [key for key in ("topic", "partition", "offset") if key not in entry]
        if missing:
            raise BrokenFileError(location, f"it has no {missing[0]}")
        found.append(fields.saved_offset(location, entry["topic"], entry["partition"], entry["offset"]))
    return found


def read_kafka_utils(document: dict[str, Any]) -> list[SavedOffset]:
    """kafka-utils' file."""
    group = fields.group("groupid", document.get("groupid"))
    topics = document.get("offsets")
    if not isinstance(topics, dict):
        raise BrokenFileError("offsets", "it is not an object of topics")
    found = []
    for topic, partitions in topics.items():
        if not isinstance(partitions, dict):
            raise BrokenFileError(f"topic {topic}", "it is not an object of partitions")
        for number, offset in partitions.items():
            location = f"topic {topic}, partition {number}"
            found.append(fields.saved_offset(location, topic, number, offset, group=group))
    return found


def read_rpk(text: str) -> list[SavedOffset]:
    """rpk's file."""
    found: list[SavedOffset] = []
    headed = False
    for number, line in enumerate(text.split("\n"), 1):
        location, words = f"line {number}", line.split()
        if not found and not headed and [word.lower() for word in words] == _RPK_HEADER:
            headed = True
        elif words:
            if len(words) != len(_RPK_HEADER):
                raise BrokenFileError(location, f"it has {len(words)} words, not TOPIC PARTITION OFFSET")
            found.append(fields.saved_offset(location, *words))
    return found
