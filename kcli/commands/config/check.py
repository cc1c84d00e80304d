"""``kcli config check``: check the options of all sources."""

from kcli.commands.config import OF_CLUSTERS
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.sources import sources_of
from kcli.core.exit_codes import ExitCode
from kcli.output.progress import counted
from kcli.output.tables import Column

_COLUMNS = (Column("severity"), Column("what", "prose"), Column("why", "prose"), Column("do", "prose"))


@command(
    "check",
    reads=("XDG_CONFIG_HOME", *OF_CLUSTERS),
    examples=(
        ("kcli config check", "all files, variables and profiles"),
        ("kcli config check -F client.properties", "also this file"),
    ),
)
@pass_invocation
def check_config(inv: Invocation, /) -> int:
    """Check the options of all sources: unknown keys, wrong values, unsafe or unreadable files, missing secrets, and all
    else that every command refuses before it connects.

    All profiles are checked, not only the one in use. Commands that print secrets are looked for, but not run. Exit
    code 2 if there is an error; warnings alone are 0. No broker is contacted.
    """
    from kcli.flows.config_check import check_sources  # client options are loaded when the command runs

    problems, read = check_sources(sources_of(inv.values, lambda: None))
    print_rows(inv, "ConfigProblemList", _COLUMNS, (one._asdict() for one in problems), item="ConfigProblem")
    inv.talk.note(
        f"{counted(len(problems), 'problem')} in {', '.join(read) or 'the command line and the environment'}"
        if problems
        else f"nothing is wrong{' in ' + ', '.join(read) if read else ''}"
    )
    return ExitCode.USAGE if any(one.severity == "error" for one in problems) else ExitCode.DONE
