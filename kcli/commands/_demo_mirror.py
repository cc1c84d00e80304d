"""The steps of ``kcli demo`` that copy the topic exactly once and compare the copy with it."""

from kcli.commands._demo_stage import COPY, TOPIC, ProofError, Stage
from kcli.core.clock import monotonic
from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions, ProducerOptions
from kcli.core.producer.producer import Producer
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy import JOINED_BYTES, Deliveries
from kcli.flows.mirror.exactly_once import ExactlyOnceCopy
from kcli.flows.mirror.job import Ends, default_name, job_state, partition_copies
from kcli.flows.mirror.partition_copy import PartitionCopy
from kcli.flows.mirror.routes import STATE_TOPIC, parse_rename
from kcli.flows.mirror.state import job_record
from kcli.flows.mirror.store import Progress, TopicStore, load_topic
from kcli.flows.mirror.survey import Selection, Survey, survey
from kcli.flows.mirror.targets import create_state_topic, create_targets, identify
from kcli.flows.mirror.verify import Comparison, Extent, Pair, compare
from kcli.output.progress import counted

_SOURCE, _TARGET = TopicPartition(TOPIC, 0), TopicPartition(COPY, 0)
_RENAME = f"{TOPIC}={COPY}"
_INIT_PATIENCE = 60.0  # seconds until the broker has made its topic of transactions


def show_mirror(stage: Stage) -> None:
    """Copies the topic within the cluster, in transactions; the position that is saved with them is the end."""
    _command(stage, "--exactly-once", "--until-caught-up")
    found = survey(stage.admin, stage.admin, Selection([TOPIC], [parse_rename(_RENAME)]))
    name = default_name(found.source_cluster, [TOPIC], [_RENAME])
    (copy,) = partition_copies(
        found,
        None,
        {_SOURCE: Span(0, stage.records)},
        {_SOURCE: stage.records},
        Ends({}, {}),
        by_key=False,
        on_recreate="fail",
    )
    create_targets(stage.admin, found.findings, [COPY])
    create_state_topic(stage.admin, found.brokers)
    identify(stage.admin, [copy])
    seconds = _copy(stage, name, found, copy)
    if stage.stop:
        return
    if copy.error is not None:
        raise copy.error
    stage.figures("mirrored", copy.records, copy.bytes, seconds)
    batches = copy.untouched_batches + copy.encoded_batches
    share = 100 * copy.untouched_batches / batches if batches else 0.0
    stage.line(
        "untouched",
        f"{share:.0f} % of {counted(batches, 'batch', 'batches')}, sent on as the bytes they came in",
    )
    with _reader(stage) as reader:
        saved = load_topic(stage.admin, reader).get(name)
    partition = saved.partitions.get(_SOURCE) if saved is not None else None
    stage.check("mirror", "the number of records copied", stage.records, copy.records)
    stage.check(
        "mirror",
        "the position that was committed with the records",
        stage.records,
        partition and partition.progress.position,
    )
    stage.line("proof", f"offset {stage.records:,} was committed in the transaction of the last record")


def show_verify(stage: Stage) -> Comparison | None:
    """Compares all of both topics; None after a stop."""
    _command(stage, "--verify-only")
    with _reader(stage) as source, _reader(stage) as target:
        for consumer in (source, target):
            stage.stop.wake(consumer.wakeup)
            consumer.connect(stage.inv.timeout)
        pair = Pair(_extent(stage, source, _SOURCE), _extent(stage, target, _TARGET))
        with stage.inv.progress("compared", total=stage.records) as bar:
            (found,) = compare(
                source,
                target,
                [pair],
                timestamps=True,
                stop=stage.stop,
                progress=lambda done: bar.update(min(done.source, done.target)),
            )
    if stage.stop:
        return None
    if found.error is not None:
        raise found.error
    stage.line(
        "compared", f"{counted(found.source_records, 'record')} with {found.target_records:,} of the copy"
    )
    return found


def check_comparison(found: Comparison) -> None:
    """Raises ProofError where the copy differs, with the first offsets that do."""
    if found.equal:
        return
    at = found.difference
    where = "" if at is None else f"offset {at.source_offset} of the source, {at.target_offset} of the copy: "
    raise ProofError(
        f"the step verify of the demo failed its proof: {TOPIC} and {COPY} differ",
        why=f"{where}{at.what}" if at is not None else "their digests differ",
        do="report this",
    )


def _command(stage: Stage, *flags: str) -> None:
    clusters = ("--from", stage.bootstrap, "--to", stage.bootstrap)
    stage.command("mirror", *clusters, "-t", TOPIC, "--map-topic", _RENAME, *flags)


def _copy(stage: Stage, name: str, found: Survey, copy: PartitionCopy) -> float:
    """Copies until the end or a stop; returns the seconds that it took."""
    deliveries = Deliveries(transactional=True)
    options = stage.options(ProducerOptions, transactional_id=f"kcli-mirror-{name}", linger_ms=0)
    state = job_state(name, found, stage.bootstrap, exactly_once=True, by_key=False, headers=False)
    with (
        _reader(stage, joins=JOINED_BYTES, markers=True) as consumer,
        Producer(options, hooks=stage.inv.hooks, on_delivery=deliveries) as producer,
    ):
        consumer.connect(stage.inv.timeout)
        producer.connect([COPY, STATE_TOPIC], stage.inv.timeout, stage.inv.timeout)
        producer.init_transactions(_INIT_PATIENCE)
        for wake in (consumer.wakeup, producer.interrupt):
            stage.stop.wake(wake)
        progress = Progress(state, lambda _tp: stage.records)
        store = TopicStore(producer, progress)
        with producer.transaction():
            store.write([job_record(state)])
        with stage.inv.progress("mirrored", total=stage.records) as bar:
            began = monotonic()
            ExactlyOnceCopy(
                consumer,
                producer,
                deliveries,
                [copy],
                store,
                stop=stage.stop,
                progress=lambda: bar.update(copy.records, copy.bytes),
                warn=stage.inv.talk.warn,
            ).run()
            return monotonic() - began


def _reader(stage: Stage, *, joins: int = 0, markers: bool = False) -> Consumer:
    options = stage.options(
        ConsumerOptions,
        isolation_level="read_committed",
        max_poll_records=WHOLE_BATCHES,
        on_out_of_range="fail",
        show_control_batches=markers,
    )
    return Consumer(options, hooks=stage.inv.hooks, joins=joins)


def _extent(stage: Stage, consumer: Consumer, tp: TopicPartition) -> Extent:
    found = ranges.bounds(consumer, [tp], stage.inv.timeout)
    return Extent(tp, found.starts[tp], found.ends[tp])
