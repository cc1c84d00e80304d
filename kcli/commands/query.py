"""``kcli query``: query topics by SQL. The work is that of ``kcli pipeline query``."""

from __future__ import annotations

from typing import Any

import click

from kcli.commands.pipeline.jobs import READS
from kcli.commands.pipeline.query import OUTPUTS, new_folder, run_query
from kcli.commands.pipeline.query_options import QueryOptions, query_options
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC
from kcli.commands.shared.usage import usage

_USAGE = '`kcli query TOPIC "select count(*) from source"`'


@command(
    "query",
    reads=READS,
    outputs=OUTPUTS,
    examples=(
        (
            'kcli query orders "select value:status, count(*) from source group by all"',
            "count by a field of JSON values",
        ),
        (
            'kcli query orders "select value:customer.id id, sum(value:amount::double) total from source group by all '
            'order by total desc" --limit 10',
            "the ten best customers",
        ),
        (
            'kcli query orders payments "select o.key_text, p.value:state '
            'from orders o join payments p on o.key = p.key"',
            "join two topics",
        ),
        ('kcli query orders "select * from source" out/ -o parquet', "the result as Parquet files"),
        (
            "kcli query orders \"select tumble(timestamp, '1 minute') as w, value:status, count(*) from source "
            'group by 1, 2" --follow --late 10s',
            "windows of a minute, each when it closes",
        ),
    ),
)
@click.argument("words", nargs=-1, required=True, type=TOPIC, metavar="TOPIC… SQL [DIR]")
@query_options
@pass_invocation
def query(inv: Invocation, /, words: tuple[str, ...], **given: Any) -> int:
    """Query topics by SQL, as they are now: the same as `kcli pipeline query TOPIC --sql SQL`.

    The SQL is Spark's; the records are the table source, with the columns topic, partition, offset, timestamp,
    timestamp_type, key, value, headers, leader_epoch, key_text and value_text. value:a.b is the text at a path of the
    value's JSON. Each TOPIC is a table as well.

    With --follow the query goes on with what arrives: rows as they come, and windows, group by tumble(timestamp,
    '1 minute'), when they close. `kcli pipeline query --help` says more.
    """
    wants_folder = inv.out.kind == "parquet"
    if len(words) < (3 if wants_folder else 2):
        raise usage(
            "kcli query: an argument is missing",
            why=f"it needs a topic, SQL{' and a folder' if wants_folder else ''}, and there {_are(len(words))}",
            do=_USAGE + (" with the folder DIR behind it" if wants_folder else ""),
        )
    folder = new_folder(words[-1]) if wants_folder else None
    *topics, sql = words[:-1] if wants_folder else words
    return run_query(inv, QueryOptions(topics=tuple(topics), sql=sql, **given), folder)


def _are(count: int) -> str:
    return "is 1 argument" if count == 1 else f"are {count} arguments"
