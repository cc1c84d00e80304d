"""A restore: topics of log directories, whose brokers are gone, copied to a cluster. It is a mirror job, exactly once,
from directories that nobody writes any more: killed at any moment and run again, it goes on where it was.

What is different from a mirror: a topic of the target that has records already is refused, as nobody could tell later
which are of which; the source deletes nothing, so the target must not either; and at the end there is the recovery point,
which a mirror states when it is promoted.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from kcli.account.outcomes import GOOD
from kcli.account.survey import Missing
from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.hooks import Hooks
from kcli.core.names import group_shown
from kcli.core.offline import group_state, transaction_state
from kcli.core.offline.image import TOPIC as METADATA_LOG
from kcli.core.types import TopicPartition
from kcli.flows.configs.units import with_unit
from kcli.flows.mirror.groups.offsets import GroupsAccount
from kcli.flows.mirror.job.state import JobState, RecoveryPoint, SavedGap
from kcli.flows.mirror.job.store import saved_jobs
from kcli.flows.mirror.job.writer import Target
from kcli.flows.mirror.plan.plan import CopyPlan
from kcli.flows.mirror.plan.planning import Plan
from kcli.flows.mirror.promotion.promote import points_now
from kcli.flows.mirror.promotion.recovery_point import Seen
from kcli.flows.mirror.run import Mirror
from kcli.flows.mirror.settings import Cluster, MirrorSettings, Observer
from kcli.flows.mirror.topics.preflight import Finding
from kcli.flows.mirror.topics.routes import Route
from kcli.flows.segments.inventory import Inventory, extent, lines, remarks
from kcli.output.progress import counted

_NO_SEGMENT = "no segment has them"
JOB = "restore"
"""The name of a job without ``--job``."""


class NotThereError(KcliError):
    """A partition, or some of its offsets, is in none of the folders."""

    exit_code = ExitCode.PARTLY


class LostStateError(KcliError):
    """A partition of a topic of the brokers themselves is damaged in all folders."""

    exit_code = ExitCode.PARTLY


_LACKS = {
    METADATA_LOG: "topics get the partitions that have a folder, and the target's configuration",
    group_state.TOPIC: "committed offsets of the groups that it keeps are not set",
    transaction_state.TOPIC: "transactions that it keeps, and that were open, are not restored",
}


def lost_states(inventory: Inventory, *, groups: bool) -> Iterator[Missing]:
    """What the restore lacks of the brokers' own topics; groups only count where they are asked for."""
    for tp, damage in inventory.lost.items():
        if groups or tp.topic != group_state.TOPIC:
            error = LostStateError(
                f"{tp} is not read: {_LACKS[tp.topic]}",
                why=str(damage),
                do="name the log directories of other brokers as well: each replica has a copy",
            )
            yield Missing(str(tp), "", error)
    for tp, brokers in inventory.behind.items():
        if groups or tp.topic != group_state.TOPIC:
            yield Missing(str(tp), "", _not_in_sync(tp, brokers))


def _not_in_sync(tp: TopicPartition, brokers: Collection[int]) -> NotThereError:
    named = f"broker{'s' if len(brokers) > 1 else ''} {', '.join(map(str, sorted(brokers)))}"
    return NotThereError(
        f"{tp}: the last records that brokers acknowledged may be missing",
        why=f"only replicas of {named} were in sync, and their log directories are not among the given paths",
        do=f"name the log directories of {named} as well",
    )


def moved_on(
    account: GroupsAccount, gaps: Mapping[TopicPartition, Sequence[SavedGap]]
) -> tuple[GroupsAccount, list[str]]:
    """The account, and what is to be said of the groups whose next record is not restored. Pure."""
    offsets, said = [], []
    for one in account.offsets:
        at, tp = one.source_offset, one.source
        gap = None
        if tp is not None and at is not None and one.status in GOOD:
            gap = next((gap for gap in gaps.get(tp, ()) if gap.first <= at <= gap.last), None)
        verdict = one.verdict
        if gap is not None:
            why = f"offsets {gap.first} to {gap.last} are not restored: it goes on with the first record behind them"
            verdict = verdict._replace(why=why)
            said.append(f"group {group_shown(one.group)}, {tp}: offset {at}: {why}")
        offsets.append(one._replace(verdict=verdict))
    return account._replace(offsets=offsets), said


