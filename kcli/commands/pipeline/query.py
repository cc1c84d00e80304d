"""``kcli pipeline query``: its options. What it does is in ``_query_run.py``."""

from typing import Any

import click

from kcli.commands.pipeline._job_options import job_options
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, CountType
from kcli.commands.shared.params import INSTANT, serde_option


@command(
    "query",
    changes=False,
    reads=(
        "KCLI_IMPL",
        "JAVA_HOME",
    ),
    outputs=("table", "plain", "tsv", "csv", "json", "ndjson", "yaml", "parquet"),
    examples=(
        (
            'kcli pipeline query orders --sql "select partition, count(*) from source group by all"',
            "count records",
        ),
        (
            'kcli pipeline query orders --sql "select value:customer.id id, sum(value:amount::double) total '
            'from source group by all order by total desc" --limit 10',
            "fields of JSON values: the ten best customers",
        ),
        (
            "kcli pipeline query orders --sql \"select * from source where key = '4711'\" --since 2d -o ndjson",
            "all records with a key, of two days",
        ),
        (
            'kcli pipeline query orders -s value=avro --sql "select value:status, count(*) from source group by all"',
            "Avro values",
        ),
        (
            'kcli pipeline query orders --sql "select * from source" -o parquet out/',
            "the result as Parquet files",
        ),
    ),
)
@click.argument("topics", nargs=-1, required=True, type=TOPIC, metavar="TOPIC… [DIR]")
@click.option(
    "--sql", required=True, metavar="SQL", help="The query, in Spark SQL; the records are the table source."
)
@click.option(
    "--since",
    type=INSTANT,
    metavar="TIME",
    help="Read records from this time on: 3h (ago), yesterday.",
)
@click.option("--until", type=INSTANT, metavar="TIME", help="Read records up to this time.")
@click.option("--limit", type=CountType(1), metavar="N", help="At most N rows of the result.")
@serde_option("Decode keys and values, for key:PATH, value:PATH, key_json and value_json: {names}.")
@job_options
@pass_invocation
def query(inv: Invocation, /, topics: tuple[str, ...], sql: str, **flags: Any) -> int:
    """Query topics by SQL, as they are now, on Spark.

    source has the columns topic, partition, offset, timestamp, timestamp_type, key, value, headers, leader_epoch, and
    key_text and value_text, which are null where the bytes are not UTF-8.

    value:a.b is the text at a path of the value's JSON; value:items[0].sku, value:['a b'] and value:n::int work too,
    and the same for key. With -s there are value_json and key_json, and paths lead into what was decoded.

    Only the columns that occur are read, and conditions on topic, partition, offset, timestamp and key limit what is
    read. With -o parquet the last argument is a folder, which is created.
    """
    from kcli.commands.pipeline._query_run import run  # not for --help

    return run(inv, topics, sql, flags)
