"""Every command over a link whose answers come late: it ends as over a quick one.

Each line has a cluster of its own, whose answers are late from the first one on. They come one after the other, as of a
proxy that lets one answer pass at a time: a request waits for the answers to those before it. What a line returns over a
quick link is in its table.
"""

import shlex
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from kcli.core.clock import wall_ms
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit, put
from tests.fake.cluster import FakeCluster
from tests.fake.scram_store import Credential
from tests.lines import NO_CLUSTER, PATHS
from tests.run import KCLI, environment
from tests.walked import fill_controllers
from tests.warm_kcli import WarmPopen

NO_END = {"exporter", "top"}
BUSY = "s passed between the last read of the"

LINES = {
    "acls check --principal User:a --operation read --topic t": 8,
    "acls create --principal User:a --operation read --topic t --yes": 0,
    "acls delete --topic t --yes": 0,
    "acls list": 0,
    "brokers api-versions": 0,
    "apply {dir}/applied.yaml --yes": 0,
    "brokers describe 1": 0,
    "brokers drain 1 --yes": 7,
    "brokers list": 0,
    "brokers move-log-dir 1 --from=/fake/1 --to=/fake/1-2 --yes": 0,
    "brokers unregister 9 --yes": 0,
    "cluster check": 8,  # a broker is fenced
    "cluster describe --log-dirs": 6,  # a broker is fenced
    "configs alter topics t --set retention.ms=5 --yes": 0,
    "configs describe topics t": 0,
    "configs list client-metrics": 0,
    "consume t -e": 0,
    "consume t -e -g mine": 0,
    "consume t --tail 3": 0,
    "consume t -e --since 2023-11-14T22:15Z": 0,
    "diff {dir}/topic.yaml": 0,
    "doctor --topic t --group g": 0,
    "elect-leaders --topic t --yes": 0,
    "export": 6,  # a broker is fenced
    "features downgrade --feature transaction.version=1 --yes": 0,
    "features list": 0,
    "features upgrade --metadata 4.4-IV0 --yes": 0,
    "groups copy g new --yes": 0,
    "groups create new -t t --from 3 --yes": 0,
    "groups delete g --yes": 0,
    "groups delete-offsets g -t t --yes": 0,
    "groups describe g --peek 1": 0,
    "groups export g": 0,
    "groups import {dir}/offsets.csv --yes": 0,
    "groups lag g --time exact": 0,
    "groups list": 0,
    "groups remove-members g somebody --yes": 1,
    "groups reset-app g --yes": 0,
    "groups rewind g --to earliest --yes": 0,
    "groups rewind g h --to 2023-11-14T22:15Z --yes": 0,
    "groups why g": 6,
    "mirror accept-gap --all --to {broker}": 1,
    "mirror check --from {broker} --to {broker}": 1,
    "mirror promote --from {broker} --to {broker} --yes": 1,
    "mirror reset t --from {broker} --to {broker} --offset earliest --yes": 1,
    "mirror reverse --from {broker} --to {broker} --yes": 1,
    "mirror status --to {broker}": 0,
    "mirror verify --from {broker} --to {broker} -t t --map-topic t=other": 8,
    "mirror run --from {broker} --to {broker} -t t --map-topic t=copy --until-caught-up --verify --yes": 0,
    "mirror run --from {broker} --to {broker} -t t --map-topic t=copy --until-caught-up --exactly-once --yes": 0,
    "perf consume -t t --num-records 10": 0,
    "perf consume -t t --num-records 10 -g mine": 0,
    "perf e2e -t t --num-records 3 --record-size 100": 0,
    "perf produce -t t --num-records 50 --record-size 100 --verify": 0,
    "pipeline export t {dir}/exported --format ndjson --runner inline": 0,
    "pipeline import {dir}/made --runner inline --yes --force": 0,
    "pipeline mirror --from {broker} --to {broker} -t t --map-topic t=copy --runner inline --yes": 0,
    "pipeline perf -t t --num-records 10 --record-size 100 --runner inline": 0,
    "pipeline profile t --runner inline": 0,
    "pipeline query t --sql 'select count(*) from source'": 0,
    "pipeline replay t --to copy --runner inline --yes --force": 0,
    "pipeline verify --from {broker} --to {broker} -t t --map-topic t=copy --runner inline": 8,
    "produce t {dir}/lines.txt": 0,
    "produce t {dir}/lines.txt --transactional-id mine": 0,
    "profile test -b {broker}": 0,
    "query t 'select count(*) from source'": 0,
    "quorum add-controller 8 --endpoint controller-8:9093 --yes": 0,
    "quorum describe": 0,
    "quorum remove-controller 7 --yes": 0,
    "quotas alter --user a --set request_percentage=5 --yes": 0,
    "quotas list": 0,
    "reassign cancel --all --yes": 0,
    "reassign plan --topic t": 0,
    "reassign run {dir}/moves.json --yes": 0,
    "reassign status": 0,
    "tokens create --hmac-file {dir}/token --yes --allow-plaintext-secrets": 0,
    "tokens expire token-of-a --yes --allow-plaintext-secrets": 0,
    "tokens list --allow-plaintext-secrets": 0,
    "tokens renew token-of-a --for 1h --yes --allow-plaintext-secrets": 0,
    "topics alter t --set retention.ms=5 --partitions 4 --yes": 0,
    "segments restore {dir}/gone-0 --to {broker} --yes": 0,
    "topics copy t copied": 0,
    "topics create made --partitions 3": 0,
    "topics delete t --yes": 0,
    "topics describe t": 0,
    "topics list": 0,
    "topics offsets t": 0,
    "topics who t": 0,
    "topics trim t --before 5 --yes": 0,
    "txn abort --topic t --yes": 0,
    "txn describe --topic t": 0,
    "txn list": 0,
    "undo": 0,
    "users delete a --yes": 0,
    "users list": 0,
    "users set a --yes --allow-plaintext-secrets --password-file {dir}/password": 0,
}


