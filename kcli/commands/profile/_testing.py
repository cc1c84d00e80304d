"""What ``kcli profile test`` does: the steps of a client to its cluster, and to its schema registry."""

from collections.abc import Iterator
from time import monotonic

from kcli.commands.shared.cluster import CREATES_NONE
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.findings import show_findings, without_security
from kcli.commands.shared.usage import usage
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ClientOptions
from kcli.flows.doctor.findings import Finding, failed, failure, well
from kcli.flows.doctor.reach import Reach
from kcli.output.progress import counted
from kcli.serde.registry.addresses import without_secrets


def test(inv: Invocation, name: str | None) -> int:
    """Contacts what the profile names; returns the exit status."""
    if name is not None and inv.values.profile not in (None, name):
        raise usage(
            f"kcli profile test: {name} with --profile {inv.values.profile}",
            why="both name a profile",
            do="leave one of them out",
        )
    inv.values.profile = name if name is not None else inv.values.profile
    options = inv.client_options(ClientOptions, unused=CREATES_NONE)
    seconds = min(inv.timeout, options.socket_connection_setup_timeout_ms / 1000)
    reach = Reach(options, seconds, without_security(inv.hooks))
    return show_findings(
        inv, _findings(inv, options, reach), options.servers, cluster=lambda: reach.cluster_id
    )


def _findings(inv: Invocation, options: ClientOptions, reach: Reach) -> Iterator[Finding]:
    yield from reach.findings()
    wanted, found = options.cluster_id, reach.cluster_id
    if wanted and found is not None:
        yield (
            well("cluster", "cluster id", f"{found}, as cluster.id says")
            if found == wanted
            else failed(
                "cluster",
                "cluster id",
                f"it is {found or 'not known'}",
                why=f"cluster.id is {wanted}, so that commands refuse this cluster",
                do="check the addresses of the brokers; if the cluster was created anew, change cluster_id",
                code=ExitCode.UNREACHABLE,
            )
        )
    if inv.resolved.registry:
        yield from _registry(inv, options)


def _registry(inv: Invocation, options: ClientOptions) -> Iterator[Finding]:
    """Whether the schema registry responds to this user. Its address is shown without a password."""
    from kcli.serde.registry.client import Registry  # HTTP: rare, most profiles have no registry

    began = monotonic()
    target = "schema registry"
    try:
        found = inv.configuration.registry_options(inv.given_timeout)
        target = f"registry {without_secrets(found.schema_registry_url)}"
        registry = Registry(found, allow_plaintext_secrets=options.allow_plaintext_secrets)
        try:
            subjects = registry.subjects()
        finally:
            registry.close()
    except KcliError as error:
        yield failure(target, "subjects", error, monotonic() - began)
        return
    yield well(target, "subjects", counted(len(subjects), "subject"), monotonic() - began)
