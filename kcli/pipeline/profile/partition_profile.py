"""Everything that is counted of a range of records; ranges are merged to partitions, and these to topics."""

from typing import Any

from kcli.core.classes import dataclass, field
from kcli.pipeline.profile.histograms import Sizes, Times
from kcli.pipeline.profile.json_shape import Values
from kcli.pipeline.profile.keys import KeyCounts


@dataclass(slots=True, eq=False)
class RangeProfile:
    """``empty_values``: of zero bytes. ``with_headers``: records that have any."""

    records: int = 0
    null_keys: int = 0
    null_values: int = 0
    empty_values: int = 0
    with_headers: int = 0
    without_time: int = 0
    keys: KeyCounts = field(default_factory=KeyCounts)
    key_sizes: Sizes = field(default_factory=Sizes)
    value_sizes: Sizes = field(default_factory=Sizes)
    times: Times = field(default_factory=Times)
    values: Values = field(default_factory=Values)

    @property
    def bytes(self) -> int:
        """The bytes of all keys and values."""
        return self.key_sizes.total + self.value_sizes.total

    def merge(self, other: "RangeProfile") -> None:
        """Adds the counts of other records."""
        for name in ("records", "null_keys", "null_values", "empty_values", "with_headers", "without_time"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("keys", "key_sizes", "value_sizes", "times", "values"):
            getattr(self, name).merge(getattr(other, name))


def partition_item(profile: RangeProfile) -> dict[str, Any]:
    """What the report says of a partition besides its place and range."""
    return {
        "records": profile.records,
        "bytes": profile.bytes,
        "null_keys": profile.null_keys,
        "null_values": profile.null_values,
        "distinct_keys": profile.keys.distinct,
        "min_timestamp": profile.times.earliest,
        "max_timestamp": profile.times.latest,
    }


def topic_item(
    name: str, profile: RangeProfile, partitions: dict[int, RangeProfile], top: int
) -> dict[str, Any]:
    """What the report says of a topic. ``skew``: the records of the largest partition to those of an average one."""
    values, records = profile.values, profile.records
    average = records / max(1, len(partitions))
    return {
        "topic": name,
        "partitions": len(partitions),
        "records": records,
        "bytes": profile.bytes,
        "skew": round(max((one.records for one in partitions.values()), default=0) / average, 3)
        if records
        else None,
        "null_keys": profile.null_keys,
        "null_values": profile.null_values,
        "empty_values": profile.empty_values,
        "null_key_rate": _rate(profile.null_keys, records),
        "null_value_rate": _rate(profile.null_values, records),
        "with_headers": profile.with_headers,
        "without_timestamp": profile.without_time,
        "distinct_keys": profile.keys.distinct,
        "distinct_keys_exact": profile.keys.is_exact,
        "top_keys": [
            {"key": key.decode("utf-8", "backslashreplace"), "records": count, "share": _rate(count, records)}
            for key, count in profile.keys.top(top)
        ],
        "top_keys_error": profile.keys.error,
        "key_sizes": _sizes(profile.key_sizes),
        "value_sizes": _sizes(profile.value_sizes),
        "times": profile.times.rows(),
        "values": {
            "sampled": values.sampled,
            "json": values.json,
            "text": values.text,
            "binary": values.binary,
            "undecoded": values.undecoded,
            "schema_ids": {str(number): count for number, count in sorted(values.schema_ids.items())},
        },
        "json_schema": values.shape.schema() if values.json else None,
    }


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def _sizes(sizes: Sizes) -> dict[str, Any]:
    return {
        "min": sizes.smallest if sizes.count else None,
        "max": sizes.largest if sizes.count else None,
        "average": round(sizes.total / sizes.count, 1) if sizes.count else None,
        "histogram": sizes.rows,
    }
