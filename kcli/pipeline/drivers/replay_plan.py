"""The plan of a replay: how many records would go where, by reason and hour, or day where that is too long. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.flows.topics.lifetime import Tally
from kcli.output.progress import counted, size_text
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, indented_table
from kcli.pipeline.kernels.replay import LastOfKey, tally_one
from kcli.pipeline.plan import Slice
from kcli.pipeline.redrive import NO_TARGET, TOO_OFTEN

_ROWS = 20
_PERIODS = {"hour": len("2026-11-26T09:00Z"), "day": len("2026-11-26"), "": 0}
"""By what records are counted, and how much of the text of an hour says which; the first with few enough rows."""


class Found(NamedTuple):
    """``targets``: records by topic. ``histogram``: by (target, reason, hour). ``chosen``: offsets by task, None for all
    that pass. ``superseded``: left out by --dedupe. ``tallies``: what each target would do with the records;
    ``sizes``: their bytes by target.
    """

    targets: Mapping[str, int]
    histogram: Mapping[tuple[str, str, str], int]
    records: int
    size: int
    too_often: int
    without_target: int
    superseded: int
    chosen: list[list[int]] | None
    tallies: Mapping[str, Tally] = MappingProxyType({})
    sizes: Mapping[str, int] = MappingProxyType({})


def sum_up(items: Sequence[Mapping[str, Any]], *, dedupe: bool) -> Found:
    """From what the tasks have counted."""
    histogram: Counter[tuple[str, str, str]] = Counter()
    for item in items:
        histogram.update(item["histogram"])
    sent = sum(item["records"] for item in items)
    targets: Counter[str] = Counter()
    for (target, _, _), number in histogram.items():
        if target:
            targets[target] += number
    chosen: list[list[int]] | None = None
    kept = sent
    tallies: dict[str, Tally] = {}
    sizes: Counter[str] = Counter()
    for item in items:
        sizes.update(item["sizes"])
        for target, tally in item["tallies"].items():
            tallies[target] = tallies.get(target, Tally()).joined(tally)
    if dedupe:
        last: dict[bytes, tuple[int, int, LastOfKey]] = {}
        for task, item in enumerate(items):
            for key, found in item["keys"].items():
                # A record without a key is named by its offset, in its partition only.
                name = key if len(key) == 16 else b"%d/%b" % (task, key)
                own = (found.timestamp, task, found)
                last[name] = max(last.get(name, own), own)
        chosen = [[] for _ in items]
        for timestamp, task, found in last.values():
            chosen[task].append(found.offset)
            tally_one(tallies, found.target, found.fate, timestamp)
            sizes[found.target] += found.size
        kept = len(last)
    return Found(
        targets,
        histogram,
        kept,
        sum(item["bytes"] for item in items),
        sum(number for (target, why, _), number in histogram.items() if not target and why == TOO_OFTEN),
        sum(number for (target, why, _), number in histogram.items() if not target and why == NO_TARGET),
        sent - kept,
        chosen,
        tallies,
        sizes,
    )


def plan_text(
    topic: str,
    target: str,
    job: str,
    slices: Sequence[Slice],
    found: Found,
    *,
    continued: int,
    where: str | None,
    max_replays: int,
) -> str:
    """What is going to be sent."""
    lines = [f"Replay {visible_line(topic)} to {visible_line(target)}, job {visible_line(job)}, exactly once"]
    if where is not None:
        lines.append(f"  where {visible_line(where)}")
    if continued:
        lines.append(
            f"  continues: {counted(continued, 'offset')} were done by earlier runs; another --job NAME begins anew"
        )
    offsets = sum(each.offsets for each in slices)
    lines.append(
        f"  {counted(found.records, 'record')} of {counted(offsets, 'offset')} in {counted(len(slices), 'partition')}"
        + ("" if found.superseded else f", {size_text(found.size)}")
    )
    lines += ["  " + line for line in _table(found.histogram)]
    if found.superseded:
        lines.append(
            f"  left out, since a later record has the same key: {counted(found.superseded, 'record')}"
        )
    if found.too_often:
        lines.append(
            f"  skipped, since they were replayed {counted(max_replays, 'time')} or more: "
            f"{counted(found.too_often, 'record')}"
        )
    if found.without_target:
        lines.append(
            f"  skipped, since no header names their topic: {counted(found.without_target, 'record')}"
        )
    return "\n".join(lines)


def _table(histogram: Mapping[tuple[str, str, str], int]) -> list[str]:
    """Records by target, reason and period, the largest numbers first."""
    counts = {period: _by_period(histogram, size) for period, size in _PERIODS.items()}
    period = next((period for period, rows in counts.items() if len(rows) <= _ROWS), "")
    ranked = sorted(counts[period].items(), key=lambda entry: (-entry[1], entry[0]))
    rows = [
        {"target": target or "(skipped)", "reason": reason, period: when, "records": number}
        for (target, reason, when), number in ranked[:_ROWS]
    ]
    periods = [Column(period)] if period else []
    lines = indented_table([Column("target"), Column("reason"), *periods, Column("records", "number")], rows)
    rest = len(ranked) - _ROWS
    return [*lines, f"  and {counted(rest, 'row')} more"] if rest > 0 else lines


def _by_period(histogram: Mapping[tuple[str, str, str], int], size: int) -> Counter[tuple[str, str, str]]:
    counts: Counter[tuple[str, str, str]] = Counter()
    for (target, reason, hour), number in histogram.items():
        counts[target, reason, hour[:size]] += number
    return counts
