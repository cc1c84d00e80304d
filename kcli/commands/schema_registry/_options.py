"""Options and arguments that several verbs of ``kcli registry`` have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kcli.commands.shared.options import option

F = TypeVar("F", bound=Callable[..., Any])

TYPE_WORDS = ("avro", "protobuf", "json")


def context_option(what: str = "the context of the subject") -> Callable[[F], F]:
    """``--context``."""
    return option("--context", metavar="CONTEXT", help=f"{what}, as in :.CONTEXT:SUBJECT")


def type_option(what: str) -> Callable[[F], F]:
    """``--type``."""
    return option("--type", "kind", type=click.Choice(TYPE_WORDS), help=what)


def reference_option() -> Callable[[F], F]:
    """``--reference``."""
    return option(
        "--reference",
        "references",
        multiple=True,
        metavar="NAME=SUBJECT:VERSION",
        help="a schema to which it refers, by NAME; repeatable",
    )
