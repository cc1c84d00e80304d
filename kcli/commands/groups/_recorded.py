"""``kcli groups lag --from-record``: the lag of groups as a recording has it at a moment, without a cluster."""

from contextlib import closing

from kcli.commands.groups._lag_rows import GroupVerdict, exceeded_limits, lag_rows
from kcli.commands.groups.lag_options import LagOptions
from kcli.commands.groups.lag_output import LagOutput
from kcli.commands.shared.context import Invocation
from kcli.flows.monitor.playback import Recording
from kcli.flows.monitor.recorded_lag import recorded_lag
from kcli.output.progress import counted, duration_text
from kcli.output.tables import time_text


def show_recorded(inv: Invocation, asked: LagOptions, path: str) -> int:
    """Shows one sample of the file; returns the exit status."""
    with inv.progress("indexed", unit="bytes") as bar:
        recording = Recording(path, bar.update)
    with closing(recording):
        moment = recording.at_time(asked.at or "now")
        recorded = recorded_lag(recording, moment.number, asked.wanted, asked.topics)
    found = recorded.found
    if moment.note:
        inv.talk.note(moment.note)
    age = (moment.at_ms - found.sample.at_ms) / 1000
    inv.talk.note(
        f"sample of {time_text(found.sample.at_ms)}"
        + (f", {duration_text(age)} before that time" if age >= 1 else "")
    )
    if recording.broken:
        inv.talk.warn(f"{counted(recording.broken, 'line')} of {path} skipped: no recorded samples")
    for part in recorded.missing:
        inv.lacks(part, later=True)
    verdicts = {group: GroupVerdict(verdict) for group, verdict in recorded.verdicts.items()}
    with LagOutput(inv, asked.rows, recorded.cluster, watched=False, at_ms=found.sample.at_ms) as output:
        rows = lag_rows(found, verdicts, asked.rows, only_lagging=asked.only_lagging)
        output.show_sample(found.sample.at_ms, rows)
        if output.empty and not recorded.missing:
            inv.talk.remark("there is no lag" if found.sample.groups else "no group of the sample matches")
    inv.out.release()  # on a terminal errors follow the table
    for error in exceeded_limits(found, asked.max_lag, asked.max_lag_time):
        inv.failed(error)
    if asked.limited and recorded.missing:
        inv.talk.warn("only lag that could be read was compared with the limit")
    return inv.finish(done=bool(found.sample.groups) or not (asked.groups or asked.topics))
