"""The levels of features as rows. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kcli.core.admin.feature_levels import METADATA_VERSION, first_release, metadata_name
from kcli.flows.cluster_state import newest_finalized
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.core.admin.features import BrokerFeatures

FEATURE = Column("feature", values="string", meaning="Name of the feature.")
COLUMNS = (
    FEATURE,
    Column("finalized", "id", values="integer", meaning="Level that is in effect; 0: none."),
    Column(
        "finalized_name",
        spare=1,
        values="string?",
        meaning="Name of that level, as 4.4-IV2 of metadata.version; null of features whose levels have none.",
    ),
    Column(
        "supported_min",
        "id",
        spare=4,
        values="integer",
        meaning="The lowest level that these brokers support.",
    ),
    Column("supported_max", "id", values="integer", meaning="The highest."),
    Column(
        "supported_max_name",
        spare=3,
        values="string?",
        meaning="Name of the highest; null where it has none.",
    ),
    Column(
        "supported_max_since",
        wide=True,
        values="string?",
        meaning="Release of Kafka in which the highest level is the default; null where that is not known.",
    ),
    Column("brokers", spare=2, values="integers", meaning="Numbers of the brokers that support this range."),
)
HEAD = (
    Column(
        "epoch",
        "number",
        values="integer?",
        meaning="Of the finalized levels, which grows with every change of metadata; null without any.",
    ),
)


def feature_rows(features: Mapping[int, BrokerFeatures]) -> list[dict[str, Any]]:
    """A row for each feature and range of levels: brokers of one version share all rows."""
    ranges: dict[tuple[str, int, int], list[int]] = {}
    for number, found in sorted(features.items()):
        for name, levels in found.supported.items():
            ranges.setdefault((name, *levels), []).append(number)
    finalized = newest_finalized(features.values())
    return [
        {
            "feature": name,
            "finalized": finalized.get(name, 0),
            "finalized_name": level_name(name, finalized.get(name, 0)),
            "supported_min": low,
            "supported_max": high,
            "supported_max_name": level_name(name, high),
            "supported_max_since": first_release(name, high),
            "brokers": numbers,
        }
        for (name, low, high), numbers in sorted(ranges.items())
    ]


def epoch_of(features: Mapping[int, BrokerFeatures]) -> int | None:
    """The newest one; None where nothing is finalized."""
    newest = max((found.epoch for found in features.values()), default=-1)
    return newest if newest >= 0 else None


def level_name(feature: str, level: int) -> str | None:
    """``4.4-IV2`` of level 33 of metadata.version; None for other features."""
    return metadata_name(level) if feature == METADATA_VERSION else None


def level_text(feature: str, level: int) -> str:
    """``33 (4.4-IV2)``, ``1``, or ``off``."""
    name = level_name(feature, level)
    return "off" if level == 0 else f"{level} ({name})" if name else str(level)
