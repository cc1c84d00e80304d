"""Commands where optional extras are not installed: what needs one says so (2) and changes nothing, the rest works."""

import shlex
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kcli.core.clock import wall_ms
from tests.extras import ALL, EXTRAS
from tests.fake.acl_admin import Acl
from tests.fake.cluster import FakeCluster
from tests.packages.every_command import (
    LATE,
    LINES,
    NAME_CLUSTERS,
    STATUS,
    WITH_JAVA,
    WITH_SPARK,
    Done,
    prepare,
)
from tests.run import ROOT, kcli_process
from tests.walked import fill_controllers
from tests.warm_kcli import without

MIRROR = "pipeline mirror --from {broker} --to {broker} -t orders --map-topic orders={new} --yes"
VERIFY = "pipeline verify --from {broker} --to {broker} -t orders --map-topic orders=copy"
PERF = "pipeline perf -t e2e --num-records 10 --record-size 100"
EXPORT = "pipeline export orders {dir}/{new} --format ndjson"
REPLAY = "pipeline replay orders --to copy --yes"
PROCESSES = (EXPORT, MIRROR, VERIFY, PERF, REPLAY)
"""Jobs that need no library of the extra ``spark``."""

SASL = "-X security.protocol=SASL_PLAINTEXT -X sasl.mechanism="
NEEDS = {
    "spark": (
        *(f"{line} --runner spark" for line in PROCESSES),
        f"{MIRROR} --master local[2]",
        f"{MIRROR} --dry-run --runner spark",
        f"{VERIFY} --repair --yes --spark-conf a=b",
        f"{REPLAY} --where 'offset > 3'",
        "pipeline export orders {dir}/{new}",
        "pipeline export orders {dir}/{new} --runner processes",
        "pipeline import {dir}/exported --map-topic orders={new} --yes",
        "pipeline profile orders",
        "pipeline profile orders --runner inline",
        "pipeline query orders --sql 'select 1 from source' --engine spark",
        "pipeline pack",
    ),
    "lake": (
        "pipeline export orders s3://bucket/{new} --format ndjson --runner inline",
        "pipeline export orders gs://bucket/{new} --format ndjson --runner inline",
    ),
    "sql": (
        "pipeline query orders --sql 'select 1 from source' --engine duckdb",
        "query orders 'select 1 from source' --engine duckdb",
    ),
    "sandbox": ("sandbox up {new}", "sandbox up {new} --dry-run", "sandbox up {new} --secure", "demo"),
    "fast": (),
    "avro": (
        "consume orders -e -s value=avro:file={dir}/schema.avsc",
        "produce {new} {dir}/lines.txt --allow-auto-topic-creation -s value=avro:file={dir}/schema.avsc",
    ),
    "protobuf": (
        "consume orders -e -s value=protobuf:file={dir}/schema.proto",
        "produce {new} {dir}/lines.txt --allow-auto-topic-creation -s value=protobuf:file={dir}/schema.proto",
    ),
    "jsonschema": (
        "produce {new} {dir}/lines.txt --allow-auto-topic-creation -s value=jsonschema:file={dir}/schema.json",
    ),
    "zookeeper": (
        "groups export --all --zookeeper 127.0.0.1:1",
        "groups import {dir}/offsets.csv --zookeeper 127.0.0.1:1 --yes",
    ),
    "keyring": (f"topics create {{new}} {SASL}PLAIN -X sasl.username=me -X sasl.password=keyring:kcli/me",),
    "exporter": ("exporter --listen 127.0.0.1:0",),
    "yaml": (),
    "pkcs12": ("topics create {new} -X security.protocol=SSL -X ssl.truststore.location={dir}/store.p12",),
    "msk-iam": ("topics create {new} -X security.protocol=SASL_SSL -X sasl.mechanism=AWS_MSK_IAM",),
    "glue": ("consume orders -e -s value=glue",),
    "kerberos": (f"topics create {{new}} {SASL}GSSAPI",),
}
"""Lines that cannot do without the extra."""

FILES = {
    "schema.avsc": '"string"',
    "schema.proto": 'syntax = "proto3"; message A { string a = 1; }',
    "schema.json": "{}",
    "store.p12": "0\x13\x02\x01\x030" + "\0" * 16,
}
CHANGES = (
    "Add",
    "Alter",
    "Create",
    "Delete",
    "Elect",
    "EndTxn",
    "Incremental",
    "InitProducerId",
    "Join",
    "OffsetCommit",
)
CHANGES += ("OffsetDelete", "Produce", "TxnOffsetCommit", "WriteTxn")
"""How the names of requests that change something begin."""


