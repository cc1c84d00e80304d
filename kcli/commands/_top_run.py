"""What ``kcli top`` does: first contact, then the screen."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from kcli.commands._top_log import stderr_kept
from kcli.commands.shared.cluster import admin_options, connect, described_groups, open_admin, unique
from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions
from kcli.flows.lag.recording import check_appendable
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from kcli.flows.monitor.playback import Recording
from kcli.flows.monitor.recording import append_reading
from kcli.output.colour import wants_colour
from kcli.output.progress import counted
from kcli.tui.app import TopApp
from kcli.tui.facts import Facts
from kcli.tui.feed import LiveFeed
from kcli.tui.replay import ReplayFeed

_INTERVAL = 2.0


def run(inv: Invocation, flags: dict[str, Any]) -> int:
    """The exit status."""
    if flags["replay"] is not None:
        return _replay(inv, flags)
    options = admin_options(inv)
    path, record = flags["record"], None
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        names = tuple(described_groups(inv, admin, unique(flags["names"])))
    if flags["names"] and not names:
        return inv.finish(done=False)
    if path is not None:
        check_appendable(path)
        record = partial(append_reading, path)
    feed = LiveFeed(lambda: _monitor(inv, options, names), flags["interval"] or _INTERVAL, record)
    profile = inv.profile
    facts = Facts(
        inv.cluster_name.name,
        cluster,
        color=None if profile is None else profile.color or None,
        read_only=_read_only(inv, given=flags["read_only"]),
        groups=names,
    )
    _show(inv, TopApp(feed, facts, flags["screen"], colour=_colour(inv)))
    if feed.unrecorded:
        what = (
            f"{feed.unrecorded:,} of {counted(feed.unrecorded + feed.recorded, 'reading')} were not recorded"
        )
        why = f"{feed.record_failure}" if feed.record_failure is not None else ""
        inv.failed(
            ConfigError(f"{what} in {path}", why=why, do="free space, or record in another file"), partly=True
        )
    return inv.finish(done=True)


def _replay(inv: Invocation, flags: dict[str, Any]) -> int:
    path = flags["replay"]
    recording = Recording(path)
    facts = Facts(os.path.basename(path), "", read_only="a recording is played", replay=path)
    _show(inv, TopApp(ReplayFeed(recording), facts, flags["screen"], colour=_colour(inv)))
    if recording.broken:
        inv.talk.warn(f"{counted(recording.broken, 'line')} of {path} skipped: no recorded samples")
    return inv.finish(done=True)


def _show(inv: Invocation, app: TopApp) -> None:
    with stderr_kept(inv):
        app.run()
    if app.error is not None:
        raise app.error


def _colour(inv: Invocation) -> bool:
    """Textual has its own idea of NO_COLOR, which --color overrides."""
    wanted = wants_colour(sys.stderr, os.environ, inv.color)
    os.environ.pop("NO_COLOR", None)
    return wanted


def _read_only(inv: Invocation, *, given: bool) -> str | None:
    """Why nothing may be changed."""
    if given:
        return "--read-only"
    profile = inv.profile
    return f"profile {profile.name} is read-only" if profile is not None and profile.read_only else None


@contextmanager
def _monitor(inv: Invocation, options: ClientOptions, names: Sequence[str]) -> Iterator[Monitor]:
    latencies = Latencies(inv.hooks)
    with Admin(options, latencies.hooks, timeout=inv.timeout) as admin:
        yield Monitor(admin, latencies, Wanted(tuple(names)))
