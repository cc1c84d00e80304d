"""``kcli segments dump``: print batches, records, or entries of indexes."""

from __future__ import annotations

from kcli.commands.segments._paths import check_paths, path_arguments, topic_option
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import REPORT_KINDS, option


@command(
    "dump",
    outputs=(*REPORT_KINDS, "kafka"),
    exits={
        5: "a batch is damaged; what is behind it is printed too",
        6: "a file or folder could not be read",
    },
    examples=(
        ("kcli segments dump /data/kafka/orders-3", "a line for each batch"),
        (
            "kcli segments dump /data/kafka/orders-3 --records -o ndjson",
            "the records, also of aborted transactions",
        ),
        (
            "kcli segments dump /data/kafka/__cluster_metadata-0 --records",
            "topics, configurations and ACLs of a cluster",
        ),
        ("kcli segments dump 00000000000000000000.log -o kafka", "the lines of kafka-dump-log.sh"),
        (
            "kcli segments dump /data/kafka/orders-3 --indexes",
            "entries of .index, .timeindex, .txnindex, .snapshot",
        ),
    ),
)
@path_arguments
@option("--records", is_flag=True, help="records in place of batches; those of internal topics are decoded")
@option(
    "--indexes",
    is_flag=True,
    help="of folders, the entries of .index, .timeindex, .txnindex and .snapshot files in place of batches",
)
@option(
    "--show-secrets",
    is_flag=True,
    help="with --records: print keys of SCRAM and sensitive configurations of the metadata log",
)
@topic_option
@pass_invocation
def dump_segments(
    inv: Invocation,
    paths: tuple[str, ...],
    records: bool,
    indexes: bool,
    show_secrets: bool,
    topics: tuple[str, ...],
) -> int:
    """Print what is in segments: batches, records, or entries of indexes.

    A path may also be an .index, .timeindex, .txnindex, .snapshot or .checkpoint file: its entries, or batches, are
    printed. Everything in the files is printed, also records of aborted and open transactions, and control records.
    `kcli consume --from-dir` reads what consumers would read.

    Records of __consumer_offsets, __transaction_state, __share_group_state and __cluster_metadata are decoded. With
    -o kafka, batches, records and entries are printed as kafka-dump-log.sh of Kafka 4.4 prints them with
    --print-data-log and, for those topics, its decoders.
    """
    check_paths(paths)
    from kcli.commands.segments import _dumping as run  # core is loaded when the command runs

    return run.dump_segments(
        inv,
        paths,
        run.DumpOptions(records=records, indexes=indexes, show_secrets=show_secrets, topics=topics),
    )
