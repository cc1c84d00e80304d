"""``kcli acls check``: whether ACLs allow an operation, by the rules of Kafka's StandardAuthorizer. ``decide`` is pure.

An ACL that denies precedes all that allow; without one that allows, an operation is denied. ``User:*`` is every
principal, ``all`` every operation; to allow READ, WRITE, DELETE or ALTER allows DESCRIBE, ALTER_CONFIGS allows
DESCRIBE_CONFIGS; to deny them denies nothing else. Brokers tell neither who is a superuser (``super.users``) nor what is
allowed on resources without any ACL (``allow.everyone.if.no.acl.found``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import product

from kcli.core.admin.acls import AclBinding, AclFilter, AclPattern, AclPermission, AclResource, word
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import AclOperation
from kcli.flows.acls.selection import Resource, Selection, java_form, matching_each
from kcli.output.tables import Column

ALLOWED, DENIED = "allowed", "denied"
EVERYONE = "User:*"
_OP = AclOperation
_INCLUDED = {
    _OP.DESCRIBE: frozenset((_OP.READ, _OP.WRITE, _OP.DELETE, _OP.ALTER)),
    _OP.DESCRIBE_CONFIGS: frozenset((_OP.ALTER_CONFIGS,)),
}
"""What is allowed by ACLs that allow another operation."""

COLUMNS = (
    Column("principal", "prose", values="string", meaning="Who asks, such as User:alice."),
    Column(
        "host", spare=1, values="string?", meaning="From which address; null: from one that no ACL names."
    ),
    Column("operation", values="string", meaning="The operation, such as read."),
    Column("resource_type", values="string", meaning="The type of the resource, such as topic."),
    Column("resource_name", "prose", values="string", meaning="Its name."),
    Column("verdict", values=(ALLOWED, DENIED), meaning="What the ACLs say."),
    Column("rule", "prose", values="string?", meaning="The ACL that decides; null where none applies."),
    Column("why", "prose", values="string", meaning="The reason in words."),
)


class DeniedError(KcliError):
    """An operation is not allowed by the ACLs."""

    exit_code = ExitCode.CHECK


class Asked(NamedTuple):
    """``host`` None: an address that no ACL names."""

    principal: str
    host: str | None
    operation: AclOperation
    resource: Resource

    def __str__(self) -> str:
        kind = word(self.resource.kind).replace("_", " ")
        return f"{self.principal} {word(self.operation)} {kind} {self.resource.name}"


class Verdict(NamedTuple):
    """``rule`` decides; None where no ACL applies. ``by_host`` are ACLs of single hosts, which say something else."""

    asked: Asked
    allowed: bool
    rule: AclBinding | None
    why: str
    by_host: Sequence[AclBinding] = ()

    def row(self) -> dict[str, str | None]:
        """The cells of ``COLUMNS``."""
        asked = self.asked
        return {
            "principal": asked.principal,
            "host": asked.host,
            "operation": word(asked.operation),
            "resource_type": word(asked.resource.kind),
            "resource_name": asked.resource.name,
            "verdict": ALLOWED if self.allowed else DENIED,
            "rule": None if self.rule is None else str(self.rule),
            "why": self.why,
        }


def questions(selected: Selection) -> list[Asked]:
    """One for each combination of principal, resource, operation and host."""
    hosts = tuple(map(java_form, selected.hosts)) or (None,)
    combinations = product(selected.principals, selected.resources, selected.operations, hosts)
    return [
        Asked(principal, host, operation, resource) for principal, resource, operation, host in combinations
    ]


def verdicts(admin: Admin, asked: Sequence[Asked]) -> list[Verdict]:
    """The verdicts, by the ACLs of now."""
    acls = matching_each(
        admin,
        {one.resource: AclFilter(one.resource.kind, one.resource.name, AclPattern.MATCH) for one in asked},
    )
    return [decide(one, acls[one.resource]) for one in asked]


def decide(asked: Asked, acls: Collection[AclBinding]) -> Verdict:
    """``acls`` are all that apply to the resource, whoever they are for."""
    ours = [one for one in acls if one.principal in (asked.principal, EVERYONE)]
    denying = [one for one in ours if one.permission is AclPermission.DENY and _is_of(one, asked.operation)]
    allowing = [
        one
        for one in ours
        if one.permission is AclPermission.ALLOW
        and (_is_of(one, asked.operation) or one.operation in _INCLUDED.get(asked.operation, ()))
    ]
    deny, allow = _first(denying, asked), _first(allowing, asked)
    elsewhere = [one for one in (*denying, *allowing) if asked.host is None and one.host != "*"]
    if deny is not None:
        return Verdict(asked, False, deny, _denied_by(deny), [one for one in elsewhere if one not in denying])
    if allow is not None:
        others = [one for one in elsewhere if one in denying]
        return Verdict(asked, True, allow, _allowed_by(allow, asked), others)
    if not acls:
        why = "the resource has no ACL: only allow.everyone.if.no.acl.found could allow it"
    elif elsewhere:
        why = "ACLs allow it from other hosts only"
    else:
        why = "no ACL allows it"
    return Verdict(asked, False, None, why, [one for one in elsewhere if one not in denying])


def _is_of(one: AclBinding, operation: AclOperation) -> bool:
    return one.operation in (operation, _OP.ALL)


def _first(found: Sequence[AclBinding], asked: Asked) -> AclBinding | None:
    """The most specific ACL that applies from the host."""
    applying = [one for one in found if one.host in ("*", asked.host)]

    def rank(one: AclBinding) -> tuple[bool, bool, int, bool, AclBinding]:
        prefixed = one.pattern is AclPattern.PREFIXED
        return (one.principal == EVERYONE, prefixed or one.name == "*", -len(one.name), one.host == "*", one)

    return min(applying, key=rank, default=None)


def _denied_by(rule: AclBinding) -> str:
    return f"denied {_to_whom(rule)}{_how(rule)}; an ACL that denies precedes those that allow"


def _allowed_by(rule: AclBinding, asked: Asked) -> str:
    if _is_of(rule, asked.operation):
        return f"allowed {_to_whom(rule)}{_how(rule)}"
    return f"{word(rule.operation)} is allowed {_to_whom(rule)}{_how(rule)}, and includes {word(asked.operation)}"


def _to_whom(rule: AclBinding) -> str:
    return "to every principal" if rule.principal == EVERYONE else f"to {rule.principal}"


def _how(rule: AclBinding) -> str:
    kind = word(rule.resource).replace("_", " ")
    if rule.resource is AclResource.CLUSTER:
        return ""
    if rule.pattern is AclPattern.PREFIXED:
        return f" on every {kind} whose name begins with {rule.name}"
    return f" on every {kind}" if rule.name == "*" else f" on {kind} {rule.name}"
