"""The lease of a mirror job: one instance copies, the others are stand-bys that take over when it ends.

The members of a group on the target are the instances (``core/group/lease.py``). The lease says who may begin; what an
instance that lost it still does is fenced by the job's transactional id, with which all positions are written. Who an
instance is stands in its client id, which brokers show in every state of the group.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription
from kcli.core.admin.members import GroupMember
from kcli.core.classes import NamedTuple
from kcli.core.clock import since_boot, wall_ms
from kcli.core.error_codes import GROUP_AUTHORIZATION_FAILED, TRANSACTIONAL_ID_AUTHORIZATION_FAILED
from kcli.core.errors import BrokerError, KcliError, NotFoundError
from kcli.core.group.lease import GroupLease
from kcli.core.hooks import Hooks
from kcli.core.names import LEASES, MIRROR_TRANSACTIONS
from kcli.core.options import ConsumerOptions
from kcli.core.permissions import AclOperation, is_allowed, on_group, on_transactional_id
from kcli.flows.mirror.job.state import JobId
from kcli.flows.mirror.job.store import STATE
from kcli.flows.mirror.settings import Cluster
from kcli.flows.mirror.topics.preflight import ConflictError, Denied
from kcli.flows.stop import Stop
from kcli.output.tables import time_text

_PREFIX = "kcli-mirror"
SESSION_MS, _BEAT_MS = 9_000, 1_000
"""Of members: one that does not respond for so long has lost the lease; a heartbeat is sent so often."""

_LOOK = 0.2  # seconds between two looks at the lease
_LOOK_FOR_DEAD = 1.0  # seconds between two looks for instances of this host that were killed
_SETTLE = 3.0  # seconds in which a group that rebalances is described again
_SETTLE_PAUSE = 0.2


class Instance(NamedTuple):
    """A process that runs a job. ``place``: equal for processes that see each other's pids; ``start``: of the process, as
    its system counts, so that a pid that was used again is not taken for it. Both are empty where they are not known.
    """

    host: str
    pid: int
    since_ms: int
    place: str = ""
    start: str = ""

    def __str__(self) -> str:
        return f"{self.host} (pid {self.pid}) since {time_text(self.since_ms)}"

    @property
    def client_id(self) -> str:
        """Its client id; the host is last, since it may have dots."""
        return ".".join(
            [_PREFIX, str(self.pid), self.start or "0", str(self.since_ms), self.place or "0", self.host]
        )

    @property
    def is_dead(self) -> bool:
        """Whether it is known to have ended: it ran where this process runs, and is not there any more."""
        here = _place()
        return bool(here) and self.place == here and bool(self.start) and _start_of(self.pid) != self.start


def this_instance() -> Instance:
    """This process."""
    pid = os.getpid()
    return Instance(os.uname().nodename, pid, wall_ms(), _place(), _start_of(pid))


def read_instance(client_id: str) -> Instance | None:
    """The instance of a member; None for a client of another kind."""
    parts = client_id.split(".", 5)
    if len(parts) != 6 or parts[0] != _PREFIX or not (parts[1].isdigit() and parts[3].isdigit()):
        return None
    _, pid, start, since, place, host = parts
    return Instance(host, int(pid), int(since), place.strip("0") and place, start.strip("0") and start)


def _place() -> str:
    """The boot of this machine and the namespace of pids, on Linux: a container does not see those of another one."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
    digest: str = _sha256(f"{boot} {space}".encode()).hexdigest()
    return digest[:12]


def _sha256(data: bytes) -> Any:
    """As ``hashlib.sha256``, which loads OpenSSL: an eightieth of a short mirror."""
    try:
        from _sha2 import sha256  # type: ignore[import-not-found]
    except ImportError:
        try:
            from _sha256 import sha256  # type: ignore[import-not-found] # before Python 3.12
        except ImportError:  # an interpreter without hashes of its own
            from hashlib import sha256  # the last way
    return sha256(data)


