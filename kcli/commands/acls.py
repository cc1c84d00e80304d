"""``kcli acls``: its verbs and options. What a verb does is in ``_acls_VERB.py``."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kcli.commands.shared.command import group, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import Word
from kcli.commands.shared.types import GROUP, TOPIC, OfferedType

F = TypeVar("F", bound=Callable[..., Any])

_OPERATIONS = OfferedType(
    "operation",
    (
        "all", "read", "write", "create", "delete", "alter", "describe", "cluster_action", "describe_configs",
        "alter_configs", "idempotent_write", "two_phase_commit",
    ),
)  # fmt: skip


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("the transactional id is empty; perhaps a variable is not set")
    return text


_TRANSACTIONAL_ID = Word("transactional id", _not_empty)


def _selection(
    *, patterns: tuple[str, ...], topic: str, pattern: str, host: str, deny: str
) -> Callable[[F], F]:
    """The options that name ACLs. ``topic``, ``pattern``, ``host``, ``deny``: what they mean for the verb."""
    who = (
        click.option("--principal", "principals", multiple=True, metavar="TYPE:NAME", help="as in User:alice"),
        click.option("--operation", "operations", type=_OPERATIONS, multiple=True, metavar="OP", help="as in read"),
        click.option("--host", "hosts", multiple=True, metavar="ADDRESS", help=host),
        click.option("--deny", is_flag=True, help=deny),
    )  # fmt: skip
    resources = (
        click.option("--topic", "topics", type=TOPIC, multiple=True, metavar="NAME", help=topic),
        click.option("--group", "groups", type=GROUP, multiple=True, metavar="NAME", help="a consumer group"),
        click.option(
            "--transactional-id", "transactional_ids", type=_TRANSACTIONAL_ID, multiple=True, metavar="NAME",
            help="a transactional id",
        ),
        click.option("--cluster", "cluster", is_flag=True, help="the cluster itself"),
        click.option("--pattern", type=click.Choice(patterns), help=pattern),
    )  # fmt: skip

    def decorate(function: F) -> F:
        return options("Who may do what", *who)(options("With what", *resources)(function))

    return decorate


@group(
    "acls",
    examples=(
        ("kcli acls list --topic orders --pattern match", "who may do what with a topic"),
        ("kcli acls create --principal User:alice --operation read --topic orders", "allow it"),
    ),
)
def acls() -> None:
    """List, create and delete ACLs: who may do what."""


@acls.command(
    "list",
    changes=False,
    examples=(
        ("kcli acls list", "all ACLs"),
        ("kcli acls list --principal User:alice", "of one principal"),
        ("kcli acls list --topic orders", "those with this name, whatever their pattern"),
        (
            "kcli acls list --topic orders --pattern match",
            "all that apply to the topic: prefixes and '*' too",
        ),
        ("kcli acls list --deny -o json", "what is denied, for scripts"),
    ),
)
@_selection(
    patterns=("literal", "prefixed", "match"),
    topic="ACLs for this topic; '*' is those for all",
    pattern="only this kind of name; match: all ACLs that apply to the given names",
    host="only ACLs for this address; '*' is those for any",
    deny="only ACLs that deny",
)
@pass_invocation
def list_acls(inv: Invocation, /, **flags: Any) -> int:
    """List ACLs.

    Options that are given several times select ACLs with one of the values; different options narrow the selection.
    Principals, hosts and operations are compared literally: `User:*`, `'*'` and all select the ACLs that say so.
    """
    from kcli.commands._acls_list import list_selected  # clients are loaded when the command runs

    return list_selected(inv, **flags)


@acls.command(
    "create",
    changes=True,
    examples=(
        (
            "kcli acls create --principal User:alice --operation read --topic orders --group billing",
            "to consume",
        ),
        ("kcli acls create --principal User:bob --operation write --topic orders --yes", "to produce"),
        (
            "kcli acls create --principal User:etl --operation all --topic etl- --pattern prefixed",
            "by prefix",
        ),
        ("kcli acls create --principal User:eve --operation all --topic '*' --deny", "deny it"),
        ("kcli acls create --principal User:ops --operation alter --cluster --dry-run", "only show the plan"),
    ),
)
@_selection(
    patterns=("literal", "prefixed"),
    topic="a topic; '*' is all topics",
    pattern="prefixed: for all names that begin with the given ones (default: literal)",
    host="only from this IP address (default: '*', any); Kafka compares no host names",
    deny="deny it, which precedes what is allowed",
)
@pass_invocation
def create_acls(inv: Invocation, /, **flags: Any) -> int:
    """Create ACLs: after a plan and a question, and with a check afterwards.

    One ACL for each combination of principal, operation, resource and host. An operation has to exist for each of the
    resources: idempotent_write and cluster_action, for example, only for --cluster.

    ACLs that exist already are shown as such and are no failure. READ, WRITE, DELETE and ALTER include DESCRIBE;
    ALTER_CONFIGS includes DESCRIBE_CONFIGS.
    """
    from kcli.commands._acls_create import create  # clients are loaded when the command runs

    return create(inv, **flags)


@acls.command(
    "delete",
    changes=True,
    examples=(
        ("kcli acls delete --principal User:alice", "shows them, asks for the principal to be typed"),
        ("kcli acls delete --principal User:bob --operation write --topic orders --yes", "in a script"),
        ("kcli acls delete --topic orders --dry-run", "only show what would be deleted"),
    ),
)
@_selection(
    patterns=("literal", "prefixed"),
    topic="ACLs for this topic; '*' is those for all",
    pattern="only this kind of name",
    host="only ACLs for this address; '*' is those for any",
    deny="only ACLs that deny",
)
@pass_invocation
def delete_acls(inv: Invocation, /, **flags: Any) -> int:
    """Delete ACLs: those that are selected and shown in the plan, and no others.

    The options select as in `kcli acls list`.

    What has to be typed, or given with --confirm, is the principal if all ACLs are of one, else the name of the
    resource if all are of one, else the cluster's id. --yes answers, too, unless neither a principal nor a resource
    is given: what could match every ACL requires --confirm with the cluster's id. Afterwards the ACLs are read again.
    Nothing selected: exit code 0.
    """
    from kcli.commands._acls_delete import delete  # clients are loaded when the command runs

    return delete(inv, **flags)
