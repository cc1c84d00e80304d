"""``kcli exporter --textfile``: one page, whole or not at all, and exit status 0 only if nothing is missing in it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.protocol.messages.describe_quorum import DescribeQuorumRequest
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.many_groups import ManyGroups
from tests.fake.script import FOREVER
from tests.fault.test_exporter_clusters import profiles
from tests.run import kcli
from tests.unit.exporter.pages import Found, labels, parsed


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        ManyGroups(made, 3, 2)
        yield made


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "kafka.prom"


def read(page: Path) -> Found:
    return parsed(page.read_text())


def test_a_page_is_written_once_for_others_to_read(cluster: FakeCluster, page: Path) -> None:
    page.write_text("old")
    done = kcli("exporter", "--textfile", str(page), bootstrap=cluster.bootstrap)
    assert (done.code, done.out, done.err) == (0, "", "")
    found = read(page)
    assert len(found["kcli_group_lag_records"]) == 6
    assert found["kcli_exporter_up"] == {labels(): 1}
    assert page.stat().st_mode & 0o777 == 0o644
    assert os.listdir(page.parent) == [page.name], "node_exporter would read what is left beside it"
    of_a_process = ("process_", "kcli_exporter_age", "kcli_exporter_scrapes", "kcli_exporter_samples")
    assert not [name for name in found if name.startswith(of_a_process)], (
        "node_exporter has metrics of its own process"
    )


def test_what_is_missing_is_named_and_the_exit_code_6(cluster: FakeCluster, page: Path) -> None:
    cluster.fail(DescribeQuorumRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    done = kcli("exporter", "--textfile", str(page), bootstrap=cluster.bootstrap)
    assert done.code == 6
    assert done.err.count("CLUSTER_AUTHORIZATION_FAILED") == 1
    found = read(page)
    assert found["kcli_exporter_collector_complete"][labels(collector="quorum")] == 0
    assert len(found["kcli_group_lag_records"]) == 6


def test_old_figures_do_not_stay_while_the_cluster_is_away(cluster: FakeCluster, page: Path) -> None:
    assert kcli("exporter", "--textfile", str(page), bootstrap=cluster.bootstrap).code == 0
    for node in cluster.node_ids:
        cluster.stop(node)
    done = kcli("exporter", "--textfile", str(page), "--timeout", "1s", bootstrap=cluster.bootstrap)
    assert done.code == 3
    found = read(page)
    assert found["kcli_exporter_up"] == {labels(): 0}
    assert not [name for name in found if name.startswith(("kcli_group", "kcli_topic", "kcli_cluster"))]


def test_of_several_clusters_one_may_be_away(cluster: FakeCluster, page: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    named = profiles(tmp_path / "home", prod=cluster.bootstrap, test="127.0.0.1:1")
    line = ("exporter", "--textfile", str(page), "--timeout", "1s", "--profile", "prod", "--profile", "test")
    done = kcli(*line, **named)
    assert done.code == 6
    found = read(page)
    assert found["kcli_exporter_up"] == {labels(cluster="prod"): 1, labels(cluster="test"): 0}
    assert found["kcli_cluster_brokers"] == {labels(cluster="prod"): 2}


def test_series_that_are_left_out_are_missing_on_the_page(cluster: FakeCluster, page: Path) -> None:
    done = kcli("exporter", "--textfile", str(page), "--max-series", "100", bootstrap=cluster.bootstrap)
    assert done.code == 6
    assert "series are left out\n  why: there are more than --max-series allows" in done.err
    assert sum(read(page)["kcli_series_dropped"].values()) > 0


@pytest.mark.parametrize("path", ["nowhere/kafka.prom", "."])
def test_a_file_that_cannot_be_written_is_an_error(cluster: FakeCluster, tmp_path: Path, path: str) -> None:
    done = kcli("exporter", "--textfile", str(tmp_path / path), bootstrap=cluster.bootstrap)
    assert done.code == 1
    assert str(tmp_path) in done.err
    assert not [one for one in tmp_path.iterdir() if one.suffix == ".tmp"]


def test_a_dry_run_reads_and_writes_nothing(cluster: FakeCluster, page: Path) -> None:
    done = kcli("exporter", "--dry-run", "--textfile", str(page), bootstrap=cluster.bootstrap)
    assert (done.code, done.err, page.exists()) == (0, f"would write {page}\n", False)


def test_a_page_that_is_not_served_has_no_address(cluster: FakeCluster, page: Path) -> None:
    done = kcli("exporter", "--textfile", str(page), "--listen", ":0", bootstrap=cluster.bootstrap)
    assert (done.code, "--listen beside --textfile" in done.err, page.exists()) == (2, True, False)
