"""The application of ``kcli top``, for a live cluster and for a recording, from its start to its end. Loads Textual."""

import os
import sys

from kcli.commands.shared.context import Invocation
from kcli.commands.top.actions import TopActions
from kcli.commands.top.contact import Live
from kcli.commands.top.options import TopOptions
from kcli.core.errors import KcliError
from kcli.core.options import ClientOptions
from kcli.flows.monitor.playback import Recording
from kcli.output.progress import counted
from kcli.output.terminal import wants_colour
from kcli.profiles.secret_keys import holds_secret
from kcli.tui.actions import Result
from kcli.tui.app import TopApp
from kcli.tui.background import light_by_environment
from kcli.tui.facts import Facts
from kcli.tui.replay import ReplayFeed
from kcli.tui.run import revealed, run_screen
from kcli.tui.stderr_log import stderr_kept


def watch(inv: Invocation, asked: TopOptions, live: Live) -> int:
    """The live cluster, until the screen is left; the exit status of a signal that ended it, else 0."""
    return _show(inv, new_app(inv, asked, live), live.options)


def new_app(inv: Invocation, asked: TopOptions, live: Live) -> TopApp:
    """The application of a live cluster."""
    profile = inv.profile
    facts = Facts(
        inv.cluster_name.name,
        live.cluster,
        color=None if profile is None else profile.color or None,
        read_only=_read_only(inv, given=asked.read_only),
        groups=live.groups,
        options=cluster_options(inv),
    )
    actions = TopActions(inv, live.options, live.cluster)
    return TopApp(live.feed, facts, asked.screen, colour=_colour(inv), light=_light(), actions=actions)


def replay(inv: Invocation, path: str, asked: TopOptions) -> int:
    """The recording, until the screen is left; the exit status."""
    with inv.progress("indexed", unit="bytes") as bar:
        recording = Recording(path, bar.update)
    moment = None if asked.at is None else recording.at_time(asked.at)
    if moment is not None and moment.note:
        inv.talk.note(moment.note)
    feed = ReplayFeed(recording, 0 if moment is None else moment.number, paused=moment is not None)
    facts = Facts(os.path.basename(path), "", read_only="a recording is played", replay=path)
    ended = _show(inv, TopApp(feed, facts, asked.screen, colour=_colour(inv), light=_light()))
    if recording.broken:
        inv.talk.warn(f"{counted(recording.broken, 'line')} of {path} skipped: no recorded samples")
    return ended or inv.finish(done=True)


def _show(inv: Invocation, app: TopApp, options: ClientOptions | None = None) -> int:
    """The exit status of a signal that ended it, else 0."""
    try:
        with stderr_kept(inv.talk, to_file=bool(inv.values.verbose or inv.areas)):
            return run_screen(app, () if options is None else revealed(options))
    finally:
        finish_rewinds(inv, app)


def _colour(inv: Invocation) -> bool:
    """Textual has its own idea of NO_COLOR, which --color overrides."""
    wanted = wants_colour(sys.stderr, os.environ, inv.color)
    os.environ.pop("NO_COLOR", None)
    return wanted


def _light() -> bool:
    """Until the terminal has answered what its background is."""
    return light_by_environment(os.environ)


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
    if values.bootstrap_server or (resolved.profile is None and not resolved.values.get("log_dirs")):
        words += ["-b", values.bootstrap_server or resolved.servers]
    for path in values.command_config:
        words += ["-F", path]
    for pair in values.map_address:
        words += ["--map-address", pair]
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