class Restore(Mirror):
    """The copy of log directories that have this ``inventory``; ``points`` after ``copy``."""

    _source_keeps_all = True

    def __init__(
        self,
        settings: MirrorSettings,
        source: Cluster,
        target: Cluster,
        observer: Observer,
        inventory: Inventory,
        *,
        hooks: Hooks,
        timeout: float,
    ) -> None:
        super().__init__(settings, source, target, observer, hooks=hooks, timeout=timeout)
        self._inventory = inventory

    def _absent(self, tp: TopicPartition) -> KcliError | None:
        one = self._inventory.chosen.get(tp)
        if one is not None:
            return one.taken.unreadable
        return NotThereError(
            f"{tp} is missing: no folder has it",
            why="its topic has the partition, and none of the given paths has a replica of it",
            do="name the log directories of the other brokers, too; the same job restores it then",
        )

    def _default_name(self, source_id: str) -> str:  # noqa: ARG002 - the identity has the source beside the name
        return JOB

    def _jobs_on_source(self, admin: Admin, *, again: bool = False) -> list[JobState]:  # noqa: ARG002 - nobody writes there
        return []

    def _planned(self, source_id: str) -> CopyPlan:
        plan = super()._planned(source_id)
        findings = plan.found.findings
        findings.conflicts.extend(_filled(plan))
        routes = {route.source: route for route in plan.found.routes}
        said = lines(self._inventory, skips=self._settings.on_gap == "record")
        findings.warnings.extend(Finding(routes[tp.topic], text) for tp, text in said if tp.topic in routes)
        if self._observer.dry_run:
            for error in self._foreseen():
                self._observer.failed(error)
        return plan

    def _foreseen(self) -> Iterator[KcliError]:
        """What a run would report, beside the partitions that cannot be read at all."""
        for copy in self._plan.copies:
            one = self._inventory.chosen.get(copy.source)
            if one is not None and one.taken.damages and self._settings.on_gap == "fail":
                yield one.taken.damages[0].in_partition(copy.source)
                yield from self.losses({copy.source: ()})
            elif one is not None:
                damaged = [SavedGap(*extent(damage), damage.why, wall_ms()) for damage in one.taken.damages]
                yield from self.losses({copy.source: [*damaged, *self._holes(copy.source)]})

    def gaps(self, points: Mapping[TopicPartition, RecoveryPoint]) -> dict[TopicPartition, list[SavedGap]]:
        """What was left out of each partition by any run, and what no folder has of it."""
        found: dict[TopicPartition, list[SavedGap]] = {}
        for copy in self._plan.copies:
            point = points.get(copy.source)
            some = [*(point.gaps if point is not None else ()), *self._holes(copy.source)]
            found[copy.source] = sorted(some, key=lambda gap: gap.first)
        return found

    def _holes(self, tp: TopicPartition) -> list[SavedGap]:
        one = self._inventory.chosen.get(tp)
        holes = one.taken.holes if one is not None else ()
        return [SavedGap(hole.first, hole.stop - 1, _NO_SEGMENT, wall_ms()) for hole in holes]

    def losses(self, gaps: Mapping[TopicPartition, Sequence[SavedGap]]) -> Iterator[KcliError]:
        """The gaps that this run has not reported itself, and the partitions of which no replica was in sync."""
        for tp in gaps:
            one = self._inventory.chosen.get(tp)
            if one is not None and one.absent:
                yield _not_in_sync(tp, one.absent)
        own = {copy.source: {gap.first for gap in copy.gaps} for copy in self._plan.copies}
        for tp, some in gaps.items():
            for gap in some:
                if gap.first not in own[tp]:
                    yield NotThereError(
                        f"{tp}: offsets {gap.first} to {gap.last} are not restored", why=gap.why
                    )

    def _remarks(self, plan: Plan) -> list[str]:
        given = [f"{key}={with_unit(key, value)}" for key, value in self._settings.configs]
        return [
            *_replicas(plan, self._settings.replicas),
            *([f"  set on the restored topics: {', '.join(given)}"] if given else []),
            *remarks(self._inventory),
            *super()._remarks(plan),
        ]

    def points(self) -> Mapping[TopicPartition, RecoveryPoint]:
        """What of the source the target has, by what the job has saved."""
        saved = saved_jobs(self._target, self._target_admin, self._hooks).get(self._id)
        if saved is None:
            return {}
        now, copies = wall_ms(), self._plan.copies
        seen = {one.source: Seen(one.stop, now) for one in copies if one.stop is not None}
        whys = {one.source: str(one.error) for one in copies if one.error is not None}
        own = Target(self._target, self._target_admin, self._hooks, self._timeout)
        return points_now(saved, own, seen, whys)


