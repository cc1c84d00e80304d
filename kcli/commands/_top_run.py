"""What ``kcli top`` does: first contact, then the screen."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kcli.commands._top_rewind import TopActions
from kcli.commands.shared.cluster import admin_options, connect, open_admin, unique
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.protection import read_only_refusal
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.options import ClientOptions
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from kcli.profiles.secret_keys import holds_secret
from kcli.tui.actions import Result
from kcli.tui.app import TopApp
from kcli.tui.facts import Facts
from kcli.tui.feed import LiveFeed


def run(inv: Invocation, flags: dict[str, Any]) -> int:
    """The exit status."""
    app = new_app(inv, flags)
    app.run()
    _finish(inv, app)
    if app.error is not None:
        raise app.error
    return inv.finish(done=True)


def new_app(inv: Invocation, flags: dict[str, Any]) -> TopApp:
    """The application, after the first contact."""
    names = unique(flags["names"])
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
    options = admin_options(inv)
    feed = LiveFeed(lambda: _monitor(inv, options, names), flags["interval"])
    return TopApp(feed, _facts(inv, cluster, names, flags), actions=TopActions(inv, options, cluster))


def _facts(inv: Invocation, cluster: str, names: Sequence[str], flags: dict[str, Any]) -> Facts:
    profile = inv.resolved.profile
    refusal = read_only_refusal(profile, "a change")
    why = None
    if flags["read_only"] or inv.dry_run:
        why = "--read-only was given" if flags["read_only"] else "--dry-run was given"
    elif refusal is not None:
        why = f"profile {profile.name} is read-only ({refusal.why})" if profile is not None else refusal.why
    color = profile.color if profile is not None else ""
    return Facts(inv.cluster_name.name, cluster, color or None, why, tuple(names), cluster_options(inv))


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


def _finish(inv: Invocation, app: TopApp) -> None:
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
