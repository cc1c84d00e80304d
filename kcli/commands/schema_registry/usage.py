"""``kcli registry usage``: find the topics that use a subject."""

import click

from kcli.commands.schema_registry._options import context_option
from kcli.commands.shared.cluster import CREATES_NONE
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, CountType, option
from kcli.commands.shared.params import SUBJECT
from kcli.commands.shared.record_consumer import record_consumer
from kcli.commands.shared.registry_client import registry_of
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.topic_choice import Topics
from kcli.core.options import ClientOptions
from kcli.core.types import TopicPartition
from kcli.flows.registry.names import parse_named
from kcli.flows.registry.rows import described
from kcli.flows.registry.usage import COLUMNS, HEAD, RECORDS, Ids, Usage, read_usage
from kcli.output.progress import counted


@command(
    "usage",
    exits={1: "there is no such subject, version or topic"},
    examples=(
        ("kcli registry usage orders-value", "topics whose last records carry one of its ids"),
        ("kcli registry usage orders-value:2 -t 'orders*' --records 1000", "one version, in some topics"),
        ("kcli registry usage orders-value --timeout 5m -o json", "for scripts, on a large cluster"),
    ),
)
@click.argument("name", type=SUBJECT, metavar="SUBJECT[:VERSION]")
@option(
    "-t",
    "--topic",
    "topics",
    type=TOPIC,
    multiple=True,
    metavar="TOPIC",
    help="only this topic, or those that match a shell pattern or ^REGEX; repeatable (default: all)",
)
@option(
    "--records",
    type=CountType(1),
    metavar="N",
    help="how many offsets at the end of each partition are read (default: 100)",
)
@context_option()
@pass_invocation
def subject_usage(
    inv: Invocation, name: str, topics: tuple[str, ...], records: int | None, context: str | None
) -> int:
    """Find the topics whose last records carry an id of a subject, in keys or values, or in headers.

    Look before a subject is deleted. Only the last records of each partition are read, and no internal topics. Several
    subjects with the same schema have the same id: these are named. Deleted versions count.

    What cannot be read within --timeout is missing: exit code 6.
    """
    named = parse_named(name, context)
    chosen = Topics(topics or ("*",), "registry usage")
    inv.client_options(ClientOptions, unused=CREATES_NONE)
    inv.page()
    with registry_of(inv) as registry:
        usage = Usage(Ids.of(described(registry, named, deleted=True)))
        with record_consumer(inv) as consumer:
            with inv.first_contact(inv.resolved.servers):
                consumer.connect(inv.timeout)
            found = chosen.existing(consumer, inv.timeout, inv.failed)
            numbers = consumer.partitions(found, inv.timeout)
            parts = [TopicPartition(topic, number) for topic in found for number in numbers[topic]]
            last = records or RECORDS
            for part in read_usage(consumer, parts, usage, last=last, seconds=inv.timeout):
                inv.lacks(part, later=True)
            cluster = consumer.cluster.view.cluster_id
        rows = [*usage.rows(registry, named.subject)]
        for part in usage.missing:
            inv.lacks(part)
    values = (named.subject, len({tp.topic for tp in usage.partitions}), len(usage.partitions), usage.read)
    head = dict(zip((column.key for column in HEAD), values, strict=True))
    print_rows(inv, "SubjectUsageList", COLUMNS, rows, cluster, item="SubjectUsage", head=head)
    if not rows:
        where = f"{counted(len(usage.partitions), 'partition')} of {counted(values[1], 'topic')}"
        inv.talk.note(f"no id of {named} is in the last {counted(last, 'offset')} of {where}")
    return inv.finish(done=bool(usage.partitions) or not inv.missing)