def _start_of(pid: int) -> str:
    """When the process began, in ticks since the boot (proc(5), field 22 of stat); empty if there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            stat = file.read()
    except OSError:
        return ""
    state, *fields = stat.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]


def lease_group(job: JobId) -> str:
    """The group whose members are the instances of the job."""
    return f"{LEASES}{job.job}.{job.source}"


def transactional_id(job: JobId) -> str:
    """That of all runs of the job: a new one fences the others."""
    return f"{MIRROR_TRANSACTIONS}{job.job}.{job.source}"


def denied_to_lease(admin: Admin, job: JobId) -> list[Denied]:
    """What this client may not do with the group and the transactional id of the job, as far as brokers say it before: of
    a group since 2.3 once it exists (KIP-430), of a transactional id since 3.0 (KIP-664).
    """
    group, own = lease_group(job), transactional_id(job)
    denied = []
    described = admin.describe_groups([group], include_operations=True)[group]
    operations = described.operations if isinstance(described, GroupDescription) else None
    if _is_code(described, GROUP_AUTHORIZATION_FAILED) or not is_allowed(operations, AclOperation.READ):
        what = f"READ on group {group} of the target"
        denied.append(Denied(None, what, on_group("READ", group), of_source=False))
    if _is_code(_transaction(admin, own), TRANSACTIONAL_ID_AUTHORIZATION_FAILED):
        what = f"WRITE on transactional id {own} of the target"
        denied.append(Denied(None, what, on_transactional_id(own), of_source=False))
    return denied


def _transaction(admin: Admin, name: str) -> object:
    try:
        return admin.describe_transactions([name])[name]
    except KcliError as error:  # brokers that do not have the request
        return error


def _is_code(error: object, code: int) -> bool:
    return isinstance(error, BrokerError) and error.code == code


class LeaseLostError(KcliError):
    """Another instance of the job may have taken over."""


class JobLease:
    """The membership of this process; ``with`` ends it. ``admin``: of the target."""

    def __init__(self, cluster: Cluster, admin: Admin, job: JobId, hooks: Hooks) -> None:
        self._admin = admin
        self._job = job
        self._me = this_instance()
        options = cluster.options(
            ConsumerOptions,
            client_id=self._me.client_id,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=_BEAT_MS,
        )
        self._lease = GroupLease(options, lease_group(job), STATE, hooks)
        self._term: int | None = None
        self._started = False
        self.has_waited = False
        """Whether another instance may have run the job while ``take`` waited."""

    def __enter__(self) -> "JobLease":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves: a stand-by takes over at once."""
        self._lease.close()

    @property
    def is_held(self) -> bool:
        """Whether this instance has the job, as far as the coordinator has answered."""
        return self._term is not None and self._lease.term == self._term and self._lease.is_held

    @property
    def other(self) -> Instance | None:
        """Who else has it, as far as that is known."""
        holder = None if self._lease.holder is None else read_instance(self._lease.holder)
        return None if holder == self._me else holder

    def take(
        self,
        stop: Stop,
        *,
        stand_by: bool,
        note: Callable[[str], object],
        waiting: Callable[[], bool],
        turned: Callable[[], object] = lambda: None,
    ) -> bool:
        """Returns True when the job is this instance's; False after a stop. Where another one has it, waits for its end;
        without ``stand_by``, ConflictError names it. ``waiting`` is called while nobody is known to have it, and says
        whether to wait on; ``turned`` in each turn.

        Called again, it asks the coordinator: who was removed from the group, and then fenced, learns of the one by the
        other, and would fence in turn.
        """
        lease, asked = self._lease, since_boot()
        self.has_waited = False
        if not self._started:
            self._remove_dead()
            lease.start()
            self._started = True
        waits_for: str | None = None
        look_at = time.monotonic() + _LOOK_FOR_DEAD
        while not stop:
            turned()
            self._term = lease.term
            if self._term is not None and lease.is_held_since(asked):
                if waits_for is not None:
                    note(
                        f"job {self._job.job}: {waits_for} has ended or does not answer; this instance takes over"
                    )
                return True
            holder = None if lease.holder is None else read_instance(lease.holder)
            if self._term is None and holder is not None and holder != self._me and not holder.is_dead:
                if not stand_by:
                    raise held(self._job, holder)
                self.has_waited = True
                if waits_for != str(holder):
                    waits_for = str(holder)
                    note(
                        f"stand-by: job {self._job.job} is run by {waits_for}; this instance takes over when it ends"
                    )
            if self._term is None and time.monotonic() >= look_at:
                # While a JoinGroup is held back, the coordinator waits for somebody: perhaps for one that was killed.
                self.has_waited = True
                if holder is None or holder.is_dead:
                    self._remove_dead()
                look_at = time.monotonic() + _LOOK_FOR_DEAD
            if holder is None and not waiting():
                return False
            lease.wait(_LOOK)
        return False

    def seize(self, stop: Stop) -> list[Instance]:
        """Takes the lease from whoever has it, and returns the instances that had it; it is not taken after a stop.

        All other members are removed, again and again until this one leads: those that join anew are stand-bys then. One
        that led sends records for as long as it believes so, at most ``SESSION_MS`` after its removal.
        """
        lease = self._lease
        removed: dict[Instance, None] = dict.fromkeys(self._remove(lambda one: one != self._me))
        lease.start()
        self._started = True
        while not stop:
            self._term = lease.term
            if self._term is not None and lease.is_held:
                break
            removed |= dict.fromkeys(self._remove(lambda one: one != self._me))
            lease.wait(_LOOK)
        self.has_waited = True
        return list(removed)

    def check(self, stop: Stop, waiting: Callable[[], bool]) -> bool:
        """Called before records are sent: whether they may be. Waits while the coordinator does not answer, as others may
        lead then, and ``waiting`` says so; LeaseLostError when it is known that the term is over.
        """
        lease = self._lease
        if lease.holds(self._term):
            return not stop
        while not stop:
            if lease.term != self._term:
                raise LeaseLostError(f"the lease of mirror job {self._job.job} is lost")
            if lease.is_held:
                return True
            if not waiting():
                return False
            lease.wait(_LOOK)
        return False

    def _remove_dead(self) -> None:
        """Removes instances of this host that were killed, so that their session is not waited for."""
        with suppress(KcliError):  # without them it takes a session timeout
            self._remove(lambda one: one.is_dead, "the process was killed")

    def _remove(
        self, which: Callable[[Instance], bool], reason: str = "the job is promoted"
    ) -> list[Instance]:
        """Removes members from the group of the job; returns those that had the lease, and may run still."""
        group = lease_group(self._job)
        described = self._admin.describe_groups([group])[group]
        found = [
            (one, member)
            for member in (described.members if isinstance(described, GroupDescription) else ())
            if (one := read_instance(member.client_id)) is not None and which(one)
        ]
        if found:
            members = [GroupMember(member.member_id) for _, member in found]
            self._admin.remove_members({group: members}, reason=reason)
        return [one for one, member in found if STATE in (member.assignment or ()) and not one.is_dead]


