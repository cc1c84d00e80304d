"""``contrib/``: the dashboard, the alert rules and the unit name only what there is; their own tools accept them."""

import configparser
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from kcli.commands.exporter import exporter
from kcli.core.types import TopicPartition
from kcli.exporter.exposition import CLASSIC, heading
from kcli.exporter.health import Health
from kcli.exporter.last_sample import LastSample
from kcli.exporter.metrics import COUNTER, INFO, METRICS, STATES, SUMMARY
from kcli.flows.lag.verdicts import WORDS
from tests.unit.exporter.pages import page_of, text_of
from tests.unit.flows.monitor.readings import group, reading

ROOT = Path(__file__).parents[2]
CONTRIB = ROOT / "contrib"
RULES = CONTRIB / "prometheus" / "kcli-alerts.yml"
DASHBOARD = CONTRIB / "grafana" / "kcli-groups.json"
UNIT = CONTRIB / "systemd" / "kcli-exporter.service"
NAME = re.compile(r"\bkcli_[a-z_]+\b")
SUFFIXES = {COUNTER: ("_total",), INFO: ("_info",), SUMMARY: ("_sum", "_count")}
NAMES = {one.name + suffix for one in METRICS for suffix in SUFFIXES.get(one.kind, ("",))}
LABELS = {label for one in METRICS for label in one.labels} | {"instance"}
UNIT_KEYS = {
    "Unit": {"Description", "Documentation", "After", "Wants"},
    "Service": {
        "Type", "NotifyAccess", "LoadCredential", "ExecStart", "DynamicUser", "Restart", "RestartSec", "TimeoutStartSec",
        "TimeoutStopSec", "SuccessExitStatus", "RestartPreventExitStatus", "MemoryMax", "NoNewPrivileges",
        "ProtectSystem", "ProtectHome", "PrivateTmp", "PrivateDevices", "ProtectKernelTunables", "ProtectKernelModules",
        "ProtectControlGroups", "RestrictAddressFamilies", "RestrictNamespaces", "LockPersonality",
        "SystemCallArchitectures", "CapabilityBoundingSet",
    },
    "Install": {"WantedBy"},
}  # fmt: skip


