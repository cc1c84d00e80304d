"""The report of ``kcli produce``: the summary on stderr, the document for ``-o``, the exit status."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

from kcli.commands.shared.context import Invocation
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError, PartlyFailedError
from kcli.flows.produce.run import ProduceResult
from kcli.flows.stop import Stop
from kcli.output.progress import counted, size_text

if TYPE_CHECKING:
    from kcli.flows.expectation import Expectation

_FEW = 10
"""So many records are named one by one with -v."""
_UNREAD = "; the input was not read to its end"


class Files(NamedTuple):
    """The files of the run, and the line at which it resumed; None for those that there are not."""

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
    expect: Expectation | None,
) -> int:
    """Reports the result; returns the exit status."""
    inv.talk.note(_summary(result, stop, acks=options.acks))
    if 1 < result.confirmed <= _FEW and (stored := _stored(result)):
        inv.talk.detail(f"stored at {stored}")
    if files.failed_lines:
        again = feed_again(topic, files.failed or "")
        inv.talk.note(
            f"{counted(files.failed_lines, 'failed line')} in {files.failed}; to send them again: {again}"
        )
    elif files.checkpoint and result.failed and not files.failed:
        inv.talk.note(
            f"{files.checkpoint} stays at the first line that failed; with --failed FILE a run continues past it"
        )
    if inv.values.output in ("json", "ndjson"):
        _document(inv, topic, result, files, options.transactional_id, cluster)
    _errors(inv, topic, result)
    if not stop:
        _check_expected(inv, expect, result)
    return inv.finish(done=result.confirmed > 0, also=[stop.exit_code])


def feed_again(topic: str, path: str) -> str:
    """The command that sends the lines of a ``--failed`` file, without the flags that determine what a record is."""
    return f"kcli produce {topic} … -i failed {quote(path)}"


def _summary(result: ProduceResult, stop: Stop, *, acks: str) -> str:
    sure = "sent, not confirmed (acks=0)" if acks == "0" else "confirmed"
    if result.confirmed == 1 and acks != "0" and (stored := _stored(result)):
        sure = f"confirmed at {stored}"
    rate = result.confirmed / result.seconds if result.seconds else 0
    parts = [
        f"{counted(result.confirmed, 'record')} {sure} ({size_text(result.bytes)}) in {result.seconds:.1f} s: "
        f"{rate:,.0f} records/s"
    ]
    if result.transactions:
        parts.append(counted(result.transactions, "transaction"))
    if result.failed or result.unknown or result.unread or stop:
        parts.append(f"{counted(result.lines, 'line')} read")
        parts.append(f"{result.failed:,} failed")
        parts.append(f"{result.unknown:,} unknown")
    return ", ".join(parts) + (_UNREAD if result.unread else "")


def _stored(result: ProduceResult) -> str:
    """``orders-0 from offset 5 to 7, orders-2 offset 17``; empty where not all of them are known."""
    if sum(count for _tp, _first, count in result.stored) != result.confirmed:
        return ""
    return ", ".join(
        f"{tp} offset {first}" if count == 1 else f"{tp} from offset {first} to {first + count - 1}"
        for tp, first, count in sorted(result.stored)
    )


def _errors(inv: Invocation, topic: str, result: ProduceResult, failed: str = "") -> None:
    if result.error is not None:
        where = (
            f" (the first is line {result.error_line:,} of {result.error_input})" if result.error_line else ""
        )
        refused = result.failed - result.bad
        was = "was not" if refused == 1 else "were not"
        texts = []
        if refused:
            texts.append(f"{refused:,} of {result.lines:,} records for {topic} {failed or was + ' stored'}")
        if result.unknown:
            texts.append(
                f"{result.unknown:,} of {result.lines:,} records for {topic} may or may not be stored"
            )
        inv.failed(PartlyFailedError(f"{', '.join(texts)}{where}", result.error))
    if result.first_bad is not None:
        which = "is not a valid record" if result.bad == 1 else "are not valid records"
        what = f"{result.bad:,} of {result.lines:,} input lines {which}"
        inv.failed(PartlyFailedError(what, result.first_bad))
    if result.input_error is not None and result.input_error is not result.error:
        inv.failed(result.input_error)


def _check_expected(
    inv: Invocation, expect: Expectation | None, result: ProduceResult, done: str = "confirmed"
) -> None:
    if expect is None:
        return
    try:
        expect.check(result.confirmed, done)
    except KcliError as error:
        inv.failed(error)


def report_dry_run(
    inv: Invocation,
    topic: str,
    result: ProduceResult,
    partitions: int,
    cluster: str | None,
    expect: Expectation | None,
) -> int:
    """Reports the result of a dry run; returns the exit status that the run would have."""
    inv.talk.note(
        f"topic {topic} has {counted(partitions, 'partition')}; {counted(result.lines, 'line')} read, "
        f"{result.failed:,} of them would fail{_UNREAD if result.unread else ''}; nothing was sent"
    )
    if inv.out.kind in ("json", "ndjson"):
        values = (topic, partitions, result.lines, result.failed, result.bad)
        _print(inv, "ProducePlan", values, cluster)
    _errors(inv, topic, result, "would not be stored")
    _check_expected(inv, expect, result, "would store")
    return inv.finish(done=result.confirmed > 0)


def _document(
    inv: Invocation,
    topic: str,
    result: ProduceResult,
    files: Files,
    transactional_id: str,
    cluster: str | None,
) -> None:
    values = (
        topic, result.lines, result.confirmed, result.failed, result.unknown, result.bytes,
        round(result.seconds, 3), result.bad, files.failed, files.checkpoint, files.resumed_at,
        transactional_id or None, result.transactions if transactional_id else None,
    )  # fmt: skip
    _print(inv, "ProduceReport", values, cluster)


def _print(inv: Invocation, kind: str, values: Sequence[object], cluster: str | None) -> None:
    from kcli.commands.produce._documents import print_document  # only with -o json and ndjson

    print_document(inv, kind, values, cluster)
