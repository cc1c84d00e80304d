"""``kcli quotas`` as a user runs it: entities, keys and units, plans, refusals, and values that are read back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kcli.core.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from tests.access import Kcli
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.run import kcli

BYTES = "producer_byte_rate"
ALICE = frozenset({("user", "alice")})
ETL = frozenset({("user", "alice"), ("client-id", "etl")})
DEFAULT_USER = frozenset({("user", None)})
CALLED_DEFAULT = frozenset({("user", "<default>")})
ADDRESS = frozenset({("ip", "192.0.2.7")})


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1) as found:
        found.quotas.update(
            {
                ALICE: {BYTES: 1024.0, "request_percentage": 12.5},
                ETL: {"consumer_byte_rate": 2048.0},
                DEFAULT_USER: {BYTES: 512.0},
                CALLED_DEFAULT: {BYTES: 256.0},
                frozenset({("client-id", None)}): {"controller_mutation_rate": 3.0},
                ADDRESS: {"connection_creation_rate": 10.0},
            }
        )
        yield found


@pytest.fixture
def quotas(cluster: FakeCluster) -> Kcli:
    return Kcli("quotas", cluster)


def rows(items: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(i["user"], i["client_id"], i["ip"], i["key"], i["value"]) for i in items]


def changed(cluster: FakeCluster) -> list[Any]:
    return [s for s in cluster.seen(AlterClientQuotasRequest) if not s.request.validate_only]


# --- list --------------------------------------------------------------------------------------------------


def test_all_are_listed_with_their_units(quotas: Kcli) -> None:
    items = quotas.items("list")
    assert rows(items) == [
        (None, None, "192.0.2.7", "connection_creation_rate", 10),
        (None, "<default>", None, "controller_mutation_rate", 3),
        ("\\<default>", None, None, BYTES, 256),
        ("alice", None, None, BYTES, 1024),
        ("alice", None, None, "request_percentage", 12.5),
        ("alice", "etl", None, "consumer_byte_rate", 2048),
        ("<default>", None, None, BYTES, 512),
    ]
    assert [i["unit"] for i in items][:5] == ["connections/s", "mutations/s", "bytes/s", "bytes/s", "%"]


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ("--user alice", 3),
        ("--user alice --client-id etl", 1),
        ("--client-id etl", 1),
        ("--client-id '<default>'", 1),
        ("--user '<default>'", 1),
        ("--user '\\<default>'", 1),
        ("--ip 192.0.2.7", 1),
        ("--ip '<default>'", 0),
    ],
)
def test_each_option_selects(quotas: Kcli, options: str, count: int) -> None:
    assert len(quotas.items(f"list {options}")) == count


def test_none_is_said(quotas: Kcli, cluster: FakeCluster) -> None:
    assert "no quota matches" in quotas("list --user bob").err
    cluster.quotas.clear()
    assert "the cluster has no quotas" in quotas("list").err


def test_formats(quotas: Kcli, cluster: FakeCluster) -> None:
    assert quotas("list --ip 192.0.2.7 -o tsv").out.splitlines() == [
        "user\tclient_id\tip\tkey\tvalue\tunit",
        "\t\t192.0.2.7\tconnection_creation_rate\t10\tconnections/s",
    ]
    assert json.loads(quotas("list -o ndjson").out.splitlines()[0])["kind"] == "Quota"
    cluster.quotas[frozenset({("user", "u" * 90)})] = {"controller_mutation_rate": 1.25}
    shown = quotas.on_terminal("list --no-pager")
    assert "controller_mutation_rate" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_the_global_client_id_is_given_before_the_command(cluster: FakeCluster) -> None:
    done = kcli("--client-id", "me", "quotas", "list", "--client-id", "etl", bootstrap=cluster.bootstrap)
    assert done.returncode == 0
    (seen,) = cluster.seen(DescribeClientQuotasRequest)
    assert [(c.entity_type, c.match) for c in seen.request.components] == [("client-id", "etl")]
    assert seen.client_id == "me"


# --- alter -------------------------------------------------------------------------------------------------


def test_old_and_new_are_in_the_plan_and_in_the_report(quotas: Kcli, cluster: FakeCluster) -> None:
    line = "alter --user alice --set producer_byte_rate=10MB/s --unset request_percentage"
    done = quotas(f"{line} --set controller_mutation_rate=1.5/s --yes")
    assert "Change the quotas of user alice:" in done.err
    assert "producer_byte_rate: 1024 bytes/s (1 KiB/s) → 10000000 bytes/s (10 MB/s)" in done.err
    assert "request_percentage: 12.5 % → not set" in done.err
    assert "controller_mutation_rate: not set → 1.5 mutations/s" in done.err
    assert "changed 3 quotas of user alice, read back" in done.err
    assert cluster.quotas[ALICE] == {BYTES: 10_000_000, "controller_mutation_rate": 1.5}
    (item,) = quotas.items("alter --user alice --set producer_byte_rate=1KiB --yes")
    assert (item["old"], item["new"], item["status"]) == (10_000_000, 1024, "done")


@pytest.mark.parametrize(
    ("entity", "change", "stored"),
    [
        ("--user alice --client-id new", "producer_byte_rate=5", {("user", "alice"), ("client-id", "new")}),
        ("--client-id new", "consumer_byte_rate=1MiB/s", {("client-id", "new")}),
        ("--user '<default>'", "request_percentage=50%", {("user", None)}),
        ("--user '\\<default>'", "request_percentage=50", {("user", "<default>")}),
        ("--user '\\\\<default>'", "request_percentage=50", {("user", "\\<default>")}),
        ("--user '\\x'", "request_percentage=50", {("user", "\\x")}),
        (
            "--user '<default>' --client-id '<default>'",
            "request_percentage=5",
            {("user", None), ("client-id", None)},
        ),
        ("--ip 2001:db8::1", "connection_creation_rate=7/s", {("ip", "2001:db8::1")}),
        ("--ip '<default>'", "connection_creation_rate=7", {("ip", None)}),
    ],
)
def test_each_kind_of_entity(
    quotas: Kcli, cluster: FakeCluster, entity: str, change: str, stored: set[tuple[str, str | None]]
) -> None:
    cluster.quotas.clear()
    quotas(f"alter {entity} --set {change} --yes")
    assert cluster.quotas.keys() == {frozenset(stored)}
    assert len(quotas.items(f"list {entity}")) == 1


def test_what_is_set_already_is_no_change(quotas: Kcli, cluster: FakeCluster) -> None:
    line = "alter --user alice --set producer_byte_rate=1KiB --unset consumer_byte_rate"
    done = quotas(f"{line} -o json")
    assert [i["status"] for i in done.items] == ["unchanged", "unchanged"]
    assert "nothing is to be changed" in done.err
    assert "producer_byte_rate: 1024 bytes/s (1 KiB/s) stays" in done.err
    assert not cluster.seen(AlterClientQuotasRequest)


def test_units_are_typed_and_shown_to_people_only(quotas: Kcli) -> None:
    quotas("alter --user alice --set producer_byte_rate=10MB/s --yes")
    assert "bytes/s (10 MB/s)" in quotas("list --user alice -o table").out
    for form in ("plain", "tsv", "json"):
        assert "MB/s" not in quotas(f"list --user alice -o {form}").out
    quotas.refused("alter --user alice --set producer_byte_rate=10M", 2, "10MB (powers of 1000) or 10MiB")
    quotas.refused("alter --user alice --set producer_byte_rate=10parsec", 2, "units are B, KB, MB")


def test_a_dry_run_lets_the_brokers_check_and_changes_nothing(quotas: Kcli, cluster: FakeCluster) -> None:
    line = "alter --user alice --set producer_byte_rate=5 --dry-run"
    assert "1024 bytes/s (1 KiB/s) → 5 bytes/s" in quotas(line).out
    document = json.loads(quotas(f"{line} -o json").out)
    assert (document["kind"], document["items"][0]["status"]) == ("QuotaAlterPlan", "planned")
    cluster.fail(AlterClientQuotasRequest, Code.POLICY_VIOLATION, times=FOREVER)
    quotas.refused(line, 7, "POLICY_VIOLATION")
    assert changed(cluster) == []


SET = "--set producer_byte_rate=5"


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (f"--user a {SET}", 2, ["confirmation required", "Change 1 quota of user a?"]),
        (f"--user a {SET} --no-input", 2, ["--no-input was given"]),
        (SET, 2, ["missing option --user, --client-id or --ip"]),
        ("--user a", 2, ["nothing to change"]),
        (f"--user '' {SET}", 2, ["--user is empty", "variable"]),
        (f"--client-id '' {SET}", 2, ["--client-id is empty"]),
        ("--ip '' --set connection_creation_rate=1", 2, ["--ip is empty"]),
        (
            "--ip 192.0.2.7 --user a --set connection_creation_rate=1",
            2,
            ["--ip together with --user", "before they know"],
        ),
        ("--ip h.example --set connection_creation_rate=1", 2, ["is not an IP address"]),
        ("--ip 192.0.2.0/24 --set connection_creation_rate=1", 2, ["is not an IP address"]),
        (
            f"--ip 192.0.2.7 {SET}",
            2,
            ["an IP address has no quota producer_byte_rate", "--user or --client-id"],
        ),
        (
            "--user a --set connection_creation_rate=1",
            2,
            ["a user or client id has no quota", "use it with --ip"],
        ),
        ("--user a --set producer_byte_rat=1", 2, ["did you mean producer_byte_rate?"]),
        ("--user a --unset producer_byte_rat", 2, ["did you mean producer_byte_rate?"]),
        ("--user a --set zzz=1", 2, ["its keys are producer_byte_rate, consumer_byte_rate"]),
        ("--user a --set producer_byte_rate", 2, ["is not KEY=VALUE", "there is no ="]),
        ("--user a --set =5", 2, ["there is no key"]),
        ("--user a --unset producer_byte_rate=5", 2, ["takes a key only"]),
        (f"--user a {SET} --unset producer_byte_rate", 2, ["is changed twice"]),
        ("--user a --set producer_byte_rate=0", 2, ["must be more than 0; --unset removes it"]),
        ("--user a --set producer_byte_rate=-1", 2, ["is not a size"]),
        ("--user a --set producer_byte_rate=10MB/h", 2, ["is not a size", "producer_byte_rate=10MB/s"]),
        ("--user a --set request_percentage=half", 2, ["is not a number such as 50 or 12.5%"]),
        ("--user a --set request_percentage=nan", 2, ["is not a number"]),
        ("--ip 192.0.2.7 --set connection_creation_rate=1.5", 2, ["is not a whole number"]),
    ],
)
def test_changes_that_are_refused(
    quotas: Kcli, cluster: FakeCluster, line: str, code: int, words: list[str]
) -> None:
    quotas.refused(f"alter {line}", code, *words)
    assert changed(cluster) == []


def test_a_key_that_only_the_broker_knows_is_shown_and_may_be_removed(
    quotas: Kcli, cluster: FakeCluster
) -> None:
    cluster.quotas[ALICE]["new_rate"] = 5.0
    assert (None, "new_rate") in [(i["unit"], i["key"]) for i in quotas.items("list --user alice")]
    quotas.refused(
        "alter --user alice --unset new_rate", 1, "Invalid configuration key"
    )  # the broker decides


def test_a_value_that_is_not_there_afterwards_is_reported(quotas: Kcli, cluster: FakeCluster) -> None:
    def stale(_request: Any, answer: Any) -> None:
        for entry in answer.entries:
            for value in entry.values:
                value.value = 1024.0

    cluster.replace(DescribeClientQuotasRequest, stale, times=FOREVER)
    (item,) = quotas.items("alter --user alice --set producer_byte_rate=5 --yes --timeout 2s", 7)
    assert item["status"] == "failed"
    cluster.heal()
    cluster.quotas[ALICE][BYTES] = 1024.0
    cluster.replace(DescribeClientQuotasRequest, stale, times=3)
    quotas("alter --user alice --set producer_byte_rate=5 --yes")


def test_a_read_back_that_fails_is_partly_done(quotas: Kcli, cluster: FakeCluster) -> None:
    cluster.fail(DescribeClientQuotasRequest, Code.CLUSTER_AUTHORIZATION_FAILED, after=2, times=FOREVER)
    (item,) = quotas.items(f"alter --user alice {SET} --yes", 6)
    assert item["status"] == "unknown"


def test_a_change_whose_response_was_lost_is_made_again(quotas: Kcli, cluster: FakeCluster) -> None:
    cluster.swallow(AlterClientQuotasRequest, "close", after=2)
    assert quotas.items(f"alter --user alice {SET} --yes")[0]["status"] == "done"


@pytest.mark.parametrize("more", ["--yes", "--dry-run"])
def test_the_principal_in_place_of_the_user_is_warned_of(quotas: Kcli, more: str) -> None:
    err = quotas(f"alter --user User:alice {SET} {more}").err
    assert "warning: the name is taken literally" in err
    assert "its user is alice" in err
    assert "literally" not in quotas(f"alter --user alice {SET} {more}").err


LINES = ("list", f"alter --user alice {SET} --yes")


@pytest.mark.parametrize("line", LINES)
def test_without_the_right_to_describe_it_is_4(quotas: Kcli, cluster: FakeCluster, line: str) -> None:
    cluster.fail(DescribeClientQuotasRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    quotas.refused(
        line, 4, "no DESCRIBE_CONFIGS permission on the cluster", "--operation describe_configs --cluster"
    )


def test_without_the_right_to_alter_it_is_4(quotas: Kcli, cluster: FakeCluster) -> None:
    cluster.fail(AlterClientQuotasRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    quotas.refused(LINES[1], 4, "no ALTER_CONFIGS permission on the cluster")


@pytest.mark.parametrize("line", LINES)
def test_brokers_without_quotas_are_named(quotas: Kcli, cluster: FakeCluster, line: str) -> None:
    cluster.hide(DescribeClientQuotasRequest)
    quotas.refused(line, 7, "does not offer DescribeClientQuotas", cluster.address(1))


def test_brokers_without_quotas_of_addresses_are_named(quotas: Kcli, cluster: FakeCluster) -> None:
    cluster.fail(AlterClientQuotasRequest, Code.UNSUPPORTED_VERSION, times=FOREVER)
    quotas.refused("alter --ip 192.0.2.7 --set connection_creation_rate=1 --yes", 7, "UNSUPPORTED_VERSION")


def test_questions(quotas: Kcli, cluster: FakeCluster) -> None:
    asked = "Change 1 quota of user alice? [y/N]"
    quotas.on_terminal(f"alter --user alice {SET}", (asked, "n"), code=1)
    assert cluster.quotas[ALICE][BYTES] == 1024
    quotas.on_terminal(f"alter --user alice {SET}", (asked, "y"))
    assert cluster.quotas[ALICE][BYTES] == 5
