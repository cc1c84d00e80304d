"""The steps of a contact: every step of the table as the one that fails, certificates, advertised addresses. Pure."""

import pytest

from kcli.core.error_codes import NONE
from kcli.core.errors import AuthError, ConnectError
from kcli.core.net.channel import TlsSession, session_of
from kcli.core.protocol.messages.metadata import MetadataResponse
from kcli.core.types import Node
from kcli.flows.doctor import contact_steps as steps
from kcli.flows.doctor.contact import Contact

NOW = 1_800_000_000.0
DAY = 86_400


def contact(
    *done: str, error: Exception | None = None, host: str = "b1.example.org", cluster: str = "c"
) -> Contact:
    found = Contact(Node(1, host, 9093), tls_wanted=True, sasl_wanted=True)
    found.times = {stage: 0.1 * (number + 1) for number, stage in enumerate(done)}
    found.seconds = 0.1 * (len(done) + 1)
    found.error = error  # type: ignore[assignment]
    if error is None:
        found.metadata = MetadataResponse(
            brokers=[], cluster_id=cluster, controller_id=1, topics=[], error_code=NONE
        )
    return found


ORDER = [step.done for step in steps.STEPS]


@pytest.mark.parametrize("number", range(len(steps.STEPS)))
def test_a_chain_ends_with_the_step_that_is_not_completed(number: int) -> None:
    error = ConnectError("it broke", why="because", do="mend it")
    broken = contact(*ORDER[:number], error=error)
    found = list(steps.steps("b", broken))
    assert [one.check for one in found] == [step.check for step in steps.STEPS[: number + 1]]
    assert [one.status for one in found] == ["ok"] * number + ["failed"]
    assert (found[-1].detail, found[-1].why, found[-1].do, found[-1].code) == (
        "it broke",
        "because",
        "mend it",
        3,
    )
    assert all(one.seconds == pytest.approx(0.1) for one in found)
    assert steps.broken_step(broken) == steps.STEPS[number].check


def test_a_complete_chain_has_all_steps() -> None:
    found = list(steps.steps("b", contact(*ORDER)))
    assert [one.status for one in found] == ["ok"] * len(steps.STEPS)
    assert steps.broken_step(contact(*ORDER)) is None


def test_steps_that_a_client_does_not_take_are_left_out() -> None:
    plain = contact(*ORDER, host="10.0.0.1")
    plain.tls_wanted = plain.sasl_wanted = False
    assert [one.check for one in steps.steps("b", plain)] == ["TCP", "ApiVersions", "metadata"]


def test_refused_credentials_are_told_from_other_failures() -> None:
    refused = AuthError("authentication failed")
    assert steps.is_refusal(contact(*ORDER[:4], error=refused))
    assert not steps.is_refusal(contact(*ORDER[:4], error=ConnectError("gone")))
    assert not steps.is_refusal(contact(*ORDER[:2], error=refused)), "that was TLS"


@pytest.mark.parametrize(("days", "status"), [(-1, "warning"), (0, "warning"), (29, "warning"), (30, "ok")])
def test_a_certificate_is_reported_before_it_expires(days: int, status: str) -> None:
    found = contact(*ORDER)
    found.tls = TlsSession("TLSv1.3", "x", int(NOW) + days * DAY + 5, "b1.example.org")
    (one,) = steps.certificate("b", found, NOW)
    assert one.status == status
    assert ("expired at" in one.detail) == (days < 0)


def test_a_session_has_the_names_and_the_end_of_the_certificate() -> None:
    certificate = {
        "notAfter": "Jun 21 12:00:00 2027 GMT",
        "subject": ((("commonName", "b1"),),),
        "subjectAltName": (("DNS", "b1.example.org"), ("DNS", "b1")),
    }
    assert session_of("TLSv1.3", "X", [certificate]) == TlsSession(
        "TLSv1.3", "X", 1_813_579_200, "b1.example.org, b1"
    )
    assert session_of(None, None, []) == TlsSession("TLS", "", None, "")


@pytest.mark.case("N13")
@pytest.mark.parametrize(
    ("host", "given", "cluster", "status"),
    [
        ("127.0.0.1", ["kafka.example.org"], "c", "warning"),
        ("localhost", ["10.0.0.1"], "c", "warning"),
        ("::1", ["10.0.0.1"], "c", "warning"),
        ("127.0.0.1", ["localhost"], "c", None),
        ("b1.example.org", ["kafka.example.org"], "c", None),
        ("b1.example.org", ["kafka.example.org"], "other", "failed"),
        ("127.0.0.1", ["kafka.example.org"], "other", "failed"),
    ],
)
def test_what_a_broker_advertises_is_judged(
    host: str, given: list[str], cluster: str, status: str | None
) -> None:
    found = list(steps.advertised("b", contact(*ORDER, host=host, cluster=cluster), "c", given))
    assert [one.status for one in found] == ([] if status is None else [status])
    if found:
        assert "advertised.listeners" in found[0].do