FAKE = {"groups why": 6, "cluster check": 8, "cluster describe": 6}
"""What a line returns on the fake cluster: it has no topic of commits, and a broker is fenced."""


class World:
    """A cluster, and a kcli without some libraries."""

    def __init__(self, cluster: FakeCluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        self._homes = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "STATE", "CACHE")}
        self._count = 0

    def words(self, line: str) -> list[str]:
        self._count += 1
        values = {
            "dir": self.folder,
            "broker": self.cluster.bootstrap,
            "new": f"new-{self._count}",
            "name": "here",
        }
        return shlex.split(line.format(**values))

    def run(self, words: Sequence[str], absent: Sequence[str] = ()) -> Done:
        own = (
            words[0] == "profile"
            or " ".join(words[:2]) in NAME_CLUSTERS
            or words[0] in NAME_CLUSTERS
            or "-b" in words
        )
        named = "" if own else self.cluster.bootstrap
        lacking = without(absent) if absent else {}
        done = kcli_process(*words, bootstrap=named, **self._homes, **lacking)
        return Done(done.code, done.out, done.err)

    def changes(self, since: int) -> list[str]:
        names = [seen.kind.__name__ for seen in self.cluster.requests[since:]]
        return [name for name in names if name.startswith(CHANGES)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with FakeCluster(1) as cluster:
        made = World(cluster, tmp_path_factory.mktemp("extras"))
        cluster.acls.add(Acl(2, "orders", 3, "User:a", "*", 3, 3))
        cluster.tokens.add(wall_ms(), "ANONYMOUS", token_id="token-of-a")
        fill_controllers(cluster)
        prepare(made.run, broker=cluster.bootstrap, folder=made.folder)
        for name, text in FILES.items():
            (made.folder / name).write_bytes(text.encode("latin-1"))
        yield made


def test_each_extra_has_its_lines() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert EXTRAS.keys() == NEEDS.keys() == extras.keys() - {"schemas", "dev", "test"}


@pytest.mark.parametrize(
    ("extra", "line"), [(extra, line) for extra, lines in NEEDS.items() for line in lines], ids=str
)
def test_what_needs_an_extra_names_it_before_anything_is_changed(world: World, extra: str, line: str) -> None:
    for absent in (EXTRAS[extra], ALL):
        before = len(world.cluster.requests)
        words = world.words(line)
        done = world.run(words, absent)
        assert done.code == 2, done.err
        assert f"install 'kcli-kafka[{extra}]'" in done.err.partition("  do: ")[2]
        assert not world.changes(before)
        assert not list(world.folder.glob("new-*"))


@pytest.mark.parametrize("leaf", LINES)
def test_without_any_extra_the_other_commands_work(world: World, leaf: str) -> None:
    if leaf in LATE and leaf != "pipeline import":
        return  # of what is made by the other lines: they need no extra
    done = world.run(world.words(f"{leaf} {LINES[leaf]}"), ALL)
    assert "defect of kcli" not in done.err
    assert done.code in (
        {2} if leaf in WITH_SPARK | WITH_JAVA else {0, STATUS.get(leaf, 0), FAKE.get(leaf, 0)}
    ), done.err


@pytest.mark.parametrize("line", PROCESSES)
def test_where_spark_is_not_there_jobs_run_in_processes_and_say_so(world: World, line: str) -> None:
    done = world.run(world.words(f"{line} --local 1 -o json"), EXTRAS["spark"])
    assert done.code == (8 if line == VERIFY else 0), done.err
    assert '"runner":"processes"' in done.out.replace(" ", "")
    assert "the tasks run in processes of this machine: Spark needs pyspark" in done.err
    assert "install 'kcli-kafka[spark]'" in done.err


def test_where_spark_cannot_start_a_mirror_creates_no_topic(world: World) -> None:
    before = len(world.cluster.requests)
    done = world.run(world.words(f"{MIRROR} --runner spark --java-home {{dir}}"))
    assert (done.code, "no Java 17 or newer to run Spark" in done.err) == (2, True), done.err
    assert not world.changes(before)
