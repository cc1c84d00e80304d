"""``kcli consume -g GROUP --group-type share``: one run as a member of a share group."""

import os
from contextlib import ExitStack, nullcontext

from kcli.account.survey import Missing
from kcli.commands.consume.options import ConsumeOptions, group_of, terminal_format
from kcli.commands.consume.printing import (
    chosen_fields,
    chosen_formatter,
    record_sink,
    topic_decoding,
)
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import abandon
from kcli.commands.shared.topic_choice import Topics
from kcli.core.classes import replace
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.error_codes import GROUP_ID_NOT_FOUND
from kcli.core.errors import BrokerError, KcliError, UnsupportedError
from kcli.core.options import WHOLE_BATCHES, ShareConsumerOptions, default_of
from kcli.core.protocol.messages.share_fetch import ShareFetchRequest
from kcli.core.records.run import RUN_BYTES
from kcli.core.share.acquired import Acknowledge
from kcli.core.share.consumer import NOT_FOR_SHARE_GROUPS, ShareConsumer
from kcli.flows.consume.record_command import RecordCommand
from kcli.flows.consume.share import ShareResult, consume_shared, share_errors
from kcli.flows.stop import Stop
from kcli.output.progress import counted, json_line, size_text
from kcli.output.record_data import NdjsonFormatter
from kcli.output.records import ALL, Formatter

_LEAVE_PATIENCE = 1.5  # seconds after the last acknowledgements: a stop is over within five


def run_shared(inv: Invocation, asked: ConsumeOptions) -> int:
    """Reads as a member of the group; the exit status is 6 where a record was written and not acknowledged."""
    topics = Topics(asked.topics, "consume")
    asked = replace(asked, group=group_of(inv, asked), terminal_format=terminal_format(inv, asked))
    decoding = topic_decoding(inv, asked, topics)
    fields = chosen_fields(inv, asked, decoding)
    consumers: list[ShareConsumer] = []
    formatter = chosen_formatter(inv, asked, topics, decoding, fields, consumers)
    options = share_options(inv, asked)
    inv.configuration.check_registry_used(asked.serdes)
    result = ShareResult()
    with ExitStack() as ending:
        command = None
        if asked.ack_after_exec is not None:
            command = ending.enter_context(RecordCommand(asked.ack_after_exec, os.environ))
        ending.enter_context(decoding.serdes if decoding is not None else nullcontext())
        consumer = ShareConsumer(options, hooks=inv.hooks, on_settled=result.add, joins=RUN_BYTES)
        ending.callback(consumer.close, 0.0, accept=False)  # unless it has been closed in order
        consumers.append(consumer)
        with inv.first_contact(options.servers):
            consumer.connect(inv.timeout)
        if (lacking := consumer.cluster.lacks(ShareFetchRequest)) is not None:
            raise UnsupportedError(
                f"cannot join share group {asked.group}",
                why=lacking.why,
                do="share groups come with Kafka 4.1",
            )
        names = topics.existing(consumer, inv.timeout, lambda error: inv.lacks(Missing.of(error)))
        if inv.dry_run:
            _dry_run(inv, asked, names)
            return inv.finish(done=True)
        consumer.subscribe(topics.subscription())
        with Stop(unconfirmed=lambda: _unconfirmed(result)) as stop:
            if fields is not None:
                ending.callback(fields.close)
            code = _read(inv, asked, consumer, result, formatter, command, stop)
            if decoding is not None:
                decoding.report(inv, None)
            if fields is not None:
                fields.report(inv)
        skipped = consumer.metrics().batches_skipped + result.unreadable
        lock = consumer.lock_seconds
        consumer.close(_LEAVE_PATIENCE, accept=False)
    _report(inv, asked, result, stop=bool(stop), damaged=skipped)
    for error in share_errors(result, lock):
        inv.failed(error, partly=True)
    if asked.expect is not None and not stop:
        try:
            asked.expect.check(result.records)
        except KcliError as error:
            inv.failed(error)
    return inv.finish(done=result.records > 0, also=[code])


