"""What the lines of ``tests/lines.py`` find where a walk over all commands runs them: a cluster and files. Not a test."""

from pathlib import Path

from kcli.core.clock import wall_ms
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit, put
from tests.fake.cluster import FakeCluster
from tests.fake.scram_store import Credential

NAMES = {"topic": "t", "other": "other", "group": "g"}
"""For the keys of the lines."""
FILES = {
    "lines.txt": "one\ntwo\nthree\n",
    "offsets.csv": "g,t,0,3\n",
    "topic.yaml": "apiVersion: kcli/v1\nkind: Topic\nmetadata: {name: t}\nspec: {partitions: 3}\n",
    "applied.yaml": "{apiVersion: kcli/v1, kind: Topic, metadata: {name: t}, spec: {config: {retention.ms: 5}}}\n",
    "gone-0/00000000000000000000.log": "",
    "moves.json": '{"partitions":[{"topic":"t","partition":0,"replicas":[1]}]}',
}


def fill(cluster: FakeCluster) -> None:
    """Makes the topics, the group, a second log directory, a user, a token, a quorum that can be changed, and a broker
    that is gone.
    """
    cluster.create_topic("t", 3)
    cluster.create_topic("other", 3, configs={"retention.ms": "60000"})
    put(cluster, "t", 0)
    commit(cluster, "g", {TopicPartition("t", 0): OffsetAndMetadata(10)})
    cluster.scram.changed["a", 1] = Credential(b"salt", 4_096, b"", b"")
    cluster.tokens.add(wall_ms(), "ANONYMOUS", token_id="token-of-a")
    cluster.settings.log_dirs = 2
    fill_controllers(cluster)


def fill_controllers(cluster: FakeCluster) -> None:
    """A quorum that can be changed, levels that can be upgraded, and a broker that is gone."""
    cluster.quorum.make_dynamic([*cluster.node_ids, 7], [8])
    cluster.stopped_brokers.add(9)
    cluster.settings.newest_metadata_version = 31


def write_files(folder: Path) -> None:
    """Writes the files into ``{dir}``."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
