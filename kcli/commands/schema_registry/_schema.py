"""The schema of a file with its references, as the line names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcli.commands.shared.context import Invocation, stdin_is_terminal
from kcli.commands.shared.usage import usage
from kcli.flows.registry.names import parse_named, parse_reference, type_of_file
from kcli.flows.registry.schema_file import read_schema

if TYPE_CHECKING:
    from kcli.flows.registry.names import Named
    from kcli.serde.registry.client import Schema


def schema_of_line(inv: Invocation, path: str, kind: str | None) -> Schema:
    """The schema of FILE; ``-`` is stdin."""
    word = type_of_file(path, kind)
    if path == "-" and stdin_is_terminal():
        inv.talk.note("reading the schema from the terminal; end with Ctrl-D …")
    return read_schema(path, word)


def references_of_line(command: str, given: Sequence[str]) -> list[tuple[str, Named]]:
    """The values of ``--reference``."""
    found = []
    for text in given:
        try:
            found.append(parse_reference(text))
        except ValueError as error:
            raise usage(
                f"{command}: --reference {text} names no schema",
                why=str(error),
                do="as in --reference customer.avsc=customer-value:2; VERSION may be latest",
            ) from None
    return found


def subject_only(command: str, text: str, context: str | None) -> str:
    """A SUBJECT that takes no version."""
    named = parse_named(text, context)
    if named.version is not None:
        raise usage(
            f"{command}: {text} names a version",
            why="it is for a whole subject",
            do=f"give {named.subject}",
        )
    return named.subject
