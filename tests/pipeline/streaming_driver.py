"""``python -m tests.pipeline.streaming_driver BOOTSTRAP SOURCE TARGET CHECKPOINT``: a notebook's stream that copies a
topic until now, in batches of 500 offsets, and commits its position for the group ``SOURCE-stream``. Not a test.
"""

import sys
from collections.abc import Mapping
from typing import Any

from pyspark.sql.functions import expr

from kcli.pipeline.spark.session import Session
from kcli.pipeline.spark.source import register


def start(
    session: Session,
    bootstrap: str,
    source: str,
    target: str,
    checkpoint: str,
    *,
    task: str = "",
    most: int = 500,
    trigger: Mapping[str, Any] | None = None,
) -> Any:
    """Starts the query. ``task``: an expression with 0 or 1, for each record the task that writes it; by default one task
    for each partition of the source.
    """
    register(session.sql)
    read = session.sql.readStream.format("kcli").option("kafka.bootstrap.servers", bootstrap)
    rows = (
        read.option("topic", source)
        .option("columns", "partition,key,value")
        .option("maxOffsetsPerTrigger", str(most))
        .option("commitOffsets", f"{source}-stream")
        .load()
    )
    if task:  # by Spark's hash 2 is of task 0, and 1 of task 1
        rows = rows.repartition(2, expr(f"if({task} = 0, 2, 1)"))
    write = (
        rows.writeStream.format("kcli").option("kafka.bootstrap.servers", bootstrap).option("topic", target)
    )
    return (
        write.option("checkpointLocation", checkpoint).trigger(**(trigger or {"availableNow": True})).start()
    )


def copy(
    session: Session, bootstrap: str, source: str, target: str, checkpoint: str, *, task: str = ""
) -> None:
    """Ends when all is copied; raises what Spark does."""
    query = start(session, bootstrap, source, target, checkpoint, task=task)
    try:
        query.awaitTermination()
    finally:
        query.stop()


if __name__ == "__main__":
    copy(Session(local=2), *sys.argv[1:])
