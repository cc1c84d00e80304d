"""A real Prometheus reads ``kcli exporter``, and a mirror, and evaluates what ``contrib/`` has.

`make promtool` fetches it.
"""

import json
import shutil
import socket
import subprocess
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.certificates import Authority
from tests.checks.test_contrib import EXPORTER, MIRROR, ROOT, Watched
from tests.exporting import command, get
from tests.exporting import until as until_soon
from tests.fake.cluster import FakeCluster
from tests.fake.many_groups import ManyGroups
from tests.fake.raw_client import batch
from tests.fault.mirror_command import arguments, running
from tests.unit.exporter.test_web_config import HASH, PASSWORD

TOOL = shutil.which(
    "prometheus", path=f"{ROOT / '.cache' / 'promtool' / 'usr' / 'bin'}:/usr/bin:/usr/local/bin"
)
pytestmark = pytest.mark.skipif(TOOL is None, reason="prometheus is not installed")
TROUBLE = "Topics with replicas that are not in sync, or without leaders"
"""The panel that has data only in trouble."""
PATIENCE = 60.0
FIRING = 'ALERTS{{alertname="{}",alertstate="firing"}}'


def until(condition: Callable[[], Any]) -> Any:
    """A scrape, a sample and an evaluation of rules may all have to come first."""
    return until_soon(condition, PATIENCE)


class Prometheus:
    """Its HTTP interface."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    def is_ready(self) -> bool:
        try:
            return get(self._url, "/-/ready").status == 200
        except OSError:
            return False

    def ask(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression has now."""
        query = urllib.parse.urlencode({"query": expression})
        answer = get(self._url, f"/api/v1/query?{query}")
        assert answer.status == 200, (expression, answer.text)
        found: list[dict[str, Any]] = json.loads(answer.text)["data"]["result"]
        return found

    def value(self, expression: str) -> str:
        """Of its only series; empty where there is none."""
        found = self.ask(expression)
        assert len(found) <= 1, found
        return found[0]["value"][1] if found else ""