def held(job: JobId, holder: Instance, do: str = "end that process first") -> ConflictError:
    """The job is run by another process, and that is not waited for."""
    return ConflictError(
        f"mirror job {job.job} is run by {holder.host} (pid {holder.pid})",
        why=f"it has the lease of the job (group {lease_group(job)}) since {time_text(holder.since_ms)}",
        do=do,
    )


class Instances(NamedTuple):
    """Who runs a job: ``holder`` copies, ``standbys`` wait. ``known`` is False where the group cannot be described, or
    has not agreed on a holder.
    """

    holder: Instance | None = None
    standbys: Sequence[Instance] = ()
    known: bool = True


def read_instances(admin: Admin, jobs: Iterable[JobId], settle: float = _SETTLE) -> dict[JobId, Instances]:
    """The instances of each job, of the target of ``admin``. ``settle``: seconds for a group that rebalances."""
    groups = {lease_group(job): job for job in jobs}
    found: dict[JobId, Instances] = {}
    until = time.monotonic() + settle
    while groups:
        described: Mapping[str, GroupDescription | KcliError] = admin.describe_groups(list(groups))
        late = time.monotonic() >= until
        for name, one in described.items():
            instances = _instances(one)
            if instances.known or late or isinstance(one, KcliError):
                found[groups.pop(name)] = instances
        if groups:
            time.sleep(_SETTLE_PAUSE)  # a rebalance: members are without their assignments
    return found


def _instances(group: GroupDescription | KcliError) -> Instances:
    if isinstance(group, NotFoundError):
        return Instances()
    if isinstance(group, KcliError):
        return Instances(known=False)
    holder, others = None, []
    for member in group.members:
        instance = read_instance(member.client_id)
        if instance is not None and STATE in (member.assignment or ()):
            holder = instance
        elif instance is not None:
            others.append(instance)
    return Instances(holder, others, known=holder is not None or not others)
