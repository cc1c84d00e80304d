"""From the results of tasks to the report of a job: items, totals, failures. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.pipeline.job import TaskResult

Item = dict[str, Any]
_PLACE = ("topic", "partition", "target_topic", "target_partition", "task")
_SUMS = ("records", "skipped_records", "bytes")


class Report(NamedTuple):
    """``items``: one a partition, or one a task, in their order. ``failures``: what failed; ``done``: whether
    anything did not.
    """

    items: list[Item]
    totals: Mapping[str, Any]
    failures: list[KcliError]
    done: bool


def report_of(results: Sequence[TaskResult], places: Sequence[Mapping[str, Any]], seconds: float) -> Report:
    """``places``: for each task, what its item has at least, such as topic and partition: for one that failed."""
    items: dict[tuple[Any, ...], Item] = {}
    failures: list[KcliError] = []
    for result, place in zip(results, places, strict=True):
        item = dict(result.item) if result.item is not None else _unfinished(place)
        if result.error is not None:
            error = result.error.error()
            failures.append(error)
            item["error"] = str(error)
        _merge(items, item)
    return Report(
        [items[key] for key in sorted(items, key=_order)],
        _totals(results, items.values(), seconds),
        failures,
        any(result.item is not None for result in results),
    )


def _unfinished(place: Mapping[str, Any]) -> Item:
    """The item of a task that has none; a comparison counts other records than a copy."""
    return dict(place) if "compared_records" in place else {"records": 0, "bytes": 0, **place}


def joined(first: Report, second: Report) -> Report:
    """The report of two runs of a job, one after the other; of the errors of a partition, the second run's."""
    items: dict[tuple[Any, ...], Item] = {}
    for item in first.items:
        _merge(items, dict(item))
    for item in second.items:
        known = items.get(tuple(item.get(name) for name in _PLACE), {})
        known.pop("error", None)
        _merge(items, dict(item))
    names = first.totals.keys() | second.totals.keys()
    return Report(
        [items[key] for key in sorted(items, key=_order)],
        {name: first.totals.get(name, 0) + second.totals.get(name, 0) for name in names},
        [*first.failures, *second.failures],
        first.done or second.done,
    )


def _merge(items: dict[tuple[Any, ...], Item], item: Item) -> None:
    """Adds an item to that of the same partition: the slices of one partition are one item."""
    key = tuple(item.get(name) for name in _PLACE)
    known = items.setdefault(key, item)
    if known is item:
        return
    for name, value in item.items():
        if name not in known:
            known[name] = value
        elif name in _SUMS:
            known[name] += value
        elif name == "start":
            known[name] = min(known[name], value)
        elif name == "end":
            known[name] = max(known[name], value)
        elif name == "files":
            known[name] = sorted([*known[name], *value])
        elif name == "profiles":
            known[name] = [*known[name], *value]


def _order(key: tuple[Any, ...]) -> tuple[tuple[bool, Any], ...]:
    return tuple((part is not None, part if part is not None else 0) for part in key)


def _totals(results: Sequence[TaskResult], items: Iterable[Item], seconds: float) -> dict[str, Any]:
    found = list(items)
    return {
        "records": sum(item.get("records", item.get("compared_records", 0)) for item in found),
        "bytes": sum(item.get("bytes", 0) for item in found),
        "seconds": round(seconds, 3),
        "tasks": len(results),
        "task_retries": sum(max(0, result.attempts - 1) for result in results),
    }