@contextmanager
def seeded() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 3, "copy": 3}, log_dirs=2) as cluster:
        for partition in range(3):
            put(cluster, "t", partition)
        for group in ("g", "h"):
            commit(cluster, group, {TopicPartition("t", n): OffsetAndMetadata(10) for n in range(3)})
        cluster.tokens.add(wall_ms(), "ANONYMOUS", token_id="token-of-a")
        fill_controllers(cluster)
        cluster.scram.changed["a", 1] = Credential(b"salt", 4_096, b"", b"")
        yield cluster


def write_files(folder: Path) -> None:
    """What the lines find in ``{dir}``."""
    (folder / "lines.txt").write_text("one\ntwo\nthree\n")
    (folder / "gone-0").mkdir()
    (folder / "gone-0" / "00000000000000000000.log").write_bytes(b"")
    (folder / "offsets.csv").write_text("g,t,0,3\n")
    (folder / "topic.yaml").write_text(
        "apiVersion: kcli/v1\nkind: Topic\nmetadata: {name: t}\nspec: {partitions: 3}\n"
    )
    (folder / "applied.yaml").write_text(
        "{apiVersion: kcli/v1, kind: Topic, metadata: {name: t}, spec: {config: {retention.ms: 5}}}"
    )
    (folder / "moves.json").write_text('{"partitions":[{"topic":"t","partition":0,"replicas":[1]}]}')
    (folder / "password").write_text("hunter2")
    (folder / "password").chmod(0o600)


def ended(line: str, seconds: float, folder: Path) -> "subprocess.CompletedProcess[str]":
    """How the line ends over a link with so late answers."""
    folder.mkdir()
    write_files(folder)
    with seeded() as cluster:
        broker = cluster.bootstrap
        homes = {f"XDG_{name}_HOME": str(folder / name) for name in ("CONFIG", "STATE", "CACHE")}
        export_for(line, folder, broker, homes)
        if seconds:
            cluster.delay(None, seconds)
        return run(line.format(dir=folder, broker=broker), broker, homes)


def export_for(line: str, folder: Path, broker: str, homes: dict[str, str]) -> None:
    """Makes the export that a line imports."""
    if "/made" in line:
        code = run(f"pipeline export t {folder}/made --format ndjson --runner inline", broker, homes)
        assert code.returncode == 0, code.stderr


def run(line: str, broker: str, homes: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    words = shlex.split(line)
    named = "" if {"--from", "--to"} <= set(words) else broker
    process = WarmPopen(
        [*KCLI, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(named, **homes),
    )  # fmt: skip
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def test_every_command_has_a_line() -> None:
    words = {" ".join(line.split()[:2]) for line in LINES} | {line.split()[0] for line in LINES}
    assert {*PATHS} - words == NO_CLUSTER | NO_END


@pytest.mark.parametrize("seconds", [0.3, pytest.param(1.0, marks=pytest.mark.soak)])
def test_every_command_ends_as_over_a_quick_link(seconds: float, tmp_path: Path) -> None:
    """A line that sets offsets runs once more where the machine was too busy to prove that nobody came between."""
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda row: ended(row[1], seconds, tmp_path / str(row[0])), enumerate(LINES)))
    for number, line in enumerate(LINES):
        if BUSY in found[number].stderr:
            found[number] = ended(line, seconds, tmp_path / f"{number}-alone")
    wrong = {
        line: (one.returncode, one.stderr)
        for (line, code), one in zip(LINES.items(), found, strict=True)
        if one.returncode != code
    }
    assert not wrong
