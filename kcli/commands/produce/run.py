"""One run of ``kcli produce``, after its options were checked: files, brokers, schemas, sending, the report.

The sending itself is in ``kcli.flows``. Checkpoints, the ``--failed`` file and transactions, which load msgspec and the
admin client, are imported only where they are used.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from kcli.commands.produce.input import encoded_key, opened, signature, total_size
from kcli.commands.produce.options import ProduceOptions
from kcli.commands.produce.report import Files, feed_again, report
from kcli.commands.shared.context import Invocation, stdin_is_terminal
from kcli.commands.shared.params import raw_bytes
from kcli.core.clock import wall_ms
from kcli.core.cluster.cluster import TOPIC_PATIENCE
from kcli.core.cluster.metadata import no_partition, topic_refused, unknown_topic
from kcli.core.error_codes import TOPIC_AUTHORIZATION_FAILED
from kcli.core.errors import BrokerError, KcliError, NotFoundError
from kcli.core.options import ClientOptions, ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.core.types import TopicPartition
from kcli.flows.inputs.feed import Feed, Portion, single_portion
from kcli.flows.inputs.input_format import InputFormat
from kcli.flows.produce.ack_tracker import AckTracker, NoTracker
from kcli.flows.produce.line_outcomes import Outcomes
from kcli.flows.produce.run import CHECKPOINT_INTERVAL, HOUR_MS, ProduceResult, ProduceRun, Sending
from kcli.flows.stop import Stop
from kcli.output.progress import counted

if TYPE_CHECKING:
    from kcli.flows.processes import Processes
    from kcli.flows.produce.checkpoint import Checkpoint
    from kcli.flows.produce.failed_file import FailedFile


_COLUMNS = 8
"""How many columns of a csv are named."""


class SendingRun:
    """One run, from the files that it keeps to its report. ``stack`` closes what it opens."""

    producer: Producer
    outcomes: Outcomes

    def __init__(
        self,
        inv: Invocation,
        stack: ExitStack,
        asked: ProduceOptions,
        client: ProducerOptions,
        form: InputFormat,
    ) -> None:
        self.inv, self.stack, self.asked, self.client, self.form = inv, stack, asked, client, form
        self.form.headed = self._note_heading
        self._headings: set[tuple[str, ...]] = set()
        self.topic, self.files = asked.topic, asked.files
        tracked = asked.checkpoint is not None or client.transactional_id
        self.tracker = AckTracker() if tracked else NoTracker()
        self.checkpoint: Checkpoint | None = None
        self.failed: FailedFile | None = None
        self._flow: Callable[..., ProduceRun] = ProduceRun
        self._processes: Processes | None = None

    def run(self, prepare: Callable[[], object], forget: Callable[[], object]) -> int:
        """The exit status. ``prepare`` finds the schemas, as soon as the brokers are there; ``forget`` closes the
        connections by which it did.
        """
        self._open_checkpoint()
        self._open_failed()
        self._open_producer()
        prepare()
        self.form = encoded_key(self.form)
        if self.asked.processes > 1 and not self._short:
            forget()  # a connection serves one process
            self._share_out()
        self._find_beginning()
        # Until here Ctrl-C simply ends it.
        stop = self.stack.enter_context(Stop(unconfirmed=self._unconfirmed))
        self._begin()
        result = self._send(stop)
        if stop:
            self.producer.close(timeout=0.0)
        else:
            self._warn_of_old(result)
        return self._report(result, stop)

    @property
    def _short(self) -> bool:
        """Whether lines are sent without being parsed."""
        return self.form.is_plain and (
            self.inv.dry_run or (self.asked.rate is None and not self.client.transactional_id)
        )

    # --- before any input is read ------------------------------------------------------------------

    def _open_checkpoint(self) -> None:
        path = self.asked.checkpoint
        if path is None:
            return
        from kcli.flows.produce.checkpoint import (  # msgspec: only with --checkpoint
            Checkpoint,
            Identity,
            locked,
        )

        if not self.inv.dry_run:
            self.stack.enter_context(locked(path))
        identity = Identity(self.topic, self.files, signature(self.form), self.client.transactional_id)
        self.checkpoint = Checkpoint(path, identity, failed=self.asked.failed)
        self.checkpoint.load()

    def _open_failed(self) -> None:
        path = self.asked.failed
        if path is None:
            return
        from kcli.flows.produce.failed_file import FailedFile  # only with --failed

        again = self.checkpoint is not None and self.checkpoint.failed_again
        several = len(self.files) > 1
        kind = "lines" if self.asked.is_one else self.form.kind  # one line, whatever it contains
        self.failed = FailedFile(path, kind, several=several, again=again)
        self.stack.callback(self.failed.close)

    def _open_producer(self) -> None:
        resumable = self.checkpoint is not None
        path, remedy = self.asked.failed, ""
        if path is not None:
            remedy = f"correct the `input` of such lines in {path}, then {feed_again(self.topic, path)}"
        self.outcomes = Outcomes(
            self.tracker, self.failed, self.inv.talk.warn, resumable=resumable, remedy=remedy
        )
        several = self.asked.processes if self.asked.processes > 1 else 0
        producer = Producer(
            self.client, hooks=self.inv.hooks, on_delivery=self.outcomes.delivered, sealers=several
        )
        self.producer = self.stack.enter_context(producer)
        self._connect()

    def _connect(self) -> None:
        if not self.inv.dry_run:
            self.producer.foresee([self.topic])
        with self.inv.first_contact(self.client.servers):
            self.producer.connect([], self.inv.timeout)
        partition, self.partitions = self.asked.partition, self._find_topic()
        if partition is not None and partition >= self.partitions:
            raise no_partition(TopicPartition(self.topic, partition), self.partitions)

    def _share_out(self) -> None:
        """Starts the processes: while this one has no thread of the producer, and knows the schemas."""
        from kcli.flows.inputs.shared import ParseWork  # only with --processes
        from kcli.flows.processes import Processes

        by_size = self.asked.rate is not None and self.asked.rate.bytes is not None
        work = ParseWork(self.form, raws=self.form.keep or by_size)
        made = Processes(self.asked.processes, work, lost=self.inv.talk.warn)
        self._processes = self.stack.enter_context(made)

    def _find_topic(self) -> int:
        """The number of its partitions; an unknown topic is named with the nearest ones."""
        producer, topic, timeout = self.producer, self.topic, self.inv.timeout
        try:
            producer.connect([topic], timeout, TOPIC_PATIENCE)
        except NotFoundError:
            raise self._absent() from None
        except BrokerError as error:
            if error.code != TOPIC_AUTHORIZATION_FAILED:
                raise
            raise topic_refused(topic, error.code, producer.known_topics(timeout)) from None
        if self.checkpoint is not None:
            self.checkpoint.watch_topic(lambda: producer.topic_id(topic))
        return producer.partitions_of(topic)

    def _absent(self) -> NotFoundError:
        """The error for a topic that does not exist: how to create it, unless another name was meant."""
        found = unknown_topic(self.topic, self.producer.known_topics(self.inv.timeout))
        creates = f"`kcli topics create {self.topic}` creates it"
        if self.asked.allow_auto_topic_creation:
            found.why = (
                "the brokers do not create topics themselves: auto.create.topics.enable is false there"
            )
        else:
            creates += ", --allow-auto-topic-creation has the brokers create it"
        found.do = f"{found.do} {creates}" if found.do.endswith("?") else creates
        return found

    def _find_beginning(self) -> None:
        if self.client.transactional_id:
            self._flow = self._transactions()
        if self.checkpoint is not None:
            self.tracker.start_at(self.checkpoint.position)

    def _transactions(self) -> Callable[..., ProduceRun]:
        from kcli.core.admin.admin import Admin  # only with transactions
        from kcli.flows.produce.transactions import transactional_flow

        inv, producer, client = self.inv, self.producer, self.client

        def open_admin() -> Admin:
            return Admin(inv.inner_options(ClientOptions), inv.hooks, timeout=inv.timeout)

        def initialize() -> None:
            with inv.first_contact(f"the coordinator of {client.transactional_id}"):
                producer.init_transactions(max(inv.timeout, client.request_timeout_ms / 1000))

        return transactional_flow(
            producer,
            self.topic,
            self.checkpoint,
            every=self.asked.transaction_every,
            open_admin=open_admin,
            initialize=initialize,
        )

    def _warn_of_old(self, result: ProduceResult) -> None:
        """Of records with times of their own that the topic's retention deletes at once."""
        if not result.hours or (min(result.hours) + 2) * HOUR_MS > wall_ms():
            return
        from kcli.core.admin.admin import Admin  # only where records are old
        from kcli.flows.topics.lifetime import old_hours_text
        from kcli.flows.topics.retention import values_of

        inv, topic = self.inv, self.topic
        try:
            with Admin(inv.inner_options(ClientOptions), inv.hooks, timeout=inv.timeout) as admin:
                values = values_of(admin, [topic])[topic].in_force
        except KcliError as error:
            inv.talk.detail(f"whether topic {topic} keeps records of such an age is not known: {error}")
            return
        if text := old_hours_text(topic, result.hours, HOUR_MS, values, wall_ms()):
            inv.talk.warn(text)

    # --- reading and sending -----------------------------------------------------------------------

    def _unconfirmed(self) -> str:
        return f"{counted(self.producer.totals.confirmed, 'record')} confirmed, {self.producer.outstanding:,} unknown"

    def _begin(self) -> None:
        checkpoint = self.checkpoint
        if checkpoint is not None:
            if self.failed is not None and checkpoint.resumes:
                self.failed.drop_from(checkpoint.position, self.files)
            checkpoint.save(checkpoint.position)  # so that one that cannot be written is reported now
            if checkpoint.resumes:
                self.inv.talk.note(f"resuming at line {checkpoint.position.unit + 1:,} ({checkpoint.path})")
        self._note_terminal()

    def _note_terminal(self) -> None:
        if not (self.files or self.asked.is_one) and stdin_is_terminal():
            self.inv.talk.note("reading records from the keyboard, one a line; Ctrl-D ends")

    def _note_heading(self, names: Sequence[str]) -> None:
        """The rows of a csv become objects: once for each heading of several files."""
        if tuple(names) not in self._headings:
            self._headings.add(tuple(names))
            shown = ", ".join(names[:_COLUMNS]) + (
                f" and {len(names) - _COLUMNS} more" if names[_COLUMNS:] else ""
            )
            self.inv.talk.note(f"each row of the csv becomes a JSON object with {shown}")

    def _send(self, stop: Stop) -> ProduceResult:
        portions = self._portions(stop)
        total = None if self.asked.is_one else total_size(self.files)
        with self.inv.progress("confirmed") as bar:

            def show(read: int, confirmed: int, lost: int) -> None:
                share = min(1.0, read / total) if total else None
                bar.update(confirmed, self.producer.totals.bytes, share, failed=lost)

            run = self._flow(
                self.producer,
                self._sending(),
                stop=stop,
                progress=show,
                tracker=self.tracker,
                outcomes=self.outcomes,
                checkpoint=self.checkpoint,
            )
            return run.run(portions)

    def _portions(self, stop: Stop) -> Iterable[Portion]:
        if self.asked.is_one:
            return [single_portion(self.form, raw_bytes(self.asked.value or ""), "--value")]
        return self._feed(stop).portions()

    def _feed(self, stop: Stop) -> Feed:
        ticks = self.checkpoint or self.failed or self.client.transactional_id
        return Feed(
            self.files,
            opened,
            self.form,
            stop,
            short=self._short,
            taps=[_tee(self.inv)] if self.asked.tee and not self.inv.dry_run else (),
            patience=CHECKPOINT_INTERVAL if ticks else None,
            fingerprints=self.checkpoint is not None,
            begin=self.checkpoint.position if self.checkpoint else None,
            processes=self._processes,
        )

    def _sending(self) -> Sending:
        asked, rate = self.asked, None if self.inv.dry_run else self.asked.rate
        return Sending(
            self.topic,
            self.form.how,
            asked.partition,
            by_hand=asked.partition_from is not None
            or (self.client.partitioner == "manual" and asked.partition is None),
            longest=self.form.longest,
            records_per_second=rate.records if rate else None,
            bytes_per_second=rate.bytes if rate else None,
            stop_at_bad=asked.on_bad_input == "fail",
            lingers="linger_ms" in self.inv.resolved.values,
        )

    # --- the report --------------------------------------------------------------------------------

    def _report(self, result: ProduceResult, stop: Stop) -> int:
        files = Files(
            self.asked.failed,
            self.failed.count if self.failed else 0,
            self.asked.checkpoint,
            self.checkpoint.position.unit + 1 if self.checkpoint and self.checkpoint.resumes else None,
        )
        status = report(
            self.inv,
            self.topic,
            result,
            files,
            stop,
            self.client,
            self.producer.cluster_id,
            self.asked.expect,
        )
        if result.output_error is not None and not stop:
            raise result.output_error  # reported as any error of stdout
        return status


def _tee(inv: Invocation) -> Callable[[memoryview], None]:
    """Writes what was read to stdout immediately."""

    def tap(view: memoryview) -> None:
        if len(view):
            inv.out.write(view)
            inv.out.flush()

    return tap