def rules() -> list[dict[str, Any]]:
    found = yaml.safe_load(RULES.read_text())
    return [rule for group in found["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in rules())
    for panel in panels():
        yield from (target["expr"] for target in panel["targets"])


def names_in(expression: str) -> set[str]:
    """Names of metrics: what is not in a matcher, nor after ``by``."""
    return set(NAME.findall(re.sub(r"\{[^}]*\}|\b(by|without|on)\s*\([^)]*\)", "", expression)))


def labels_in(expression: str) -> set[str]:
    matchers = re.findall(r"\{([^}]*)\}", expression)
    found = {name for one in matchers for name in re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)", one)}
    return found | {
        name.strip() for one in re.findall(r"\bby\s*\(([^)]*)\)", expression) for name in one.split(",")
    }


def test_expressions_name_metrics_and_labels_that_exist() -> None:
    found = list(expressions())
    assert len(found) > 30
    for expression in found:
        assert names_in(expression), expression
        assert names_in(expression) <= NAMES, expression
        assert labels_in(expression) <= LABELS, expression


def test_a_name_that_does_not_exist_would_be_found() -> None:
    assert names_in('rate(kcli_nothing{kcli_group_verdict="ok"}[5m])') == {"kcli_nothing"}
    assert labels_in('sum by (group, nothing) (x{a="b",c=~"d"})') == {"group", "nothing", "a", "c"}


def test_variables_of_the_dashboard_name_metrics_that_exist() -> None:
    found = json.loads(DASHBOARD.read_text())
    defined = {one["name"] for one in found["templating"]["list"]}
    queries = [one["definition"] for one in found["templating"]["list"] if one["type"] == "query"]
    assert len(queries) == 3
    assert set().union(*map(names_in, queries)) <= NAMES
    used = set(re.findall(r"\$(?:\{)?([a-z]\w*)", DASHBOARD.read_text()))
    assert used == defined


def test_panels_have_names_ids_and_places_of_their_own() -> None:
    found = panels()
    assert len({panel["id"] for panel in found}) == len({panel["title"] for panel in found}) == len(found)
    taken = set()
    for panel in found:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(at["x"] + dx, at["y"] + dy) for dx in range(at["w"]) for dy in range(at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def test_alerts_have_what_prometheus_and_people_need() -> None:
    found = rules()
    assert len({rule["alert"] for rule in found}) == len(found)
    for rule in found:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert re.fullmatch(r"\d+[smh]", rule["for"])
        assert rule["annotations"]["summary"]
        labels = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
        assert labels <= LABELS


def test_states_that_expressions_name_exist() -> None:
    for expression in expressions():
        for given in re.findall(r'kcli_group_verdict=~?"([^"]+)"', expression):
            assert set(given.split("|")) <= set(WORDS)
        for given in re.findall(r'kcli_group_state=~?"([^"]+)"', expression):
            assert set(given.split("|")) <= set(STATES)


def test_the_unit_has_known_keys_and_options_of_the_command() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT.read_text())
    assert {name: {*unit[name]} - keys for name, keys in UNIT_KEYS.items()} == {
        key: set() for key in UNIT_KEYS
    }
    assert {*unit.sections()} == UNIT_KEYS.keys()
    program, kcli, command, *words = unit["Service"]["ExecStart"].split()
    assert (program, kcli, command) == ("/usr/bin/env", "kcli", "exporter")
    known = {name for param in exporter.get_params(click.Context(exporter)) for name in param.opts}
    assert {word for word in words if word.startswith("-")} <= known
    assert unit["Service"]["SuccessExitStatus"] == "143"


def test_systemd_accepts_the_unit() -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is not installed")
    done = subprocess.run([tool, "verify", "--man=no", UNIT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


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


def test_promtool_accepts_the_rules() -> None:
    assert f"{len(rules())} rules found" in promtool("check", "rules", str(RULES))


def test_promtool_accepts_the_expressions_of_the_dashboard(tmp_path: Path) -> None:
    expressions = [
        target["expr"].replace("$__rate_interval", "5m") for panel in panels() for target in panel["targets"]
    ]
    records = [{"record": f"panel:{number}", "expr": one} for number, one in enumerate(expressions)]
    path = tmp_path / "panels.yml"
    path.write_text(json.dumps({"groups": [{"name": "panels", "rules": records}]}))
    assert f"{len(records)} rules found" in promtool("check", "rules", str(path))


def test_promtool_accepts_a_page() -> None:
    tp = TopicPartition("t", 0)
    page = page_of(*(reading(at, group("g", {tp: 3}, "a"), ends={tp: 10}) for at in (0, 30)))
    health = Health().part(CLASSIC, LastSample(15, page, read_at=0.0, wall=1.7e9, seconds=0.1), 1.0, 3)
    assert promtool("check", "metrics", text=health.plain.decode() + text_of(page)) == ""


def test_promtool_fires_the_alerts_of_a_page(tmp_path: Path) -> None:
    """A stalled group, and a cluster that is away."""
    series = [
        {"series": 'kcli_exporter_up{instance="e"}', "values": "0x20"},
        {"series": 'kcli_group_verdict{group="g",kcli_group_verdict="stalled"}', "values": "1x20"},
        {"series": 'kcli_group_verdict{group="g",kcli_group_verdict="slow"}', "values": "0x20"},
    ]
    expected = [
        {"alertname": name, "eval_time": "10m", "exp_alerts": alerts}
        for name, alerts in (
            (
                "KafkaGroupStalled",
                [
                    {
                        "exp_labels": {"severity": "critical", "group": "g", "kcli_group_verdict": "stalled"},
                        "exp_annotations": {
                            "summary": "group g has members and unread records, and commits nothing"
                        },
                    }
                ],
            ),
            ("KafkaGroupFallsBehind", []),
        )
    ]
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": expected}],
    }
    path = tmp_path / "test.yml"
    path.write_text(json.dumps(test))
    assert "SUCCESS" in promtool("test", "rules", str(path))


def test_each_metric_has_a_heading_in_the_classic_format() -> None:
    names = {heading(metric, CLASSIC).split()[2] for metric in METRICS}
    assert names == {name.removesuffix("_sum").removesuffix("_count") for name in NAMES}
