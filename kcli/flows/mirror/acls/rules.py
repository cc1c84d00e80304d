"""Which ACLs of the source a mirror's target has to have. Pure: what is read and changed is in ``changes.py``.

An ACL concerns the job if it applies to one of its topics, or of its groups. What becomes of its resource:

| on the source | on the target |
| --- | --- |
| literal | literal, on the name of the copy |
| literal ``*`` | literal, on each copy: the target's other topics are not the source's |
| prefixed, and all topics that begin so, now and later, are the job's by the same names | prefixed |
| prefixed otherwise, and of groups | literal, on each copy |

And of its operation, until the job is promoted. A copy that others may write, delete or alter is a copy no longer, and
what they write has no place in the source; so what allows it waits (MirrorMaker 2 leaves out WRITE for that reason):

| ACL | until it is promoted | then |
| --- | --- | --- |
| deny | the same | the same |
| allow READ, DESCRIBE, DESCRIBE_CONFIGS | the same | the same |
| allow ALL | allow READ (which includes DESCRIBE) and DESCRIBE_CONFIGS | allow ALL |
| allow anything else | none | the same |

Nothing is allowed to more, or denied to less, than on the source: hosts stay, and ``User:*`` is everyone on both sides,
so that no rule maps it.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kcli.core.admin.acls import AclBinding, AclPattern, AclPermission, AclResource
from kcli.core.classes import NamedTuple, replace
from kcli.core.errors import ConfigError
from kcli.core.permissions import AclOperation
from kcli.flows.mirror.topics.routes import Rename, is_pattern, renamed, rule, select_topics
from kcli.flows.mirror.topics.survey import Selection

EVERYONE = "User:*"
_EVERY_NAME = "*"
_READS = frozenset({AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS})
_OF_ALL = (AclOperation.READ, AclOperation.DESCRIBE_CONFIGS)
_RULE = re.compile(r"(.+)=([A-Za-z]\w*:.+)", re.DOTALL)
"""The last ``=`` with a principal after it: distinguished names have some of their own."""
_BEGINNING = re.compile(r"\^((?:[\w-]|\\\.)*)\.\*\$?")
"""A regex for all names that begin with a text."""


class Scope(NamedTuple):
    """What a job's ACLs are for: its topics, from source to target, and its groups.

    ``whole``: the prefixes of topics that are the job's as a whole (``whole_prefixes``).
    """

    topics: Mapping[str, str]
    groups: Collection[str]
    whole: Collection[str] = ()

    def concerns(self, acl: AclBinding) -> bool:
        """Whether the ACL of the source applies to any of them."""
        return any(_resources(acl, self))


class Carried(NamedTuple):
    """``now``: what the target has to have. ``later``: what it lacks until the job is promoted. ``unknown``: the ACLs of
    the source whose pattern or permission this version does not know.
    """

    now: frozenset[AclBinding]
    later: frozenset[AclBinding]
    unknown: frozenset[AclBinding]


def parse_principal_rule(text: str) -> Rename:
    """Parses ``A=B`` or ``^REGEX=NAME`` for principals, as in ``User:alice=User:dr-alice``; ConfigError otherwise."""
    found = _RULE.fullmatch(text)
    old, new = found.groups() if found else ("", "")
    what = f"invalid --map-principal {text!r}"
    form = r"for example User:alice=User:dr-alice, or '^User:(.*)$=User:dr-\1'"
    if not old or (":" not in old and not old.startswith("^")):
        raise ConfigError(what, why="a rule has the form TYPE:NAME=TYPE:NAME", do=form)
    if EVERYONE in (old, new):
        raise ConfigError(what, why=f"{EVERYONE} is every user, on both clusters", do="leave it out")
    return rule(old, new, what, do=form)


def mapped_principal(principal: str, rules: Sequence[Rename]) -> str:
    """The principal on the target."""
    return principal if principal == EVERYONE else renamed(principal, rules)


def unused_rules(acls: Iterable[AclBinding], rules: Sequence[Rename]) -> list[int]:
    """The places of the rules that map no principal of the ACLs."""
    principals = {acl.principal for acl in acls} - {EVERYONE}
    used = {
        next((place for place, rule in enumerate(rules) if rule.apply(name) is not None), None)
        for name in principals
    }
    return [place for place in range(len(rules)) if place not in used]


def covering_prefixes(acls: Iterable[AclBinding], topics: Collection[str]) -> set[str]:
    """The prefixes of ACLs that apply to any of the source's ``topics``."""
    prefixes = {
        acl.name for acl in acls if acl.resource == AclResource.TOPIC and acl.pattern == AclPattern.PREFIXED
    }
    return {prefix for prefix in prefixes if any(topic.startswith(prefix) for topic in topics)}


