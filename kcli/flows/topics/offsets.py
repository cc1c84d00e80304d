"""Offsets that cannot be read, of topics and of commits there."""

from collections.abc import Mapping

from kcli.account.survey import Missing
from kcli.core.errors import KcliError, NotFoundError, PartlyFailedError
from kcli.core.types import GroupPartition, TopicPartition
from kcli.flows.groups.offsets import LogEnds


def missing_offsets(
    errors: Mapping[TopicPartition, KcliError | None], commits: Mapping[GroupPartition, object]
) -> list[Missing]:
    """What is missing of partitions that exist, by the errors of their logs; and of the commits that are errors."""
    lost = {
        tp: LogEnds(error=error)
        for tp, error in errors.items()
        if error is not None and not isinstance(error, NotFoundError)
    }
    return [
        *map(Missing.of, unknown_offsets(lost)),
        *(
            Missing(f"the commit of {at}", str(at.tp), error)
            for at, error in commits.items()
            if isinstance(error, KcliError)
        ),
    ]


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
        _unknown(f"{key[0]}-{','.join(map(str, numbers))}", errors[key]) for key, numbers in missing.items()
    ]


def _unknown(place: str, first: KcliError) -> PartlyFailedError:
    error = PartlyFailedError(f"offsets of {place} are unknown", first)
    error.part, error.place = f"offsets of {place}", place
    return error
