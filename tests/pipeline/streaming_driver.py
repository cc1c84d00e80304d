"""``python -m tests.pipeline.streaming_driver BOOTSTRAP SOURCE TARGET CHECKPOINT``: a notebook's stream that copies a
topic until now, in batches of 500 offsets, and commits its position for the group ``SOURCE-stream``. Not a test.
"""

import sys

from kcli.pipeline.spark.session import Session
from kcli.pipeline.spark.source import register


def copy(session: Session, bootstrap: str, source: str, target: str, checkpoint: str) -> None:
    """Ends when all is copied; raises what Spark does."""
    register(session.sql)
    read = session.sql.readStream.format("kcli").option("kafka.bootstrap.servers", bootstrap)
    rows = (
        read.option("topic", source)
        .option("columns", "partition,key,value")
        .option("maxOffsetsPerTrigger", "500")
        .option("commitOffsets", f"{source}-stream")
        .load()
    )
    write = (
        rows.writeStream.format("kcli").option("kafka.bootstrap.servers", bootstrap).option("topic", target)
    )
    query = write.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


if __name__ == "__main__":
    copy(Session(local=2), *sys.argv[1:])
