"""What ``kcli produce`` says in the end: the summary on stderr, the report on request, the exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcli.core.dataclass import dataclass

if TYPE_CHECKING:
    from kcli.commands._context import Invocation
    from kcli.flows.produce import ProduceResult
    from kcli.flows.stop import Stop

KEYS = (
    "topic", "lines", "confirmed", "failed", "unknown", "bytes", "seconds", "bad_input", "failed_file",
    "checkpoint", "resumed_at_line", "transactional_id", "transactions",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Files:
    """The files of the run and where it went on; None or empty for what there is not."""

    failed: str | None = None
    failed_lines: int = 0
    checkpoint: str | None = None
    resumed_at: int | None = None


def report(
    inv: Invocation,
    topic: str,
    result: ProduceResult,
    files: Files,
    stop: Stop,
    options: Any,
    cluster: str | None,
) -> int:
    """Tells all of it; returns the exit status that it deserves."""
    if inv.values.output in ("json", "ndjson"):
        _document(inv, topic, result, files, options.transactional_id, cluster)
    inv.talk.note(_summary(result, stop, acks=options.acks))
    if files.failed_lines:
        inv.talk.note(f"what failed is in {files.failed}; `-i failed {files.failed}` feeds it again")
    _errors(inv, topic, result)
    return inv.finish(done=result.confirmed > 0, also=[stop.exit_code])


def _summary(result: ProduceResult, stop: Stop, *, acks: str) -> str:
    from kcli.output.progress import counted, size_text

    sure = "sent, not confirmed (acks=0)" if acks == "0" else "confirmed"
    rate = result.confirmed / result.seconds if result.seconds else 0
    parts = [
        f"{counted(result.confirmed, 'record')} {sure} ({size_text(result.bytes)}) in {result.seconds:.1f} s: "
        f"{rate:,.0f} records/s"
    ]
    if result.transactions:
        parts.append(counted(result.transactions, "transaction"))
    if result.failed or result.unknown or result.bad or stop:
        parts.append(f"{counted(result.lines, 'line')} read")
        parts.append(f"{result.failed:,} failed")
        parts.append(f"{result.unknown:,} not known")
    return ", ".join(parts)


def _errors(inv: Invocation, topic: str, result: ProduceResult) -> None:
    from kcli.core.errors import PartlyFailedError

    if result.error is not None:
        where = f" (the first is line {result.error_line:,})" if result.error_line else ""
        what = (
            f"{result.failed - result.bad:,} of {result.lines:,} records for {topic} were not stored{where}"
        )
        inv.failed(PartlyFailedError(what, result.error))
    if result.first_bad is not None:
        what = f"{result.bad:,} of {result.lines:,} lines of the input are no records"
        inv.failed(PartlyFailedError(what, result.first_bad))
    if result.input_error is not None and result.input_error is not result.error:
        inv.failed(result.input_error)


def plan(inv: Invocation, topic: str, partitions: int, cluster: str | None) -> None:
    """The document of a dry run that found everything in order."""
    from kcli.output.tables import Column

    columns = [Column("topic"), Column("partitions")]
    with inv.out.rows("ProducePlan", "ProducePlan", columns, cluster=cluster) as rows:
        rows.add({"topic": topic, "partitions": partitions})


def _document(
    inv: Invocation,
    topic: str,
    result: ProduceResult,
    files: Files,
    transactional_id: str,
    cluster: str | None,
) -> None:
    from kcli.output.tables import Column

    values = (
        topic, result.lines, result.confirmed, result.failed, result.unknown, result.bytes,
        round(result.seconds, 3), result.bad, files.failed, files.checkpoint, files.resumed_at,
        transactional_id or None, result.transactions if transactional_id else None,
    )  # fmt: skip
    columns = [Column(key) for key in KEYS]
    with inv.out.rows(
        "ProduceReport", "ProduceReport", columns, cluster=cluster, warnings=inv.talk.warnings
    ) as rows:
        rows.add(dict(zip(KEYS, values, strict=True)))