def _read(
    inv: Invocation,
    asked: ConsumeOptions,
    consumer: ShareConsumer,
    result: ShareResult,
    formatter: Formatter,
    command: RecordCommand | None,
    stop: Stop,
) -> int:
    """Reads to the end; what an error or a signal cuts off is missing in the document."""
    lines = NdjsonFormatter(shared=True)

    def line(fetched: FetchedBatch) -> bytes:
        return bytes(lines.batch(fetched, None, ALL).data)

    try:
        with (
            record_sink(inv, asked, None, formatter, lambda: None, stop) as sink,
            inv.progress("read") as bar,
        ):
            if inv.out.isatty or command is not None:
                bar.style = "none"  # records, or what the program prints, and a bar on one terminal would mix
            consume_shared(
                consumer,
                sink,
                result,
                stop=stop,
                on_each=Acknowledge[(asked.on_each or "accept").upper()],
                command=command,
                line=line,
                limit=asked.limit,
                until_end=asked.until_end,
                idle_timeout=asked.idle_timeout,
                within=asked.within,
                skip_corrupt=inv.talk.warn if consumer.options.on_corrupt == "skip" else None,
                progress=lambda found: bar.update(found.records, found.bytes),
            )
            if stop and asked.until_end:
                inv.lacks_rest(stop.exit_code)
    except KcliError as error:
        if isinstance(error, BrokerError) and error.code == GROUP_ID_NOT_FOUND:
            error.do = "leave --group-type out, or name another group"
        inv.lacks_rest(error.exit_code, str(error))
        inv.failed(error)  # what was acknowledged is reported all the same
    except BrokenPipeError:
        if not stop:
            raise
        abandon(1)  # Ctrl-C has ended the reader too
    return stop.exit_code


def share_options(inv: Invocation, asked: ConsumeOptions) -> ShareConsumerOptions:
    """The consumer's options: acknowledged is what was written. Options that brokers decide are refused."""
    unused = {name: (why, "leave it out") for name, why in NOT_FOR_SHARE_GROUPS.items()}
    unused["share_acknowledgement_mode"] = ("what was written is acknowledged", "use --on-each")
    exact = asked.limit is not None or asked.ack_after_exec is not None
    options = inv.client_options(
        ShareConsumerOptions,
        unused=unused,
        group_id=asked.group,
        share_acquire_mode="record_limit" if exact else None,
        client_rack=asked.rack,
        on_corrupt=asked.on_corrupt,
    )
    given = inv.resolved.values.get("max_poll_records")
    records = 1 if asked.ack_after_exec is not None else WHOLE_BATCHES
    defaults = {name: default_of(type(options), name) for name in NOT_FOR_SHARE_GROUPS}
    return replace(
        options,
        share_acknowledgement_mode="explicit",
        max_poll_records=records if given is None else options.max_poll_records,
        **defaults,
    )


def _unconfirmed(result: ShareResult) -> str:
    left = result.unsettled
    return f"{counted(left, 'record')} written and not acknowledged" if left else ""


def _dry_run(inv: Invocation, asked: ConsumeOptions, names: list[str]) -> None:
    """Whether it may be done; a member would acquire records, so nothing else is asked."""
    from kcli.commands.shared.check_permitted import check_permitted  # only with --dry-run

    denied = check_permitted(inv, {"READ": "reading topic {}"}, names, group=asked.group)
    for name in names:
        if name not in denied:
            how = f"by {asked.ack_after_exec}" if asked.ack_after_exec else asked.on_each or "accept"
            inv.talk.plain(f"{name}: as a member of share group {asked.group}; each record: {how}")


def _report(inv: Invocation, asked: ConsumeOptions, result: ShareResult, *, stop: bool, damaged: int) -> None:
    """The account: what was written, and what became of it."""
    talk = inv.talk
    if damaged:
        talk.warn(f"{counted(damaged, 'damaged batch', 'damaged batches')} rejected")
    if inv.values.progress == "json":
        talk.plain(_document(result, damaged))
        return
    counts = (
        ("accepted", result.accepted),
        ("released", result.released),
        ("rejected", result.rejected),
        ("refused", result.refused),
        ("unknown", result.unknown + result.unsettled),
    )
    text = f"{counted(result.records, 'record')} written"
    text += "".join(f", {count:,} {name}" for name, count in counts if count)
    text += f"; {result.redelivered:,} had been delivered before" if result.redelivered else ""
    text += f"; {counted(result.given_back, 'more record')} given back" if result.given_back else ""
    if result.bytes and result.seconds:
        rate = result.records / result.seconds
        text += f" ({size_text(result.bytes)} in {result.seconds:.1f} s: {rate:,.0f} records/s)"
    if stop:
        talk.note(f"stopped: {text}")
    elif asked.ack_after_exec is not None or asked.on_each not in (None, "accept"):
        talk.note(text)
    else:
        talk.detail(text)


def _document(result: ShareResult, damaged: int) -> str:
    rate = result.records / result.seconds if result.seconds else None
    return json_line(
        {
            "kind": "ConsumeReport",
            "records": result.records,
            "scanned": result.records,
            "bytes": result.bytes,
            "seconds": round(result.seconds, 3),
            "records_per_second": rate and round(rate),
            "damaged_batches": damaged,
            "undecoded": 0,
            "positions": [],
            "accepted": result.accepted,
            "released": result.released,
            "rejected": result.rejected,
            "refused": result.refused,
            "unknown": result.unknown + result.unsettled,
            "redelivered": result.redelivered,
            "given_back": result.given_back,
        }
    )
