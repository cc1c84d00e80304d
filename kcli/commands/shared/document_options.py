"""The files and options of the commands that read documents: ``diff`` and ``apply``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kcli.commands.shared.options import option
from kcli.commands.shared.resource_kinds import RESOURCE_KIND
from kcli.commands.shared.usage import usage

_DECLARED = (
    click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…"),
    option(
        "--only",
        type=RESOURCE_KIND,
        multiple=True,
        metavar="KIND",
        help="only documents of this kind, such as Topic; repeatable",
    ),
    option(
        "--match",
        metavar="GLOB",
        help="only names that match this shell pattern: of ACLs the name of their resource, of quotas user, client id or "
        "address",
    ),
    option(
        "--prune",
        is_flag=True,
        help="also what the cluster has and no file describes; needs --only or --match",
    ),
    option("--exact", is_flag=True, help="also what is set on a resource and its document does not name"),
    option(
        "--values",
        multiple=True,
        metavar="FILE",
        help="values of variables, ${NAME} in documents: YAML of names; they win over the environment; repeatable",
    ),
    option(
        "--policy",
        "policies",
        multiple=True,
        metavar="FILE",
        help="rules for documents: YAML, a list of {kind, rule, message}, the rule as for --where; exit code 8 "
        "if one is broken, before anything is sent; repeatable",
    ),
)


def document_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """FILE|DIR…, ``--only``, ``--match``, ``--prune``, ``--exact``, ``--values`` and ``--policy``."""
    for declare in reversed(_DECLARED):
        function = declare(function)
    return function


def check_prune(command: str, *, prune: bool, only: tuple[str, ...], match: str | None) -> None:
    """A usage error for ``--prune`` that would concern all that a cluster has."""
    if prune and not only and match is None:
        raise usage(
            f"{command}: --prune without --only and --match",
            why="it would concern everything that the cluster has and the files lack",
            do="say what the files have all of: --only KIND, or --match GLOB",
        )
