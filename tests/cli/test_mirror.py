"""The command line of kcli mirror: what it refuses before the first contact."""

from pathlib import Path

import pytest

from tests.run import kcli
from tests.run import kcli_as_set_up as command

CLUSTERS = ["--from", "127.0.0.1:1", "--to", "127.0.0.1:2"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["a", "b"], "mirror: there is no command 'a'"),
        (["--from", "127.0.0.1:1", "-t", "t"], "mirror run: missing option --to"),
        (["--to", "127.0.0.1:1", "-t", "t"], "mirror run: missing option --from"),
        (CLUSTERS, "mirror run: missing option --topic"),
        ([*CLUSTERS, "-t", "t", "-b", "127.0.0.1:3"], "-b names a third cluster"),
        (["--from", "prod", "--to", "127.0.0.1:2", "-t", "t"], "there is no profile 'prod' (from --from)"),
        ([*CLUSTERS, "-t", "t", "--verify", "--verify-only"], "--verify with --verify-only"),
        ([*CLUSTERS, "-t", "t", "--verify", "--partitions", "by-key"], "--verify with --partitions by-key"),
        (
            [*CLUSTERS, "-t", "t", "--sync-groups", "g", "--partitions", "by-key"],
            "--sync-groups with --partitions by-key",
        ),
        ([*CLUSTERS, "-t", "t", "--exactly-once", "--checkpoint", "f"], "--exactly-once with --checkpoint"),
        ([*CLUSTERS, "-t", "t", "--prune-acls"], "--prune-acls without --sync-acls"),
        ([*CLUSTERS, "-t", "t", "--map-principal", "User:a=User:b"], "--map-principal without --sync-acls"),
        ([*CLUSTERS, "-t", "t", "--sync-acls", "--verify-only"], "--sync-acls with --verify-only"),
        ([*CLUSTERS, "-t", "t", "--sync-acls", "--map-principal", "a=b"], "invalid --map-principal 'a=b'"),
        (
            [*CLUSTERS, "-t", "t", "--sync-acls", "--map-principal", "User:*=User:b"],
            "invalid --map-principal 'User:*=User:b'",
        ),
        ([*CLUSTERS, "-t", "t", "-t", "*", "--exclude", "t"], "mirror run: -t t with --exclude t"),
        (["verify", *CLUSTERS, "-t", "*", "--exclude", "*"], "mirror verify: -t * with --exclude *"),
        *(
            (
                [*CLUSTERS, "-t", "t", "--on-delete", "delete", end],
                "--on-delete delete with --until-caught-up",
            )
            for end in ("--until-caught-up", "--verify")
        ),
        *(
            ([*CLUSTERS, "-t", "t", "--verify-only", option, value], f"{said or option} with --verify-only")
            for option, value, said in (
                ("--sync-groups", "g", ""),
                ("--config", "retention.ms=1", ""),
                ("--sync-configs", "effective", "--sync-configs effective"),
                ("--on-delete", "delete", "--on-delete delete"),
                ("--rate", "10", ""),
                ("--max-wait", "5s", ""),
            )
        ),
        (
            [*CLUSTERS, "-t", "t", "--verify-only", "--partitions", "by-key"],
            "--verify-only with --partitions by-key",
        ),
        (["reset", "t", *CLUSTERS, "--offset", "0", "-b", "127.0.0.1:3"], "-b names a third cluster"),
        (["status", "--to", "127.0.0.1:2", "-b", "127.0.0.1:3"], "-b names a second cluster"),
        (["status", "--to", "127.0.0.1:2", "-t", "t"], "mirror status: there is no option -t"),
        (["status", "--to", "127.0.0.1:2", "--verify"], "mirror status: there is no option --verify"),
        (
            ["status", "--to", "127.0.0.1:2", "--partitions", "keep"],
            "mirror status: there is no option --partitions",
        ),
        (["status", *CLUSTERS], "mirror status: there is no option --from"),
        ([*CLUSTERS, "-t", "t", "-X", "acks=1"], "acks"),
        (
            [*CLUSTERS, "-t", "t", "-X", "bootstrap.servers=c:9092"],
            "bootstrap.servers (from -X) names a cluster beside",
        ),
        (
            [*CLUSTERS, "-t", "t", "-X", "metadata.broker.list=c:9092"],
            "(from -X) names a cluster beside --from",
        ),
        ([*CLUSTERS, "-t", "t", "-X", "auto.offset.reset=latest"], "auto.offset.reset"),
        ([*CLUSTERS, "-t", "t", "-X", "schema.registry.url=http://a"], "schema.registry.url"),
    ],
)
def test_a_mistake_is_a_usage_error_before_the_first_contact(arguments: list[str], what: str) -> None:
    done = kcli("mirror", *arguments)
    assert done.returncode == 2, done.stderr.decode()
    assert what in done.stderr.decode().splitlines()[0]


def test_brokers_in_a_file_of_options_are_refused_where_from_and_to_name_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a file that a variable names are for other commands."""
    file = tmp_path / "client.properties"
    file.write_text("client.id=me\nbootstrap.servers=c:9092\n")
    done = command("mirror", *CLUSTERS, "-t", "t", "-F", str(file))
    assert done.code == 2
    assert f"bootstrap.servers (from {file}:2) names a cluster beside --from" in done.err
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    profile = tmp_path / "kcli" / "config.toml"
    profile.parent.mkdir()
    profile.write_text('[profiles.a]\n"bootstrap.servers" = "127.0.0.1:1"\n')
    line = ["mirror", "--from", "a", "--to", "127.0.0.1:2", "-t", "t", "--timeout", "1s"]
    assert command(*line, "-F", str(file)).code == 2
    monkeypatch.setenv("KCLI_COMMAND_CONFIG", str(file))
    done = command(*line)
    assert done.code == 3, done
    assert "127.0.0.1:1" in done.err


def test_what_is_to_be_said_of_the_options_of_both_clusters_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the file of their profiles, and of a secret on the command line."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    profiles = tmp_path / "kcli" / "config.toml"
    profiles.parent.mkdir()
    login = (
        'security.protocol = "SASL_SSL"\nsasl.mechanism = "PLAIN"\nsasl.username = "u"\nsasl.password = "p"\n'
    )
    profiles.write_text(
        "".join(
            f'[profiles.{name}]\nbootstrap.servers = "127.0.0.1:{port}"\n{login}'
            for name, port in (("a", 1), ("b", 2))
        )
    )
    profiles.chmod(0o644)
    done = command(
        "mirror", "--from", "a", "--to", "b", "-t", "t", "-X", "sasl.password=q", "--timeout", "1s"
    )
    assert done.code == 3, done
    for said in (f"{profiles} holds secrets", "sasl.password on the command line"):
        assert done.err.count(said) == 1, done.err
