"""``kcli mirror verify``: compares what a job has copied with its source, and copies nothing."""

from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import REPORT_KINDS
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
    exits={
        5: "a topic was created anew, records were lost, or a batch is damaged",
        6: "some partitions could not be read",
        8: "the clusters differ",
    },
    reads=("KCLI_IMPL",),
    outputs=REPORT_KINDS,
    examples=(
        ("kcli mirror verify --from a:9092 --to b:9092 -t orders", "compare a topic with its copy"),
        ("kcli mirror verify --from a:9092 --to b:9092 --job nightly", "compare all topics of a job"),
        (r"kcli mirror verify --from a:9092 --to b:9092 -t '*' --map-topic '^(.*)$=eu.\1'", "renamed topics"),
    ),
)
@options(
    "What to compare",
    from_option("copied", required=True),
    to_option("the copy", required=True),
    topics_option("compare", required=False),
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

    What the job has copied and the source still has is compared, without -t all topics of the job. The job may run
    meanwhile: the comparison ends where its saved positions are. Records that the mirror stored twice, after a kill, are
    counted and are no difference. Of a compacted topic the last record of each key is compared. Without such a job, all
    of both topics is compared.
    """
    check_excludes("mirror verify", topics, excludes)
    settings = MirrorSettings(
        topics=topics, excludes=excludes, renames=renames, job=job, checkpoint=checkpoint
    )
    from kcli.commands.mirror.comparing import compare_topics  # not for --help

    return compare_topics(inv, source, target, settings)
