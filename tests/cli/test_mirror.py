"""The command line of kcli mirror: what it refuses before the first contact."""

import pytest

from tests.command import kcli

CLUSTERS = ["--from", "127.0.0.1:1", "--to", "127.0.0.1:2"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["a", "b"], "unexpected argument 'b'"),
        (["--from", "127.0.0.1:1", "-t", "t"], "--to is missing"),
        (["--to", "127.0.0.1:1", "-t", "t"], "--from is missing"),
        (CLUSTERS, "no topic is named"),
        ([*CLUSTERS, "-t", "t", "-b", "127.0.0.1:3"], "-b names a third cluster"),
        (["--from", "prod", "--to", "127.0.0.1:2", "-t", "t"], "there is no profile 'prod' (from --from)"),
        ([*CLUSTERS, "-t", "t", "--verify", "--verify-only"], "--verify with --verify-only"),
        ([*CLUSTERS, "-t", "t", "--headers", "--verify"], "--verify with --headers"),
        ([*CLUSTERS, "-t", "t", "--headers", "--verify-only"], "--verify with --headers"),
        ([*CLUSTERS, "-t", "t", "--verify", "--partitions", "by-key"], "--verify with --partitions by-key"),
        ([*CLUSTERS, "-t", "t", "--exactly-once", "--checkpoint", "f"], "--exactly-once with --checkpoint"),
        (["status", "--to", "127.0.0.1:2", "-t", "t"], "status: --topic belongs to a run"),
        (["status", "--to", "127.0.0.1:2", "--verify"], "status: --verify belongs to a run"),
        (["status", "--to", "127.0.0.1:2", "--partitions", "keep"], "status: --partitions belongs to a run"),
        (["status", *CLUSTERS], "status: --from belongs to a run"),
        ([*CLUSTERS, "-t", "t", "-X", "acks=1"], "acks"),
        ([*CLUSTERS, "-t", "t", "-X", "auto.offset.reset=latest"], "auto.offset.reset"),
        ([*CLUSTERS, "-t", "t", "-X", "schema.registry.url=http://a"], "schema.registry.url"),
    ],
)
def test_a_mistake_is_a_usage_error_before_the_first_contact(arguments: list[str], what: str) -> None:
    done = kcli("mirror", *arguments)
    assert done.returncode == 2, done.stderr.decode()
    assert what in done.stderr.decode().splitlines()[0]
