"""What ``kcli top`` does: first contact, then the screen."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from kcli.commands._top_log import stderr_kept
from kcli.commands._top_rewind import TopActions
from kcli.commands._top_screen import revealed, run_screen
from kcli.commands.shared.cluster import admin_options, connect, described_groups, open_admin, unique
from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.errors import ConfigError, KcliError
from kcli.core.options import ClientOptions
from kcli.flows.lag.recording import check_appendable
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from kcli.flows.monitor.playback import Recording
from kcli.flows.monitor.recording import append_reading
from kcli.output.colour import wants_colour
from kcli.output.progress import counted
from kcli.profiles.secret_keys import holds_secret
from kcli.tui.actions import Result
from kcli.tui.app import TopApp
from kcli.tui.facts import Facts
from kcli.tui.feed import LiveFeed
from kcli.tui.replay import ReplayFeed

_INTERVAL = 2.0


def run(inv: Invocation, flags: dict[str, Any]) -> int:
    """The exit status."""
    if flags["replay"] is not None:
        return _replay(inv, flags)
    app = new_app(inv, flags)
    if app is None:
        return inv.finish(done=False)
    ended = _show(inv, app, admin_options(inv))
    feed = app.feed
    if isinstance(feed, LiveFeed) and feed.unrecorded:
        what = (
            f"{feed.unrecorded:,} of {counted(feed.unrecorded + feed.recorded, 'reading')} were not recorded"
        )
        why = f"{feed.record_failure}" if feed.record_failure is not None else ""
        inv.failed(
            ConfigError(f"{what} in {flags['record']}", why=why, do="free space, or record in another file"),
            partly=True,
        )
    return ended or inv.finish(done=True)


def new_app(inv: Invocation, flags: dict[str, Any]) -> TopApp | None:
    """The application of a live cluster, after the first contact; None where no group that was named exists."""
    options = admin_options(inv)
    path, record = flags["record"], None
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        names = tuple(described_groups(inv, admin, unique(flags["names"])))
    if flags["names"] and not names:
        return None
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
        options=cluster_options(inv),
    )
    actions = TopActions(inv, options, cluster)
    return TopApp(feed, facts, flags["screen"], colour=_colour(inv), actions=actions)


def _replay(inv: Invocation, flags: dict[str, Any]) -> int:
    path = flags["replay"]
    with inv.progress("indexed", unit="bytes") as bar:
        recording = Recording(path, bar.update)
    facts = Facts(os.path.basename(path), "", read_only="a recording is played", replay=path)
    ended = _show(inv, TopApp(ReplayFeed(recording), facts, flags["screen"], colour=_colour(inv)))
    if recording.broken:
        inv.talk.warn(f"{counted(recording.broken, 'line')} of {path} skipped: no recorded samples")
    return ended or inv.finish(done=True)


def _show(inv: Invocation, app: TopApp, options: ClientOptions | None = None) -> int:
    """The exit status of a signal that ended it, else 0."""
    try:
        with stderr_kept(inv):
            return run_screen(app, () if options is None else revealed(options))
    finally:
        finish_rewinds(inv, app)


def _colour(inv: Invocation) -> bool:
    """Textual has its own idea of NO_COLOR, which --color overrides."""
    wanted = wants_colour(sys.stderr, os.environ, inv.color)
    os.environ.pop("NO_COLOR", None)
    return wanted


def _read_only(inv: Invocation, *, given: bool) -> str | None:
    """Why nothing may be changed."""
    if given or inv.dry_run:
        return f"{'--read-only' if given else '--dry-run'} is given"
    profile = inv.profile
    if profile is None or not profile.read_only:
        return None
    return f"profile {profile.name} is read-only ({profile.mark_origins.get('read_only', profile.origin)})"


def cluster_options(inv: Invocation) -> tuple[str, ...]:
    """The options that lead another command to this cluster. Secrets of the command line are left out."""
    values, resolved = inv.values, inv.resolved
    words: list[str] = []
    if resolved.profile is not None:
        words += ["--profile", resolved.profile.name]
    if values.bootstrap_server or resolved.profile is None:
        words += ["-b", values.bootstrap_server or str(resolved.values["bootstrap_servers"])]
    for path in values.command_config:
        words += ["-F", path]
    for pair in values.command_property:
        key, _, text = pair.partition("=")
        if not holds_secret(key.strip(), text):
            words += ["-X", pair]
    return *words, *(("--allow-plaintext-secrets",) if values.allow_plaintext_secrets else ())


def finish_rewinds(inv: Invocation, app: TopApp) -> None:
    """What was being changed when the screen was left is ended in order, and reported here."""
    for errands in app.errands:
        errands.close()
        if not errands.vital:
            continue
        if not errands.over:
            inv.talk.note("a rewind is being ended in order …")
            errands.join()
        for done in errands.ended:
            if isinstance(done.error, KcliError):
                inv.failed(done.error)
            elif isinstance(done.result, Result):
                for verdict in done.result.verdicts:
                    inv.talk.note(verdict)
                for trouble in done.result.troubles:
                    inv.talk.warn("; ".join(filter(None, (trouble.what, trouble.why, trouble.do))))


@contextmanager
def _monitor(inv: Invocation, options: ClientOptions, names: Sequence[str]) -> Iterator[Monitor]:
    latencies = Latencies(inv.hooks)
    with Admin(options, latencies.hooks, timeout=inv.timeout) as admin:
        yield Monitor(admin, latencies, Wanted(tuple(names)))
