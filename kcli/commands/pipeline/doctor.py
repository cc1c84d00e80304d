"""``kcli pipeline doctor``: find out why jobs do not run on Spark."""

from itertools import chain

from kcli.commands.pipeline.jobs import (
    READS,
    TaskOptions,
    own_cluster,
    spark_options,
)
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.findings import Screen, print_findings
from kcli.core.errors import ConfigError, KcliError
from kcli.core.exit_codes import worst
from kcli.flows.doctor.findings import Finding, failure
from kcli.flows.stop import Stop
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.spark.subject import Subject


@command(
    "doctor",
    reads=READS,
    examples=(
        ("kcli pipeline doctor", "on this machine: libraries, Java, a session, a task, the brokers"),
        (
            "kcli pipeline doctor --master spark://HOST:7077",
            "on a cluster: Python, kcli and the brokers as seen there",
        ),
        ("kcli pipeline doctor -o json", "for a ticket: every step with its time"),
    ),
)
@spark_options
@pass_invocation
def doctor(inv: Invocation, /, tasks: TaskOptions) -> int:
    """Find out why jobs do not run on Spark, step by step.

    Checked are the libraries and their versions, the Java that runs Spark, whether a session starts, whether tasks
    run on the executors with the same Python and the same kcli, and from there whether the secrets of the
    configuration can be read and the brokers be reached.

    Each step has its time, and what is wrong a cause and a remedy.

    A step that fails ends the examination. Without brokers in the configuration, the last part is left out.

    The exit code is 0 if nothing has failed, otherwise that of the worst finding. `kcli doctor` examines the cluster.
    """
    # Clients are loaded when the command runs.
    from kcli.pipeline.spark.examination import examine

    tasks.check("doctor")
    screen = Screen(inv.out) if inv.out.kind is None and inv.out.isatty else None
    shown: list[Finding] = []
    with Stop() as stop:
        source, wrong = _source(inv)
        subject = Subject(
            master=tasks.master,
            local=tasks.local,
            conf=tasks.conf,
            java_home=tasks.java_home,
            source=source,
            seconds=inv.timeout,
        )
        before = [failure("client", "configuration", wrong)] if wrong is not None else []
        for finding in chain(before, examine(subject, stop)):
            shown.append(finding)
            if screen is not None:
                screen.show(finding)
    code = worst([*(one.code for one in shown), stop.exit_code], done=False)
    if screen is not None:
        screen.close(shown)
    else:
        print_findings(inv.out, shown, None, inv.talk.warnings)
    return code


def _source(inv: Invocation) -> tuple[ClusterRef | None, KcliError | None]:
    """The configured cluster, None without one; and what is wrong with the configuration."""
    try:
        return own_cluster(inv).ref, None
    except KcliError as error:
        return None, None if isinstance(error, ConfigError) and _names_no_broker(inv) else error


def _names_no_broker(inv: Invocation) -> bool:
    """Whether this is all that is wrong with the configuration."""
    try:
        inv.read_profile()
    except ConfigError:
        return False
    return not inv.resolved.servers
