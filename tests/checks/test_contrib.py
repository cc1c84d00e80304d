"""``contrib/``: dashboards, alert rules, units and pods name only what there is; their tools accept them."""

import configparser
import json
import re
import shutil
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
import yaml

from kcli.commands.exporter import exporter
from kcli.commands.mirror.run import run as mirror_run
from kcli.core.types import TopicPartition
from kcli.core.version import __version__
from kcli.exporter import mirror_metrics, mirror_site
from kcli.exporter.exposition import CLASSIC, Family, Text, document, heading
from kcli.exporter.health import Health
from kcli.exporter.last_sample import LastSample
from kcli.exporter.metric import COUNTER, INFO, SUMMARY, Metric
from kcli.exporter.metrics import METRICS, STATES, TOPIC_END
from kcli.exporter.mirror_site import families
from kcli.flows.lag.verdicts import WORDS
from kcli.flows.mirror.copy.partition_state import State
from kcli.flows.mirror.figures import Figures, PartitionFigures, Role
from tests.command_lines import problem
from tests.run import kcli
from tests.unit.exporter.pages import page_of, text_of
from tests.unit.flows.monitor.readings import group, reading

ROOT = Path(__file__).parents[2]
CONTRIB = ROOT / "contrib"
NAME = re.compile(r"\bkcli_[a-z_]+\b")
SUFFIXES = {COUNTER: ("_total",), INFO: ("_info",), SUMMARY: ("_sum", "_count")}


class Watched(NamedTuple):
    """What watches one command: its rules, its dashboard, and the metrics that it has."""

    rules_path: Path
    dashboard_path: Path
    metrics: Collection[Metric]
    variables: int

    @property
    def names(self) -> set[str]:
        return {one.name + suffix for one in self.metrics for suffix in SUFFIXES.get(one.kind, ("",))}

    @property
    def labels(self) -> set[str]:
        return {label for one in self.metrics for label in one.labels} | {"instance", "job", "cluster"}

    @property
    def rules(self) -> list[dict[str, Any]]:
        found = yaml.safe_load(self.rules_path.read_text())
        return [rule for group in found["groups"] for rule in group["rules"]]

    @property
    def panels(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.dashboard_path.read_text())["panels"]
        return found

    @property
    def expressions(self) -> list[str]:
        own = [target["expr"] for panel in self.panels for target in panel["targets"]]
        return [*(rule["expr"] for rule in self.rules), *own]


EXPORTER = Watched(
    CONTRIB / "prometheus" / "kcli-alerts.yml", CONTRIB / "grafana" / "kcli-groups.json", METRICS, 4
)
MIRROR = Watched(
    CONTRIB / "prometheus" / "kcli-mirror-alerts.yml",
    CONTRIB / "grafana" / "kcli-mirror.json",
    mirror_metrics.METRICS,
    2,
)
UNITS = {
    "kcli-exporter.service": (["exporter"], exporter),
    "kcli-mirror@.service": (["mirror", "run"], mirror_run),
}
DEPLOYMENT = CONTRIB / "kubernetes" / "mirror.yaml"


@pytest.fixture(params=[EXPORTER, MIRROR], ids=["exporter", "mirror"])
def watched(request: pytest.FixtureRequest) -> Watched:
    found: Watched = request.param
    return found


UNIT_KEYS = {
    "Unit": {"Description", "Documentation", "After", "Wants"},
    "Service": {
        "Type", "NotifyAccess", "LoadCredential", "EnvironmentFile", "Environment", "StateDirectory", "ExecStart",
        "DynamicUser", "Restart", "RestartSec", "TimeoutStartSec", "TimeoutStopSec", "SuccessExitStatus",
        "RestartPreventExitStatus", "MemoryMax", "NoNewPrivileges", "ProtectSystem", "ProtectHome", "PrivateTmp",
        "PrivateDevices", "ProtectKernelTunables", "ProtectKernelModules", "ProtectControlGroups",
        "RestrictAddressFamilies", "RestrictNamespaces", "LockPersonality", "SystemCallArchitectures",
        "CapabilityBoundingSet",
    },
    "Install": {"WantedBy"},
}  # fmt: skip


def names_in(expression: str) -> set[str]:
    """Names of metrics: what is not in a matcher, nor after ``by``."""
    return set(NAME.findall(re.sub(r"\{[^}]*\}|\b(by|without|on)\s*\([^)]*\)", "", expression)))


