"""The options of ``kcli acls`` that name ACLs: exact ones for ``create``, filters for the other verbs."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from kcli.commands.shared.command import options
from kcli.commands.shared.options import GROUP, TOPIC, OfferedType, option
from kcli.commands.shared.params import Word
from kcli.commands.shared.usage import Refused, nearest, usage
from kcli.core.admin.acls import CLUSTER_NAME, AclPattern, AclPermission, AclResource, word
from kcli.core.names import is_topic_name
from kcli.core.permissions import AclOperation
from kcli.flows.acls.operations import OPERATIONS_OF
from kcli.flows.acls.presets import CONSUMER, MIRROR_SOURCE, MIRROR_TARGET, PRODUCER
from kcli.flows.acls.selection import Resource, Selection, address_of

V = TypeVar("V")

_USER = "User"
_TOPIC_NAMES = "a topic name has 1 to 249 letters, digits, dots, underscores or hyphens"

_FLAG = {
    AclResource.TOPIC: "--topic",
    AclResource.GROUP: "--group",
    AclResource.CLUSTER: "--cluster",
    AclResource.TRANSACTIONAL_ID: "--transactional-id",
    AclResource.DELEGATION_TOKEN: "--delegation-token",
    AclResource.USER: "--user-principal",
}
_RESOURCE_FLAGS = "--topic, --group, --cluster, --transactional-id, --delegation-token or --user-principal"

_OPERATIONS = OfferedType(
    "operation",
    (
        "all", "read", "write", "create", "delete", "alter", "describe", "cluster_action", "describe_configs",
        "alter_configs", "idempotent_write", "two_phase_commit", "create_tokens", "describe_tokens",
    ),
)  # fmt: skip


def _not_empty(what: str) -> Word:
    def read(text: str) -> str:
        if not text:
            raise ValueError(f"the {what} is empty; perhaps a variable is not set")
        return text

    return Word(what, read)


_TRANSACTIONAL_ID, _TOKEN_ID = _not_empty("transactional id"), _not_empty("token id")


def acl_options(
    verb: str,
    *,
    patterns: tuple[str, ...] = ("literal", "prefixed"),
    topic: str = "ACLs for this topic; '*' is those for all",
    pattern: str = "only this kind of name",
    host: str = "only ACLs for this address; '*' is those for any",
    deny: str = "only ACLs that deny",
    presets: bool = False,
) -> Callable[[Callable[[Selection], Any]], Callable[..., Any]]:
    """The options that name ACLs; the command gets the ``Selection``. ``topic``, ``pattern``, ``host``, ``deny``: what
    they mean for the verb; by default they select ACLs that exist. There is no --pattern without ``patterns``, and no
    --deny where that is empty. ``presets``: whether a kind of client may stand for its operations.
    """
    who = (
        option("--principal", "principals", multiple=True, metavar="TYPE:NAME", help="as in User:alice"),
        option(
            "--operation", "operations", type=_OPERATIONS, multiple=True, metavar="OPERATION", help="as in read"
        ),
        option("--host", "hosts", multiple=True, metavar="ADDRESS", help=host),
        *((option("--deny", is_flag=True, help=deny),) if deny else ()),
    )  # fmt: skip
    kinds = (
        option("--producer", is_flag=True, help="what a producer needs: topics, and perhaps transactional ids"),
        option("--consumer", is_flag=True, help="what a consumer needs: topics and groups"),
        option(
            "--mirror", "mirrors", type=click.Choice(("source", "target")), multiple=True,
            help="what `kcli mirror` needs on its source, or on its target",
        ),
    )  # fmt: skip
    resources = (
        option("--topic", "topics", type=TOPIC, multiple=True, metavar="TOPIC", help=topic),
        option("--group", "groups", type=GROUP, multiple=True, metavar="GROUP", help="a consumer group"),
        option(
            "--transactional-id", "transactional_ids", type=_TRANSACTIONAL_ID, multiple=True, metavar="ID",
            help="a transactional id",
        ),
        option(
            "--delegation-token", "token_ids", type=_TOKEN_ID, multiple=True, metavar="ID", help="a delegation token"
        ),
        option(
            "--user-principal", "users", multiple=True, metavar="TYPE:NAME",
            help="a user for whom tokens are created or described",
        ),
        option("--cluster", "cluster", is_flag=True, help="the cluster itself"),
        *((option("--pattern", type=click.Choice(patterns), help=pattern),) if patterns else ()),
    )  # fmt: skip

    def decorate(function: Callable[[Selection], Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(**given: Any) -> Any:
            return function(_selection(verb, **given))

        made = options("Who may do what", *who)(options("With what", *resources)(run))
        return options("For a kind of client", *kinds)(made) if presets else made

    return decorate


def _selection(
    verb: str,
    *,
    principals: Sequence[str],
    operations: Sequence[str],
    topics: Sequence[str],
    groups: Sequence[str],
    transactional_ids: Sequence[str],
    token_ids: Sequence[str],
    users: Sequence[str],
    cluster: bool,
    hosts: Sequence[str],
    pattern: str | None = None,
    deny: bool = False,
    producer: bool = False,
    consumer: bool = False,
    mirrors: Sequence[str] = (),
) -> Selection:
    """The options of ``acls list``, ``create``, ``delete`` or ``check``; usage errors for what cannot be meant."""
    resources = [Resource(AclResource.TOPIC, name) for name in topics]
    resources += [Resource(AclResource.GROUP, name) for name in groups]
    resources += [Resource(AclResource.TRANSACTIONAL_ID, name) for name in transactional_ids]
    resources += [Resource(AclResource.DELEGATION_TOKEN, name) for name in token_ids]
    resources += [Resource(AclResource.USER, _principal(verb, name, "--user-principal")) for name in users]
    resources += [Resource(AclResource.CLUSTER, CLUSTER_NAME)] * cluster
    found = Selection(
        principals=_unique(_principal(verb, text, "--principal") for text in principals),
        operations=_unique(_operation(verb, text) for text in operations),
        resources=_unique(resources),
        hosts=_unique(_host(verb, text) for text in hosts),
        pattern=AclPattern[pattern.upper()] if pattern else None,
        permission=AclPermission.DENY if deny else None,
        presets=(
            *(PRODUCER,) * producer,
            *(CONSUMER,) * consumer,
            *(MIRROR_SOURCE if side == "source" else MIRROR_TARGET for side in _unique(mirrors)),
        ),
    )
    if found.presets:
        _check_presets(found)
    if verb in ("create", "check"):
        _check_complete(verb, found)
        for resource in found.resources:
            _check_name(verb, resource, found.pattern)
            for operation in found.operations:
                _check_operation(verb, operation, resource.kind)
    elif found.pattern is AclPattern.MATCH and not found.resources:
        raise usage(
            "acls list: --pattern match without a name",
            why="it selects the ACLs that apply to a topic, group or transactional id",
            do="write --topic orders --pattern match, for example; without --pattern, all ACLs are listed",
        )
    if found.resources and {resource.kind for resource in found.resources} == {AclResource.CLUSTER}:
        _check_cluster(verb, found.pattern)
    return found


def _unique(values: Iterable[V]) -> tuple[V, ...]:
    return tuple(dict.fromkeys(values))


def _principal(verb: str, text: str, option: str) -> str:
    kind, colon, name = text.partition(":")
    if not text:
        raise _empty(verb, option)
    if not colon or not kind or not name:
        missing = "a type before the name" if not colon else "a type" if not kind else "a name"
        raise usage(
            f"acls {verb}: {option} {text} is not TYPE:NAME",
            why=f"it lacks {missing}; the type of users is User, and Kafka compares all of it literally",
            do=f"write {option} {_USER}:{name or (kind if kind and not colon else 'NAME')}",
        )
    if kind != _USER and kind.lower() in (_USER.lower(), "users"):
        raise usage(
            f"acls {verb}: {option} {text} has no type that brokers use",
            why=f"types are compared literally, and that of users is {_USER}",
            do=f"did you mean {option} {_USER}:{name}?",
        )
    return text


def _operation(verb: str, text: str) -> AclOperation:
    """In any case and spelling: ``read``, ``Read``, ``DescribeConfigs``, ``describe-configs``."""
    if not text:
        raise _empty(verb, "--operation")
    known = {_plain(operation.name): operation for operation in AclOperation}
    found = known.get(_plain(text))
    if found is not None:
        return found
    near = nearest(_plain(text), known)
    names = ", ".join(map(word, OPERATIONS_OF[AclResource.TOPIC]))
    raise usage(
        f"acls {verb}: there is no operation {text!r}",
        why=f"those on topics are {names}",
        do=f"did you mean {word(known[near])}?" if near else "`kcli acls create --help` has examples",
    )


def _plain(text: str) -> str:
    return re.sub("[-_ ]", "", text).lower()


def _host(verb: str, text: str) -> str:
    if not text:
        raise _empty(verb, "--host")
    if verb in ("create", "check") and (text != "*" or verb == "check") and address_of(text) is None:
        raise usage(
            f"acls {verb}: --host {text} is not an IP address",
            why="Kafka compares the address of a client's connection: a name or a range never matches",
            do="write an address, as in --host 192.0.2.7, or leave it out for any host",
        )
    return text


def _empty(verb: str, option: str) -> Refused:
    return usage(
        f"acls {verb}: {option} is empty",
        why="perhaps a variable is not set",
        do="give it a value" if verb in ("create", "check") else "leave the option out to select any",
    )


def _check_complete(verb: str, found: Selection) -> None:
    missing = [
        (option, example)
        for option, values, example in (
            ("--principal", found.principals, "--principal User:alice"),
            ("--operation", found.operations or found.presets, "--operation read"),
            (_RESOURCE_FLAGS, found.resources, "--topic orders"),
        )
        if not values
    ]
    if missing:
        raise usage(
            f"acls {verb}: missing option {missing[0][0]}",
            why=f"{'an ACL' if verb == 'create' else 'the question'} is about a principal, an operation and a resource",
            do=f"add {' '.join(example for _, example in missing)}, for example",
        )


def _check_presets(found: Selection) -> None:
    """A preset has its own operations, allows, and takes what it has a use for."""
    names = " and ".join(preset.option for preset in found.presets)
    unfit = "--operation" if found.operations else "--deny" if found.permission else ""
    if unfit:
        raise usage(
            f"acls create: {names} with {unfit}",
            why=f"{names} allows the operations that such a client needs",
            do=f"leave out {unfit}, or {names}",
        )
    for preset in found.presets:
        for kind in preset.needed:
            if all(one.kind is not kind for one in found.resources):
                raise usage(
                    f"acls create: {preset.option} without {_FLAG[kind]}",
                    why=f"such a client needs a {word(kind)}",
                    do=f"add {_FLAG[kind]} {'orders' if kind is AclResource.TOPIC else 'billing'}, for example",
                )
    used = {kind for preset in found.presets for kind in preset.operations}
    for one in found.resources:
        if one.kind not in used:
            flags = ", ".join(_FLAG[kind] for kind in AclResource if kind in used)
            raise usage(
                f"acls create: {names} with {_FLAG[one.kind]}",
                why=f"it takes {flags}",
                do=f"leave out {_FLAG[one.kind]}, or grant it by --operation, in a command of its own",
            )


def _check_name(verb: str, resource: Resource, pattern: AclPattern | None) -> None:
    flag, name = _FLAG[resource.kind], resource.name
    if pattern is AclPattern.PREFIXED and name == "*":
        raise usage(
            f"acls {verb}: {flag} '*' with --pattern prefixed",
            why="no name begins with *: such an ACL would never apply",
            do="leave out --pattern: the literal '*' is for all names",
        )
    if verb == "check" and name == "*":
        raise usage(
            f"acls check: {flag} '*'",
            why="a client asks for one name, and '*' is none",
            do=f"name one, as in {flag} orders; `kcli acls list --topic '*'` lists the ACLs for all",
        )
    if resource.kind is AclResource.TOPIC and name != "*" and not is_topic_name(name):
        prefix = name.rstrip("*")
        starred = verb == "create" and prefix != name and is_topic_name(prefix)
        raise usage(
            f"acls {verb}: no topic can have the name {name!r}",
            why="ACLs have no patterns but '*' alone, for all names" if starred else _TOPIC_NAMES,
            do=f"write --topic {prefix} --pattern prefixed"
            if starred
            else "`kcli topics list` lists the topics",
        )


def _check_operation(verb: str, operation: AclOperation, kind: AclResource) -> None:
    if operation in OPERATIONS_OF[kind]:
        return
    others = [other for other, operations in OPERATIONS_OF.items() if operation in operations]
    flags = " or ".join(_FLAG[other] for other in others)
    raise usage(
        f"acls {verb}: {word(operation)} is no operation on a {word(kind).replace('_', ' ')}",
        why=f"those are {', '.join(map(word, OPERATIONS_OF[kind]))}",
        do=f"use it with {flags}, in a command of its own",
    )


def _check_cluster(verb: str, pattern: AclPattern | None) -> None:
    if pattern is AclPattern.PREFIXED:
        raise usage(
            f"acls {verb}: --cluster with --pattern prefixed",
            why=f"there is one cluster, and the name of the resource is always {CLUSTER_NAME}",
            do="leave out --pattern",
        )
