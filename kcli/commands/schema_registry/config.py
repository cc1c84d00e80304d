"""``kcli registry config``: show or change the compatibility of a subject, or of all."""

import click

from kcli.commands.schema_registry._options import context_option
from kcli.commands.schema_registry._setting import check_unset, checked_value, sets, setting_subject
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.params import SUBJECT
from kcli.commands.shared.registry_client import open_registry, run_registry_change
from kcli.commands.shared.row_output import print_rows
from kcli.flows.registry.settings import CONFIG, LEVELS, CompatibilityChange


@command(
    "config",
    changes=sets,
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli registry config orders-value", "the level that applies to a subject"),
        ("kcli registry config orders-value --set compatibility=FULL", "after a plan and a question"),
        ("kcli registry config orders-value --unset", "that of all subjects applies again"),
    ),
)
@click.argument("subject", type=SUBJECT, required=False, metavar="[SUBJECT]")
@option("--set", "value", metavar="compatibility=LEVEL", help="set it, after a plan and a question")
@option("--unset", is_flag=True, help="take away what the subject has of its own")
@context_option()
@pass_invocation
def registry_config(
    inv: Invocation, subject: str | None, value: str | None, unset: bool, context: str | None
) -> int:
    """Show or change the compatibility of a subject, or, without SUBJECT, that of all which have none of their own.

    LEVEL is BACKWARD, FORWARD or FULL, each also with _TRANSITIVE for all earlier versions instead of the last one, or
    NONE.

    A change is made after a plan and a question, and is read back; `kcli undo ID` undoes it.
    """
    name = setting_subject("registry config", subject, context)
    check_unset("registry config", name, value, unset=unset)
    if value is not None or unset:
        word = None if value is None else checked_value("registry config", value, "compatibility", LEVELS)
        return run_registry_change(inv, CompatibilityChange(name, word))
    with open_registry(inv) as registry:
        found = registry.compatibility(name)
        row = {"subject": name or None, "compatibility": found.value, "own": found.own}
        print_rows(inv, "RegistryConfigList", CONFIG, [row], registry.address, item="RegistryConfig")
    return inv.finish(done=True)