def labels_in(expression: str) -> set[str]:
    matchers = re.findall(r"\{([^}]*)\}", expression)
    found = {name for one in matchers for name in re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)", one)}
    return found | {
        name.strip() for one in re.findall(r"\bby\s*\(([^)]*)\)", expression) for name in one.split(",")
    }


def test_expressions_name_metrics_and_labels_that_exist(watched: Watched) -> None:
    found = watched.expressions
    assert len(found) > 20
    for expression in found:
        assert names_in(expression), expression
        assert names_in(expression) <= watched.names, expression
        assert labels_in(expression) <= watched.labels, expression


def test_each_metric_of_a_mirror_is_watched() -> None:
    assert set().union(*map(names_in, MIRROR.expressions)) == MIRROR.names


def test_no_rate_is_made_of_what_moves_back(watched: Watched) -> None:
    """To ``rate`` a smaller value is a counter that began again at 0: a rewind would count as all that was ever read."""
    ascending = {one.name for one in watched.metrics if one.kind in (COUNTER, SUMMARY)} | {TOPIC_END.name}
    found = [
        name for one in watched.expressions for name in re.findall(r"\b(?:i?rate|increase)\((kcli_\w+)", one)
    ]
    assert found
    assert {re.sub("_(total|sum|count)$", "", name) for name in found} <= ascending


def test_a_name_that_does_not_exist_would_be_found() -> None:
    assert names_in('rate(kcli_nothing{kcli_group_verdict="ok"}[5m])') == {"kcli_nothing"}
    assert labels_in('sum by (group, nothing) (x{a="b",c=~"d"})') == {"group", "nothing", "a", "c"}


def test_variables_of_the_dashboard_name_metrics_that_exist(watched: Watched) -> None:
    found = json.loads(watched.dashboard_path.read_text())
    defined = {one["name"] for one in found["templating"]["list"]}
    queries = [one["definition"] for one in found["templating"]["list"] if one["type"] == "query"]
    assert len(queries) == watched.variables
    assert set().union(*map(names_in, queries)) <= watched.names
    used = set(re.findall(r"\$(?:\{)?([a-z]\w*)", watched.dashboard_path.read_text()))
    assert used == defined


