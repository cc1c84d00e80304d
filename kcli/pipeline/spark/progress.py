"""Progress of Spark's own jobs, such as queries, on kcli's progress line."""

from collections.abc import Callable

from kcli.output.progress import Progress
from kcli.pipeline.spark.watching import StageCounts


def shown_on(bar: Progress) -> Callable[[StageCounts], None]:
    """Makes what ``run_watched`` calls: it draws the tasks that are done and running. The bar's unit is tasks."""

    def show(counts: StageCounts) -> None:
        share = counts.done / counts.tasks if counts.tasks else None
        bar.update(counts.done, share=share, running=counts.active, failed=counts.failed)

    return show
