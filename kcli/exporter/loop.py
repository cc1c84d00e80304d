"""Takes the samples: a thread that owns the clients, and publishes a state after each. Nobody waits for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import Condition, Event, Thread
from time import thread_time

from kcli.account.survey import Missing
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple, replace
from kcli.core.clock import monotonic, wall
from kcli.core.errors import KcliError
from kcli.core.hooks import Hooks
from kcli.core.options import ClientOptions
from kcli.exporter.collectors import choice
from kcli.exporter.collectors.reading import FactReader
from kcli.exporter.last_sample import LastSample
from kcli.exporter.page import Pages
from kcli.flows.lag.sample import Wanted, sample_seconds
from kcli.flows.monitor.ages import Lookups
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.cluster_reading import Reading, View
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor

_TIMES = re.compile(r"\d+(\.\d+)? m?s\b")
_FORGOTTEN = 4  # samples
_LAST_SAMPLE = 2.0  # seconds for a sample under way when it ends
Warn = Callable[[str], object]


class Readers(NamedTuple):
    """Of one cluster: groups and topics, and what the other collectors show, read by one client."""

    admin: Admin
    monitor: Monitor
    facts: FactReader


class Collecting(NamedTuple):
    """What is read with each sample: the collectors ``chosen``, and how lag in ``time`` is found, for all groups."""

    time: str
    chosen: Collection[str] = choice.USUAL
    accepts_topic: Callable[[str], bool] | None = None

    @property
    def view(self) -> View:
        """For the monitor."""
        topics, groups = choice.TOPICS in self.chosen, choice.GROUPS in self.chosen
        return View(time=self.time, topics=topics, all_timed=True, groups=groups, apart=True)


class Loop:
    """``open_readers`` is called in the thread. ``most`` and ``label``: see ``Pages``. ``warn`` is called when something
    changes.

    A sample that takes long delays the next: at most half of a core is used.
    """

    def __init__(
        self,
        open_readers: Callable[[], AbstractContextManager[Readers]],
        collecting: Collecting,
        *,
        interval: float,
        most: int,
        warn: Warn,
        label: str = "",
        ended: Event | None = None,
    ) -> None:
        self._open_readers, self._collecting, self._interval, self._warn = (
            open_readers,
            collecting,
            interval,
            warn,
        )
        self._board = Board()
        self._pages = Pages(most, collecting.chosen, collecting.accepts_topic, label)
        self._warned: dict[str, str] = {}
        self._lacking: dict[str, int] = {}  # what was reported, and the sample that lacked it last
        self._changed, self._closed = Condition(), False
        self.state = LastSample(interval)
        self.first, self.ended = Event(), ended or Event()
        """Set after the first sample, whatever its result; and when the thread has ended, or another of them."""
        self.error: BaseException | None = None
        self._thread = Thread(target=self._run, name="kcli-exporter", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Ends it; a sample under way has two seconds to complete. Also before the start."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(_LAST_SAMPLE)

    def _run(self) -> None:
        try:
            with self._open_readers() as readers:
                while not self._closed:
                    began, used = monotonic(), thread_time()
                    self.sample(readers)
                    self.first.set()
                    self._wait(began + max(self._interval, 2 * (thread_time() - used)))
        except BaseException as error:  # noqa: BLE001 - the thread that started it reports it
            self.error = error
        finally:
            self.first.set()
            self.ended.set()

    def sample(self, readers: Readers) -> Sequence[Missing]:
        """Publishes the page of a reading, or that there is none; returns what is missing in it."""
        before, began = self.state, monotonic()
        try:
            with readers.admin.within(sample_seconds(readers.admin, self._interval)):
                reading = readers.monitor.read(self._collecting.view, self._interval)
                facts = readers.facts.read([one.name for one in reading.cluster.topics or ()])
            reading = replace(reading, problems=(*reading.problems, *facts.problems))
        except KcliError as error:
            self._say("cluster", f"no sample: {error}")
            self.state = replace(
                before,
                page=None,
                error=str(error),
                seconds=monotonic() - began,
                problems=0,
                samples=before.samples + 1,
                failures=before.failures + 1,
            )
            return [Missing.of(error)]
        page = self._pages.of(self._board.add(reading), facts)
        now = monotonic()
        self.state = replace(
            before,
            page=page,
            error="",
            read_at=now,
            wall=wall(),
            seconds=now - began,
            problems=len(reading.problems),
            samples=before.samples + 1,
            requests=before.requests + reading.requests,
        )
        self._say("cluster", "the cluster is read again" if before.error else "")
        self._say_problems(reading)
        self._say("series", page.left_out)
        return reading.missing

    def _say_problems(self, reading: Reading) -> None:
        """What is missing is reported once: again only after some samples that had it. The times in texts vary."""
        number, missing = self.state.samples, reading.missing
        new = [part for part in missing if part.what not in self._lacking]
        had = bool(self._lacking)
        self._lacking = {
            what: last for what, last in self._lacking.items() if number - last < _FORGOTTEN
        } | dict.fromkeys((part.what for part in missing), number)
        if new:
            more = f" (and {len(missing) - 1:,} more)" if len(missing) > 1 else ""
            self._warn(f"missing: {new[0].what}: {new[0].why}{more}")
        elif had and not self._lacking:
            self._warn("nothing is missing any more")

    def _say(self, about: str, text: str) -> None:
        """Warns of ``text`` once, until it changes in more than a time that it names."""
        key = _TIMES.sub("", text)
        if text and key != self._warned.get(about):
            self._warn(text)
        self._warned[about] = key

    def _wait(self, until: float) -> None:
        with self._changed:
            while not self._closed and (left := until - monotonic()) > 0:
                self._changed.wait(left)


@contextmanager
def open_readers(
    options: ClientOptions,
    wanted: Wanted,
    lookups: Lookups,
    hooks: Hooks,
    timeout: float,
    chosen: Collection[str],
) -> Iterator[Readers]:
    """Warnings of the clients are shown with -v: what is missing is reported once, by the loop."""
    log = hooks.log
    quiet = Hooks(
        lambda level, area, text: log("info" if level == "warning" else level, area, text), hooks.wire
    )
    latencies = Latencies(quiet)
    with Admin(options, latencies.hooks, timeout=timeout) as admin:
        yield Readers(admin, Monitor(admin, latencies, wanted, lookups=lookups), FactReader(admin, chosen))
