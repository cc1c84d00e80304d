"""The values of the global options on the command line. Imported at every start."""

import os
from typing import Any


class GlobalValues:
    """The global options given so far; None where an option was not given.

    One object lives as long as the process (``ctx.obj`` of every context): each context that parses an option stores it
    here, before or after the subcommand, and errors that end the parsing early still respect ``-o`` and ``--debug``. (No
    dataclass: ``--version`` does not import them.)
    """

    bootstrap_server: str | None = None
    command_config: tuple[str, ...] = ()
    command_property: tuple[str, ...] = ()
    output: str | None = None
    no_headers: bool = False
    client_id: str | None = None
    profile: str | None = None
    allow_plaintext_secrets: bool = False
    quiet: bool = False
    verbose: int = 0
    debug: frozenset[str] | None = None
    color: str | None = None
    no_pager: bool = False
    progress: str | None = None
    timeout: float | None = None
    no_input: bool = False
    yes: bool = False
    confirm: str | None = None
    dry_run: bool = False
    notes: tuple[str, ...] = ()  # on values that were parsed, for stderr
    invocation: Any = None

    def __init__(self, **given: Any) -> None:
        for name, value in given.items():
            setattr(self, name, value)


def environment(name: str) -> str | None:
    """The value of a ``KCLI_*`` variable that sets a global option; empty counts as unset."""
    return os.environ.get(f"KCLI_{name.upper()}") or None
