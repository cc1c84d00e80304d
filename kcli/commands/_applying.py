"""What ``kcli apply`` does: reads files, and applies the documents of each cluster, with a plan of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence

from kcli.commands.shared.changing import change_with
from kcli.commands.shared.configuration import leave_no_core
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.document_options import check_prune
from kcli.commands.shared.move_watch import wait_for_moves
from kcli.commands.shared.profile_clusters import DocumentCluster, document_clusters
from kcli.commands.shared.usage import usage
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import worst
from kcli.flows.reassign.change import Moving
from kcli.flows.resources.apply import Apply, How, Wish
from kcli.flows.resources.comparison import PRUNED, chosen
from kcli.flows.resources.passwords import Passwords
from kcli.flows.resources.resource import Kind, Resource
from kcli.output.progress import counted


class Options(NamedTuple):
    """Those of the line; ``kinds`` are the words of ``--only``, ``rate`` is in bytes a second."""

    kinds: tuple[str, ...]
    match: str | None
    prune: bool
    exact: bool
    rate: int | None


def apply_files(inv: Invocation, found: Sequence[Resource], options: Options) -> int:
    """Returns the exit status."""
    named = [Kind(kind) for kind in options.kinds]
    check_prune("apply", prune=options.prune, only=options.kinds, match=options.match)
    if options.prune and (kept := [kind for kind in named if kind not in PRUNED]):
        raise usage(
            f"apply: --prune with --only {kept[0]}",
            why="offsets say where an application goes on, so they are never left over",
            do="`kcli groups delete GROUP` deletes a group with its offsets",
        )
    clusters = document_clusters(inv, chosen(found, named, options.match), changes=True)
    if not clusters and options.prune:
        clusters = document_clusters(inv, found, changes=True)
    if not clusters:
        raise usage(
            f"apply: none of {counted(len(found), 'document')} is selected"
            if found
            else "apply: there are no documents",
            why="--only, --match or --profile leaves all of them out" if found else "the files have none",
            do="see the files",
        )
    if len(clusters) > 1 and inv.out.kind is not None:
        raise usage(
            f"apply: -o {inv.out.kind} with documents of {len(clusters)} clusters",
            why="each cluster has a plan and a report of its own",
            do="apply them one after the other, with --profile",
        )
    codes, refusal = [], None
    for one in clusters:
        inv.acts_under(one.configuration)
        if one.profile is not None:
            inv.clusters.append(one.configuration.resolved)
        refusal = refusal or inv.refusal
        try:
            codes.append(_apply(inv, one, options))
        except KcliError as error:
            if len(clusters) == 1:
                raise
            codes.append(inv.report(error))
    inv.refusal = refusal
    return codes[0] if len(codes) == 1 else worst(codes, done=0 in codes)


def _apply(inv: Invocation, cluster: DocumentCluster, options: Options) -> int:
    kinds = [Kind(kind) for kind in options.kinds] or list({one.ref.kind: 0 for one in cluster.resources})
    pruned = [kind for kind in kinds if kind in PRUNED] if options.prune else []
    moving = Moving(inv.talk, options.rate, lambda admin, moves: wait_for_moves(inv, admin, moves))
    passwords = Passwords(os.environ, inv.talk.warn, inv.given_timeout, leave_no_core)
    how = How(moving, passwords, inv.cluster_name, inv.dry_run)
    wish = Wish(chosen(cluster.resources, kinds, options.match), options.exact, pruned, options.match)
    with cluster.open(inv) as admin:
        with inv.first_contact(cluster.servers):
            inv.cluster_id = admin.cluster_id()
        return change_with(inv, admin, inv.cluster_id, Apply(wish, how))
