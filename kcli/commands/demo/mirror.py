"""The steps of ``kcli demo`` that copy the topic exactly once and compare the copy with it."""

from kcli.commands.demo.stage import COPY, TOPIC, ProofError, Stage
from kcli.commands.shared.context import Invocation
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.job.state import JobId
from kcli.flows.mirror.job.store import saved_jobs
from kcli.flows.mirror.plan.plan import CopyPlan
from kcli.flows.mirror.proof.compare import Comparison
from kcli.flows.mirror.run import Mirror
from kcli.flows.mirror.settings import MirrorSettings
from kcli.flows.mirror.topics.preflight import Login
from kcli.flows.mirror.verification import Verification
from kcli.output.progress import counted

_SOURCE = TopicPartition(TOPIC, 0)
_RENAME = f"{TOPIC}={COPY}"


class _Shown:
    """The observer of a mirror that a step runs: shows what the driver says, and raises what fails."""

    dry_run = may_fill = False

    def __init__(self, inv: Invocation) -> None:
        self.contact, self.progress = inv.first_contact, inv.progress
        self.note, self.warn, self.detail = inv.talk.note, inv.talk.warn, inv.talk.detail

    def may_begin(self, plan: CopyPlan) -> bool:
        """There is nobody to be asked."""
        if error := plan.refusal(Login("", ""), Login("", "")):
            raise error
        return True

    def failed(self, error: KcliError, *, partly: bool = False) -> None:  # noqa: ARG002
        """Nothing may fail here."""
        raise error


def show_mirror(stage: Stage) -> None:
    """Copies the topic within the cluster, in transactions; the position that is saved with them is the end."""
    _command(stage, "--exactly-once", "--until-caught-up")
    settings = MirrorSettings(topics=(TOPIC,), renames=(_RENAME,), exactly_once=True, until_caught_up=True)
    with _mirror(stage, settings) as mirror:
        mirror.prepare()
        result = mirror.copy(stage.stop)
    if stage.stop:
        return
    (copy,) = result.copies
    if copy.error is not None:
        raise copy.error
    stage.figures("mirrored", copy.records, copy.bytes, result.seconds)
    batches = copy.untouched_batches + copy.encoded_batches
    share = 100 * copy.untouched_batches / batches if batches else 0.0
    stage.line(
        "untouched",
        f"{share:.0f} % of {counted(batches, 'batch', 'batches')}, sent on as the bytes they came in",
    )
    saved = saved_jobs(stage, stage.admin, stage.inv.hooks).get(
        JobId(result.survey.source_cluster, result.job)
    )
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
    inv, settings = stage.inv, MirrorSettings(topics=(TOPIC,), renames=(_RENAME,))
    shown = _Shown(inv)
    with Verification(settings, stage, stage, shown, hooks=inv.hooks, timeout=inv.timeout) as verification:
        verification.prepare()
        (found,) = verification.compare(stage.stop).comparisons
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
    clusters = ("--from", stage.servers, "--to", stage.servers)
    stage.command("mirror", *clusters, "-t", TOPIC, "--map-topic", _RENAME, *flags)


def _mirror(stage: Stage, settings: MirrorSettings) -> Mirror:
    """On the throw-away cluster, which is both sides."""
    inv = stage.inv
    return Mirror(settings, stage, stage, _Shown(inv), hooks=inv.hooks, timeout=inv.timeout)
