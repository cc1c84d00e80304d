"""What a task sees of the cluster: whether it can read the secrets where it runs, and reach the brokers from there."""

import socket
from typing import Any

from kcli.core.classes import dataclass
from kcli.core.cluster.cluster import bootstrap_nodes
from kcli.core.errors import KcliError
from kcli.core.options import ClientOptions
from kcli.core.types import Node
from kcli.flows.doctor import contact_steps
from kcli.flows.doctor.contact import Contact, Contacts
from kcli.flows.doctor.findings import Finding, failure, well
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.job import TaskContext
from kcli.profiles.secret_keys import SecretSource


@dataclass(frozen=True, slots=True)
class ContactSettings:
    """``seconds`` bounds each connection."""

    source: ClusterRef
    seconds: float


def run(settings: ContactSettings, _task: object, _context: TaskContext) -> dict[str, Any]:
    """``findings`` has the steps of each contact, made on ``host``. What is wrong is a finding, no error."""
    host = socket.gethostname()
    found = list(_findings(settings, host))
    return {"host": host, "findings": found, "records": 0, "bytes": 0}


def _findings(settings: ContactSettings, host: str) -> list[Finding]:
    target = f"task on {host}"
    try:
        options = settings.source.options(ClientOptions)
    except KcliError as error:
        return [failure(target, "secrets", error)]
    found = [well(target, "secrets", "read" if _has_secrets(settings.source) else "none are needed")]
    try:
        with Contacts(options, settings.seconds) as contacts:
            found += _contacts(contacts, bootstrap_nodes(options.bootstrap_servers), host)
    except KcliError as error:
        found.append(failure(target, "security", error))
    return found


def _contacts(contacts: Contacts, given: list[Node], host: str) -> list[Finding]:
    """The addresses of bootstrap.servers until one responds, then all brokers where they advertise themselves."""
    found: list[Finding] = []
    for node in given:
        (met,) = contacts.meet([node])
        found += contact_steps.steps(f"{node.address} from {host}", met)
        if met.metadata is not None:
            found += _brokers(contacts, met, host)
            break
        if contact_steps.is_refusal(met):  # each further failure could lock the account
            break
    return found


def _brokers(contacts: Contacts, first: Contact, host: str) -> list[Finding]:
    assert first.metadata is not None
    listed = [Node(row.node_id, row.host, row.port, row.rack) for row in first.metadata.brokers]
    known = (first.node.host, first.node.port)
    others = sorted((node for node in listed if (node.host, node.port) != known), key=lambda node: node.id)
    return [
        finding
        for met in contacts.meet(others)
        for finding in contact_steps.steps(f"broker {met.node.id} at {met.address} from {host}", met)
    ]


def _has_secrets(source: ClusterRef) -> bool:
    from_places = any(isinstance(value, SecretSource) for value in source.values.values())
    return bool(source.by_origin) or from_places
