"""What ``kcli pipeline doctor`` does: runs the examination, prints findings as they come, and chooses the exit status."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

from kcli.commands.pipeline._job_run import check_spark_flags, cluster_of, spark_conf
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.findings import Screen, print_findings
from kcli.core.errors import ConfigError, KcliError
from kcli.core.exit_codes import worst
from kcli.flows.doctor.findings import Finding, failure
from kcli.flows.stop import Stop
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.spark.examination import examine as findings
from kcli.pipeline.spark.subject import Subject


def examine(inv: Invocation, flags: Mapping[str, Any]) -> int:
    """Examines Spark and the way to the cluster. Returns the exit status."""
    check_spark_flags(flags, "doctor")
    found: list[Finding] = []
    screen = Screen(inv.out) if inv.out.kind is None and inv.out.isatty else None
    shown: list[Finding] = []
    with Stop() as stop:
        subject = Subject(
            master=flags["master"],
            local=flags["local"],
            conf=spark_conf(flags),
            java_home=flags["java_home"],
            source=_source(inv, found),
            seconds=inv.timeout,
        )
        for finding in chain(tuple(found), findings(subject, stop)):
            shown.append(finding)
            if screen is not None:
                screen.show(finding)
    code = worst([*(one.code for one in shown), stop.exit_code], done=False)
    if screen is not None:
        screen.close(shown)
    else:
        print_findings(inv.out, shown, None, inv.talk.warnings)
    return code


def _source(inv: Invocation, found: list[Finding]) -> ClusterRef | None:
    """The configured cluster; None without one. What is wrong with the configuration is a finding."""
    try:
        return cluster_of(inv, inv.configuration)
    except KcliError as error:
        if not (isinstance(error, ConfigError) and _names_no_broker(inv)):
            found.append(failure("client", "configuration", error))
        return None


def _names_no_broker(inv: Invocation) -> bool:
    """Whether this is all that is wrong with the configuration."""
    try:
        inv.read_profile()
    except ConfigError:
        return False
    return not inv.resolved.values.get("bootstrap_servers")
