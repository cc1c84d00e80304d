"""Commands that set committed offsets, against the fake cluster, and what they have set. Not a test."""

import subprocess
from pathlib import Path
from typing import Any

from kcli.core import Admin
from kcli.core.types import OffsetAndMetadata, Record, TopicPartition
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.run import KCLI, Done, environment, kcli
from tests.warm_kcli import WarmPopen

STAMP = 1_700_000_000_000
MINUTE = 60_000


def put(cluster: FakeCluster, topic: str, partition: int, count: int = 20, *, first_minute: int = 0) -> None:
    """One record a minute, from offset 0 on."""
    start = STAMP + first_minute * MINUTE
    rows = [Record(topic, partition, n, start + n * MINUTE, 0, None, b"v", ()) for n in range(count)]
    cluster.append(topic, partition, bytes(batch_of(rows).raw))


def commit(cluster: FakeCluster, group: str, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        assert not any(admin.commit_offsets({group: offsets})[group].values())


def committed(cluster: FakeCluster, group: str = "g") -> dict[TopicPartition, OffsetAndMetadata]:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        told: Any = admin.fetch_offsets({group: None})[group]
        return {where: one for where, one in told.items() if one is not None}


def offsets(cluster: FakeCluster, group: str = "g") -> list[int]:
    return [one.offset for _, one in sorted(committed(cluster, group).items())]


class Kcli:
    """Runs kcli with a state folder of its own, here but for ``start``; ``verb`` comes before all arguments."""

    def __init__(self, cluster: FakeCluster, state: Path, *verb: str) -> None:
        self.state = state
        self.verb = verb
        self.environment = environment(cluster.bootstrap, XDG_STATE_HOME=str(state), TZ="Europe/Berlin")

    def __call__(self, *arguments: str, code: int = 0, stdin: str = "") -> Done:
        done = kcli(*self.verb, *arguments, stdin=stdin.encode(), **self.environment)
        assert done.code == code, done
        assert "Traceback" not in done.err
        return done

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return WarmPopen(
            [*KCLI, *self.verb, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment,
        )  # fmt: skip

    def items(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        return self(*arguments, "-o", "json", code=code).items

    def journals(self) -> list[Path]:
        return sorted(self.state.glob("kcli/rewind/*/*.json"))
