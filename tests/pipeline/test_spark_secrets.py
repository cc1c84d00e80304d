"""A job with a password runs on Spark with its web pages and event log: neither they nor anything else shows a secret."""

import json
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from kcli.core.protocol.messages.fetch import FetchRequest
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fake.sasl import Sasl
from tests.run import environment
from tests.warm_kcli import KCLI

pytestmark = [pytest.mark.spark_cluster, pytest.mark.timeout(600)]

PASSWORD, STORE, SEEN = "canary-of-kafka-3b81", "canary-of-a-store-90d2", "visible-27c4"
PATIENCE = 240
LISTS = (
    "jobs",
    "stages?details=true",
    "executors",
    "storage/rdd",
    "environment",
    "sql?details=true&planDescription=true",
)
PAGES = ("jobs/", "stages/", "environment/", "executors/", "SQL/", "executors/threadDump/?executorId=driver")


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    users = Sasl(users={"ops": PASSWORD})
    with FakeCluster(1, cluster_id="c", topics={"t": 2}, sasl=users) as made:
        for partition in (0, 1):
            made.append("t", partition, batch(b"v", timestamp=1))
        yield made


def by_file(folder: Path) -> tuple[list[str], dict[str, str]]:
    """The password is the content of a file."""
    path = folder / "password"
    path.write_text(PASSWORD)
    path.chmod(0o600)
    return ["-X", f"sasl.password_file={path}"], {}


def in_properties(folder: Path) -> tuple[list[str], dict[str, str]]:
    """The password is in a file of properties."""
    path = folder / "client.properties"
    path.write_text(f"sasl.password={PASSWORD}\n")
    path.chmod(0o600)
    return ["-F", str(path)], {}


def in_the_environment(_folder: Path) -> tuple[list[str], dict[str, str]]:
    """The password is in a variable."""
    return [], {"KCLI_X_SASL_PASSWORD": PASSWORD}


def get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=30) as response:
        return str(response.read().decode())


def shown(port: int) -> dict[str, str]:
    """What the interface and the pages of a session say now."""
    (application,) = json.loads(get(port, "api/v1/applications"))
    own = f"api/v1/applications/{application['id']}"
    paths = [f"{own}/{name}" for name in LISTS] + list(PAGES)
    found = {path: get(port, path) for path in paths}
    for stage in json.loads(found[f"{own}/{LISTS[1]}"]):
        path = f"{own}/stages/{stage['stageId']}/{stage['attemptId']}/taskList"
        found[path] = get(port, path)
    for query in json.loads(found[f"{own}/{LISTS[-1]}"]):
        path = f"SQL/execution/?id={query['id']}"
        found[path] = get(port, path)
    return found


SQL = ("query", "t", "--sql", "select count(*) from source where value_text = 'v'")
JOBS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "a query, a file with the password": (by_file, SQL),
    "a query, a variable": (in_the_environment, SQL),
    "an export, a file of properties": (in_properties, ("export", "t", "FOLDER", "--format", "ndjson")),
    "a query, a file of properties": (in_properties, SQL),
}


@pytest.mark.case("K10", "X30", "R24")
@pytest.mark.parametrize("name", JOBS)
def test_no_page_interface_log_or_argument_shows_a_secret(
    cluster: FakeCluster, tmp_path: Path, name: str
) -> None:
    reference, words = JOBS[name]
    options, variables = reference(tmp_path)
    events = tmp_path / "events"
    events.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    conf = {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(port),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file:{events}",
        "spark.eventLog.compress": "false",
        "spark.hadoop.store.password": STORE,
        "spark.kcli.seen": SEEN,
    }
    sasl = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-256", "sasl.username=ops"]
    command = [
        "-b", cluster.bootstrap, *options, *[word for pair in sasl for word in ("-X", pair)], "pipeline",
        *[str(tmp_path / "out") if word == "FOLDER" else word for word in words],
        *[word for key, text in conf.items() for word in ("--spark-conf", f"{key}={text}")],
        "--master", "local[1]", "-o", "json", "-vv",
    ]  # fmt: skip
    hold = cluster.hold(FetchRequest, "answer")
    with subprocess.Popen(
        [*KCLI, *command],
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        hold.wait(timeout=PATIENCE)
        found = shown(port)
        for one in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                found[f"process {one.pid}"] = " ".join(one.cmdline())
                # A local session inherits them, for jobs that name variables (decision 0090).
                if not variables:
                    found[f"environment of {one.pid}"] = repr(one.environ())
        hold.release()
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err.decode()[-2_000:]
    log = {str(path): path.read_text() for path in events.rglob("*") if path.is_file()}
    seen = {*(path for path, text in {**found, **log}.items() if SEEN in text)}
    assert any("environment" in path for path in seen)
    assert seen & log.keys()
    assert all("spark.hadoop.store.password" in text for text in log.values() if SEEN in text)
    found |= log | {"stdout": out.decode(), "stderr": err.decode()}
    for path, text in found.items():
        assert PASSWORD not in text, path
        assert STORE not in text, path
