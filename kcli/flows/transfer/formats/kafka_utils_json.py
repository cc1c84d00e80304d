"""kafka-utils' ``kafka-consumer-manager offset_save`` and ``offset_restore``: one JSON object for one group. Pure.

``{"groupid": "g", "offsets": {"topic": {"0": 12}}}``: partitions are keys, hence text. Source: Yelp/kafka-utils,
kafka_consumer_manager/commands/offset_save.py and offset_restore.py.
"""

from typing import Any

from kcli.flows.transfer.formats import fields
from kcli.flows.transfer.formats.fields import BrokenFileError
from kcli.flows.transfer.saved_offset import SavedOffset


def read_kafka_utils(document: dict[str, Any]) -> list[SavedOffset]:
    """The offsets; BrokenFileError names the topic with an invalid entry."""
    group = fields.group("groupid", document.get("groupid"))
    topics = document.get("offsets")
    if not isinstance(topics, dict):
        raise BrokenFileError("offsets", "they are no object of topics")
    return [saved for topic, partitions in topics.items() for saved in _topic(group, topic, partitions)]


def _topic(group: str, topic: str, partitions: Any) -> list[SavedOffset]:
    place = f"topic {topic}"
    if not isinstance(partitions, dict):
        raise BrokenFileError(place, "it is no object of partitions")
    return [
        SavedOffset(
            fields.topic(place, topic),
            fields.partition(place, number),
            fields.offset(place, offset),
            group=group,
            place=f"{place}, partition {number}",
        )
        for number, offset in partitions.items()
    ]