@contextmanager
def prometheus(folder: Path, target: str, watched: Watched = EXPORTER, **scrape: Any) -> Iterator[Prometheus]:
    """Reads ``target`` every second, with the alert rules, which fire at once."""
    assert TOOL is not None
    groups = yaml.safe_load(watched.rules_path.read_text())
    for group in groups["groups"]:
        for rule in group["rules"]:
            rule["for"] = "0s"
    (folder / "rules.yml").write_text(json.dumps(groups))
    job = {"job_name": "kafka", "static_configs": [{"targets": [target]}], **scrape}
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yml"],
        "scrape_configs": [job],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [
        TOOL,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (
        open(folder / "prometheus.log", "wb") as log,
        subprocess.Popen(words, stdout=log, stderr=log) as process,
    ):
        found = Prometheus(port)
        try:
            until(found.is_ready)
            yield found
        finally:
            process.terminate()


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster() as made:
        yield made


def test_the_dashboard_has_data_and_alerts_follow_the_cluster(cluster: FakeCluster, tmp_path: Path) -> None:
    """Expressions of all panels; figures while the cluster is there, none of them while it is away; one who fires."""
    groups = ManyGroups(cluster, 3, 2)
    with command(cluster.bootstrap, "--interval", "1s", "--timeout", "1s") as (process, url):
        target = url.removeprefix("http://").removesuffix("/metrics")
        with prometheus(tmp_path, target) as asked:
            until(lambda: asked.value("kcli_exporter_up") == "1")
            until(lambda: asked.ask("rate(kcli_broker_request_seconds_count[1m])"))
            until(lambda: asked.ask("kcli_group_verdict == 1"))
            for panel in EXPORTER.panels:
                for one in panel["targets"]:
                    expression = one["expr"].replace("$__rate_interval", "1m")
                    for variable in ("instance", "group", "topic"):
                        expression = expression.replace(f"${variable}", ".*")
                    assert "$" not in expression
                    assert asked.ask(expression) or panel["title"] == TROUBLE, expression
            assert len(asked.ask("kcli_group_sum_lag_records")) == len(groups.names)
            until(
                lambda: asked.ask(FIRING.format("KafkaGroupLosesRecords"))
            )  # theirs are older than the retention
            assert not asked.ask(FIRING.format("KafkaClusterNotRead"))

            for node in cluster.node_ids:
                cluster.stop(node)
            until(lambda: asked.ask(FIRING.format("KafkaClusterNotRead")))
            assert asked.value("up") == "1"
            assert asked.value("kcli_exporter_up") == "0"
            until(lambda: not asked.ask('{__name__=~"kcli_(group|topic|broker|cluster).*"}'))
            until(lambda: not asked.ask(FIRING.format("KafkaGroupLosesRecords")))

            for node in cluster.node_ids:
                cluster.start(node)
            until(lambda: asked.ask("kcli_group_sum_lag_records"))
            until(lambda: not asked.ask(FIRING.format("KafkaClusterNotRead")))

            process.kill()
            until(lambda: asked.ask(FIRING.format("KafkaExporterDown")))
            assert asked.value("up") == "0"
            assert not asked.ask("kcli_exporter_up")


def test_over_tls_with_a_password_the_alert_of_a_stalled_group_begins_and_ends(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    groups = ManyGroups(cluster, 1, 2)
    authority = Authority(tmp_path)
    server, client = authority.client("server", authority.issue("127.0.0.1")), authority.client("scraper")
    (tmp_path / "web.yml").write_text(
        f"tls_server_config: {{cert_file: {server.certificate}, key_file: {server.key}, "
        f"client_ca_file: {authority.ca}, client_auth_type: RequireAndVerifyClientCert}}\n"
        f"basic_auth_users: {{prom: {HASH}}}\n"
    )
    words = ["--web.config.file", str(tmp_path / "web.yml")]
    scrape = {
        "scheme": "https",
        "basic_auth": {"username": "prom", "password": PASSWORD},
        "tls_config": {
            "ca_file": str(authority.ca), "cert_file": str(client.certificate), "key_file": str(client.key),
        },
    }  # fmt: skip
    with command(cluster.bootstrap, *words, "--interval", "1s", "--time", "off") as (_, url):
        target = url.removeprefix("https://").removesuffix("/metrics")
        with prometheus(tmp_path, target, **scrape) as asked:
            until(lambda: asked.ask(FIRING.format("KafkaGroupStalled")))
            assert asked.value("kcli_exporter_up") == "1"
            groups.move(commits=1)
            until(lambda: not asked.ask(FIRING.format("KafkaGroupStalled")))
            assert asked.ask("kcli_group_sum_lag_records")


def test_the_dashboard_and_the_alerts_of_a_mirror(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expressions of all panels have data; a partition that ends fires, and so does an instance that is gone."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        target = f"127.0.0.1:{free.getsockname()[1]}"
    cluster.create_topic("t", 2)
    cluster.create_topic("u", 1)  # with no partition left, the mirror would end
    cluster.append("t", 0, batch(b"a", b"b"))
    with FakeCluster(1, topics={}, cluster_id="there") as there:
        words = arguments(cluster, there, "-t", "t", "-t", "u", "--listen", target, "--sync-groups", "none")
        with running(monkeypatch, *words) as mirror, prometheus(tmp_path, target, MIRROR) as asked:
            until(lambda: asked.value("sum(kcli_mirror_records_total)") == "2")
            until(lambda: asked.ask("rate(kcli_mirror_records_total[1m])"))
            for panel in MIRROR.panels:
                for one in panel["targets"]:
                    expression = one["expr"].replace("$__rate_interval", "1m")
                    for variable in ("job", "topic"):
                        expression = expression.replace(f"${variable}", ".*")
                    assert "$" not in expression
                    assert asked.ask(expression), expression
            assert not asked.ask('ALERTS{alertstate="firing"}')
            cluster.delete_topic("t")
            until(lambda: asked.ask(FIRING.format("KafkaMirrorPartitionEnded")))
            mirror.stop()
            until(lambda: asked.ask(FIRING.format("KafkaMirrorDown")))
