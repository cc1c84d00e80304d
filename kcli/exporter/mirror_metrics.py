"""The metrics of ``kcli mirror run --listen``: names, types, labels, what they mean, and where their values are. Pure.

``make docs`` writes the table in docs/mirror.md.
"""

from operator import attrgetter

from kcli.exporter.metric import COUNTER, GAUGE, INFO, STATESET, Metric
from kcli.flows.mirror.copy.partition_state import State

STATES = tuple(state.value for state in State if state is not State.NOT_SELECTED)

OF_PARTITIONS = tuple(
    Metric(f"kcli_mirror_{name}", kind, ("topic", "partition"), text, of)
    for name, kind, text, of in (
        (
            "lag_records",
            GAUGE,
            "Offsets of the source that are not copied; absent while it is not read.",
            attrgetter("lag"),
        ),
        (
            "lag_seconds",
            GAUGE,
            "Age of the oldest record that is not copied; 0 where there is none, absent while it is not known.",
            attrgetter("seconds"),
        ),
        (
            "records",
            COUNTER,
            "Records that were copied since this instance runs the job.",
            attrgetter("records"),
        ),
        (
            "bytes",
            COUNTER,
            "Bytes of batches that were copied since this instance runs the job.",
            attrgetter("bytes"),
        ),
        (
            "gaps",
            GAUGE,
            "Gaps that were not acknowledged when this instance began to run the job, and those that came since.",
            attrgetter("gaps"),
        ),
    )
)
STATE = Metric(
    "kcli_mirror_partition_state",
    STATESET,
    ("topic", "partition", "kcli_mirror_partition_state"),
    "State of the partition, as in mirror status.",
)
GROUP_AGE = Metric(
    "kcli_mirror_group_sync_age_seconds",
    GAUGE,
    ("group",),
    "How long ago all offsets of the group were found or set on the target; since this instance copies, if never.",
)
LEASE = Metric("kcli_mirror_lease", GAUGE, (), "1 if this instance runs the job, 0 as a stand-by.")
AGE = Metric("kcli_mirror_age_seconds", GAUGE, (), "How old the figures of this page are.")
TURN = Metric(
    "kcli_mirror_idle_seconds",
    GAUGE,
    (),
    "How long ago the mirror turned last: its loops do it all the time.",
)
JOB = Metric(
    "kcli_mirror",
    INFO,
    ("mirror_job", "source_cluster", "target_cluster", "version"),
    "The job, its clusters, and the version of kcli.",
)

METRICS = (*OF_PARTITIONS, STATE, GROUP_AGE, LEASE, AGE, TURN, JOB)
