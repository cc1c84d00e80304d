"""What ``kcli config check`` prints: a row for each problem."""

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.sources import sources_of
from kcli.core.exit_codes import ExitCode
from kcli.flows.config_check import check_sources
from kcli.output.progress import counted
from kcli.output.tables import Column

COLUMNS = (
    Column(
        "severity",
        values=("error", "warning"),
        meaning="Whether it prevents a connection.",
    ),
    Column("what", "prose", values="string", meaning="What is wrong."),
    Column("why", "prose", meaning="Why."),
    Column("do", "prose", meaning="What to do."),
)


def print_problems(inv: Invocation) -> int:
    """Lists the problems; 2 if commands would refuse one of them, 0 for warnings."""
    problems, read = check_sources(sources_of(inv.values, lambda: None))
    print_rows(inv, "ConfigProblemList", COLUMNS, (one._asdict() for one in problems), item="ConfigProblem")
    inv.talk.note(
        f"{counted(len(problems), 'problem')} in {', '.join(read) or 'the command line and the environment'}"
        if problems
        else f"nothing is wrong{' in ' + ', '.join(read) if read else ''}"
    )
    return ExitCode.USAGE if any(one.severity == "error" for one in problems) else ExitCode.DONE
