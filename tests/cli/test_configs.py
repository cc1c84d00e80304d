"""``kcli configs`` as a user runs it: what is set and where, changes with plan, refusals and read-back."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Admin, ConfigChange, ConfigKind, ConfigResource
from kcli.core.permissions import AclOperation
from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcli.core.protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.run import Done, kcli, ok, shell

SECRET = "canary-5f1d"


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """``orders`` has a retention of its own; broker 1 a size and a secret, all brokers another size."""
    with (
        FakeCluster(3, topics={"orders": 1, "other": 1}) as found,
        Admin(bootstrap_servers=found.bootstrap) as admin,
    ):
        topic, one, every = (
            ConfigResource(kind, name)
            for kind, name in (
                (ConfigKind.TOPIC, "orders"),
                (ConfigKind.BROKER, "1"),
                (ConfigKind.BROKER, ""),
            )
        )
        changes = {
            topic: [ConfigChange("retention.ms", "5")],
            one: [ConfigChange("message.max.bytes", "7"), ConfigChange("ssl.keystore.password", SECRET)],
            every: [ConfigChange("message.max.bytes", "8")],
        }
        assert set(admin.alter_configs(changes).values()) == {None}
        yield found


def run(cluster: FakeCluster, line: str) -> "subprocess.CompletedProcess[bytes]":
    done = kcli("configs", *line.split(), bootstrap=cluster.bootstrap)
    assert SECRET.encode() not in done.stdout + done.stderr
    return done


def items(cluster: FakeCluster, line: str, code: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ok(run(cluster, f"{line} -o json"), (code,)))["items"]
    return found


def values(cluster: FakeCluster, line: str) -> list[tuple[str, str, str | None, str]]:
    return [(i["name"], i["key"], i["value"], i["source"]) for i in items(cluster, f"describe {line}")]


def refused(cluster: FakeCluster, line: str, code: int, *words: str) -> str:
    """stderr of a run that changed nothing."""
    sent = len(changes(cluster))
    done = run(cluster, line)
    said = done.stderr.decode()
    assert done.returncode == code, said
    assert all(word in said for word in words), said
    assert changes(cluster)[sent:] == []
    return said


def changes(cluster: FakeCluster) -> list[Any]:
    """The requests that changed something."""
    return [s for s in cluster.seen(IncrementalAlterConfigsRequest) if not s.request.validate_only]


# --- describe ----------------------------------------------------------------------------------------------


def test_what_is_set_is_shown_with_its_source(cluster: FakeCluster) -> None:
    assert values(cluster, "topics orders other") == [("orders", "retention.ms", "5", "topic")]
    assert values(cluster, "brokers 1 2 default") == [
        ("1", "broker.id", "1", "static broker"),
        ("1", "message.max.bytes", "7", "dynamic broker"),
        ("1", "ssl.keystore.password", None, "dynamic broker"),
        ("2", "broker.id", "2", "static broker"),
        ("2", "message.max.bytes", "8", "dynamic default"),
        ("default", "message.max.bytes", "8", "dynamic default"),
    ]


def test_all_shows_defaults_too(cluster: FakeCluster) -> None:
    found = {key: (value, source) for _, key, value, source in values(cluster, "topics orders --all")}
    assert found["retention.ms"] == ("5", "topic")
    assert found["cleanup.policy"] == ("delete", "default")
    assert {source for *_, source in values(cluster, "groups billing --all")} == {"default"}
    assert values(cluster, "groups billing") == []


def test_origin_lists_every_place_the_strongest_first(cluster: FakeCluster) -> None:
    found = {i["key"]: i["origin"] for i in items(cluster, "describe brokers 1 --origin")}
    assert [(o["value"], o["source"]) for o in found["message.max.bytes"]] == [
        ("7", "dynamic broker"),
        ("8", "dynamic default"),
        ("1048588", "default"),
    ]
    assert {o["value"] for o in found["ssl.keystore.password"]} == {None}
    text = ok(run(cluster, "describe brokers 1 --origin")).decode()
    assert "dynamic default: 8" in text
    assert "ssl.keystore.password  (hidden)" in text
    assert "origin" not in items(cluster, "describe brokers 1")[0]


@pytest.mark.parametrize("line", ["describe brokers 2", "alter brokers 2 --set message.max.bytes=5 --yes"])
def test_a_fenced_broker_is_not_an_unknown_one(line: str) -> None:
    with FakeCluster(3) as cluster:
        cluster.stop(2, fail_over=True)
        refused(cluster, line, 7, "broker 2 is fenced", "kcli cluster describe")
        said = run(cluster, line).stderr.decode()
        type_remedy(
            "`kcli cluster describe` shows it; `kcli configs describe brokers default` shows the default",
            said,
            cluster.address(1),
        )


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("describe topics ordres", 1, ["topic ordres does not exist", "did you mean orders?"]),
        (
            "describe brokers 77",
            1,
            ["the cluster has no broker 77", "it has 1, 2, 3", "kcli cluster describe"],
        ),
        ("describe brokers one", 2, ["'one' is not a broker id", "`default`"]),
        ("describe topics orders none", 6, ["topic none does not exist"]),
        ("describe topcis orders", 2, ["'topcis' is not topics, brokers, groups", "did you mean topics?"]),
        ("describe topics or/ders", 2, ["not a valid topic name"]),
        ("describe topics", 2, ["missing argument NAME"]),
    ],
)
def test_names_that_cannot_be_described(cluster: FakeCluster, line: str, code: int, words: list[str]) -> None:
    refused(cluster, line, code, *words)


@pytest.mark.parametrize(
    "line", ["describe groups g", "alter groups g --set consumer.session.timeout.ms=5 --yes"]
)
def test_brokers_without_group_configurations_are_named_by_their_version(
    cluster: FakeCluster, line: str
) -> None:
    def like_3_9(_request: Any, answer: Any) -> None:
        answer.supported_features[0].max_version = 21

    cluster.fail(DescribeConfigsRequest, Code.INVALID_REQUEST, times=FOREVER)
    refused(cluster, line, 1, "INVALID_REQUEST")
    cluster.replace(ApiVersionsRequest, like_3_9, times=FOREVER)
    refused(cluster, line, 7, "group g has no configuration on these brokers: they run Kafka 3.9")


@pytest.mark.parametrize("verb", ["describe topics orders", "alter topics orders --set retention.ms=6 --yes"])
def test_without_permission_it_is_4(cluster: FakeCluster, verb: str) -> None:
    cluster.fail(DescribeConfigsRequest, Code.TOPIC_AUTHORIZATION_FAILED, times=FOREVER)
    refused(cluster, verb, 4, "TOPIC_AUTHORIZATION_FAILED")


# --- alter -------------------------------------------------------------------------------------------------


def test_changes_are_made_after_a_plan_and_reported_with_old_and_new(cluster: FakeCluster) -> None:
    line = "alter topics orders --set retention.ms=6 --append cleanup.policy=compact --yes"
    rows = items(cluster, line)
    assert [(r["key"], r["old"], r["old_source"], r["new"], r["new_source"], r["status"]) for r in rows] == [
        ("retention.ms", "5", "topic", "6", "topic", "done"),
        ("cleanup.policy", "delete", "default", "delete,compact", "topic", "done"),
    ]
    assert values(cluster, "topics orders") == [
        ("orders", "cleanup.policy", "delete,compact", "topic"),
        ("orders", "retention.ms", "6", "topic"),
    ]
    done = run(cluster, "alter topics orders --remove cleanup.policy=delete --unset retention.ms --yes")
    said = ok(done) + done.stderr
    assert b"retention.ms: 6 (topic) \xe2\x86\x92 604800000 (7 d) (default)" in said
    assert b"cleanup.policy: delete,compact (topic) \xe2\x86\x92 compact (topic)" in said
    assert values(cluster, "topics orders") == [("orders", "cleanup.policy", "compact", "topic")]


def test_units_are_typed_and_shown_to_people_only(cluster: FakeCluster) -> None:
    done = run(cluster, "alter topics orders --set retention.ms=7d --set segment.bytes=1GiB --yes")
    assert "retention.ms: 5 (topic) → 604800000 (7 d) (topic)" in done.stderr.decode()
    for form in ("plain", "tsv", "csv", "json"):
        shown = run(cluster, f"describe topics orders -o {form}").stdout.decode()
        assert "604800000" in shown
        assert "7 d" not in shown
    for form in ("table", "wide"):
        shown = run(cluster, f"describe topics orders -o {form}").stdout.decode()
        assert "604800000 (7 d)" in shown
        assert "1073741824 (1 GiB)" in shown


def test_a_file_sets_its_keys(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "topic.properties"
    file.write_text("# kept for a week\nretention.ms = 7d\nsegment.bytes: 1MiB\n")
    found = items(cluster, f"alter topics orders --set @{file} --set cleanup.policy=compact --yes")
    assert {one["key"]: one["new"] for one in found} == {
        "retention.ms": "604800000", "segment.bytes": "1048576", "cleanup.policy": "compact"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["cannot be read", "No such file", "--set @FILE with lines KEY=VALUE"]),
        (b"\xff=1", ["cannot be read", "utf-8"]),
        (b"# nothing\n", ["sets nothing"]),
        (b"=1\n", [":1: a line without a key"]),
        (b"retention.ms=7x\n", [":1) retention.ms=7x is not valid"]),
        (b"retention.ms=1\nretention.ms=2\n", ["retention.ms is changed twice"]),
    ],
)
def test_files_that_set_nothing(
    cluster: FakeCluster, tmp_path: Path, content: bytes | None, words: list[str]
) -> None:
    file = tmp_path / "topic.properties"
    if content is not None:
        file.write_bytes(content)
    done = run(cluster, f"alter topics orders --set @{file} --yes")
    assert done.returncode == 2
    assert all(word in " ".join(done.stderr.decode().split()) for word in words), done.stderr


def test_one_broker_or_all_brokers_are_changed(cluster: FakeCluster) -> None:
    ok(run(cluster, "alter brokers default --set log.retention.ms=9 --yes"))
    done = run(cluster, "alter brokers 1 --unset message.max.bytes --yes")
    assert b"message.max.bytes: 7 (dynamic broker) \xe2\x86\x92 8 (dynamic default)" in ok(done) + done.stderr
    found = {(name, key): (value, source) for name, key, value, source in values(cluster, "brokers 1 2")}
    assert found["1", "message.max.bytes"] == ("8", "dynamic default")
    assert found["2", "log.retention.ms"] == ("9", "dynamic default")


def test_groups_are_changed(cluster: FakeCluster) -> None:
    ok(run(cluster, "alter groups billing --set consumer.session.timeout.ms=60000 --yes"))
    assert values(cluster, "groups billing") == [("billing", "consumer.session.timeout.ms", "60000", "group")]


def test_a_dry_run_lets_the_brokers_check_and_changes_nothing(cluster: FakeCluster) -> None:
    before = len(changes(cluster))
    done = run(cluster, "alter topics orders --set retention.ms=6 --dry-run")
    assert b"retention.ms: 5 (topic) \xe2\x86\x92 6 (topic)" in ok(done)
    (row,) = items(cluster, "alter topics orders --set retention.ms=6 --dry-run")
    assert (row["change"], row["old"], row["new"], row["status"]) == ("set", "5", "6", "planned")
    refused(
        cluster, "alter topics orders --set retention.ms=x --dry-run", 2, "INVALID_CONFIG", "retention.ms"
    )
    assert len(changes(cluster)) == before


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("topics orders --set retention.ms=6", 2, ["confirmation required", "Alter topic orders?"]),
        ("topics orders --set retention.ms=6 --no-input", 2, ["--no-input was given"]),
        ("topics orders", 2, ["no change is given"]),
        ("topics orders --set retention.ms", 2, ["'retention.ms' is not KEY=VALUE"]),
        ("topics orders --set =5", 2, ["there is no key before the ="]),
        ("topics orders --unset retention.ms=5", 2, ["--unset restores the default and needs no value"]),
        ("topics orders --set retention.ms=6 --unset retention.ms", 2, ["retention.ms is changed twice"]),
        (
            "topics orders --set retention.mss=6 --yes",
            2,
            ["topic orders has no", "did you mean retention.ms?"],
        ),
        ("topics orders --set zzz=6 --yes", 2, ["has no configuration key 'zzz'", "--all` lists the keys"]),
        ("groups g --unset consumer.session.timeout --yes", 2, ["did you mean consumer.session.timeout.ms?"]),
        (
            "brokers 1 --set broker.id=2 --yes",
            7,
            ["broker.id of broker 1 cannot be changed", "server.properties"],
        ),
        ("brokers default --set broker.id=2 --yes", 7, ["broker.id of the default of all brokers cannot"]),
        ("brokers default --set mesage.max.bytes=2 --yes", 2, ["did you mean message.max.bytes?"]),
        ("brokers 77 --set message.max.bytes=2 --yes", 1, ["no broker 77"]),
        ("topics orders --append retention.ms=6 --yes", 2, ["retention.ms is not a list"]),
        ("topics none --set retention.ms=6 --yes", 1, ["topic none does not exist"]),
    ],
)
def test_changes_that_are_refused(cluster: FakeCluster, line: str, code: int, words: list[str]) -> None:
    refused(cluster, f"alter {line}", code, *words)


def test_an_internal_topic_is_altered_only_by_its_confirmed_name(cluster: FakeCluster) -> None:
    cluster.create_topic("__consumer_offsets", 1)
    line = "alter topics orders __consumer_offsets --set retention.ms=6"
    refused(cluster, f"{line} --yes", 2, "it holds the committed offsets", "--confirm __consumer_offsets")
    ok(run(cluster, f"{line} --yes --confirm __consumer_offsets"))
    refused(cluster, "alter topics orders --set retention.ms=7 --confirm other", 2, "use --confirm orders")


def test_a_value_that_is_set_already_is_no_change(cluster: FakeCluster) -> None:
    before = len(changes(cluster))
    assert [r["status"] for r in items(cluster, "alter topics orders --set retention.ms=5")] == ["unchanged"]
    assert len(changes(cluster)) == before


def test_the_others_are_changed_when_one_is_refused(cluster: FakeCluster) -> None:
    rows = items(cluster, "alter topics none orders --set retention.ms=6 --yes", code=6)
    assert [(r["name"], r["status"]) for r in rows] == [("none", "refused"), ("orders", "done")]
    done = run(cluster, "alter brokers 1 77 --set log.retention.ms=6 --yes")
    assert done.returncode == 6


@pytest.mark.parametrize(
    ("line", "code", "ends"),
    [
        ("topics orders other --set retention.ms=5", 0, ["unchanged", ""]),
        ("topics none orders --set retention.ms=6", 6, ["refused", ""]),
        ("brokers 1 2 --set message.max.bytes=9 --set broker.id=3", 7, ["refused"] * 4),
        ("brokers 1 77 --set log.retention.ms=6", 6, ["", "refused"]),
        ("topics orders other --set retention.ms=x", 2, ["refused", "refused"]),
        ("topics orders other --set cleanup.policy=compact", 4, ["", "refused"]),
    ],
)
def test_a_dry_run_ends_as_the_act(cluster: FakeCluster, line: str, code: int, ends: list[str]) -> None:
    def denied(_request: Any, answer: Any) -> None:
        for row in answer.responses:
            if row.resource_name == "other":
                row.error_code = Code.TOPIC_AUTHORIZATION_FAILED

    if code == 4:
        cluster.replace(IncrementalAlterConfigsRequest, denied, times=FOREVER)
    for how, otherwise in (("--dry-run", "planned"), ("--yes", "done")):
        rows = items(cluster, f"alter {line} {how}", code)
        assert [row["status"] for row in rows] == [end or otherwise for end in ends]


@pytest.mark.parametrize("form", ["json", "ndjson", "yaml", "csv", "tsv", "name"])
def test_each_format_has_every_change(cluster: FakeCluster, form: str) -> None:
    for how in ("--dry-run", "--yes"):
        out = ok(
            run(cluster, f"alter topics none orders --set retention.ms=6 {how} -o {form}"), (6,)
        ).decode()
        assert all(name in out for name in ("none", "orders"))


def test_a_permission_that_brokers_report_is_seen_where_they_check_nothing(cluster: FakeCluster) -> None:
    """A group's are those of the group, a broker's those of the cluster."""
    cluster.settings.metadata_version = 0
    cluster.settings.honours_validate_only = False
    cluster.settings.topic_operations = cluster.settings.cluster_operations = 1 << AclOperation.DESCRIBE
    for how in ("--dry-run", "--yes"):
        said = refused(cluster, f"alter topics orders --set retention.ms=6 {how}", 4)
        assert "--operation alter_configs --topic orders" in said
        said = refused(cluster, f"alter brokers 1 --set log.retention.ms=6 {how}", 4)
        assert "--operation alter_configs --cluster" in said


def test_a_lack_of_permission_to_change_is_4(cluster: FakeCluster) -> None:
    def denied(_request: Any, answer: Any) -> None:
        answer.responses[0].error_code = Code.TOPIC_AUTHORIZATION_FAILED

    cluster.replace(IncrementalAlterConfigsRequest, denied)
    done = run(cluster, "alter topics orders --set retention.ms=6 --yes")
    assert done.returncode == 4, done.stderr


def test_a_value_that_is_not_there_afterwards_is_reported(cluster: FakeCluster) -> None:
    def undo(_request: Any, answer: Any) -> None:
        for row in answer.results[0].configs:
            row.value = "4" if row.name == "retention.ms" else row.value

    cluster.replace(DescribeConfigsRequest, undo, times=FOREVER)
    done = run(cluster, "alter topics orders --set retention.ms=6 --yes --timeout 1s")
    assert done.returncode == 7
    assert b"retention.ms of topic orders was changed, but reads 4 (topic)" in done.stderr


def test_a_change_that_brokers_show_a_moment_later_is_waited_for(cluster: FakeCluster) -> None:
    def stale(_request: Any, answer: Any) -> None:
        for row in answer.results[0].configs:
            row.value = "5" if row.name == "retention.ms" else row.value

    cluster.replace(DescribeConfigsRequest, stale, times=3)
    ok(run(cluster, "alter topics orders --set retention.ms=6 --yes"))


@pytest.mark.case("X19")
def test_a_secret_is_never_shown(cluster: FakeCluster) -> None:
    """``run`` checks all output; the canary is on the command line, which is warned of."""
    line = f"alter brokers 1 --set ssl.keystore.password={SECRET}"
    done = run(cluster, f"{line} --dry-run")
    assert b"ssl.keystore.password: (hidden) (dynamic broker) \xe2\x86\x92 (hidden)" in ok(done)
    assert b"ssl.keystore.password may be a secret: other users" in done.stderr
    assert items(cluster, f"{line} --yes")[0]["new"] is None
    done = run(cluster, f"{line} --set message.max.bytes=5000 --yes")
    assert b"2 changes, read back, of ssl.keystore.password only that it is set or not" in done.stderr

    def quoting(_request: Any, answer: Any) -> None:
        answer.responses[0].error_code = Code.INVALID_CONFIG
        answer.responses[0].error_message = f"Invalid value {SECRET} for ssl.keystore.password"

    cluster.replace(IncrementalAlterConfigsRequest, quoting)
    done = run(cluster, f"{line} --yes")
    assert done.returncode == 2
    assert b"Invalid value (hidden)" in done.stderr


def test_the_value_of_a_key_that_brokers_do_not_list_is_hidden_too(cluster: FakeCluster) -> None:
    """Keys of listeners are listed only when they are set; the broker decides whether it accepts them."""
    line = f"alter brokers 1 --set listener.name.x.ssl.keystore.password={SECRET}"
    done = run(cluster, f"{line} --dry-run")
    assert done.returncode == 2
    assert b"Unknown config name: listener.name.x.ssl.keystore.password" in done.stderr


def test_formats(cluster: FakeCluster) -> None:
    assert ok(run(cluster, "describe topics orders -o tsv")).decode().splitlines() == [
        "name\tkey\tvalue\tsource\tread_only\tsensitive\ttype",
        "orders\tretention.ms\t5\ttopic\tfalse\tfalse\tlong",
    ]
    (line,) = ok(run(cluster, "describe topics orders -o ndjson")).decode().splitlines()
    assert json.loads(line)["kind"] == "ConfigValue"
    (line,) = (
        ok(run(cluster, "alter topics orders --set retention.ms=6 --yes -o ndjson")).decode().splitlines()
    )
    assert json.loads(line)["kind"] == "ConfigAlterReportItem"
    header, line = ok(run(cluster, "alter topics orders --set retention.ms=7 --yes")).decode().splitlines()
    assert header.split() == [
        "NAME",
        "KEY",
        "CHANGE",
        "OLD",
        "OLD-SOURCE",
        "NEW",
        "NEW-SOURCE",
        "STATUS",
        "NOTE",
    ]
    assert line.split() == ["orders", "retention.ms", "set", "6", "topic", "7", "topic", "done", "-"]


def test_tables_fit_80_columns_of_a_terminal(cluster: FakeCluster) -> None:
    ok(run(cluster, f"alter brokers default --set log.retention.ms={'9' * 120} --yes"))
    line = "stty cols 80 rows 24; kcli configs describe brokers 1 2 --all --origin --no-pager"
    define = f"export KCLI_BOOTSTRAP_SERVER={cluster.bootstrap} NO_COLOR=1"
    done = shell(
        f"{define}; export -f kcli; SHELL=$BASH script -qec \"bash -c '{line}'\" /dev/null",
        bootstrap=cluster.bootstrap,
    )
    lines = done.stdout.decode().splitlines()
    assert any(line.startswith("NAME") for line in lines), done.stdout
    assert max(map(len, lines)) <= 80


def level(cluster: FakeCluster, logger: str) -> str | None:
    rows = items(cluster, "describe broker-loggers 1 --all")
    return next(row["value"] for row in rows if row["key"] == logger)


def own(cluster: FakeCluster, line: str) -> dict[str, str | None]:
    return {row["key"]: row["value"] for row in items(cluster, f"describe {line}")}


def kept(cluster: FakeCluster, state: Path, *words: str, code: int = 0) -> Done:
    done = kcli(*words, bootstrap=cluster.bootstrap, XDG_STATE_HOME=str(state))
    assert done.code == code, done.err
    return done


def undo(cluster: FakeCluster, state: Path, *words: str, code: int = 0) -> Done:
    """Undoes the newest change."""
    journals = json.loads(kept(cluster, state, "undo", "-o", "json").out)["items"]
    return kept(cluster, state, "undo", journals[-1]["id"], "--yes", *words, code=code)


def test_levels_of_loggers_are_set_and_reset_and_that_is_undone(cluster: FakeCluster, tmp_path: Path) -> None:
    assert own(cluster, "broker-loggers 1") == {"root": "INFO"}
    alter = ("configs", "alter", "broker-loggers", "1", "--yes")
    done = kept(
        cluster, tmp_path, *alter, "--set", "kafka.server.KafkaApis=debug", "--set", "org.apache.kafka=WARN"
    )
    assert "altered the loggers of broker 1: 2 changes, read back" in done.err
    assert own(cluster, "broker-loggers 1") == {
        "kafka.server.KafkaApis": "DEBUG", "org.apache.kafka": "WARN", "root": "INFO",
    }  # fmt: skip
    assert level(cluster, "org.apache.kafka.raft.Raft") == "WARN"  # of the logger above it
    kept(cluster, tmp_path, *alter, "--unset", "kafka.server.KafkaApis")
    assert level(cluster, "kafka.server.KafkaApis") == "INFO"
    undo(cluster, tmp_path)
    assert level(cluster, "kafka.server.KafkaApis") == "DEBUG"
    assert level(cluster, "kafka.server.KafkaServer") == "INFO"


def test_a_logger_may_be_set_to_the_level_above_it(cluster: FakeCluster, tmp_path: Path) -> None:
    """Brokers do not say which loggers have a level of their own."""
    line = ("--set", "root=ERROR", "--set", "kafka.server.KafkaApis=ERROR", "--yes")
    kept(cluster, tmp_path, "configs", "alter", "broker-loggers", "1", *line)
    assert level(cluster, "kafka.server.KafkaApis") == level(cluster, "root") == "ERROR"
    undo(cluster, tmp_path)
    assert level(cluster, "kafka.server.KafkaApis") == level(cluster, "root") == "INFO"


def test_client_metrics_are_made_listed_deleted_and_made_again(cluster: FakeCluster, tmp_path: Path) -> None:
    alter = ("configs", "alter", "client-metrics", "apps", "--yes")
    done = kept(cluster, tmp_path, *alter, "--set", "interval.ms=1m", "--set", "metrics=*")
    assert "interval.ms: 300000 (5 m) (default) → 60000 (1 m) (client metrics)" in done.err
    assert [row["name"] for row in items(cluster, "list client-metrics")] == ["apps"]
    assert own(cluster, "client-metrics apps") == {"interval.ms": "60000", "metrics": "*"}
    kept(cluster, tmp_path, *alter, "--unset-all")
    assert items(cluster, "list client-metrics") == []
    refused(cluster, "describe client-metrics apps", 1, "there are no client metrics apps")
    undo(cluster, tmp_path)
    assert own(cluster, "client-metrics apps") == {"interval.ms": "60000", "metrics": "*"}
    kept(cluster, tmp_path, *alter, "--set", "interval.ms=2m")
    kept(cluster, tmp_path, "configs", "alter", "client-metrics", "apps", "--set", "interval.ms=3m", "--yes")
    first = json.loads(kept(cluster, tmp_path, "undo", "-o", "json").out)["items"][0]["id"]
    since = kept(cluster, tmp_path, "undo", first, "--yes", code=7)
    assert "interval.ms of client metrics apps has been changed since" in since.err
    assert "it is 180000, and the change that is to be undone left 60000" in since.err


def test_of_several_client_metrics_each_has_its_outcome(cluster: FakeCluster, tmp_path: Path) -> None:
    kept(cluster, tmp_path, "configs", "alter", "client-metrics", "a", "--set", "metrics=*", "--yes")
    words = ("configs", "alter", "client-metrics", "a", "b", "--unset-all", "--yes", "-o", "json")
    rows = json.loads(kept(cluster, tmp_path, *words, code=6).out)["items"]
    assert [(row["name"], row["key"], row["status"]) for row in rows] == [
        ("a", "metrics", "done"), ("b", "*", "refused"),
    ]  # fmt: skip


def test_unset_all_restores_the_defaults_of_a_topic(cluster: FakeCluster, tmp_path: Path) -> None:
    kept(cluster, tmp_path, "configs", "alter", "topics", "orders", "--unset-all", "--yes")
    assert own(cluster, "topics orders") == {}
    assert (
        "nothing is to be changed"
        in kept(cluster, tmp_path, "configs", "alter", "topics", "orders", "--unset-all", "--yes").err
    )
    undo(cluster, tmp_path)
    assert own(cluster, "topics orders") == {"retention.ms": "5"}


def test_groups_with_a_configuration_are_listed(cluster: FakeCluster) -> None:
    assert items(cluster, "list groups") == []
    ok(run(cluster, "alter groups g --set consumer.session.timeout.ms=50000 --yes"))
    assert items(cluster, "list groups") == [{"resource_type": "groups", "name": "g"}]
    cluster.cap_versions({ListConfigResourcesRequest: 0})
    refused(cluster, "list groups", 7, "version 1 is needed")
    assert items(cluster, "list client-metrics") == []


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("alter broker-loggers 1 --set root=loud --yes", 2, ["a logger has one level, of FATAL, ERROR"]),
        ("alter broker-loggers 1 --append root=INFO --yes", 2, ["a logger has one level"]),
        ("alter broker-loggers 1 --set kafka.server.KafkaApi=DEBUG", 2, ["no logger", "KafkaApis?"]),
        (
            "alter broker-loggers 1 --set zzz=DEBUG",
            2,
            ["broker 1 has no logger 'zzz'", "--all` lists the loggers"],
        ),
        ("alter broker-loggers 1 --unset root --dry-run", 1, ["root logger is not allowed"]),
        ("alter broker-loggers default --set root=INFO --yes", 2, ["'default' is not a broker id"]),
        ("alter broker-loggers 9 --set root=DEBUG --yes", 1, ["has no broker 9"]),
        ("alter broker-loggers 1 --unset-all --yes", 2, ["--unset-all with broker-loggers"]),
        ("alter topics orders --unset-all --set retention.ms=5 --yes", 2, ["together with --set"]),
        ("alter client-metrics a --set intervall.ms=5 --yes", 2, ["did you mean interval.ms?"]),
        ("list topics", 2, ["`kcli topics list`"]),
        ("list broker-loggers", 2, ["`kcli cluster describe`"]),
    ],
)
def test_loggers_and_client_metrics_that_cannot_be_changed(
    cluster: FakeCluster, line: str, code: int, words: list[str]
) -> None:
    refused(cluster, line, code, *words)
    assert own(cluster, "broker-loggers 1") == {"root": "INFO"}


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            "foo.bar=1",
            "No broker knows the key foo.bar: it would be stored, and has no effect unless a plug-in reads it",
        ),
        (
            "kafka.server.KafkaApis=DEBUG",
            "No broker knows the key kafka.server.KafkaApis; if it is a logger: "
            "`kcli configs alter broker-loggers 1 --set kafka.server.KafkaApis=DEBUG`",
        ),
    ],
)
def test_a_key_that_no_broker_knows_is_confirmed_by_name(
    cluster: FakeCluster, setting: str, said: str
) -> None:
    """Brokers store any key, so a wrong one is never refused by them."""
    line = f"alter brokers 1 --set {setting}"
    refused = run(cluster, f"{line} --yes")
    assert refused.returncode == 2
    assert said in refused.stderr.decode()
    assert "--confirm 1" in refused.stderr.decode()
    ok(run(cluster, f"{line} --confirm 1"))
    ok(run(cluster, f"alter brokers 1 --unset {setting.partition('=')[0]} --yes"))


def test_a_key_of_a_listener_is_none_that_no_broker_knows(cluster: FakeCluster) -> None:
    done = run(cluster, "alter brokers 1 --set listener.name.internal.ssl.keystore.type=PEM --yes")
    assert b"No broker knows" not in done.stderr
    assert b"INVALID_CONFIG" in done.stderr, "it is the broker that decides"