def test_panels_have_names_ids_and_places_of_their_own(watched: Watched) -> None:
    found = watched.panels
    assert len({panel["id"] for panel in found}) == len({panel["title"] for panel in found}) == len(found)
    taken = set()
    for panel in found:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(at["x"] + dx, at["y"] + dy) for dx in range(at["w"]) for dy in range(at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def test_alerts_have_what_prometheus_and_people_need(watched: Watched) -> None:
    found = watched.rules
    assert len({rule["alert"] for rule in found}) == len(found)
    for rule in found:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert re.fullmatch(r"\d+[smh]", rule["for"])
        assert rule["annotations"]["summary"]
        labels = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
        assert labels <= watched.labels


def test_states_that_expressions_name_exist(watched: Watched) -> None:
    for expression in watched.expressions:
        for given in re.findall(r'kcli_mirror_partition_state=~?"([^"]+)"', expression):
            assert set(given.split("|")) <= set(mirror_metrics.STATES)
        for given in re.findall(r'kcli_group_verdict=~?"([^"]+)"', expression):
            assert set(given.split("|")) <= set(WORDS)
        for given in re.findall(r'kcli_group_state=~?"([^"]+)"', expression):
            assert set(given.split("|")) <= set(STATES)


@pytest.mark.parametrize("name", UNITS)
def test_units_have_known_keys_and_options_of_their_commands(name: str) -> None:
    path, command = UNITS[name]
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string((CONTRIB / "systemd" / name).read_text())
    assert {key: {*unit[key]} - keys for key, keys in UNIT_KEYS.items()} == {key: set() for key in UNIT_KEYS}
    assert {*unit.sections()} == UNIT_KEYS.keys()
    program, kcli, *words = unit["Service"]["ExecStart"].split()
    assert (program, kcli, words[: len(path)]) == ("/usr/bin/env", "kcli", path)
    assert options_in(words) <= options_of(command)
    assert unit["Service"]["SuccessExitStatus"] == "143"


def options_in(words: Collection[str]) -> set[str]:
    return {word.partition("=")[0] for word in words if word.startswith("-")}


def options_of(command: click.Command) -> set[str]:
    """Its own, and the global ones."""
    known = {name for param in command.get_params(click.Context(command)) for name in param.opts}
    return known | {"--yes", "-F"}


@pytest.mark.parametrize("name", UNITS)
def test_systemd_accepts_the_units(name: str) -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is not installed")
    path = CONTRIB / "systemd" / name
    done = subprocess.run([tool, "verify", "--man=no", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


KUBERNETES = {
    "exporter.yaml": "kcli-exporter.service",
    "mirror.yaml": "kcli-mirror@.service",
    "export.yaml": "",
}
"""With the unit that runs the same, whose time to stop is the pod's."""


def documents(name: str) -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in yaml.safe_load_all((DEPLOYMENT.parent / name).read_text())}


def pod_of(found: Mapping[str, Any]) -> dict[str, Any]:
    job = found.get("CronJob", {}).get("spec", {}).get("jobTemplate") or found["Deployment"]
    spec: dict[str, Any] = job["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize("name", KUBERNETES)
def test_pods_run_lines_that_kcli_accepts_and_write_nowhere_else(name: str) -> None:
    found = documents(name)
    pod = pod_of(found)
    (container,) = pod["containers"]
    assert problem(container["args"], complete=True) == ""
    assert container["image"] == f"kcli:{__version__}"
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert "memory" in container["resources"]["limits"]
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    volumes = {one["name"]: one for one in pod["volumes"]}
    assert mounts.keys() == volumes.keys()
    assert volumes["config"]["secret"] == {
        "secretName": found["Secret"]["metadata"]["name"],
        "defaultMode": 0o440,
    }
    texts = found["Secret"]["stringData"]
    files = re.findall(rf'"{mounts["config"]}/([^"]+)"', texts["config.toml"])
    assert {*files, "config.toml"} == texts.keys()
    for word in container["args"]:
        option, _, value = word.partition("=")
        if option == "--file":
            assert str(Path(value).parent) in mounts.values()
    if unit := KUBERNETES[name]:
        text = (CONTRIB / "systemd" / unit).read_text()
        assert f"TimeoutStopSec={pod['terminationGracePeriodSeconds']}\n" in text


def test_the_customization_has_each_of_the_files() -> None:
    folder = DEPLOYMENT.parent
    found = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert sorted([*found["resources"], "kustomization.yaml"]) == sorted(one.name for one in folder.iterdir())
    assert [(one["name"], one["newTag"]) for one in found["images"]] == [("kcli", __version__)]


def test_the_service_of_the_exporter_leads_to_its_port() -> None:
    found = documents("exporter.yaml")
    (container,) = pod_of(found)["containers"]
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Service"]["spec"]["selector"] == labels
    (port,) = container["ports"]
    assert found["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]
    assert f"--listen=:{port['containerPort']}" in container["args"]
    for probe in ("livenessProbe", "readinessProbe"):
        assert container[probe]["tcpSocket"] == {"port": port["name"]}


def deployment() -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in yaml.safe_load_all(DEPLOYMENT.read_text())}


def test_the_deployment_runs_two_instances_with_probes_that_are_served() -> None:
    found = deployment()
    spec = found["Deployment"]["spec"]
    assert spec["replicas"] == 2
    (container,) = spec["template"]["spec"]["containers"]
    assert container["args"][:2] == ["mirror", "run"]
    assert options_in(container["args"]) <= options_of(mirror_run)
    (port,) = container["ports"]
    assert f"--listen=:{port['containerPort']}" in container["args"]
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": port["name"]}
        assert container[probe]["timeoutSeconds"] > mirror_site._PATIENCE
    labels = spec["template"]["metadata"]["labels"]
    for selector in (spec["selector"], found["PodDisruptionBudget"]["spec"]["selector"]):
        assert selector["matchLabels"].items() <= labels.items()
    volumes = {one["name"] for one in spec["template"]["spec"]["volumes"]}
    assert {one["name"] for one in container["volumeMounts"]} == volumes


def test_the_profiles_of_the_deployment_are_those_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = deployment()
    (container,) = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    (tmp_path / "kcli").mkdir()
    for name, text in found["Secret"]["stringData"].items():
        (tmp_path / "kcli" / name).write_text(text)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    named = [word.partition("=")[2] for word in container["args"] if word.startswith(("--from=", "--to="))]
    listed = kcli("profile", "list", "-o", "json")
    assert [one["name"] for one in listed.items] == named
    for name, server in zip(named, "ab", strict=True):
        assert f"kafka.{server}.example:9092" in kcli("profile", "show", name).out


def promtool(*arguments: str, text: str = "") -> str:
    """Its output; fails where it is not content."""
    tool = shutil.which(
        "promtool", path=f"{ROOT / '.cache' / 'promtool' / 'usr' / 'bin'}:/usr/bin:/usr/local/bin"
    )
    if tool is None:
        pytest.skip("promtool is not installed")
    done = subprocess.run([tool, *arguments], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_promtool_accepts_the_rules(watched: Watched) -> None:
    found = promtool("check", "rules", str(watched.rules_path))
    assert f"{len(watched.rules)} rules found" in found


def test_promtool_accepts_the_expressions_of_the_dashboard(watched: Watched, tmp_path: Path) -> None:
    expressions = [
        target["expr"].replace("$__rate_interval", "5m")
        for panel in watched.panels
        for target in panel["targets"]
    ]
    records = [{"record": f"panel:{number}", "expr": one} for number, one in enumerate(expressions)]
    path = tmp_path / "panels.yml"
    path.write_text(json.dumps({"groups": [{"name": "panels", "rules": records}]}))
    assert f"{len(records)} rules found" in promtool("check", "rules", str(path))


def test_promtool_accepts_a_page() -> None:
    tp = TopicPartition("t", 0)
    page = page_of(*(reading(at, group("g", {tp: 3}, "a"), ends={tp: 10}) for at in (0, 30)))
    health = Health().part(CLASSIC, {"": LastSample(15, page, read_at=0.0, wall=1.7e9, seconds=0.1)}, 1.0, 3)
    assert promtool("check", "metrics", text=health.plain.decode() + text_of(page)) == ""


def test_promtool_accepts_a_page_of_a_mirror() -> None:
    partition = PartitionFigures(TopicPartition("t", 0), State.COPYING, 3, 1.5, 10, 2_000, 1)
    figures = Figures(0.0, "j", "a", "b", Role.HOLDER, partitions=(partition,), groups=(("g", 1.0),))
    idle = [Family(one, [f"{one.name} 1\n"]) for one in (mirror_metrics.TURN, mirror_metrics.AGE)]
    page = document(CLASSIC, Text([*families(figures, {}), *idle]).parts(CLASSIC))
    assert promtool("check", "metrics", text=b"".join(page).decode()) == ""


class Case(NamedTuple):
    """Series that fire an alert, with their values while all is bad and while all is well, and its labels."""

    alert: str
    series: Mapping[str, tuple[str, str]]
    labels: Mapping[str, str]


TP = 'topic="t",partition="0"'
_TP = {"topic": "t", "partition": "0"}
_STATE = f'kcli_mirror_partition_state{{{TP},kcli_mirror_partition_state="%s"}}'
MIRROR_CASES = [
    Case("KafkaMirrorNotRun", {'kcli_mirror_lease{job="m",instance="a"}': ("0x40", "1x40")}, {"job": "m"}),
    Case(
        "KafkaMirrorStuck",
        {'kcli_mirror_idle_seconds{job="m",instance="a"}': ("200x40", "0x40")},
        {"job": "m", "instance": "a"},
    ),
    *(
        Case(
            f"KafkaMirrorPartition{name}",
            {_STATE % state: ("1x40", "0x40")},
            {**_TP, "kcli_mirror_partition_state": state},
        )
        for name, state in (("Ended", "ended"), ("Waits", "waiting"))
    ),
    Case("KafkaMirrorLate", {f"kcli_mirror_lag_seconds{{{TP}}}": ("900x40", "0x40")}, _TP),
    Case("KafkaMirrorGap", {f"kcli_mirror_gaps{{{TP}}}": ("1x40", "0x40")}, _TP),
    Case(
        "KafkaMirrorGroupNotSynced",
        {'kcli_mirror_group_sync_age_seconds{group="g"}': ("1000x40", "0x40")},
        {"group": "g"},
    ),
    Case("KafkaMirrorDown", {'up{job="m",instance="a"}': ("0x40", "1x40")}, {"job": "m", "instance": "a"}),
]
_G = {"group": "g", "cluster": "c"}
EXPORTER_CASES = [
    Case(
        "KafkaClusterNotRead",
        {'kcli_exporter_up{instance="e",cluster="c"}': ("0x40", "1x40")},
        {"instance": "e", "cluster": "c"},
    ),
    Case(
        "KafkaExporterDown",
        {
            'up{job="k",instance="d"}': ("0x40", "1x40"),
            'kcli_exporter_up{job="k",instance="d"}': ("1x5 _x40", "1x40"),
        },
        {"job": "k", "instance": "d"},
    ),
    Case(
        "KafkaExporterSeriesDropped",
        {'kcli_exporter_dropped_series{cluster="c"}': ("7x40", "0x40")},
        {"cluster": "c"},
    ),
    Case(
        "KafkaExporterPartlyBlind",
        {
            'kcli_sample_complete{cluster="blind"}': ("0x40", "1x40"),
            'kcli_exporter_up{cluster="blind"}': ("1x40", "1x40"),
        },
        {"cluster": "blind"},
    ),
    *(
        Case(
            f"KafkaGroup{name}",
            {f'kcli_group_verdict{{group="g",cluster="c",kcli_group_verdict="{word}"}}': ("1x60", "0x60")},
            {**_G, "kcli_group_verdict": word},
        )
        for name, word in (
            ("Stalled", "stalled"),
            ("Stopped", "stopped"),
            ("FallsBehind", "slow"),
            ("Held", "held"),
            ("LosesRecords", "loss risk"),
            ("Rebalancing", "rebalancing"),
        )
    ),
    Case("KafkaGroupLate", {'kcli_group_max_lag_seconds{group="g",cluster="c"}': ("900x40", "0x40")}, _G),
    Case(
        "KafkaRetentionMarginShort",
        {
            f'kcli_group_retention_margin_seconds{{group="g",cluster="c",{TP}}}': ("60x40", "6000x40"),
            f'kcli_group_lag_seconds{{group="g",cluster="c",{TP}}}': ("6000x40", "60x40"),
            f'kcli_group_lag_records{{group="g",cluster="c",{TP}}}': ("5x40", "5x40"),
        },
        _G,
    ),
    *(
        Case(
            f"KafkaTopic{name}",
            {f'kcli_topic_{metric}_partitions{{topic="t"}}': ("2x40", "0x40")},
            {"topic": "t"},
        )
        for name, metric in (
            ("OfflinePartitions", "offline"),
            ("UnderReplicated", "under_replicated"),
            ("UnderMinIsr", "under_min_isr"),
        )
    ),
    Case("KafkaBrokerDown", {'kcli_broker_up{broker="3"}': ("0x40", "1x40")}, {"broker": "3"}),
    Case(
        "KafkaQuorumWithoutLeader", {'kcli_quorum_leader{cluster="c"}': ("-1x40", "1x40")}, {"cluster": "c"}
    ),
    Case(
        "KafkaQuorumVoterBehind",
        {
            'kcli_quorum_lag_seconds{node="2",role="voter"}': ("90x40", "1x40"),
            'kcli_quorum_lag_seconds{node="9",role="observer"}': ("90x40", "90x40"),
        },
        {"node": "2", "role": "voter"},
    ),
    Case(
        "KafkaTransactionOpen",
        {'kcli_transactions_oldest_seconds{cluster="c"}': ("1000x40", "5x40")},
        {"cluster": "c"},
    ),
]


@pytest.mark.parametrize(
    ("found", "cases"), [(EXPORTER, EXPORTER_CASES), (MIRROR, MIRROR_CASES)], ids=["exporter", "mirror"]
)
def test_promtool_fires_each_alert(found: Watched, cases: Sequence[Case], tmp_path: Path) -> None:
    """Each alert, by what a page has then; none of them while all is well."""
    assert sorted(one.alert for one in cases) == sorted(rule["alert"] for rule in found.rules)
    rules = json.loads(json.dumps(yaml.safe_load(found.rules_path.read_text())))
    for rule in rules["groups"][0]["rules"]:
        del rule["annotations"]
    (tmp_path / "rules.yml").write_text(json.dumps(rules))
    severities = {rule["alert"]: rule["labels"]["severity"] for rule in found.rules}
    for is_bad in (True, False):
        series = [
            {"series": name, "values": values[not is_bad]}
            for one in cases
            for name, values in one.series.items()
        ]
        fired = [
            {
                "alertname": one.alert,
                "eval_time": "35m",
                "exp_alerts": [{"exp_labels": {**one.labels, "severity": severities[one.alert]}}]
                if is_bad
                else [],
            }
            for one in cases
        ]
        test = {
            "rule_files": [str(tmp_path / "rules.yml")],
            "evaluation_interval": "1m",
            "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": fired}],
        }
        path = tmp_path / "test.yml"
        path.write_text(json.dumps(test))
        assert "SUCCESS" in promtool("test", "rules", str(path))


def test_each_metric_has_a_heading_in_the_classic_format(watched: Watched) -> None:
    names = {heading(metric, CLASSIC).split()[2] for metric in watched.metrics}
    assert names == {name.removesuffix("_sum").removesuffix("_count") for name in watched.names}
