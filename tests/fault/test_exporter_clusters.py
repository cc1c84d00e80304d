"""One exporter for several clusters, each by a profile: one page, pages of one of them, and one that is away."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kcli.exporter.exposition import CLASSIC, OPENMETRICS
from tests.exporting import get, until
from tests.fake.cluster import FakeCluster
from tests.run import environment, kcli, start
from tests.unit.exporter.pages import Found, labels, parsed


@pytest.fixture
def two() -> Iterator[tuple[FakeCluster, FakeCluster]]:
    with FakeCluster(1, topics={"orders": 2}) as one, FakeCluster(2, topics={"orders": 3}) as other:
        yield one, other


def profiles(folder: Path, **brokers: str) -> dict[str, str]:
    """A folder with these profiles; its variable."""
    (folder / "kcli").mkdir(exist_ok=True)
    text = "".join(f'[profiles.{name}]\nbootstrap.servers = "{at}"\n' for name, at in brokers.items())
    (folder / "kcli" / "config.toml").write_text(text)
    (folder / "kcli" / "config.toml").chmod(0o600)
    return {"XDG_CONFIG_HOME": str(folder)}


@contextmanager
def exporter(variables: dict[str, str], *arguments: str) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    process = start(
        "exporter", "--listen", "127.0.0.1:0", "--interval", "1s", *arguments, env=environment(**variables)
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        if not url:
            raise AssertionError(process.communicate(timeout=120)[1].decode())
        yield process, url
    finally:
        process.kill()
        process.communicate()


def by_cluster(found: Found, name: str) -> dict[str, float]:
    """The values of a metric whose other labels do not matter here."""
    return {dict(one).get("cluster", ""): value for one, value in found[name].items()}


@pytest.mark.parametrize("form", [CLASSIC, OPENMETRICS])
def test_a_page_has_the_series_of_all_clusters_with_a_label(
    two: tuple[FakeCluster, FakeCluster], tmp_path: Path, form: str
) -> None:
    named = profiles(tmp_path, prod=two[0].bootstrap, test=two[1].bootstrap)
    variables = {**named, "KCLI_PROFILE": "nothing", "KCLI_BOOTSTRAP_SERVER": "127.0.0.1:1"}
    with exporter(variables, "--profile", "prod", "--profile", "test") as (process, url):
        until(lambda: get(url, "/healthz").status == 200)
        found = parsed(get(url, Accept=form).text, form)
        assert by_cluster(found, "kcli_cluster_brokers") == {"prod": 1, "test": 2}
        assert by_cluster(found, "kcli_exporter_up") == {"prod": 1, "test": 1}
        assert found["kcli_topic_partitions"] == {
            labels(cluster="prod", topic="orders"): 2,
            labels(cluster="test", topic="orders"): 3,
        }
        scrapes = "kcli_exporter_scrapes_total"
        without = {
            scrapes,
            "kcli_exporter_info",
            *(name for name in found if name.startswith(("process_", "python"))),
        }
        for name, some in found.items():
            assert all(("cluster" in dict(one)) == (name not in without) for one in some), name
        one = parsed(get(url, "/probe?target=test", Accept=form).text, form)
        assert by_cluster(one, "kcli_cluster_brokers") == {"test": 2}
        assert by_cluster(one, "kcli_exporter_up") == {"test": 1}
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 143


def test_a_target_is_a_configured_profile_and_never_an_address(
    two: tuple[FakeCluster, FakeCluster], tmp_path: Path
) -> None:
    """Nobody who may scrape can make the exporter connect to anything."""
    named = profiles(tmp_path, prod=two[0].bootstrap, test=two[1].bootstrap)
    with exporter(named, "--profile", "prod") as (_, url):
        until(lambda: get(url, "/healthz").status == 200)
        assert "cluster=" not in get(url).text, "one cluster: names and labels as ever"
        assert "kcli_cluster_brokers 1" in get(url, "/probe?target=prod").text
        for query in (
            "", "?", "?target=", "?target=test", f"?target={two[1].bootstrap}", "?target=prod&target=test",
            "?target=%00", "?target=../prod", "?module=x", "?" + "&".join("a=b" for _ in range(100)) + "&target=prod",
        ):  # fmt: skip
            answer = get(url, f"/probe{query}")
            assert (answer.status, answer.text) == (400, "400 Bad Request: target must be one of prod\n"), (
                query
            )
        assert not two[1].connections


def test_a_cluster_without_a_profile_is_no_target(
    two: tuple[FakeCluster, FakeCluster], tmp_path: Path
) -> None:
    with exporter({"XDG_CONFIG_HOME": str(tmp_path), "KCLI_BOOTSTRAP_SERVER": two[0].bootstrap}) as (_, url):
        answer = get(url, f"/probe?target={two[0].bootstrap}")
    assert (answer.status, answer.text) == (404, "404 Not Found: there are /metrics and /healthz\n")


def test_a_cluster_that_is_away_takes_no_figures_of_the_others_away(
    two: tuple[FakeCluster, FakeCluster], tmp_path: Path
) -> None:
    named = profiles(tmp_path, prod=two[0].bootstrap, test=two[1].bootstrap)
    for node in two[1].node_ids:
        two[1].stop(node)
    with exporter(named, "--profile", "prod", "--profile", "test", "--timeout", "1s") as (process, url):
        until(lambda: by_cluster(parsed(get(url).text), "kcli_exporter_up") == {"prod": 1, "test": 0})
        until(lambda: "first sample" not in get(url, "/healthz").text)
        health = get(url, "/healthz")
        assert health.status == 503
        assert health.text.startswith("test: ")
        assert "prod" not in health.text
        assert by_cluster(parsed(get(url).text), "kcli_cluster_brokers") == {"prod": 1}
        for node in two[1].node_ids:
            two[1].start(node)
        until(lambda: get(url, "/healthz").status == 200)
        process.send_signal(signal.SIGTERM)
        _out, err = process.communicate(timeout=120)
    assert b"warning: test: no sample" in err
    assert b"warning: test: the cluster is read again" in err
    assert b"warning: test: no cluster yet" in err
    assert b"prod:" not in err


def test_brokers_beside_several_profiles_and_unknown_ones_are_refused(
    two: tuple[FakeCluster, FakeCluster], tmp_path: Path
) -> None:
    named = profiles(tmp_path, prod=two[0].bootstrap, test=two[1].bootstrap)
    beside = kcli("exporter", "-b", "h:1", "--profile", "prod", "--profile", "test", **named)
    assert (beside.code, "leave out -b" in beside.err) == (2, True)
    unknown = kcli("exporter", "--profile", "prod", "--profile", "tset", **named)
    assert (unknown.code, "there is no profile 'tset'" in unknown.err) == (2, True)
    word = kcli("exporter", "--collect", "default,quotes", **named)
    assert (word.code, "did you mean quotas?" in word.err) == (2, True)
