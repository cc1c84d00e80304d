"""``kcli mirror verify``: compares what a job has copied with its source, and copies nothing."""

from kcli.commands.mirror.copying import copy_or_compare
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import checkpoint_option
from kcli.commands.shared.two_clusters import (
    check_excludes,
    exclude_option,
    from_option,
    job_option,
    map_topic_option,
    to_option,
    topics_option,
)
from kcli.flows.mirror.settings import MirrorSettings


@command(
    "verify",
    exits={8: "the clusters differ"},
    reads=("KCLI_IMPL",),
    outputs=("table", "plain", "wide", "tsv", "csv", "json", "ndjson", "yaml"),
    examples=(
        ("kcli mirror verify --from a:9092 --to b:9092 -t orders", "compare a topic with its copy"),
        (r"kcli mirror verify --from a:9092 --to b:9092 -t '*' --map-topic '^(.*)$=eu.\1'", "renamed topics"),
    ),
)
@options(
    "What to compare",
    from_option("copied", required=True),
    to_option("the copy", required=True),
    topics_option("compare", required=True),
    exclude_option("compare"),
    map_topic_option("topic B of the target is the copy of topic A"),
    job_option(),
    checkpoint_option("the position of the job is in FILE instead of a topic of the target"),
)
@pass_invocation
def verify(
    inv: Invocation,
    /,
    source: str,
    target: str,
    topics: tuple[str, ...],
    excludes: tuple[str, ...],
    renames: tuple[str, ...],
    job: str | None,
    checkpoint: str | None,
) -> int:
    """Compare what a mirror has copied with its source, record by record.

    What the job has copied and the source still has is compared; without such a job, all of both topics.
    """
    check_excludes("mirror verify", topics, excludes)
    settings = MirrorSettings(
        topics=topics, excludes=excludes, renames=renames, job=job, checkpoint=checkpoint, verify_only=True
    )
    return copy_or_compare(inv, source, target, settings)
