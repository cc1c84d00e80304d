"""``kcli registry mode``: show or change the mode of a subject, or of all."""

import click

from kcli.commands.schema_registry._options import context_option
from kcli.commands.schema_registry._setting import check_unset, checked_value, sets, setting_subject
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.params import SUBJECT
from kcli.commands.shared.registry_client import open_registry, run_registry_change
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import usage
from kcli.flows.registry.settings import MODE, MODES, ModeChange


@command(
    "mode",
    changes=sets,
    reads=("XDG_STATE_HOME",),
    exits={7: "the registry has no modes to set, or IMPORT is refused"},
    examples=(
        ("kcli registry mode", "the mode of the registry"),
        ("kcli registry mode orders-value --set READONLY", "after a plan and a question"),
        ("kcli registry mode orders-value --unset --yes", "that of all subjects applies again"),
    ),
)
@click.argument("subject", type=SUBJECT, required=False, metavar="[SUBJECT]")
@option("--set", "value", metavar="MODE", help="set it, after a plan and a question")
@option("--unset", is_flag=True, help="take away what the subject has of its own")
@option("--force", is_flag=True, help="with --set IMPORT: although there are schemas")
@context_option()
@pass_invocation
def registry_mode(
    inv: Invocation, subject: str | None, value: str | None, unset: bool, force: bool, context: str | None
) -> int:
    """Show or change the mode of a subject, or, without SUBJECT, that of all which have none of their own.

    MODE is READWRITE, READONLY, READONLY_OVERRIDE, or IMPORT, in which schemas are registered with given ids only:
    that needs --force where there are schemas. Not all registries have modes to set: Karapace has none, exit code 7.

    A change is made after a plan and a question, and is read back; `kcli undo ID` undoes it.
    """
    name = setting_subject("registry mode", subject, context)
    check_unset("registry mode", name, value, unset=unset)
    word = None if value is None else checked_value("registry mode", value, "mode", MODES)
    if force and word != "IMPORT":
        raise usage(
            "registry mode: --force without --set IMPORT", why="only that needs it", do="leave it out"
        )
    if word is not None or unset:
        return run_registry_change(inv, ModeChange(name, word, force=force))
    with open_registry(inv) as registry:
        found = registry.mode(name)
        told = not name or registry.has_modes()
        row = {"subject": name or None, "mode": found.value, "own": found.own if told else None}
        print_rows(inv, "RegistryModeList", MODE, [row], registry.address, item="RegistryMode")
    return inv.finish(done=True)
