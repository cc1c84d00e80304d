"""The plan of a copy to another cluster: what is shown, what stands against it, and what has to be asked. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple
from kcli.core.errors import AuthError, KcliError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.job.job import Ends
from kcli.flows.mirror.topics.configs import own_settings_left
from kcli.flows.mirror.topics.preflight import ConflictError, Login, grant_commands
from kcli.flows.mirror.topics.survey import Survey
from kcli.output.progress import counted

if TYPE_CHECKING:
    from kcli.flows.mirror.acls.plan import AclPlan


class PlannedPartition(NamedTuple):
    """A partition, copied from offset ``start`` up to, not including, ``end`` (None: without end). ``error``: why it is
    not copied.
    """

    source: TopicPartition
    target: TopicPartition
    start: int
    end: int | None
    error: KcliError | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to be copied."""
        return self.end is not None and self.start >= self.end


_BESIDE_RECORDS = {
    "acls": "ACLs",
    "quotas": "quotas",
    "groups": "committed offsets of groups",
    "schemas": "schemas of a registry",
    "aborted": "records of aborted transactions",
}
"""What belongs to a topic or a cluster besides the records that its readers see."""


class CopyPlan(NamedTuple):
    """What is going to be copied.

    ``own``: the topics that the job copies already, from source to target; ``items``: the partitions. ``unfit``: the
    target cannot be written by a producer of this kind. ``compares``: nothing is copied. ``deletes``: a topic that is
    deleted at the source is deleted on the target as well. ``title``: what is copied, if it is no mirror; ``remarks``:
    further lines of the plan. ``carries``: keys of ``_BESIDE_RECORDS`` that are copied, too;
    ``acls``: what becomes of ACLs, None where they are not synced.
    """

    job: str
    found: Survey
    own: Mapping[str, str]
    items: Sequence[PlannedPartition]
    ends: Ends
    exactly_once: bool
    unfit: KcliError | None = None
    compares: bool = False
    deletes: bool = False
    title: str | None = None
    remarks: Sequence[str] = ()
    acls: AclPlan | None = None
    carries: Collection[str] = ()

    @property
    def partitions(self) -> Mapping[str, int]:
        """How many of each source topic are copied."""
        return Counter(one.source.topic for one in self.items)

    @property
    def filled(self) -> list[str]:
        """The target topics that have records already, of somebody else."""
        return [
            route.target
            for route in self.found.routes
            if not self.compares
            and self.own.get(route.source) != route.target
            and self.ends.has_records(route.target)
        ]

    @property
    def not_carried_over(self) -> list[str]:
        """What of the source the target does not get, in words."""
        return [text for name, text in _BESIDE_RECORDS.items() if name not in self.carries]

    @property
    def settings_left(self) -> dict[str, list[str]]:
        """The settings of source topics that are not carried over, and the topics that set them."""
        found: dict[str, list[str]] = {}
        for source, target in self.found.routes:
            values = self.found.findings.in_force.get(target)
            for key in () if values is None else own_settings_left(self.found.sources[source].own, values):
                found.setdefault(key, []).append(source)
        return found

    def refusal(self, source: Login, target: Login) -> KcliError | None:
        """Why it cannot begin: AuthError for missing permissions, ConflictError for a target that cannot hold the copy,
        UnsupportedError for brokers that are too old.
        """
        denied, conflicts = self.found.findings.denied, self.found.findings.conflicts
        if denied:
            return AuthError(
                f"{counted(len(denied), 'permission')} missing",
                why="; ".join(finding.what for finding in denied),
                do=f"have {'it' if len(denied) == 1 else 'them'} granted"
                f"{'' if any(one.route is None for one in denied) else ', or leave these topics out'}: "
                + "; ".join(f"`{command}`" for command in grant_commands(denied, source, target)),
            )
        if self.compares:
            return None
        if not conflicts:
            return self.unfit
        routes = dict.fromkeys(finding.route for finding in conflicts)
        return ConflictError(
            "; ".join(f"topic {one.target} cannot hold an exact copy of {one.source}" for one in routes),
            why="; ".join(
                finding.what if len(routes) == 1 else f"{finding.route.target}: {finding.what}"
                for finding in conflicts
            ),
            do="; ".join(dict.fromkeys(finding.do for finding in conflicts)),
        )
