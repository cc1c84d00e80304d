"""Whether a cluster can be reached: each address that was given, and each broker at the address that it advertises.

A chain of steps ends where it breaks; other brokers are contacted nevertheless.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kcli.core.clock import wall_ms
from kcli.core.cluster.cluster import bootstrap_nodes
from kcli.core.errors import KcliError
from kcli.core.hooks import Hooks
from kcli.core.options import ClientOptions
from kcli.core.types import Node
from kcli.flows.doctor import contact_steps
from kcli.flows.doctor.contact import Contact, Contacts
from kcli.flows.doctor.findings import Finding, failure, skipped, warning, well

_SECURE = {
    "auth": "use security.protocol=SASL_SSL, if the brokers have such a listener",
    "conf": "name the authority with ssl.ca.location, and leave the check off only to find a fault",
}
"""What to do about warnings of the areas of hooks."""


class Reach:
    """``cluster_id`` is known after the first contact, ``apis`` (by broker) and ``all_reachable`` after all findings.
    ``seconds`` bounds each connection.
    """

    def __init__(self, options: ClientOptions, seconds: float, hooks: Hooks) -> None:
        self.cluster_id: str | None = None
        self.apis: dict[int, dict[int, tuple[int, int]]] = {}
        self.all_reachable = True
        self._options, self._seconds, self._hooks = options, seconds, hooks

    def findings(self) -> Iterator[Finding]:
        """The steps of each contact, as they are made."""
        try:
            contacts = Contacts(self._options, self._seconds, self._hooks)
        except KcliError as error:
            yield failure("client", "security", error)
            return
        with contacts:
            for area, text in contacts.warnings:
                yield warning("client", "security", text, why="", do=_SECURE.get(area, ""))
            yield from self._connections(contacts, bootstrap_nodes(self._options.bootstrap_servers))

    def _connections(self, contacts: Contacts, given: Sequence[Node]) -> Iterator[Finding]:
        """The addresses that the user gave, one after the other until one works; then all brokers at once."""
        met: list[tuple[str, Contact]] = []
        left = list(given)
        good: Contact | None = None
        while left and good is None:
            node = left.pop(0)
            (contact,) = contacts.meet([node])
            met.append((_given(node), contact))
            yield from self._contact(_given(node), contact)
            if contact.metadata is not None:
                good = contact
            elif contact_steps.is_refusal(contact):
                for other in left:
                    why = "authentication failed, and each further failure could lock the account"
                    yield skipped(_given(other), contact_steps.SASL, why)
                return
        if good is None or good.metadata is None:
            return
        self.cluster_id = good.metadata.cluster_id or ""
        listed = [Node(row.node_id, row.host, row.port, row.rack) for row in good.metadata.brokers]
        yield from self._brokers(contacts, met, left, sorted(listed, key=lambda node: node.id))

    def _brokers(
        self, contacts: Contacts, met: list[tuple[str, Contact]], left: Sequence[Node], listed: Sequence[Node]
    ) -> Iterator[Finding]:
        """Every broker at the address that it advertises. Those that were contacted there are not contacted again."""
        hosts = [contact.node.host for _, contact in met] + [node.host for node in left]
        known = {(one.node.host, one.node.port): one for _, one in met}
        met_soon = {(node.host, node.port) for node in left}
        fresh = [node for node in listed if (node.host, node.port) not in known.keys() | met_soon]
        found = contacts.meet([*left, *fresh])
        for node, contact in zip(left, found, strict=False):
            met.append((_given(node), contact))
            yield from self._contact(_given(node), contact)
            known[node.host, node.port] = contact
        by_id = {contact.node.id: contact for contact in found[len(left) :]}
        for node in listed:
            target = f"broker {node.id} at {node.address}"
            if node.id not in by_id:
                contact = known[node.host, node.port]
                if contact.metadata is not None:
                    yield well(
                        target, contact_steps.ADVERTISED, "contacted above, at the address it advertises"
                    )
            else:
                contact = by_id[node.id]
                yield from self._contact(target, contact)
            yield from contact_steps.advertised(target, contact, self.cluster_id, hosts)
            ours = contact.metadata is not None and (contact.metadata.cluster_id or "") == self.cluster_id
            self.all_reachable &= ours
            if ours and contact.apis is not None:
                self.apis[node.id] = dict(contact.apis)
        yield from contact_steps.same_cluster(met)

    def _contact(self, target: str, contact: Contact) -> Iterator[Finding]:
        yield from contact_steps.steps(target, contact)
        yield from contact_steps.certificate(target, contact, wall_ms() / 1000)


def _given(node: Node) -> str:
    return f"bootstrap {node.address}"
