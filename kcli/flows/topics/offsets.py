"""Offsets of topics that cannot be read."""

from collections.abc import Mapping

from kcli.core.errors import KcliError, PartlyFailedError
from kcli.core.types import TopicPartition
from kcli.flows.groups.offsets import LogEnds


def unknown_offsets(ends: Mapping[TopicPartition, LogEnds]) -> list[PartlyFailedError]:
    """An error for each topic and reason: ``offsets of orders-0,4 are unknown``."""
    missing: dict[tuple[str, str], list[int]] = {}
    errors: dict[tuple[str, str], KcliError] = {}
    for tp, log in ends.items():
        if log.error is not None:
            key = tp.topic, log.error.why or log.error.what
            missing.setdefault(key, []).append(tp.partition)
            errors.setdefault(key, log.error)
    return [
        PartlyFailedError(f"offsets of {key[0]}-{','.join(map(str, numbers))} are unknown", errors[key])
        for key, numbers in missing.items()
    ]
