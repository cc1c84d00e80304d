"""``kcli pipeline doctor``: its options. What it does is in ``_doctor_run.py``."""

from typing import Any

from kcli.commands.pipeline._job_options import spark_options
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation


@command(
    "doctor",
    reads=(
        "KCLI_IMPL",
        "JAVA_HOME",
    ),
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
def doctor(inv: Invocation, /, **flags: Any) -> int:
    """Find out why jobs do not run on Spark, step by step.

    Checked are the libraries and their versions, the Java that runs Spark, whether a session starts, whether tasks
    run on the executors with the same Python and the same kcli, and from there whether the secrets of the
    configuration can be read and the brokers be reached.

    Each step has its time, and what is wrong a cause and a remedy.

    A step that fails ends the examination. Without brokers in the configuration, the last part is left out.

    The exit code is 0 if nothing has failed, otherwise that of the worst finding. `kcli doctor` examines the cluster.
    """
    from kcli.commands.pipeline._doctor_run import examine  # clients are loaded when the command runs

    return examine(inv, flags)
