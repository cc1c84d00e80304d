"""The summary of ``kcli consume`` on stderr: always after a signal or with filters, otherwise with ``-v``."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kcli.commands.consume.options import ConsumeOptions
from kcli.commands.shared.context import Invocation
from kcli.core.types import TopicPartition
from kcli.flows.consume.run import ConsumeResult
from kcli.flows.stop import Stop
from kcli.output.progress import counted, json_line, size_text

if TYPE_CHECKING:
    from kcli.flows.filters.absent import AbsentFields
    from kcli.flows.filters.where import Where


def report(
    inv: Invocation,
    asked: ConsumeOptions,
    result: ConsumeResult,
    *,
    filtered: bool,
    where: "Where | None",
    stop: Stop,
    damaged: int,
    undecoded: int,
) -> None:
    """The totals; with ``--progress json`` as one object."""
    talk = inv.talk
    if where is not None:
        _report_skipped(inv, where)
    if damaged:
        talk.warn(f"{counted(damaged, 'damaged batch', 'damaged batches')} skipped")
    if inv.values.progress == "json":
        talk.plain(_document(result, damaged, undecoded))
        return
    text = counted(result.records, "record")
    if filtered:
        text = f"{text} of {result.scanned:,} match{'es' if result.records == 1 else ''}"
    text += f" ({size_text(result.bytes)} fetched)" if result.bytes else ""
    if result.seconds:
        text += f" in {result.seconds:.1f} s: {result.scanned / result.seconds:,.0f} records/s"
    if stop:
        talk.note(f"stopped: {text}")
    elif filtered:
        talk.note(text)
    else:
        talk.detail(text)
    if asked.key is not None and not (result.records or stop or asked.all_partitions):
        talk.note("no record has that key; --all-partitions reads all partitions")


def offsets_text(offsets: Mapping[TopicPartition, int]) -> str:
    """``orders-0@12, orders-1@7``; at most ten."""
    shown = [f"{tp}@{offset}" for tp, offset in sorted(offsets.items())]
    return ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")


_NOT_JSON = "{:,} values are not JSON: --where skipped them"


def report_absent(inv: Invocation, absent: "AbsentFields") -> None:
    """Warnings of fields that no record had."""
    for option, field, near in absent.found():
        inv.talk.warn(
            f"{option}: no record that was read has {field}" + (f"; did you mean {near}?" if near else "")
        )


def _report_skipped(inv: Invocation, where: "Where") -> None:
    if count := where.not_json:
        what = "1 value is not JSON: --where skipped it" if count == 1 else _NOT_JSON.format(count)
        others = f", and {count - len(where.unread):,} more" if count > len(where.unread) else ""
        inv.talk.note(f"{what}: {', '.join(where.unread)}{others}")
    if count := where.repeated:
        have, them = ("has", "it") if count == 1 else ("have", "them")
        inv.talk.note(
            f"{counted(count, 'value')} {have} a member twice that --where reads: --where skipped {them}; "
            f"the first: {where.first_repeated}"
        )
    if count := where.failed:
        has, them = ("has another type", "it") if count == 1 else ("have other types", "them")
        inv.talk.note(f"{counted(count, 'record')} {has} than --where expects: --where skipped {them}")
    if count := where.unlike:
        inv.talk.note(
            f"in {counted(count, 'record')} --where compared a number with text, which is never equal"
        )


def _document(result: ConsumeResult, damaged: int, undecoded: int) -> str:
    rate = result.scanned / result.seconds if result.seconds else None
    return json_line(
        {
            "kind": "ConsumeReport",
            "records": result.records,
            "scanned": result.scanned,
            "bytes": result.bytes,
            "seconds": round(result.seconds, 3),
            "records_per_second": rate and round(rate),
            "damaged_batches": damaged,
            "undecoded": undecoded,
            "positions": [
                {"topic": tp.topic, "partition": tp.partition, "offset": offset}
                for tp, offset in sorted(result.positions.items())
            ],
        }
    )
