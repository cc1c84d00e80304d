"""The configuration of topics: what is set on each, and what most is asked about. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from kcli.core.admin.configs import ConfigEntry
from kcli.exporter.collectors.sample import Sample
from kcli.exporter.metric import GAUGE, INFO, Metric

ALWAYS = frozenset(
    ("cleanup.policy", "retention.ms", "retention.bytes", "min.insync.replicas", "max.message.bytes")
)
"""Also where they are not set on the topic itself."""
VALUE = Metric(
    "kcli_topic_config_value",
    GAUGE,
    ("topic", "key"),
    "A number or, as 0 or 1, a boolean of the topic's configuration, as it is in effect.",
)
TEXT = Metric(
    "kcli_topic_config", INFO, ("topic", "key", "value"), "Any other value of the topic's configuration."
)
METRICS = (VALUE, TEXT)
_BOOLEANS = {"true": 1, "false": 0}


def samples(configs: Mapping[str, Sequence[ConfigEntry]]) -> Iterator[Sample]:
    """By topic and key. Secrets have no value."""
    for topic, entries in sorted(configs.items()):
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.value is None or (entry.is_default and entry.name not in ALWAYS):
                continue
            number = _number(entry.value)
            if number is None:
                yield Sample(TEXT, (topic, entry.name, entry.value), 1, topic)
            else:
                yield Sample(VALUE, (topic, entry.name), number, topic)


def _number(text: str) -> float | None:
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text) if text.replace(".", "", 1).isdigit() else None
    except ValueError:
        return None
