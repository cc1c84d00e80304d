"""One run of ``kcli consume``: checks its options, connects, reads to the end, and returns the exit status."""

from __future__ import annotations

import errno
from contextlib import ExitStack, closing, nullcontext
from typing import TYPE_CHECKING, Any

from kcli.account.survey import Missing
from kcli.commands.consume.options import (
    ConsumeOptions,
    consumer_options,
    group_of,
    of_log_dirs,
    reset_policy,
    terminal_format,
)
from kcli.commands.consume.printing import (
    chosen_fields,
    chosen_formatter,
    cluster_of,
    record_sink,
    topic_decoding,
)
from kcli.commands.consume.report import offsets_text, report, report_absent
from kcli.commands.consume.scope import (
    chosen_partitions,
    chosen_reading,
    echo_times,
    group_reading,
    hidden_records,
    offsets_of,
    selection,
    unread_parts,
    wanted_range,
    warn_of_hidden_topics,
)
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import abandon
from kcli.commands.shared.topic_choice import Topics
from kcli.core.classes import replace
from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import DataLossError, KcliError
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.core.records.run import RUN_BYTES
from kcli.core.types import TopicPartition
from kcli.flows.consume.extent import Reading
from kcli.flows.consume.run import ConsumeResult, Sink, consume
from kcli.flows.filters.selection import Selection, TimeFilter
from kcli.flows.stop import Stop
from kcli.output.progress import counted
from kcli.output.records import RecordSink, Written

if TYPE_CHECKING:
    from kcli.commands.consume.decoding import Decoding
    from kcli.flows.consume.ahead import Ahead
    from kcli.flows.consume.group_commits import GroupCommits
    from kcli.flows.consume.latest import LatestFilter
    from kcli.flows.consume.time_order import Merger

_STOP_PATIENCE = 1.5  # seconds after the last commit for leaving the group: a stop is over within five


def run(inv: Invocation, **given: Any) -> int:
    """Reads the topics; ``given`` are the fields of ConsumeOptions. The exit status is 0, that of the signal that ended
    the run, or 6 if some of the topics could not be read.
    """
    asked = ConsumeOptions(**given)
    asked.check(inv.values.output)
    if asked.is_shared:
        asked.check_decided()
        from kcli.commands.consume.share import run_shared  # only for share groups

        return run_shared(inv, asked)
    topics = Topics(asked.topics, "consume")
    asked = of_log_dirs(inv, asked)
    asked.check_decided()
    asked = replace(asked, group=group_of(inv, asked), terminal_format=terminal_format(inv, asked))
    policy = reset_policy(inv, asked)
    spec = wanted_range(asked, policy)
    decoding = topic_decoding(inv, asked, topics)
    fields = chosen_fields(inv, asked, decoding)
    consumers: list[Consumer] = []
    cluster_id = cluster_of(consumers)
    formatter = chosen_formatter(inv, asked, topics, decoding, fields, consumers)
    chosen, where, absent = selection(asked, spec, decoding, fields, warn=inv.talk.warn)
    for note in where.notes if where is not None else ():
        inv.talk.note(note)
    client, commit = consumer_options(inv, asked, spec, policy)
    inv.configuration.check_registry_used(asked.serdes)
    echo_times(inv, spec)
    serdes = decoding.serdes if decoding is not None else nullcontext()
    joins = 0 if asked.keeps_single_records else RUN_BYTES
    shared = None
    if asked.processes > 1 and not inv.dry_run:
        from kcli.commands.consume.processes import SharedWork  # only with --processes

        shared = SharedWork(inv, asked.processes, chosen, formatter, where, decoding, fields)
    sharing = shared.running() if shared is not None else nullcontext()
    with sharing, serdes, Consumer(client, hooks=inv.hooks, joins=joins) as consumer:
        consumer.foresee(topics.names, joins=asked.group is not None and not inv.dry_run)
        with inv.first_contact(client.servers):
            consumer.connect(inv.timeout)
        consumers.append(consumer)
        ahead = shared.ahead(consumer, asked.limit) if shared is not None else None
        reading = _ConsumeRun(inv, consumer, topics, spec, chosen, asked, decoding, ahead, commit=commit)
        if inv.dry_run:
            from kcli.commands.consume.dry_run import dry_run  # only with --dry-run

            dry_run(inv, consumer, reading.partitions(), spec, asked)
            return inv.finish(done=True)
        reading.prepare()
        # Before this Ctrl-C simply ends the process; from here on what was read is written first.
        with Stop(unconfirmed=reading.unconfirmed) as stop, ExitStack() as ending:
            if fields is not None:
                ending.callback(fields.close)
            sink = ending.enter_context(record_sink(inv, asked, fields, formatter, cluster_id, stop))
            code = reading.run(sink, stop)
            undecoded = decoding.report(inv, where) if decoding is not None else 0
            undecoded += fields.report(inv) if fields is not None else 0
            if absent is not None and not stop:
                report_absent(inv, absent)
        damaged = reading.result.unreadable + consumer.metrics().batches_skipped
        if stop:
            consumer.close(_STOP_PATIENCE)
    report(
        inv,
        asked,
        reading.result,
        filtered=bool(chosen),
        where=where,
        stop=stop,
        damaged=damaged,
        undecoded=undecoded,
    )
    if asked.expect is not None and not stop:
        try:
            asked.expect.check(reading.result.records)
        except KcliError as error:
            inv.failed(error)
    return inv.finish(done=True, also=[code])


