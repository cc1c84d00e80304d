"""``kcli sandbox down``: stop a sandbox."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import SANDBOX, option


@command(
    "down",
    exits={7: "a newer kcli has started the sandbox"},
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli sandbox down", "the data stays; `up` brings it back"),
        ("kcli sandbox down ha --delete", "with its data"),
    ),
)
@click.argument("name", required=False, type=SANDBOX, metavar="[NAME]")
@option("--delete", is_flag=True, help="delete the data too")
@pass_invocation
def down(inv: Invocation, name: str | None, delete: bool) -> int:
    """Stop a sandbox. The data stays, unless --delete is given or it was started with --ephemeral."""
    from kcli.commands.sandbox._statuses import missing, named, print_statuses  # not for --help

    wanted = named(name)
    status = wanted.status()
    if status is None:
        raise missing(wanted.name)
    throw_away = delete or status.ephemeral
    if inv.dry_run:
        inv.talk.note(f"would stop sandbox {wanted.name}{' and delete its data' if throw_away else ''}")
        print_statuses(inv, [status])
        return 0
    status = wanted.down(delete=delete) or status
    what = "its data is deleted" if throw_away else f"its data stays in {status.data}"
    inv.talk.note(f"sandbox {wanted.name} is stopped; {what}")
    print_statuses(inv, [status])
    return 0
