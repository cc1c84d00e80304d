"""What ``contrib/kubernetes`` runs, run as its pods do: arguments and Secret as they stand, mounted elsewhere, in an
empty home, against a simulated cluster under the name in the profile, with TLS and SCRAM.
"""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.certificates import Authority
from tests.checks.test_contrib import documents, pod_of
from tests.exporting import get
from tests.fake.cluster import FakeCluster
from tests.fake.sasl import Sasl
from tests.run import environment, kcli_process, start

HOST, PASSWORD = "kafka.example", "change-me"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def cluster(authority: Authority) -> Iterator[FakeCluster]:
    users = dict.fromkeys(("kcli-exporter", "kcli-export"), PASSWORD)
    with FakeCluster(1, topics={"orders": 2}, tls=authority.broker(HOST), sasl=Sasl(users=users)) as found:
        found.advertise(1, HOST)
        yield found


def mounted(name: str, folder: Path, authority: Authority) -> list[str]:
    """The arguments of the pod, after its Secret was mounted in the folder."""
    found = documents(name)
    mounts = {one["name"]: one["mountPath"] for one in pod_of(found)["containers"][0]["volumeMounts"]}
    for file, text in {**found["Secret"]["stringData"], "ca.crt": authority.pem}.items():
        path = folder / "kcli" / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace(mounts["config"], str(path.parent)))
        path.chmod(0o600)
    arguments = pod_of(found)["containers"][0]["args"]
    return [word.replace("--file=/export", f"--file={folder}") for word in arguments]


def variables(cluster: FakeCluster, folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder / "home"),
        "XDG_CONFIG_HOME": str(folder),
        "KCLI_X_MAP_ADDRESS": f"*={cluster.address(1)}",
    }


def test_the_job_writes_what_the_cluster_has(
    cluster: FakeCluster, authority: Authority, tmp_path: Path
) -> None:
    arguments = mounted("export.yaml", tmp_path, authority)
    done = kcli_process(*arguments, **variables(cluster, tmp_path))
    assert done.code == 0, done.err
    found = list(yaml.safe_load_all((tmp_path / "cluster.yaml").read_text()))
    assert ("Topic", "orders") in {(one["kind"], one["metadata"]["name"]) for one in found}


def test_the_exporter_serves_and_stops_in_time(
    cluster: FakeCluster, authority: Authority, tmp_path: Path
) -> None:
    arguments = [
        word.replace("--listen=:9308", "--listen=127.0.0.1:0")
        for word in mounted("exporter.yaml", tmp_path, authority)
    ]
    process = start(*arguments, env=environment(**variables(cluster, tmp_path)), stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        assert get(url, "/metrics").status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) in (0, 143, -signal.SIGTERM)
    finally:
        process.kill()
        process.communicate()