class _ConsumeRun:
    """The reading of one run, after the first contact. ``result`` has the figures so far."""

    def __init__(
        self,
        inv: Invocation,
        consumer: Consumer,
        topics: Topics,
        spec: RangeSpec,
        selection: Selection,
        asked: ConsumeOptions,
        decoding: Decoding | None,
        ahead: Ahead | None,
        *,
        commit: bool,
    ) -> None:
        self.result = ConsumeResult()
        self._inv, self._consumer, self._topics, self._spec = inv, consumer, topics, spec
        self._selection, self._asked, self._decoding, self._commit = selection, asked, decoding, commit
        self._names = topics.existing(consumer, inv.timeout, lambda error: inv.lacks(Missing.of(error)))
        if topics.patterns:
            warn_of_hidden_topics(inv, consumer)
        self._reading: Reading | None = None
        self._commits: GroupCommits | None = None
        self._spans: dict[TopicPartition, Span] = {}
        self._latest: LatestFilter | None = None
        self._ahead = ahead

    def partitions(self) -> list[TopicPartition]:
        """The partitions to be read."""
        return chosen_partitions(self._inv, self._consumer, self._names, self._asked, self._decoding)

    def prepare(self) -> None:
        """Does everything that may fail before the first record is requested."""
        inv, consumer, asked = self._inv, self._consumer, self._asked
        if asked.group is not None:
            self._reading, self._commits = group_reading(
                inv, consumer, self._topics, self._spec, asked, commit=self._commit
            )
        elif asked.tail is None:
            self._reading, self._spans = chosen_reading(
                inv, consumer, self._topics, self._spec, asked, self.partitions()
            )

    def run(self, sink: Sink, stop: Stop) -> int:
        """Reads to the end; returns the exit status. What an error or a signal cuts off is missing in the document."""
        try:
            if self._asked.tail is not None:
                self._tail(self._asked.tail, sink, stop)
            if self._asked.latest_per_key and not stop:
                self._find_latest(stop)
            if (self._asked.tail is None or self._asked.follow) and not stop:
                self._consume(sink, stop)
            tails = self._asked.tail is not None and not self._asked.follow
            if stop and (self._asked.reads_to_the_end or tails):
                self._inv.lacks_rest(stop.exit_code)
        except KcliError as error:
            self._inv.lacks_rest(error.exit_code, str(error))
            if not stop:
                raise
            self._inv.failed(error)  # the signal determines the exit status
        except OSError as error:
            if stop and isinstance(error, BrokenPipeError):
                abandon(1)  # Ctrl-C has ended the reader too
                return stop.exit_code
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
            if full and isinstance(sink, RecordSink):
                self._note_written(sink.written())
            raise
        return stop.exit_code

    def _note_written(self, written: Written) -> None:
        """Reports what the output holds after an error, and what the group has committed of it."""
        note = self._inv.talk.note
        size = counted(written.bytes, "byte")
        if written.records:
            whole = counted(written.records, "whole record")
            note(f"written so far, up to: {offsets_text(written.last)} ({whole}, {size})")
        else:
            note(f"{size} of the first record were written" if written.bytes else "nothing was written")
        if self._commits is not None and self._commits.enabled:
            try:
                self._commits.finish()
            except KcliError as error:
                self._inv.talk.warn(f"offsets were not committed: {error}")
            done = offsets_text(self._commits.committed)
            group = self._asked.group
            note(
                f"group {group} continues at: {done}" if done else f"nothing was committed for group {group}"
            )

    def unconfirmed(self) -> str:
        """What a second signal leaves undone; called by its handler."""
        left = self._commits.uncommitted if self._commits is not None else {}
        return f"written but not committed: {offsets_text(left)}" if left else ""

    def _tail(self, count: int, sink: Sink, stop: Stop) -> None:
        stop.wake(self._consumer.wakeup)
        now = ranges.bounds(
            self._consumer,
            self.partitions(),
            self._inv.timeout,
            unread=None if self._asked.follow else unread_parts(self._inv),
        )
        from kcli.flows.consume.time_order import tail  # few runs need it

        for fetched in tail(self._consumer, now, count, stop, self._selection):
            sink.batch(fetched, None, b"")
            self.result.records += not fetched.batch.is_control
        sink.flush()
        self.result.scanned = self._selection.scanned
        if not stop:
            hidden_records(self._inv, self._consumer, now.ends)
        if self._asked.follow:
            spec = RangeSpec(OffsetSpec("earliest"))
            self._reading, _ = chosen_reading(
                self._inv, self._consumer, self._topics, spec, self._asked, self.partitions()
            )
            for tp, end in now.ends.items():
                self._consumer.seek(tp, end)

    def _find_latest(self, stop: Stop) -> None:
        """The first of two readings: which records are the last of their keys."""
        inv, consumer, asked = self._inv, self._consumer, self._asked
        assert self._reading is not None
        from kcli.flows.consume.latest import LatestFilter, LatestOffsets  # few runs need it

        latest = LatestOffsets()
        with inv.progress("looked for latest", total=offsets_of(self._spans)) as bar, closing(latest):
            consume(
                consumer,
                self._reading,
                latest,
                stop=stop,
                selection=Selection([TimeFilter(*self._spec.times)] if asked.exact_times else []),
                skip_corrupt=inv.talk.warn if consumer.options.on_corrupt == "skip" else None,
                progress=lambda result: bar.update(result.scanned, result.bytes),
            )
            if stop:
                return
            found = LatestFilter(latest.offsets(), tombstones=asked.with_tombstones)
        if latest.without_key:
            inv.talk.note(f"{counted(latest.without_key, 'record')} without a key: left out")
        self._selection.begin_with(found)
        self._latest = found
        consumer.assign({tp: self._spans[tp] for tp in consumer.assignment})

    def _consume(self, sink: Sink, stop: Stop) -> None:
        inv, consumer, asked = self._inv, self._consumer, self._asked
        assert self._reading is not None
        total, limit, before = offsets_of(self._spans), asked.limit, self.result.records
        with inv.progress("scanned" if self._selection else "read", total=total) as bar:
            if inv.out.isatty and not asked.count:
                bar.style = "none"  # records and a bar on one terminal would mix

            def progress(result: ConsumeResult) -> None:
                self.result = replace(result, records=before + result.records)
                extra = {"matched": self.result.records} if self._selection else {}
                bar.update(result.scanned, result.bytes, **extra)

            found = consume(
                consumer,
                self._reading,
                sink,
                stop=stop,
                limit=None if limit is None else limit - before,
                idle_timeout=asked.idle_timeout,
                within=asked.within,
                selection=self._selection,
                merger=_merger(consumer) if asked.merge else None,
                skip_corrupt=inv.talk.warn if consumer.options.on_corrupt == "skip" else None,
                progress=progress,
                ahead=(self._ahead, sink) if self._ahead and isinstance(sink, RecordSink) else None,
            )
        self.result = replace(found, records=before + found.records)
        ended = self._reading.done and not stop and (limit is None or self.result.records < limit)
        if asked.reads_to_the_end and ended:
            states = [consumer.state(tp) for tp in consumer.assignment]
            ends = {state.tp: state.stop for state in states if state.stop is not None}
            below = {state.tp for state in states if state.high_watermark != state.stop}
            hidden_records(inv, consumer, {tp: end for tp, end in ends.items() if tp in below})
        if self._latest is not None and ended:
            self._report_latest(self._latest)

    def _report_latest(self, latest: LatestFilter) -> None:
        if latest.tombstones:
            keys = counted(latest.tombstones, "key")
            self._inv.talk.note(f"{keys} whose last record is a tombstone: left out (--with-tombstones)")
        if latest.found < latest.wanted:
            lost = latest.wanted - latest.found
            error = DataLossError(
                f"{counted(lost, 'record')} of the {latest.wanted:,} that are the last of their keys are gone",
                why="compaction or retention has deleted them between the two readings",
                do="run it again",
            )
            self._inv.lacks(Missing.of(error))


def _merger(consumer: Consumer) -> Merger:
    from kcli.flows.consume.time_order import Merger  # rare

    return Merger(consumer)
