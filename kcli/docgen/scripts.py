"""The completion script of each shell."""

from collections.abc import Sequence

from kcli.docgen import bash, fish, zsh
from kcli.docgen.completed import completed
from kcli.docgen.describe import CommandDoc

_SCRIPTS = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}


def script(shell: str, docs: Sequence[CommandDoc]) -> str:
    """The script for these commands."""
    return _SCRIPTS[shell](completed(docs))
