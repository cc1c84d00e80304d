"""``kcli apply``: change a cluster to what files describe."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.move_watch import wait_for_moves
from kcli.commands.shared.params import RATE, Rate, bytes_a_second
from kcli.commands.shared.resource_clusters import run_by_cluster
from kcli.commands.shared.resource_kinds import RESOURCE_KIND
from kcli.commands.shared.usage import usage

if TYPE_CHECKING:  # loaded when the command runs
    from kcli.flows.resources.resource import Kind, Resource


@command(
    "apply",
    exits={
        2: "a file cannot be understood, or --prune has neither --only nor --match; nothing was changed",
        7: "something is refused, such as fewer partitions, or has changed since the plan; the rest is done",
    },
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli apply cluster.yaml --dry-run", "only show what would be changed"),
        ("kcli apply cluster/ --yes", "all files of a folder, in a script"),
        ("kcli apply topics.yaml --only Topic --throttle 50MB/s", "topics only; replicas move at 50 MB/s"),
        ("kcli apply acls.yaml --prune --only AclBinding", "delete the ACLs that the file does not have"),
        ("kcli apply team.yaml --prune --match 'orders-*'", "delete only what is called so, too"),
    ),
)
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
@click.option(
    "--only",
    "kinds",
    type=RESOURCE_KIND,
    multiple=True,
    metavar="KIND",
    help="only documents of this kind; repeatable",
)
@click.option("--match", metavar="GLOB", help="only documents whose names match this shell pattern")
@click.option(
    "--prune",
    is_flag=True,
    help="delete what no document describes, of the kinds of --only, or of the names of --match; one of them is required",
)
@click.option("--exact", is_flag=True, help="remove what is set on a resource and its document does not name")
@click.option(
    "--values", "values", multiple=True, metavar="FILE", help="YAML with the values of variables; repeatable"
)
@click.option(
    "--throttle",
    type=RATE,
    metavar="RATE",
    help="limit what each broker sends and receives for moves of replicas, as in 50MB/s (default: no limit)",
)
@pass_invocation
def apply_files(
    inv: Invocation,
    /,
    paths: tuple[str, ...],
    kinds: tuple[str, ...],
    match: str | None,
    prune: bool,
    exact: bool,
    values: tuple[str, ...],
    throttle: Rate | None,
) -> int:
    """Change a cluster to what files describe: the documents of `kcli export`.

    Shows a plan first, and what removes something last. Topics are created, then ACLs, users, quotas and configurations.
    Partitions are added, and replicas moved, as by `kcli reassign run`. Each part is looked at again right before it is
    changed, and read back: what has changed since the plan is refused, the rest goes on. The same line goes on with what
    was stopped. `kcli undo ID` makes it undone, as far as Kafka can.

    What a document does not name is left as it is: with --exact, keys that are set and that it does not name are unset.
    Nothing is deleted without --prune, which needs --only or --match; topics that are deleted have their names typed, as
    by `kcli topics delete`. Internal topics, and what is kcli's own, are never deleted; nor are offsets of groups.

    The password of a user is in spec.password_file, password_command or password_env. Kafka does not return passwords: a
    credential that exists with the iterations of the document is taken for the same. `kcli users set NAME` sets a new
    password.

    A document goes to the cluster of the profile in its metadata, else to that of the command. Each cluster has a plan
    and a question of its own. With --profile, documents for other profiles are left out.
    """
    if prune and not kinds and match is None:
        raise usage(
            "apply: --prune without --only and --match",
            why="it would delete everything that the files do not describe",
            do="add --only KIND or --match GLOB",
        )
    # Clients are loaded when the command runs.
    from kcli.flows.resources.apply import PRUNED
    from kcli.flows.resources.documents import ignored_lines, read_documents
    from kcli.flows.resources.names import is_selected
    from kcli.flows.resources.resource import Kind

    named = [Kind(kind) for kind in kinds]
    if prune and (kept := [kind for kind in named if kind not in PRUNED]):
        raise usage(
            f"apply: --prune with --only {kept[0]}",
            why="offsets say where an application goes on, so they are never left over",
            do="`kcli groups delete-offsets` and `kcli groups delete` delete them",
        )
    rate = bytes_a_second(throttle, "apply")
    found = read_documents(paths, values=values, environment=os.environ)
    for line in ignored_lines(found):
        inv.talk.warn(line)
    chosen = [one for one in found if (not named or one.ref.kind in named) and is_selected(one, match)]
    if not chosen:
        raise usage(
            f"apply: no document is selected of {len(found)}",
            why="nothing matches --only and --match" if found else "the files have none",
            do="see the files",
        )

    def run(one: Invocation, resources: Sequence[Resource]) -> int:
        kinds = named or {resource.ref.kind for resource in resources}
        pruned = [kind for kind in PRUNED if kind in kinds] if prune else []
        return _apply(one, resources, pruned, match, rate, exact=exact)

    return run_by_cluster(inv, chosen, run)


def _apply(
    inv: Invocation,
    resources: Sequence[Resource],
    prune: Sequence[Kind],
    match: str | None,
    rate: int | None,
    *,
    exact: bool,
) -> int:
    # As above.
    from kcli.commands.shared.configuration import leave_no_core
    from kcli.flows.reassign.change import Moving
    from kcli.flows.resources.apply import Apply, How, Wish
    from kcli.flows.resources.passwords import Passwords

    moving = Moving(inv.talk, rate, lambda admin, moves: wait_for_moves(inv, admin, moves))
    passwords = Passwords(os.environ, inv.talk.warn, inv.given_timeout, leave_no_core)
    how = How(moving, passwords, inv.cluster_name, inv.dry_run)
    return run_change(inv, Apply(Wish(resources, exact, prune, match), how))
