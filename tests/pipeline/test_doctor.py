"""``kcli pipeline doctor``: what is examined, in which order, and the exit status."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.flows.doctor.findings import FAILED, OK, Finding
from kcli.flows.stop import Stop
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import TaskContext
from kcli.pipeline.kernels.contact import ContactSettings, run
from kcli.pipeline.spark.runner import SparkRunner
from kcli.pipeline.spark.session_examination import examine_tasks
from kcli.pipeline.spark.subject import Subject
from kcli.profiles.secret_keys import FILE, SecretSource
from tests.fake.cluster import FakeCluster
from tests.run import ROOT, kcli_process

HOST = socket.gethostname()


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 1}) as found:
        yield found


def reference(cluster: FakeCluster, **more: Any) -> ClusterRef:
    return ClusterRef({"bootstrap_servers": cluster.bootstrap, **more}, {}, {}, {})


def contact(source: ClusterRef) -> list[Finding]:
    found: list[Finding] = run(ContactSettings(source, 2.0), None, TaskContext(0))["findings"]
    return found


def test_a_task_contacts_each_broker_once(cluster: FakeCluster) -> None:
    found = contact(reference(cluster))
    assert {one.status for one in found} == {OK}
    assert [one.target for one in found if one.check == "metadata"] == [
        f"{cluster.bootstrap.split(',')[0]} from {HOST}",
        f"broker 2 at {cluster.address(2)} from {HOST}",
    ]


def test_a_secret_that_cannot_be_read_where_the_task_runs_is_a_finding(cluster: FakeCluster) -> None:
    secret = SecretSource("sasl.password", FILE, "/no/such/file", "a profile")
    source = reference(
        cluster,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_username="a",
        sasl_password=secret,
    )
    (found,) = contact(source)
    assert (found.check, found.status, found.target) == ("secrets", FAILED, f"task on {HOST}")
    assert "/no/such/file" in found.detail + found.why


def test_brokers_that_cannot_be_reached_are_a_finding_and_no_error_of_the_task() -> None:
    source = ClusterRef({"bootstrap_servers": "127.0.0.1:1"}, {}, {}, {})
    found = contact(source)
    assert [(one.check, one.status) for one in found] == [("secrets", OK), ("TCP", FAILED)]
    assert found[-1].code == 3


@pytest.mark.integration
@pytest.mark.long
def test_tasks_on_spark_examine_their_environment_and_the_cluster(
    spark: SparkRunner, cluster: FakeCluster
) -> None:
    subject = Subject(None, 2, {}, None, reference(cluster), 5.0)
    found = list(examine_tasks(subject, spark, Stop()))
    assert {one.status for one in found} == {OK}
    checks = [one.check for one in found]
    assert checks[:3] == ["task", "environment", "secrets"]
    assert checks.count("metadata") == 2
    assert HOST in found[1].detail


@pytest.mark.parametrize(
    ("flags", "code", "step", "said"),
    [
        (["--java-home", "/none"], 2, "java", "--java-home has no working Java"),
        (["--master", "spark"], 2, "session", "it is no master of Spark"),
        (["--master", "spark://127.0.0.1:1"], 3, "session", "Connection refused"),
        (["--spark-conf", "a=b"], 2, "session", "do not begin with spark."),
    ],
)
def test_a_step_that_fails_ends_it(flags: list[str], code: int, step: str, said: str) -> None:
    done = kcli_process("pipeline", "doctor", "-b", "127.0.0.1:1", "-o", "json", *flags)
    document = json.loads(done.stdout)
    assert done.returncode == code
    assert (document["kind"], document["exit_code"]) == ("DoctorReport", code)
    last = document["items"][-1]
    assert (last["check"], last["status"]) == (step, "failed")
    assert said in last["why"] + last["detail"]


@pytest.mark.parametrize(
    "flags", [["--local", "2", "--master", "local"], ["--spark-conf", "x"], ["--local", "0"]]
)
def test_flags_that_contradict_each_other_are_refused(flags: list[str]) -> None:
    done = kcli_process("pipeline", "doctor", *flags)
    assert done.returncode == 2
    assert done.stdout == b""


def test_without_pyspark_the_line_to_install_it_is_printed(tmp_path: Path) -> None:
    program = """
import sys
from importlib import metadata
real = metadata.version
def version(name):
    if name == "pyspark":
        raise metadata.PackageNotFoundError(name)
    return real(name)
metadata.version = version
from kcli.core.errors import ConfigError
try:
    from kcli.pipeline.spark.libraries import check_libraries
    check_libraries()
except ConfigError as error:
    print(error.exit_code, error.do)
from kcli.__main__ import run
print(run(["pipeline", "doctor", "-b", "127.0.0.1:1", "-o", "tsv"]))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("2 ")
    assert "pip install 'kcli-kafka[spark]'" in lines[0]
    assert lines[-1] == "2"
    assert any(line.startswith("libraries\tpyspark\tfailed") for line in lines)
