"""``kcli export``: what a cluster has, as YAML documents."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.resource_kinds import KINDS, RESOURCE_KIND
from kcli.output.tables import Column

if TYPE_CHECKING:  # loaded when the command runs
    from kcli.flows.resources.resource import Resource

COLUMNS = (
    Column(
        "document",
        values="object",
        inner=(
            Column("apiVersion", values=("kcli/v1",), meaning="The version of the format."),
            Column("kind", values=KINDS, meaning="What it is."),
            Column(
                "metadata",
                values="object",
                inner=(Column("name", values="string", meaning="Its name."),),
                meaning="What identifies it; of ACLs and quotas that is in the spec.",
                sometimes=True,
            ),
            Column("spec", values="object", meaning="What is set, as files have it."),
        ),
        meaning="The document, as in YAML.",
    ),
)
OUTPUTS = ("yaml", "json", "ndjson")
BY_DEFAULT = KINDS[:-1]
"""Offsets move while groups read: they are the state of a moment, and no setting."""


@command(
    "export",
    outputs=OUTPUTS,
    examples=(
        ("kcli export --file cluster.yaml", "all topics, ACLs, users, quotas and configurations"),
        ("kcli export topics --match 'orders-*'", "the topics of a team"),
        ("kcli export topics acls --profile prod > prod.yaml", "two kinds, of a cluster that has a profile"),
        ("kcli export Topic --all", "defaults too, and where replicas are"),
        ("kcli export GroupOffsets --match billing", "committed offsets, which are exported only by name"),
    ),
)
@click.argument("kinds", nargs=-1, type=RESOURCE_KIND, metavar="[KIND…]")
@option(
    "--match",
    metavar="GLOB",
    help="only names that match this shell pattern: of ACLs the name of their resource, of quotas user, client id or "
    "address",
)
@option("--all", "every", is_flag=True, help="all keys, with the values in effect, and where replicas are")
@option("--internal", is_flag=True, help="the cluster's own topics too, and what kcli keeps for itself")
@option("--file", "path", metavar="FILE", help="write this file instead of stdout; it is replaced atomically")
@pass_invocation
def export_cluster(
    inv: Invocation,
    /,
    kinds: tuple[str, ...],
    match: str | None,
    every: bool,
    internal: bool,
    path: str | None,
) -> int:
    """Write what the cluster has as YAML documents, which `kcli diff` and `kcli apply` read.

    Without KIND: topics, ACLs, users, quotas, and the configurations of brokers and groups, in this order and by name.
    GroupOffsets only if it is named: offsets move while groups read, so they are no setting.

    Without --all only what is set on a resource itself, not what it has by default. Nothing that is secret is written:
    of users the mechanisms and iterations, and no key of a password, which is said on stderr.

    What cannot be read is reported, and is in the first lines of the file: exit code 6. They also say where this client
    may not see all topics or groups.
    """
    from kcli.commands.shared.cluster import connect, open_admin  # clients
    from kcli.commands.shared.row_output import print_rows
    from kcli.flows.permitted import hidden
    from kcli.flows.resources.resource import Kind
    from kcli.flows.resources.state import read_state
    from kcli.flows.resources.writing import document, file_text
    from kcli.flows.transfer.file import write_file
    from kcli.output.progress import counted

    if path is None:
        inv.page()
    wanted = [Kind(kind) for kind in dict.fromkeys(kinds or BY_DEFAULT)]
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        listed = ((Kind.TOPIC, "topics"), (Kind.GROUP_OFFSETS, "groups"))
        state, more = admin.together(
            lambda: read_state(admin, wanted, match=match, internal=internal, every_setting=every),
            lambda: hidden(admin, *(what for kind, what in listed if kind in wanted)),
        )
        for part in state.missing:
            inv.lacks(part)
    if state.shares:
        what = counted(len(state.shares), "share group")
        more = [
            *more,
            f"{what} left out, since GroupOffsets has no types of groups: "
            "`kcli groups export --all --format ndjson` has them",
        ]
    for text in more:
        inv.talk.warn(text)
    resources = list(state.items.values())
    _name_secrets(inv, resources)
    if not resources and not state.missing and not state.shares:
        inv.talk.note(f"nothing matches {match}" if match is not None else "the cluster has none of these")
    text = file_text(resources, state.missing, more)
    if path is not None:
        if not inv.dry_run:
            write_file(path, text)
        inv.talk.note(
            f"{'would write' if inv.dry_run else 'wrote'} {counted(len(resources), 'document')} to {path}"
        )
    elif inv.out.kind in (None, "yaml"):
        inv.out.shown(text)
        inv.out.flush()
    if inv.out.kind in ("json", "ndjson"):
        rows = ({"document": document(resource)} for resource in resources)
        print_rows(inv, "ResourceList", COLUMNS, rows, cluster, item="Resource")
    return inv.finish(done=bool(resources) or not state.missing)


def _name_secrets(inv: Invocation, resources: Collection[Resource]) -> None:
    """Says once what is set and not written."""
    from kcli.flows.resources.writing import secrets_of  # loaded by now

    found = {str(resource.ref): keys for resource in resources if (keys := secrets_of(resource))}
    if found:
        named = "; ".join(f"{ref}: {', '.join(keys)}" for ref, keys in found.items())
        inv.talk.warn(f"set, and not written, since brokers do not return secrets: {named}")