def _filled(plan: CopyPlan) -> Sequence[Finding]:
    """The topics that have records which this job has not restored."""
    sources = {route.target: route.source for route in plan.found.routes}
    return [
        Finding(
            Route(sources[name], name),
            "the target has records already, which are not of this restore",
            f"--map-topic {sources[name]}=NAME restores it under another name, --exclude {sources[name]} leaves it out; "
            f"or delete topic {name}, if nobody needs it",
        )
        for name in plan.filled
    ]


def _replicas(plan: Plan, wanted: int | None) -> list[str]:
    """The topics that are created with another number of replicas than they had."""
    changed: dict[tuple[int, int], list[str]] = {}
    sources = {route.target: route.source for route in plan.found.routes}
    for spec in plan.found.findings.create:
        had = plan.found.sources[sources[spec.name]].replicas
        if spec.replication_factor != had:
            changed.setdefault((spec.replication_factor, had), []).append(spec.name)
    why = "" if wanted is not None else f": the target has {counted(plan.found.brokers, 'broker')}"
    return [
        f"  {', '.join(names[:3])}{f' and {len(names) - 3:,} more' if len(names) > 3 else ''}: created with "
        f"{counted(now, 'replica')} of each partition instead of {had}{why}"
        for (now, had), names in changed.items()
    ]


_REPHRASED = (
    (
        "the broker's copy of the log is damaged: restore it from a replica, or read past it",
        "name the log directories of other brokers as well, or --on-corrupt skip restores what is left",
    ),
    ("--on-gap record copies what is left and reports the gap", "--on-corrupt skip restores what is left"),
    (", or choose partitions by key: --partitions by-key", ""),
    ("run it again with --verify-only", "run it again"),
    (
        "check --sync-groups and --from",
        "name the log directories of other brokers as well, if groups were there",
    ),
    ("leave it out, or exclude it with --exclude-groups", "set its start offsets with `kcli groups rewind`"),
    (
        "check -t, --exclude, and the permission to describe topics",
        "check -t and --exclude, or name the log directories of other brokers as well",
    ),
    ("run it again when more is copied", "run it again when more is restored"),
    ("run the mirror: it has not copied what follows its position", "run it again"),
    ("if the mirror is to set it again", "if the restore is to set it again"),
    ("check -t and --from", "check -t, or name the log directories of other brokers as well"),
    ("--sync-groups copies committed offsets", "--with-groups sets the committed offsets of groups"),
    ("run the mirror more often than the source deletes records, or keep them longer there", ""),
)


def rephrased(remedy: str) -> str:
    """A remedy of the mirror for the user of ``segments restore``. Pure."""
    if "kcli mirror reset" in remedy:
        return "delete the topic of the target, and restore it with a new --job NAME"
    for of_mirror, own in _REPHRASED:
        remedy = remedy.replace(of_mirror, own)
    return remedy