def whole_prefixes(
    prefixes: Iterable[str], selection: Selection, source_topics: Iterable[str], target_topics: Iterable[str]
) -> set[str]:
    """The prefixes that mean the same topics on both sides: a pattern selects all that begin so, no rule renames one of
    them, and all that there are (``source_topics``, ``target_topics``: of the whole cluster) are selected.

    Elsewhere an ACL for the prefix would apply to topics of the target that are no copies, or miss renamed copies.
    """
    there = {*source_topics, *target_topics}
    patterns = [one for one in selection.selectors if is_pattern(one)]
    foreign = there.difference(select_topics(there, patterns, selection.copies))
    return {
        prefix
        for prefix in prefixes
        if any(_selects_all(pattern, prefix) for pattern in patterns)
        and not any(_may_rename(rule, prefix) for rule in selection.renames)
        and not any(topic.startswith(prefix) for topic in foreign)
    }


def _selects_all(pattern: str, prefix: str) -> bool:
    """Whether the pattern surely selects all names with the prefix."""
    if pattern.startswith("^"):
        found = _BEGINNING.fullmatch(pattern)
        return found is not None and prefix.startswith(found[1].replace("\\.", "."))
    return pattern.endswith("*") and not is_pattern(pattern[:-1]) and prefix.startswith(pattern[:-1])


def _may_rename(rule: Rename, prefix: str) -> bool:
    return not isinstance(rule.pattern, str) or rule.pattern.startswith(prefix)


def carried(acls: Iterable[AclBinding], scope: Scope, rules: Sequence[Rename]) -> Carried:
    """What the target has of the ACLs of the source: now, and when the job is promoted (``now`` and ``later``)."""
    now: set[AclBinding] = set()
    promoted: set[AclBinding] = set()
    unknown: set[AclBinding] = set()
    for acl in acls:
        if _is_unknown(acl):
            unknown.add(acl)
            continue
        principal = mapped_principal(acl.principal, rules)
        for pattern, name in _resources(acl, scope):
            there = replace(acl, pattern=pattern, name=name, principal=principal)
            promoted.add(there)
            now.update(_until_promoted(there))
    return Carried(frozenset(now), frozenset(promoted - now), frozenset(unknown))


def stale(
    there: Iterable[AclBinding],
    acls: Collection[AclBinding],
    scope: Scope,
    rules: Sequence[Rename],
    own: Collection[str],
) -> list[AclBinding]:
    """The ACLs of the target (``there``) for what is the job's alone, which none of the source (``acls``) calls for.

    Not what allows operations that no sync creates: the mirror itself needs some; nor those of the ``own`` principals.
    """
    needed: set[AclBinding] = set()
    for each in (scope, scope._replace(whole=())):
        found = carried(acls, each, rules)
        needed |= found.now | found.later
    copies = set(scope.topics.values())
    return [
        acl
        for acl in there
        if acl not in needed
        and acl.principal not in own
        and _is_of_job(acl, copies, scope)
        and (acl.permission == AclPermission.DENY or acl.operation in _READS)
    ]


def denies_writing(acl: AclBinding, own: Collection[str]) -> bool:
    """Whether the ACL keeps the ``own`` principals, as far as they are known, from writing to topics."""
    return (
        acl.permission == AclPermission.DENY
        and acl.resource == AclResource.TOPIC
        and acl.operation in (AclOperation.ALL, AclOperation.WRITE, AclOperation.DESCRIBE)
        and (acl.principal == EVERYONE or acl.principal in own)
    )


def _is_of_job(acl: AclBinding, copies: Collection[str], scope: Scope) -> bool:
    if acl.resource == AclResource.GROUP:
        return acl.pattern == AclPattern.LITERAL and acl.name in scope.groups
    if acl.pattern == AclPattern.PREFIXED:
        return acl.resource == AclResource.TOPIC and acl.name in scope.whole
    return acl.resource == AclResource.TOPIC and acl.pattern == AclPattern.LITERAL and acl.name in copies


def _is_unknown(acl: AclBinding) -> bool:
    return not isinstance(acl.pattern, AclPattern) or not isinstance(acl.permission, AclPermission)


def _resources(acl: AclBinding, scope: Scope) -> Iterator[tuple[AclPattern, str]]:
    """Pattern and name of what the ACL applies to on the target."""
    names: Mapping[str, str] = {}
    if acl.resource == AclResource.TOPIC:
        names = scope.topics
    elif acl.resource == AclResource.GROUP:
        names = {name: name for name in scope.groups}
    if acl.pattern == AclPattern.PREFIXED:
        if acl.resource == AclResource.TOPIC and acl.name in scope.whole:
            yield AclPattern.PREFIXED, acl.name
            return
        found = [target for source, target in names.items() if source.startswith(acl.name)]
    elif acl.name == _EVERY_NAME:
        found = [*names.values()]
    else:
        found = [names[acl.name]] if acl.name in names else []
    for name in found:
        yield AclPattern.LITERAL, name


def _until_promoted(acl: AclBinding) -> Iterator[AclBinding]:
    if acl.permission == AclPermission.DENY or acl.operation in _READS:
        yield acl
    elif acl.operation == AclOperation.ALL:
        for operation in _OF_ALL:
            yield replace(acl, operation=operation)
