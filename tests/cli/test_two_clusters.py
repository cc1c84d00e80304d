"""Which options each of the two clusters of a mirror gets, and what an error of its login says of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake.cluster import FakeCluster
from tests.run import kcli_as_set_up as command


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FakeCluster, FakeCluster]]:
    """Two clusters without TLS, and a folder of configuration."""
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    (tmp_path / "config" / "kcli").mkdir(parents=True)
    with (
        FakeCluster(1, topics={"orders": 1}) as source,
        FakeCluster(1, topics={}, cluster_id="other-kafka-cluster-id") as target,
    ):
        yield source, target


def mirrored(pair: tuple[FakeCluster, FakeCluster], *more: str, **sides: str) -> Any:
    source, target = sides.get("source", pair[0].bootstrap), sides.get("target", pair[1].bootstrap)
    return command("mirror", "--from", source, "--to", target, "-t", "orders", "--dry-run", *more)


def profiles(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config" / "kcli" / "config.toml"
    path.write_text(text)
    path.chmod(0o600)


TLS = "security.protocol=SSL\n"


def test_an_error_of_tls_says_where_the_option_comes_from(
    pair: tuple[FakeCluster, FakeCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tls.properties"
    file.write_text(TLS)
    done = mirrored(pair, "-F", str(file))
    assert done.code == 3
    assert f"; security.protocol SSL (from {file}, -F)\n" in done.err
    assert "security.protocol SSL (from" not in mirrored(pair, "-X", TLS.strip()).err, "it is in the line"
    monkeypatch.setenv("KCLI_COMMAND_CONFIG", str(file))
    assert f"; security.protocol SSL (from {file}, KCLI_COMMAND_CONFIG)\n" in mirrored(pair).err
    assert "(from " not in mirrored(pair, source="127.0.0.1:1").err.split("why:")[-1], (
        "nothing was secured there"
    )


def test_the_file_of_a_variable_is_not_for_a_side_that_names_its_profile(
    pair: tuple[FakeCluster, FakeCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tls.properties"
    file.write_text(TLS)
    monkeypatch.setenv("KCLI_COMMAND_CONFIG", str(file))
    profiles(
        tmp_path,
        f'[profiles.a]\n"bootstrap.servers" = "{pair[0].bootstrap}"\n'
        f'[profiles.b]\n"bootstrap.servers" = "{pair[1].bootstrap}"\n',
    )
    done = mirrored(pair, source="a", target="b")
    assert done.code == 0, done.err
    assert "topic __kcli_mirror is created as well: it keeps the positions of mirror jobs" in done.out


def test_a_side_by_address_has_the_login_of_the_profile_in_use_if_it_is_its_broker(
    pair: tuple[FakeCluster, FakeCluster], tmp_path: Path
) -> None:
    """As `kcli topics list -b ADDRESS` has it; the other cluster gets nothing of it."""
    profiles(
        tmp_path,
        f'current = "dev"\n[profiles.dev]\n"bootstrap.servers" = "{pair[1].bootstrap}"\n"security.protocol" = "SSL"\n',
    )
    done = mirrored(pair)
    assert done.code == 3
    assert f"{pair[1].bootstrap} does not speak TLS" in done.err
    assert "security.protocol SSL (from profile dev)" in done.err
