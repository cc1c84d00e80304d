"""librdkafka's share consumer as a member of a group, in a process of its own. Not a test.

``python -m tests.chaos.librdkafka_share_member SERVERS GROUP TOPIC`` writes a line for each record, and acknowledges it
once it is written. SIGTERM makes it leave.
"""

import os
import signal
import sys

from confluent_kafka import ShareConsumer


def main(servers: str, group: str, topic: str) -> None:
    leaving = False

    def leave(*_args: object) -> None:
        nonlocal leaving
        leaving = True

    signal.signal(signal.SIGTERM, leave)
    consumer = ShareConsumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
            "max.poll.records": 200,
        }
    )
    consumer.subscribe([topic])
    while not leaving:
        messages = [message for message in consumer.poll(0.5) if message.error() is None]
        lines = [f"{m.partition()} {m.offset()} {m.delivery_count()}\n" for m in messages]
        os.write(1, "".join(lines).encode())
        for message in messages:
            consumer.acknowledge(message)
    consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
