"""The mirror jobs that write to a cluster, as its state topic and its groups know them."""

from collections.abc import Callable

from kcli.commands._mirror_clusters import Side
from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.flows.mirror.errors import may_pass
from kcli.flows.mirror.group_position import group_jobs
from kcli.flows.mirror.state import JobState, SavedJob
from kcli.flows.mirror.store import load_topic


def saved_jobs(inv: Invocation, side: Side, admin: Admin, *, wait: bool) -> dict[str, SavedJob]:
    """The jobs of ``kcli mirror`` that write to one side. ``wait``: see ``load_topic``."""
    options = side.options(ConsumerOptions, isolation_level="read_committed", max_poll_records=WHOLE_BATCHES)
    with Consumer(options, hooks=inv.hooks) as reader:
        return load_topic(admin, reader, wait=wait)


def jobs_that_write(
    inv: Invocation, side: Side, admin: Admin, other_cluster: str, *, again: bool = False
) -> list[JobState]:
    """The jobs that write to one side, those of ``kcli pipeline mirror`` only where they copy from ``other_cluster``.

    What this client may not read is left out. ``again``: the caller tries again later, so an error that may pass is
    raised.
    """
    jobs: list[JobState] = []
    readers: tuple[Callable[[], list[JobState]], ...] = (
        lambda: [job.state for job in saved_jobs(inv, side, admin, wait=False).values()],
        lambda: group_jobs(admin, other_cluster),
    )
    for read in readers:
        try:
            jobs += read()
        except KcliError as error:
            if again and may_pass(error):
                raise
            inv.talk.detail(f"whether mirrors write to {side.servers} is not known: {error}")
    return jobs
