"""The steps of a contact with one broker, in the order in which a client takes them. Pure.

ApiVersions precedes SASL on the wire (KIP-43): a broker responds to it before it knows the client.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.cluster.hosts import sasl_required
from kcli.core.errors import AuthError, ConnectError, ProtocolError, UnansweredError
from kcli.core.exit_codes import ExitCode
from kcli.core.net.tls.x509 import date_text
from kcli.core.protocol.messages.describe_producers import DescribeProducersRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.flows.doctor import contact as stages
from kcli.flows.doctor.contact import Contact
from kcli.flows.doctor.findings import Finding, failed, failure, warning, well

WARN_DAYS = 30
"""Days before a certificate expires from which on it is reported."""
_DAY = 86_400

DNS, TCP, TLS, API_VERSIONS, SASL, METADATA = "DNS", "TCP", "TLS", "ApiVersions", "SASL", "metadata"
CERTIFICATE, ADVERTISED = "certificate", "advertised"


class Step(NamedTuple):
    """A step: ``done`` is the stage that completes it, ``found`` what it has shown; ``needed`` for this client or not."""

    check: str
    done: str
    needed: Callable[[Contact], bool]
    found: Callable[[Contact], str]


def steps(target: str, contact: Contact) -> Iterator[Finding]:
    """The findings of a contact: a line for each step, up to the one that failed."""
    before = 0.0
    for step in STEPS:
        if not step.needed(contact):
            continue
        if isinstance(contact.error, AuthError | ProtocolError) and not contact.times:
            yield _broken(target, ADVERTISED, contact, 0.0)  # the address must not be connected to
            return
        at = contact.times.get(step.done)
        if at is None or (contact.error is not None and step.check == METADATA):
            yield _broken(target, step.check, contact, max(0.0, contact.seconds - before))
            return
        yield well(target, step.check, step.found(contact), max(0.0, at - before))
        before = at


def broken_step(contact: Contact) -> str | None:
    """The step at which the contact failed; None if it is complete."""
    for step in STEPS:
        if step.needed(contact) and step.done not in contact.times:
            return step.check
    return METADATA if contact.error is not None else None


def certificate(target: str, contact: Contact, now: float) -> Iterator[Finding]:
    """How long the broker's certificate is valid; ``now`` in seconds since the epoch."""
    session = contact.tls
    if session is None or session.not_after is None:
        return
    days = int((session.not_after - now) // _DAY)
    text = f"expires in {days} days, at {date_text(session.not_after)}"
    if session.not_after < now:  # only if it is not verified
        text = f"expired at {date_text(session.not_after)}"
    if days >= WARN_DAYS:
        yield well(target, CERTIFICATE, text)
        return
    yield warning(
        target,
        CERTIFICATE,
        text,
        why=f"clients refuse it from then on; it names {session.subject or 'no host'}",
        do="renew the certificate of this broker",
    )


def advertised(
    target: str, contact: Contact, cluster_id: str | None, given_hosts: Sequence[str]
) -> Iterator[Finding]:
    """Whether the address that a broker advertises leads to a broker of this cluster, for all clients."""
    if contact.metadata is None:
        return
    other = contact.metadata.cluster_id
    if cluster_id and other and other != cluster_id:
        yield failed(
            target,
            ADVERTISED,
            f"a broker of another cluster responds at {contact.address}",
            why=f"its cluster id is {other}, that of the first contact is {cluster_id}",
            do="check advertised.listeners of this broker: records would go to the wrong cluster",
            code=ExitCode.UNREACHABLE,
        )
    elif is_loopback(contact.node.host) and not all(map(is_loopback, given_hosts)):
        yield warning(
            target,
            ADVERTISED,
            f"advertises {contact.address}, which every machine understands as itself",
            why="it is reachable from here, but from no other machine",
            do="set advertised.listeners of this broker to a name that all clients can resolve",
        )


def same_cluster(contacts: Sequence[tuple[str, Contact]]) -> Iterator[Finding]:
    """Whether all bootstrap addresses lead to one cluster."""
    ids = {
        contact.metadata.cluster_id: target
        for target, contact in reversed(contacts)
        if contact.metadata is not None and contact.metadata.cluster_id
    }
    if len(ids) > 1:
        listed = ", ".join(f"{target} to {number}" for number, target in sorted(ids.items()))
        yield failed(
            "bootstrap",
            "cluster id",
            "the bootstrap addresses belong to different clusters",
            why=f"they lead {listed}",
            do="name brokers of one cluster in bootstrap.servers",
            code=ExitCode.USAGE,
        )


def is_loopback(host: str) -> bool:
    """Whether only the machine itself understands the host as it is meant."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host.lower().rstrip(".") in ("localhost", "localhost.localdomain") or host.endswith(
            ".localhost"
        )


def is_refusal(contact: Contact) -> bool:
    """Whether the credentials were refused: to send them again could lock the account."""
    return broken_step(contact) == SASL and isinstance(contact.error, AuthError)


def release_text(apis: dict[int, tuple[int, int]] | None) -> str:
    """What the versions of a broker's APIs reveal, where features do not."""
    if apis is None:
        return "unknown"
    if DescribeProducersRequest.api_key not in apis:
        return "before 2.8"
    return "unknown" if ProduceRequest.api_key not in apis else "2.8 or later"


def _broken(target: str, check: str, contact: Contact, seconds: float) -> Finding:
    error = contact.error
    if error is None:
        error = ConnectError(
            f"{contact.node} did not complete this step",
            why="the connection ended without an error",
            do="check that the broker is running",
        )
    if check == METADATA and not contact.sasl_wanted and isinstance(error, UnansweredError):
        error = sasl_required(error, encrypted=contact.tls_wanted)
    return failure(target, check, error, seconds)


def _tls_text(contact: Contact) -> str:
    session = contact.tls
    return "" if session is None else f"{session.version}, {session.cipher}"


def _versions_text(contact: Contact) -> str:
    return f"{len(contact.apis)} APIs" if contact.apis is not None else "responds"


def _metadata_text(contact: Contact) -> str:
    found = contact.metadata
    if found is None:
        return ""
    count = len(found.brokers)
    return f"cluster {found.cluster_id or '-'}, {count} broker{'' if count == 1 else 's'}"


STEPS = (
    Step(DNS, stages.RESOLVED, lambda one: not one.is_literal, lambda one: one.addresses),
    Step(TCP, stages.CONNECTED, lambda _: True, lambda one: one.peer),
    Step(TLS, stages.SECURED, lambda one: one.tls_wanted, _tls_text),
    Step(API_VERSIONS, stages.VERSIONS, lambda _: True, _versions_text),
    Step(
        SASL, stages.AUTHENTICATED, lambda one: one.sasl_wanted, lambda one: f"authenticated {one.identity}"
    ),
    Step(METADATA, stages.METADATA, lambda _: True, _metadata_text),
)
"""The table. A chain ends with the first step that is not completed."""
