"""Documents by the clusters that they are for: the profile that each names, else the command's cluster.

Each cluster has a run of its own, with its own plan, question and report, under the marks of its profile.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.usage import usage
from kcli.core.errors import KcliError
from kcli.core.exit_codes import worst
from kcli.output.progress import counted

if TYPE_CHECKING:
    from kcli.flows.resources.resource import Resource

OfCluster = Callable[[Invocation, Sequence["Resource"]], int]


def run_by_cluster(inv: Invocation, resources: Sequence[Resource], run: OfCluster) -> int:
    """Runs ``run`` for each cluster with the documents that are for it; what fails at one does not keep it from others.
    Returns the exit status.
    """
    parts = _by_cluster(inv, resources)
    path = click.get_current_context().command_path
    if len(parts) > 1 and inv.out.kind is not None:
        names = ", ".join(name or "the cluster of the command" for name in parts)
        raise usage(
            f"{path}: -o {inv.out.kind} with documents of {len(parts)} clusters",
            why=f"each cluster has a document of its own; these are of {names}",
            do="name one of them with --profile",
        )
    codes: list[int] = []
    for name, some in parts.items():
        one = inv if name is None else _of_profile(inv, name)
        if len(parts) == 1:
            codes.append(run(one, some))
        else:
            try:
                codes.append(run(one, some))
            except KcliError as error:
                codes.append(one.report(error))
        inv.refusal = inv.refusal or one.refusal
    return worst(codes, done=0 in codes) if len(codes) > 1 else codes[0]


def _by_cluster(inv: Invocation, resources: Sequence[Resource]) -> dict[str | None, list[Resource]]:
    """By the profile that is not the command's; None is the command's cluster."""
    found: dict[str | None, list[Resource]] = {}
    given = inv.values.profile
    left: dict[str, int] = {}
    for one in resources:
        if one.profile is None or one.profile == given:
            found.setdefault(None, []).append(one)
        elif inv.values.bootstrap_server is not None:
            raise usage(
                f"{click.get_current_context().command_path}: {one.place} is for profile {one.profile}, and -b names brokers",
                why="a document goes to the cluster of the profile that it names",
                do="leave out -b, or metadata.profile of the document",
            )
        elif given is not None:
            left[one.profile] = left.get(one.profile, 0) + 1
        else:
            found.setdefault(one.profile, []).append(one)
    for name, count in left.items():
        inv.talk.note(
            f"left out {counted(count, 'document')} for profile {name}: --profile {given} was given"
        )
    return found or {None: []}


def _of_profile(inv: Invocation, name: str) -> Invocation:
    """A run for another profile: with the same options, stdout and stderr."""
    values = copy.copy(inv.values)
    values.profile, values.notes = name, ()
    one = Invocation(values)
    one.out, one.talk = inv.out, inv.talk
    return one
