"""``kcli sandbox logs``: print the end of the brokers' logs."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import SANDBOX, CountType, option


@command(
    "logs",
    exits={7: "a newer kcli has started the sandbox"},
    reads=("XDG_STATE_HOME",),
    outputs=("plain",),
    examples=(
        ("kcli sandbox logs --tail 50", "the end of the broker's log"),
        ("kcli sandbox logs ha -f", "all nodes, until Ctrl-C"),
    ),
)
@click.argument("name", required=False, type=SANDBOX, metavar="[NAME]")
@option("--tail", "lines", type=CountType(0), metavar="N", default=100, help="number of lines (default: 100)")
@option("-f", "--follow", is_flag=True, help="keep printing until Ctrl-C")
@pass_invocation
def logs(inv: Invocation, name: str | None, lines: int, follow: bool) -> int:
    """Print the end of the brokers' logs, also after a start that failed."""
    from kcli.commands.sandbox._log_lines import print_logs  # not for --help

    return print_logs(inv, name, lines, follow)
