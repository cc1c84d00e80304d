"""AWS_MSK_IAM on the command line: whose access key signs, what is said when it is refused, and no secret of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_sasl import Kcli
from tests.fake.cluster import FakeCluster
from tests.fake.sasl import Sasl
from tests.fault.authenticating import CANARY, attempts

AWS = ("AWS_MSK_IAM",)


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeCluster]:
    sasl = Sasl(mechanisms=AWS, access_keys={"AKIDEXAMPLE": CANARY})
    with FakeCluster(1, topics={"orders": 1}, sasl=sasl) as cluster:
        yield cluster


@pytest.fixture
def run(shared: FakeCluster) -> Kcli:
    return Kcli(shared)


def variables(folder: Path, secret: str = "", key: str = "AKIDEXAMPLE") -> dict[str, str]:
    found = {
        "AWS_CONFIG_FILE": str(folder / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    return found | ({"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret} if secret else {})


OPTIONS = (
    *("-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=AWS_MSK_IAM", "--debug", "-vvv"),
    *("-X", "sasl.aws.region=eu-central-1"),
)
ALLOWED = (*OPTIONS, "--allow-plaintext-secrets")


def test_the_signed_request_needs_tls_or_permission(run: Kcli, shared: FakeCluster, tmp_path: Path) -> None:
    out, _ = run("topics", "list", "-o", "name", *ALLOWED, **variables(tmp_path, CANARY))
    assert out == "orders\n"
    before = len(shared.connections)
    _, said = run("topics", "list", *OPTIONS, code=2, **variables(tmp_path, CANARY))
    assert "the signed request would be sent without encryption" in said
    assert len(shared.connections) == before


@pytest.mark.case("S2")
@pytest.mark.parametrize("case", ["another secret", "no credentials", "no such profile"])
def test_what_is_wrong_is_named_after_one_attempt(
    run: Kcli, shared: FakeCluster, tmp_path: Path, case: str
) -> None:
    before = attempts(shared)
    given = variables(tmp_path, f"not {CANARY}" if case == "another secret" else "")
    more = ("-X", "sasl.aws.profile=nowhere") if case == "no such profile" else ()
    _, said = run("topics", "list", *ALLOWED, *more, code=4, **given)
    assert {
        "another secret": "authentication as AKIDEXAMPLE with AWS_MSK_IAM failed",
        "no credentials": "no AWS credentials were found",
        "no such profile": "nowhere",
    }[case] in said
    assert "\n  do: " in said
    assert attempts(shared) - before == 1


def test_without_a_region_the_option_is_named(run: Kcli, tmp_path: Path) -> None:
    line = [word for word in ALLOWED if word != "sasl.aws.region=eu-central-1"]
    del line[line.index("--allow-plaintext-secrets") - 1]  # its -X
    _, said = run("topics", "list", *line, code=2, **variables(tmp_path, CANARY))
    assert "no AWS region for 127.0.0.1" in said
    assert "sasl.aws.region" in said
