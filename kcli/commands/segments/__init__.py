"""``kcli segments``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "segments",
    cls=Group,
    examples=(
        ("kcli segments list /data/kafka", "what is in a log directory"),
        (
            "kcli segments verify /data/kafka",
            "whether all of it is whole: checksums, offsets, indexes, epochs",
        ),
        ("kcli segments dump /data/kafka/orders-3 --records", "the records of a partition"),
        (
            "kcli segments restore /mnt/disk1 /mnt/disk2 --to new",
            "the topics of a cluster that is gone, to another one",
        ),
    ),
)
def segments() -> None:
    """Read the files of brokers' logs: list, describe, dump, verify and restore them, without a broker and without Java.

    Paths are log directories of brokers, folders of several of them, folders of partitions such as orders-3, or single
    .log files. These files are only read. The broker may be running: what it writes meanwhile is not included.
    """
