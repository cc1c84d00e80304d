"""``kcli pipeline replay``: send dead letters to where they belong, once more."""

from contextlib import ExitStack
from typing import Any

import click

from kcli.commands.pipeline.jobs import (
    READS,
    TaskOptions,
    chosen_runner,
    job_options,
    kept_options,
    own_cluster,
    print_report,
    runner_of,
    wanted_range,
)
from kcli.commands.shared.command import command, options
from kcli.commands.shared.confirm import confirm, show_plan
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import REPORT_KINDS, TOPIC, CountType, option
from kcli.commands.shared.params import (
    NAMED_TOPIC,
    check_topic_name,
    exact_times_option,
    since_option,
    until_option,
)
from kcli.commands.shared.shown import Shown
from kcli.commands.shared.topic_choice import Topics
from kcli.commands.shared.two_clusters import job_option
from kcli.commands.shared.usage import usage
from kcli.core.classes import dataclass
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ConsumerOptions
from kcli.flows.stop import Stop
from kcli.flows.topics.lifetime import Kept
from kcli.output.progress import counted
from kcli.pipeline.redrive import Routing, parse_target


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """One field an option of the command line; ``target`` is the value of ``--to``."""

    topic: str
    target: str
    where: str | None
    dedupe: str | None
    max_replays: int
    since: int | None
    until: int | None
    exact_times: bool
    kept: Kept
    job: str | None
    tasks: TaskOptions

    @property
    def ends(self) -> bool:
        """Whether what is appended meanwhile is not replayed itself: by exact times it is if it keeps them."""
        return self.until is not None and not (self.exact_times and self.kept.keep_times)

    def check(self) -> None:
        """Usage errors for what no replay can do."""
        to_topic, header = parse_target(self.target)
        if not to_topic and not header:
            raise usage(
                "kcli pipeline replay: --to names nothing",
                why="it is empty",
                do="--to TOPIC, or --to header:NAME",
            )
        if to_topic:
            check_topic_name(to_topic, "pipeline replay")
        if self.topic.startswith("^"):
            raise usage(
                "kcli pipeline replay: TOPIC is a pattern",
                why="a job belongs to one topic",
                do="run it for each topic",
            )
        if self.where is not None and self.tasks.runner not in (None, "spark"):
            raise usage(
                f"kcli pipeline replay: --where with --runner {self.tasks.runner}",
                why="the condition is SQL, which Spark evaluates",
                do="leave --runner out",
            )


@command(
    "replay",
    reads=READS,
    outputs=REPORT_KINDS,
    examples=(
        ("kcli pipeline replay orders.dlq --to orders --dry-run", "what would be sent, by reason and hour"),
        (
            "kcli pipeline replay orders.dlq --to header:original-topic",
            "each record to the topic it came from",
        ),
        (
            "kcli pipeline replay orders.dlq --to orders --since 2d "
            "--where \"value:type = 'invoice' and value:amount::int > 0\"",
            "only some records, chosen by SQL",
        ),
        ("kcli pipeline replay orders.dlq --to orders --dedupe key --yes", "the last record of each key"),
    ),
)
@click.argument("topic", type=TOPIC)
@options(
    "What to send again",
    option(
        "--where", metavar="SQL", help="only records that meet this condition, as in `kcli pipeline query`"
    ),
    option("--dedupe", type=click.Choice(["key"]), help="of the records of a key, send the last one only"),
    option(
        "--max-replays",
        type=CountType(1),
        default=3,
        metavar="N",
        help="skip records that were replayed N times (default: 3)",
    ),
    since_option("records from this time on: 3h (ago), yesterday"),
    until_option("records up to this time"),
    exact_times_option(),
)
@options(
    "Where to, and how",
    option(
        "--to",
        "target",
        type=NAMED_TOPIC,
        required=True,
        metavar="TOPIC|header:NAME",
        help="send to this topic, or to the topic that the record's header NAME names",
    ),
    job_option("from TOPIC, --to, --where and --dedupe"),
)
@kept_options("replay")
@job_options
@pass_invocation
def replay(inv: Invocation, /, **given: Any) -> int:
    """Send records of a dead-letter topic to where they belong, once more.

    Key, value, headers and, unless --timestamps now, the timestamp stay as they are; the partition is that of the key.
    Two headers are added: kcli-replays counts how often a record was replayed, so that one that fails again and again is
    skipped in the end, and kcli-replayed-from says where it was.

    A job that is started again continues where it ended: it sends each record once, in transactions that contain its
    position, the offsets of the group __kcli.replay.JOB. Another --job NAME begins anew.
    """
    asked = ReplayOptions(**given)
    asked.check()
    # Clients are loaded when the command runs.
    from kcli.pipeline.drivers.replay import COLUMNS, Replay, check

    check(asked.topic, asked.target, asked.where, ends=asked.ends)
    without_spark = None if asked.where is None else "choose the records by --since and --until"
    inv.configuration.check_no_registry()
    tasks = chosen_runner(inv, asked.tasks, "replay", without_spark=without_spark)
    exact = asked.exact_times
    spec = wanted_range("replay", since=asked.since, until=asked.until, exact_times=exact)
    with ExitStack() as stack:
        driver = stack.enter_context(
            Replay(
                own_cluster(inv),
                Shown(inv),
                Topics([asked.topic], "pipeline replay").existing,
                Routing(*parse_target(asked.target), asked.max_replays, asked.kept.keep_times),
                topic=asked.topic,
                target=asked.target,
                spec=spec,
                where=asked.where,
                dedupe=asked.dedupe is not None,
                job=asked.job,
                exact_times=exact,
                kept=asked.kept,
            )
        )
        driver.pin(inv.client_options(ConsumerOptions, isolation_level="read_committed"))
        inv.cluster_id = driver.cluster_id
        stop = stack.enter_context(Stop())
        runner = stack.enter_context(runner_of(inv, tasks))
        driver.survey(runner, stop)
        if stop:
            return stop.exit_code
        refusal = driver.fates.refusal
        if not driver.found.records or refusal is not None:
            show_plan(inv, driver.text())
        else:
            question = f"Send {counted(driver.found.records, 'record')}?"
            confirm(inv, driver.text(), question, subject=asked.topic)
        if refusal is not None:
            raise refusal
        if inv.dry_run:
            return ExitCode.DONE
        return print_report(
            inv,
            driver.send(runner, stop),
            COLUMNS,
            stop,
            command="replay",
            runner=tasks.runner,
            cluster=inv.cluster_id,
            title="replayed",
        )
