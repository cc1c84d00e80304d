"""``kcli pipeline export``: write the records of topics to files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kcli.commands.pipeline.jobs import (
    READS,
    TaskOptions,
    check_slices,
    chosen_runner,
    job_options,
    own_cluster,
    print_report,
    runner_of,
    wanted_range,
)
from kcli.commands.shared.command import command, options
from kcli.commands.shared.confirm import show_plan
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.from_dir import check_ends, from_dir_option
from kcli.commands.shared.options import POSITIVE_DURATION, REPORT_KINDS, TOPIC, option
from kcli.commands.shared.params import (
    OFFSET_WORDS,
    Word,
    exact_times_option,
    offset_option,
    partitions_option,
    serde_option,
    since_option,
    until_option,
)
from kcli.commands.shared.shown import Shown
from kcli.commands.shared.topic_choice import Topics
from kcli.commands.shared.usage import usage
from kcli.commands.shared.words import instant, offset_range, parse_partitions
from kcli.core.classes import NamedTuple, dataclass
from kcli.core.options import ConsumerOptions
from kcli.core.positions import RangeSpec
from kcli.flows.stop import Stop
from kcli.output.tables import Column
from kcli.pipeline.arrow_library import check_pyarrow
from kcli.pipeline.partition_by import PartitionBy, parse_partition_by

if TYPE_CHECKING:
    from kcli.pipeline.drivers.export import Export
    from kcli.pipeline.drivers.table_export import TableExport
    from kcli.pipeline.report import Report
    from kcli.pipeline.tables.table import Lake

TABLES = ("delta", "iceberg")
_OF_FILES = "it is for exports whose files a manifest names"
FORMATS = ("parquet", "ndjson", "csv", "raw", *TABLES)


class Given(NamedTuple):
    """An option as it was typed, which an export remembers, and what it means now."""

    text: str
    value: Any


def _given(name: str, parse: Callable[[str], Any], offered: tuple[str, ...] = ()) -> Word:
    return Word(name, lambda text: Given(text, parse(text)), offered)


_PARTITIONS = _given("partitions", parse_partitions)
_RANGE = _given("range", offset_range, OFFSET_WORDS[:2])
_INSTANT = _given("time", instant)
_PARTITION_BY = Word("folders", parse_partition_by, ("date", "hour"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """One field an option of the command line. ``interval``: of ``--slice``, in seconds."""

    topics: tuple[str, ...]
    folder: str
    partitions: Given | None
    offset: Given | None
    since: Given | None
    until: Given | None
    exact_times: bool
    form: str
    partition_by: PartitionBy | None
    typed: bool
    serdes: tuple[str, ...]
    continuous: bool
    interval: float | None
    append: bool
    compact: bool
    on_gap: str | None
    on_recreate: str | None
    with_groups: bool
    with_config: bool
    catalog: str | None
    tasks: TaskOptions

    def words(self) -> dict[str, Any]:
        """What limits the export, as it was typed."""
        chosen = {name: getattr(self, name) for name in ("partitions", "offset", "since", "until")}
        words = {name: None if given is None else given.text for name, given in chosen.items()}
        layout = {
            "partition_by": None if self.partition_by is None else str(self.partition_by),
            "typed": self.typed,
            "serdes": self._serdes(),
        }
        return {**words, "exact_times": self.exact_times, **layout}

    def _serdes(self) -> list[str]:
        """Those of ``-s``, for tasks that may run in other folders; ConfigError for one that there is not."""
        if not self.serdes:
            return []
        from kcli.serde.names import parse_serdes  # only with -s

        specs = parse_serdes(self.serdes)
        named = (("key", specs.key), ("value", specs.value))
        return [f"{part}={spec.absolute()}" for part, spec in named if spec is not None]

    def check_layout(self) -> None:
        """Usage errors for options that go with others only."""
        for flag, given in (("--partition-by", self.partition_by is not None), ("--typed", self.typed)):
            if given and self.form not in ("parquet", *TABLES):
                raise usage(
                    f"kcli pipeline export: {flag} with --format {self.form}",
                    why=f"{flag} is of the columns and folders of Parquet",
                    do="leave one of them out",
                )
        if self.serdes and not self.typed:
            raise usage(
                "kcli pipeline export: -s without --typed",
                why="an export has the bytes of keys and values, unless typed columns are asked for",
                do="add --typed, or leave -s out",
            )

    def range(self) -> RangeSpec:
        """What these words mean now; a usage error for contradictions."""
        offset, since, until = (
            None if given is None else given.value for given in (self.offset, self.since, self.until)
        )
        spec = wanted_range("export", offset=offset, since=since, until=until, exact_times=self.exact_times)
        check_slices("export", spec, continuous=self.continuous, sliced=self.interval is not None)
        self._check_append(spec)
        return spec

    def _check_table(self) -> None:
        """Usage errors for options of files, of a table, and the other way round."""
        if self.catalog is not None and self.form != "iceberg":
            raise usage(
                f"kcli pipeline export: --catalog with --format {self.form}",
                why="only tables of Iceberg are in a catalog",
                do="add --format iceberg, or leave --catalog out",
            )
        if self.form not in TABLES:
            return
        refused = {
            "--compact": (
                self.compact,
                "OPTIMIZE and rewrite_data_files of other tools merge the files of a table",
            ),
            "--exact-times": (self.exact_times, "a query of the table filters rows by their timestamps"),
            "--until": (self.until is not None, "each run goes on to the ends of now"),
            "--partition-by": (
                self.partition_by is not None,
                "a table keeps the limits of each file's timestamps, by which readers skip files",
            ),
            "--on-recreate": (self.on_recreate is not None, _OF_FILES),
            "--with-groups": (self.with_groups, _OF_FILES),
            "--with-config": (self.with_config, _OF_FILES),
        }
        for flag, (given, why) in refused.items():
            if given:
                raise usage(
                    f"kcli pipeline export: {flag} with --format {self.form}", why=why, do=f"leave {flag} out"
                )

    def _check_append(self, spec: RangeSpec) -> None:
        self._check_table()
        if (self.append or self.form in TABLES) and spec.stop is not None:
            raise usage(
                f"kcli pipeline export: {'--append' if self.append else f'--format {self.form}'} with an end",
                why="each run goes on to the ends of now",
                do="leave --until, or the end in --offset, out" + (", or --append" if self.append else ""),
            )
        for flag, given in (
            ("--append", self.append),
            ("--compact", self.compact),
            ("--with-groups", self.with_groups),
            ("--with-config", self.with_config),
        ):
            if self.continuous and given:
                raise usage(
                    f"kcli pipeline export: {flag} with --continuous",
                    why=f"{flag} is of a run that ends",
                    do="leave one of them out",
                )
        if self.on_gap is not None and not self.append and self.form not in TABLES:
            raise usage(
                "kcli pipeline export: --on-gap without --append",
                why="a gap is what was removed between two runs that append",
                do="add --append, or leave --on-gap out",
            )
        if self.on_recreate is not None and not self.append:
            raise usage(
                "kcli pipeline export: --on-recreate without --append",
                why="it is of topics that were deleted and created again between two runs that append",
                do="add --append, or leave --on-recreate out",
            )


@command(
    "export",
    reads=(*READS, "AWS_REGION", "AZURE_STORAGE_CONNECTION_STRING", "STORAGE_EMULATOR_HOST"),
    outputs=REPORT_KINDS,
    examples=(
        ("kcli pipeline export orders exports/orders", "a whole topic as Parquet, up to its end now"),
        (
            "kcli pipeline export orders payments exports/day --since yesterday --until today",
            "the records of a day",
        ),
        (
            "kcli pipeline export orders exports/text --format ndjson --runner processes",
            "as lines of JSON, without Spark",
        ),
        ("kcli pipeline export orders exports/all --continuous", "what is there, and what arrives"),
        (
            "kcli pipeline export '^orders-.*' s3://bucket/orders --append --compact",
            "each night: what has arrived since the night before",
        ),
        (
            "kcli pipeline export orders lake/orders --append --partition-by date=Europe/Berlin --typed",
            "a folder a day, with columns of the schema registry's type",
        ),
        ("kcli pipeline export orders s3://bucket/orders --runner processes", "into an object store"),
        (
            "kcli pipeline export '.*' s3://bucket/backup --append --with-groups --with-config",
            "a backup: also the positions of groups, and the configuration of topics",
        ),
        (
            "kcli pipeline export orders lake/orders --format delta",
            "into a table of Delta Lake; run again, it adds what has arrived",
        ),
        (
            "kcli pipeline export '^orders-.*' /mnt/exports/all --master spark://host:7077",
            "on a cluster; its machines share /mnt",
        ),
    ),
)
@click.argument("topics", metavar="TOPIC…", nargs=-1, type=TOPIC)
@click.argument("folder", metavar="DIR")
@options(
    "What to export",
    from_dir_option(),
    partitions_option("only these partitions, as in 0,2,5-7", _PARTITIONS),
    offset_option(
        "where to start, or a range: earliest, N, +N, -N, @TIME, A:B (B exclusive) (default: earliest)",
        _RANGE,
    ),
    since_option("start at this time: 3h (ago), 2026-11-21T10:00Z", _INSTANT),
    until_option("stop at this time (default: the end now)", _INSTANT),
    exact_times_option(),
    option("--with-groups", is_flag=True, help="also keep the positions of all groups that read the topics"),
    option(
        "--with-config",
        is_flag=True,
        help="also keep what is configured on the topics, their partitions and replication factor",
    ),
)
@options(
    "How to export",
    option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="parquet",
        help="parquet; what `kcli consume -o` prints: ndjson, csv, raw; or a table: delta, iceberg (default: parquet)",
    ),
    option(
        "--catalog",
        metavar="URL",
        help="of Iceberg: a REST or SQL catalog, or a name in .pyiceberg.yaml (default: a file of SQLite in DIR)",
    ),
    option(
        "--partition-by",
        type=_PARTITION_BY,
        metavar="date|hour[=ZONE]",
        help="with folders date=… or date=…/hour=… for the records' times, of UTC or of a zone such as Europe/Berlin",
    ),
    option(
        "--typed",
        is_flag=True,
        help="with decoded columns beside the bytes: of values by the schema registry, and as -s says",
    ),
    serde_option("with --typed: decode keys or values with this serde: {names}"),
    option("--append", is_flag=True, help="add what has arrived since the last run, up to the ends of now"),
    option(
        "--on-gap",
        type=click.Choice(["fail", "record"]),
        help="with --append, when records were removed since the last run: end, or record the gap and continue "
        "(default: fail)",
    ),
    option(
        "--on-recreate",
        type=click.Choice(["fail", "record"]),
        help="with --append, when a topic was deleted and created again: end, or record it and export the new one beside "
        "the old (default: fail)",
    ),
    option("--compact", is_flag=True, help="merge the small files of each partition, after all else"),
    option("--continuous", is_flag=True, help="go on with what arrives, until Ctrl-C"),
    option(
        "--slice",
        "interval",
        type=POSITIVE_DURATION,
        metavar="DUR",
        help="with --continuous: how often new records are added, as files of their own (default: 30s)",
    ),
)
@job_options
@pass_invocation
def export(inv: Invocation, /, **given: Any) -> int:
    """Write the records of topics to files, each once.

    DIR gets topic=T/partition=P/START-END.parquet, with one file for a range of offsets, which Spark, DuckDB, pyarrow and
    polars read as one table; and at last _kcli_manifest.json, which says that the export is complete. The ends are those
    of now. Transactions that were aborted are left out.

    An export that was interrupted goes on when it is run again: finished files are not written again. What is complete is
    not read again. `kcli pipeline import` restores the records.

    With --append each run adds what has arrived since the one before; the first one begins the export. New topics of a
    pattern and new partitions are added, and recorded in the manifest. A topic that was deleted and created again is
    refused, or with --on-recreate record gets a folder of its own: `topic=T@ID`, with its topic id.

    With --partition-by DIR has topic=T/date=D/hour=H/partition=P/START-END.parquet: a range of offsets is in several
    files, and the day and the hour are columns for readers. Records without a time are in folders named
    __HIVE_DEFAULT_PARTITION__.

    With --typed the members of decoded values are columns value_NAME, those of keys key_NAME (value_decoded and
    key_decoded, where there are no members). The types are those of all versions of the schema. A record that cannot be
    decoded ends the export with its offset.

    With --with-groups and --with-config the manifest also has what groups have committed, and how the topics are
    configured, as of the last run that has kept them. What cannot be read is named (6); so is a share group, whose
    position cannot be restored.

    With --format delta DIR is a table of Delta Lake, or with several topics or a pattern DIR/TOPIC is one of each; with
    iceberg DIR is the warehouse of the tables kafka.TOPIC, where _ replaces dots and dashes. Each run appends; the
    position is part of the table's own commit. Tables are written to paths and s3://. With --typed columns are added to a
    table as they come up, and those of another type are refused.

    DIR is a path, which all machines of a cluster of Spark share, or s3://BUCKET/PATH, gs://BUCKET/PATH,
    abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH, hdfs://HOST:PORT/PATH or file:///PATH. Credentials are those that
    the store's own tools find in the environment, of each process that writes.
    """
    asked = ExportOptions(**given)
    if not asked.topics:
        raise usage(
            "kcli pipeline export: a topic and a folder are required",
            why=f"only {asked.folder!r} is named",
            do="`kcli pipeline export TOPIC DIR`",
        )
    spec = asked.range()
    asked.check_layout()
    if asked.continuous:
        check_ends(inv.resolved, "pipeline export", "--continuous")
    # Clients are loaded when the command runs.
    from kcli.pipeline.drivers.export import COLUMNS, FIXED, Export
    from kcli.pipeline.store.urls import canonical

    if asked.form not in ("ndjson", "csv", "raw"):
        check_pyarrow("it writes Parquet", otherwise="--format ndjson")
    folder = canonical(asked.folder)
    appends = asked.append or asked.form in TABLES
    topics = Topics(asked.topics, "pipeline export", leave_out=appends)
    lake = None
    if asked.form in TABLES:
        from kcli.pipeline.tables.opening import open_lake  # an extra

        lake = open_lake(asked.form, folder, asked.catalog, several=topics.several)
    tasks = chosen_runner(inv, asked.tasks, "export")
    inv.client_options(ConsumerOptions, unused=FIXED)
    if not asked.typed:
        inv.configuration.check_no_registry()
    if lake is not None:
        return _to_tables(inv, asked, lake, topics, spec, tasks)
    with Export(
        own_cluster(inv, FIXED),
        Shown(inv),
        folder,
        topics.existing,
        topics=asked.topics,
        words=asked.words(),
        form=asked.form,
        spec=spec,
        partitions=None if asked.partitions is None else asked.partitions.value,
        continuous=asked.continuous,
        interval=asked.interval,
        append=asked.append,
        compact=asked.compact,
        record_gaps=asked.on_gap == "record",
        record_recreated=asked.on_recreate == "record",
        with_groups=asked.with_groups,
        with_config=asked.with_config,
    ) as driver:
        return _carry_out(inv, driver, folder, COLUMNS, tasks)


def _to_tables(
    inv: Invocation, asked: ExportOptions, lake: Lake, topics: Topics, spec: RangeSpec, tasks: TaskOptions
) -> int:
    # Clients are loaded when the command runs.
    from kcli.pipeline.drivers.export import COLUMNS, FIXED
    from kcli.pipeline.drivers.table_export import TableExport

    words = asked.words()
    for name in ("until", "exact_times", "partition_by"):
        del words[name]
    with TableExport(
        own_cluster(inv, FIXED),
        Shown(inv),
        lake,
        topics.existing,
        words=words,
        spec=spec,
        partitions=None if asked.partitions is None else asked.partitions.value,
        continuous=asked.continuous,
        interval=asked.interval,
        record_gaps=asked.on_gap == "record",
    ) as driver:
        return _carry_out(inv, driver, lake.folder, COLUMNS, tasks)


def _carry_out(
    inv: Invocation,
    driver: Export | TableExport,
    folder: str,
    columns: Sequence[Column],
    tasks: TaskOptions,
) -> int:
    """Plans, and runs what is to be done; returns the exit status."""
    driver.contact()
    inv.cluster_id = driver.cluster
    _check_folder(folder)
    driver.prepare()
    if inv.dry_run:
        show_plan(inv, driver.text())
        return inv.finish(done=True)
    if driver.is_idle:
        return _print(inv, driver.complete(), columns, Stop(), tasks, driver.head())
    with runner_of(inv, tasks) as runner, Stop() as stop:
        report = driver.run(runner, stop)
        return _print(inv, report, columns, stop, tasks, driver.head())


def _check_folder(folder: str) -> None:
    if os.path.isabs(folder) and os.path.lexists(folder) and not os.path.isdir(folder):
        raise usage(
            f"kcli pipeline export: {folder} is not a folder",
            why="an export is a folder of files",
            do="name a folder; it need not exist",
        )


def _print(
    inv: Invocation,
    report: Report,
    columns: Sequence[Column],
    stop: Stop,
    tasks: TaskOptions,
    head: Mapping[str, Any],
) -> int:
    return print_report(
        inv,
        report,
        columns,
        stop,
        command="export",
        runner=tasks.runner,
        cluster=inv.cluster_id,
        title="exported",
        head=head,
    )
