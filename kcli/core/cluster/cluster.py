"""The low-level client: metadata, routing and retries over one loop. ``send`` and ``poll`` are public.

The client proposal's KafkaConnection: addresses brokers by id, multiplexes over many connections, blocks only in
``poll``. Owned by the thread that owns its loop; other threads may read only ``view``.

A topic that brokers have not known for 5 s is given up (``gone``); shorter absences are waited for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kcli.core.addresses import broker_addresses
from kcli.core.cluster.brokers import CONTROL, FORWARDED, Brokers, is_final
from kcli.core.cluster.hosts import host_check, sasl_required
from kcli.core.cluster.metadata import CHECK_NAME, ClusterView, apply_metadata, topic_error
from kcli.core.cluster.metadata_refresh import STALE, MetadataRefresh
from kcli.core.cluster.retry import (
    Backoff,
    classify_code,
    classify_error,
    given_up,
    is_controller_error,
    late_error,
    no_response,
)
from kcli.core.cluster.silence import Silence
from kcli.core.connection.handshake import BrokerApiVersions
from kcli.core.connection.plan import Plan
from kcli.core.errors import (
    BrokerError,
    ClosedError,
    ConfigError,
    ConnectError,
    KcliError,
    NotFoundError,
    TooManyFilesError,
    UnansweredError,
    UnsupportedError,
    WrongClusterError,
)
from kcli.core.future import Future
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.net.loop import Loop, Timer
from kcli.core.options import ClientOptions
from kcli.core.protocol.api import Request, choose_version
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kcli.core.types import Node

if TYPE_CHECKING:
    from kcli.core.offline.server import Server

T = TypeVar("T")

ANY = -1
"""Send to any broker."""
ALL_TOPICS = "all topics"
"""What is foreseen: see ``Cluster.foresee``."""
CONTROLLER = -2
"""Send to the broker that metadata names as the controller."""

TOPIC_PATIENCE = 5.0
"""Seconds for which a topic may be missing from metadata: it may be about to be created, or come back."""
_FRESH, _ROUND_TRIPS = 1.0, 4  # seconds, and what a command may have asked in between
_FIRST_BOOTSTRAP_ID = -10
_PRODUCE = 0
_DESCRIBE_CLUSTER = 60
"""The API by which controllers name themselves; see ``controllers.py``."""
_OWN_PATIENCE = 0.5  # seconds that a step has at least, where others are read beside it
_REFUSED_PATIENCE = 3.0  # seconds to keep trying to connect while every bootstrap address refuses connections


class _Foreseen:
    """A request of the first contact: when it was sent, and how long the response took."""

    def __init__(self, response: Future[Any], sent_at: float) -> None:
        self.response = response
        self._sent_at = sent_at
        self._took = 0.0

    def answered(self, now: float) -> None:
        """The response has come."""
        self._took = now - self._sent_at

    def is_void(self, now: float) -> bool:
        """Whether another attempt may succeed, or what it says is older than if requests had waited for each other."""
        error = self.response.error
        if error is not None:
            return classify_error(error).retriable
        return self.response.done and now - self._sent_at > _FRESH + _ROUND_TRIPS * self._took


class Cluster:
    """``Cluster(ClientOptions(bootstrap_servers="host:9092"))``; use as a context manager, or ``close``.

    ``silence`` is set while reads share a deadline (``Admin.within``). ``of_controllers``: the bootstrap addresses are
    those of controllers, and so are all nodes. ``beside``: see ``together.py``. ``directories``: the log directories that
    are read instead of brokers.
    """

    def __init__(self, options: ClientOptions, *, hooks: Hooks = NO_HOOKS, loop: Loop | None = None) -> None:
        self.options = options
        self.hooks = hooks
        self.loop = loop or Loop(hooks=hooks)
        self.view = ClusterView()
        self.topics: set[str] = set()
        self.all_known = False
        self.directories: Server | None = None
        self._bootstrap, self.brokers = self._reached()
        self._next_any = 0
        self._refreshing: Future[ClusterView] | None = None
        self._refresh = MetadataRefresh(options)
        self._refresh_timer: Timer | None = None
        self.last_error: KcliError | None = None  # of the last metadata request that failed
        self.silence: Silence | None = None
        self._foresight: dict[object, Request | Plan] = {}
        self._foreseen: dict[object, _Foreseen] = {}
        self.of_controllers = False
        self.beside: list[deque[Callable[[], None]]] = []
        self._closed = False

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _reached(self) -> tuple[list[Node], Brokers]:
        """The nodes to start from, and the connections."""
        options = self.options
        if options.log_dirs:
            # Only for clusters of log directories.
            from kcli.core.offline.cluster import first_node, server_of

            self.directories = server = server_of(options, self.hooks)
            return [first_node(options)], Brokers(
                self.loop, options, self.hooks, check_host=lambda _node: None, connect=server.connect
            )
        bootstrap = bootstrap_nodes(options.bootstrap_servers)
        check = host_check(options.metadata_allowed_hosts, {node.host for node in bootstrap})
        return bootstrap, Brokers(self.loop, options, self.hooks, check_host=check)

    # --- the low-level client ----------------------------------------------------------------------

    def send(
        self,
        request: Request | Plan,
        node_id: int = ANY,
        *,
        purpose: str = CONTROL,
        timeout: float | None = None,
    ) -> Future[Any]:
        """Queues ``request`` for a broker and returns at once; the future completes with the response or an error.

        A Plan makes its requests from the versions that the broker offers; its future completes with theirs, all done.
        ``timeout`` is in seconds (default ``request.timeout.ms``). Nothing is retried here.
        """
        future: Future[Any] = Future(self.loop.wait)
        if self._closed:
            future.set_error(ClosedError("the client is closed"))
            return future
        # A pinned cluster (cluster.id): nothing else goes to a node before it has named its cluster.
        names_cluster = getattr(request, "api_key", None) in (MetadataRequest.api_key, _DESCRIBE_CLUSTER)
        if self.options.cluster_id and not self.view.version and not names_cluster:
            self.request_refresh()
            future.set_error(ConnectError("not connected yet", why="cluster.id has to be checked first"))
            return future
        seconds = self.options.request_timeout_ms / 1000 if timeout is None else timeout
        try:
            known = self.view.nodes
            is_known = node_id >= 0 and node_id in known  # whatever numbers a broker names: ANY stays any
            node = known[node_id] if is_known else self.node(node_id, purpose)
        except KcliError as error:
            future.set_error(error)
            return future
        now = self.loop.now()
        self.brokers.send(node, purpose, request, future, now, now + seconds)
        return future

    def foresee(self, what: object, request: Request | Plan) -> None:
        """Sends ``request`` with the first contact, where that is still to come: ``foreseen`` will ask for ``what``."""
        if not self.view.version and not self.options.cluster_id:
            self._foresight[what] = request

    def foreseen(self, what: object, request: Request | Plan) -> Future[Any]:
        """The response to what was foreseen, once, unless it is old, or an error that may pass; else that to ``request``,
        which is sent now.
        """
        self._foresight.pop(what, None)
        found = self._foreseen.pop(what, None)
        if found is None or found.is_void(self.loop.now()):
            return self.send(request)
        if not found.response.done:
            return found.response
        later: Future[Any] = Future(self.loop.wait)  # done in a turn, as others are: callers wait for one
        found.response.on_done(lambda done: self.loop.complete((later, *_outcome(done))))
        return later

    def poll(self, timeout: float | None = None, *requests: Future[Any] | Request) -> list[Future[Any]]:
        """Runs the loop; see ``Loop.poll``. A Request among ``requests`` is sent first, to any broker."""
        futures = [self.send(r) if isinstance(r, Request) else r for r in requests]
        self.maybe_refresh(self.loop.now())
        if self.beside and any(self.beside):
            timeout = self._after_others(timeout)
            if not futures:
                return []  # what was waited for may have come
        return self.loop.poll(timeout, *futures)

    def _after_others(self, timeout: float | None) -> float | None:
        """Runs what is read ``together`` with what waits here; returns what is left of the timeout."""
        began = self.loop.now()
        for waiting in reversed(self.beside):
            while waiting:
                self.loop.flush()  # the others may use another loop
                waiting.popleft()()
        if timeout is None:
            return None
        return max(min(timeout, _OWN_PATIENCE), timeout - (self.loop.now() - began))

    def step_deadline(self, deadline: float) -> float:
        """Until when a step that begins now may take: what was read beside the steps before it may have taken all the
        time of its call, and its brokers are not to blame.
        """
        return max(deadline, self.loop.now() + _OWN_PATIENCE) if self.beside else deadline

    def poll_until(self, now: float, deadline: float) -> None:
        """``poll`` without requests, until a time on the loop's clock."""
        self.maybe_refresh(now)
        self.loop.poll_until(deadline)

    def node(self, node_id: int, purpose: str = CONTROL) -> Node:
        """The broker that ``node_id``, ANY or CONTROLLER refers to; ConnectError for an unknown broker."""
        to_active = node_id == CONTROLLER
        if node_id == ANY:
            # Brokers forward such a request; controllers that are not active refuse it.
            to_active = self.of_controllers and purpose == FORWARDED
            if not to_active:
                return self._any_node(purpose)
        wanted = self.view.controller if to_active else node_id
        node = self.view.nodes.get(wanted)
        if node is None:
            if to_active:
                return self._any_node(purpose)
            raise ConnectError(f"broker {wanted} is not known", why="no metadata response has listed it")
        return node

    # --- calls that retry --------------------------------------------------------------------------

    def call(
        self,
        attempt: Callable[[], Future[Any]],
        check: Callable[[Any], T],
        deadline: float,
        what: str,
    ) -> T:
        """Sends until ``check(answer)`` returns; retriable errors are retried until ``deadline``.

        ``check`` raises BrokerError for a response that carries an error. The error raised at the deadline has the last
        error as its cause.
        """
        backoff = Backoff.of_requests(self.options)
        started, last = self.loop.now(), None
        deadline = self.step_deadline(deadline)
        while True:
            # Anew for each attempt: leader, coordinator and versions may be others after the pause.
            future = attempt()
            left = max(0.0, deadline - self.loop.now())
            self.poll(left if self.silence is None else left / 2, future)
            if not future.done and self.silence is not None:
                future = attempt()  # only reads share a deadline: another broker is asked as well
                self.poll(max(0.0, deadline - self.loop.now()), future)
            if not future.done:
                cause = last or no_response(self.waits_for())
                raise given_up(what, cause, self.loop.now() - started) from cause
            try:
                return check(future.value)
            except KcliError as error:
                last = error
                verdict = classify_error(error)
                if not verdict.retriable:
                    raise
                wait = backoff.next()
                # No attempt would follow the pause: the caller learns of it now.
                if self.loop.now() + wait >= deadline:
                    raise given_up(what, error, self.loop.now() - started) from error
                stale = verdict.refresh == "metadata" or is_controller_error(error)
                self.hooks.log("debug", "proto", f"{what}: {error}; trying again in {wait * 1000:.0f} ms")
            self.sleep(wait)
            if stale:
                self.wait_refreshed(deadline)

    def waits_for(self, node_id: int = ANY) -> str:
        """The broker of that id, or all brokers with unanswered requests, as named in errors."""
        if node_id >= 0:  # of a thousand brokers, each may be asked for
            return str(self.view.nodes.get(node_id, "any broker"))
        nodes = {node.address: node for node in (*self._bootstrap, *self.view.nodes.values())}.values()
        asked = [node for node in nodes if self.brokers.pending(node, CONTROL)]
        return ", ".join(map(str, asked)) or "any broker"

    def sleep(self, seconds: float) -> None:
        """Runs the loop for ``seconds``."""
        end = self.loop.now() + seconds
        while (left := end - self.loop.now()) > 0:
            self.poll(left)

    def deadline(self, timeout: float | None = None) -> float:
        """The absolute time ``timeout`` seconds from now (default ``default.api.timeout.ms``)."""
        if timeout is not None:
            check_timeout(timeout)
        seconds = self.options.default_api_timeout_ms / 1000 if timeout is None else timeout
        return self.loop.now() + seconds

    # --- metadata ----------------------------------------------------------------------------------

    def connect(self, timeout: float) -> ClusterView:
        """First contact: returns when a broker has sent the cluster's metadata.

        ConnectError says which address failed and why; it is raised early when waiting cannot help.
        """
        check_timeout(timeout)
        start = self.loop.now()
        deadline = start + timeout
        while self.view.version == 0:
            self.refresh_now(self.topics)
            step = self._refreshing
            assert step is not None
            self.loop.poll(max(0.0, deadline - self.loop.now()), step)
            if step.done and step.error is None:
                break
            if isinstance(step.error, UnsupportedError | WrongClusterError):
                raise step.error  # retrying cannot help: what is missing will not be offered later
            now = self.loop.now()
            self._check_not_refused(now)
            errors = [self.brokers.failure(n, CONTROL) for n in self._bootstrap]
            hopeless = all(is_final(e) for e in errors)
            refused = all(e is not None for e in errors) and now - start > _REFUSED_PATIENCE
            if hopeless or refused or now >= deadline or self._needs_sasl(errors):
                raise self._unreachable(now - start)
            self.sleep(max(0.0, min(self._refresh.not_before, deadline) - now))
        return self.view

    def offers(self) -> Iterator[tuple[Node, BrokerApiVersions]]:
        """What the brokers offer that were contacted so far."""
        for node in (*self.view.nodes.values(), *self._bootstrap):
            offer = self.brokers.offer(node, CONTROL)
            if offer is not None:
                yield node, offer

    def lacks(self, api: type[Request], lowest: int = 0) -> UnsupportedError | None:
        """Why no broker that was contacted so far serves ``api``, in version ``lowest`` at least; None if one does."""
        found = None
        for node, offer in self.offers():
            try:
                choose_version(api, offer.apis, node, lowest=lowest)
            except UnsupportedError as error:
                found = found or error
            else:
                return None
        return found

    def ensure_topics(self, topics: Iterable[str], deadline: float) -> ClusterView:
        """Returns when metadata has an entry (possibly an error) for each of ``topics``."""
        wanted = set(topics)
        self.topics |= wanted
        while not wanted <= self.view.topics.keys():
            if not self.is_stale:
                self.refresh_now(self.topics)  # the first request about these topics need not wait
            self.request_refresh()
            self._check_not_refused(self.loop.now())
            if self.loop.now() >= deadline:
                missing = ", ".join(sorted(wanted - self.view.topics.keys()))
                late = self.last_error or no_response(self.waits_for())
                raise late_error(f"no metadata for {missing} in time", late)
            self.poll(max(0.0, deadline - self.loop.now()))
        return self.view

    def require_topics(self, topics: Iterable[str], deadline: float, patience: float) -> ClusterView:
        """Returns when all of ``topics`` have partitions; raises the first one's error after ``patience`` seconds.

        A topic that does not exist may be about to: its creation takes a moment to propagate. An error that no retry
        can mend, as a missing permission, is raised at once.
        """
        names = list(topics)
        self.ensure_topics(names, deadline)
        give_up = min(deadline, self.loop.now() + patience)
        while missing := [name for name in names if not self.view.topics[name].partitions]:
            codes = {name: self.view.topics[name].error for name in missing}
            final = [name for name, code in codes.items() if code and not classify_code(code).retriable]
            if final or self.loop.now() >= give_up:
                raise topic_error(self.view.topics[(final or missing)[0]])
            self.wait_refreshed(give_up)
        return self.view

    def all_topics(self, deadline: float) -> ClusterView:
        """Requests metadata of every topic and returns a view that has them all."""

        def check(response: MetadataResponse) -> ClusterView:
            if response.error_code:
                raise BrokerError(response.error_code, "listing topics")
            self.view = apply_metadata(self.view, response, None)
            return self.view

        request = MetadataRequest(topics=None)
        return self.call(lambda: self.foreseen(ALL_TOPICS, request), check, deadline, "listing topics")

    def named_topics(self, names: Iterable[str], deadline: float) -> ClusterView:
        """Requests metadata of these topics and returns a view that has what brokers respond; it creates none."""
        wanted = sorted(set(names))
        rows = [MetadataRequestTopic(name=name) for name in wanted]
        request = MetadataRequest(topics=rows, allow_auto_topic_creation=False)

        def check(response: MetadataResponse) -> ClusterView:
            if response.error_code:
                raise BrokerError(response.error_code, "looking up topics")
            self.view = apply_metadata(self.view, response, wanted)
            return self.view

        return self.call(lambda: self.send(request), check, deadline, "looking up topics")

    def foresee_topics(self) -> None:
        """Metadata of all topics will be asked for."""
        self.foresee(ALL_TOPICS, MetadataRequest(topics=None))

    @property
    def topics_foreseen(self) -> bool:
        """Whether ``all_topics`` returns what was asked for with the first contact."""
        found = self._foreseen.get(ALL_TOPICS)
        return found is not None and not found.is_void(self.loop.now())

    def request_refresh(self) -> None:
        """The view is known to be stale: refresh it as soon as the backoff allows."""
        # Forgets only how old the view is. The pause since the last request still counts: partitions by the
        # thousand may ask for it in one turn, and that is one request.
        self._refresh.due_at = STALE
        self.maybe_refresh(self.loop.now())

    @property
    def is_stale(self) -> bool:
        """Whether a refresh was requested that has not been answered: something the view says may be wrong."""
        return self._refresh.due_at == STALE

    def wait_refreshed(self, deadline: float) -> None:
        """Returns when metadata has been refreshed, or at the deadline."""
        version = self.view.version
        self.request_refresh()
        while self.view.version == version and (left := deadline - self.loop.now()) > 0:
            self._check_not_refused(self.loop.now())
            self.poll(left)

    def maybe_refresh(self, now: float) -> None:
        """Sends a metadata request if a refresh is due and none is in flight; during backoff, sets a timer for it."""
        refresh = self._refresh
        if self._refreshing is not None or self._closed or now < refresh.due_at:
            return
        if now >= refresh.not_before:
            self.refresh_now(self.topics)
        elif self._refresh_timer is None:
            self._refresh_timer = self.loop.at(refresh.not_before, self._refresh_timer_fired)

    def _refresh_timer_fired(self) -> None:
        self._refresh_timer = None
        self.maybe_refresh(self.loop.now())

    def refresh_now(self, topics: Iterable[str]) -> None:
        """Sends a metadata request for ``topics`` unless one is in flight."""
        if self._refreshing is not None:
            return
        self._refreshing = Future(self.loop.wait)
        self._ask(sorted(topics), self._refreshing)

    def _ask(self, names: list[str], done: Future[ClusterView]) -> None:
        if self.options.cluster_id and not self.view.version:
            names = []  # topics might be created, by another cluster
        request: Request = MetadataRequest(
            topics=None if self.all_known else [MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=self.options.allow_auto_create_topics,
        )
        if self.of_controllers and not names and not self.all_known:
            # Only where a controller was met.
            from kcli.core.cluster.controllers import controllers_request

            request = controllers_request()
        timeout = None
        if not self.view.version:
            # A first address that drops packets must leave time for the others.
            timeout = self.options.socket_connection_setup_timeout_ms / 1000 / max(2, len(self._bootstrap))
        if self._foresight and not self.view.version:
            response = self._ask_with_foresight(request, timeout)
        else:
            response = self.send(request, timeout=timeout)
        response.on_done(lambda future: self._refreshed(future, names, done))

    def _ask_with_foresight(self, request: Request, timeout: float | None) -> Future[Any]:
        """Sends what is foreseen behind ``request``, to the same of the bootstrap addresses."""
        node, now, seconds = self.node(ANY), self.loop.now(), self.options.request_timeout_ms / 1000
        until = now + (seconds if timeout is None else timeout)
        first: Future[Any] = Future(self.loop.wait)
        self.brokers.send(node, CONTROL, request, first, now, until)
        for what, foreseen in self._foresight.items():
            found = self._foreseen[what] = _Foreseen(Future(self.loop.wait), now)
            found.response.on_done(partial(self._note_foreseen, found))
            self.brokers.send(node, CONTROL, foreseen, found.response, now, now + seconds)
        return first

    def _note_foreseen(self, found: _Foreseen, _response: Future[Any]) -> None:
        found.answered(self.loop.now())

    def _met_controller(self) -> bool:
        """Whether a node that was contacted is a controller, which serves neither topics nor producers."""
        return any(
            _DESCRIBE_CLUSTER in offer.apis and not {MetadataRequest.api_key, _PRODUCE} & set(offer.apis)
            for _, offer in self.offers()
        )

    def _refreshed(self, response: Future[Any], names: list[str], done: Future[ClusterView]) -> None:
        now = self.loop.now()
        self.brokers.close_idle(now)
        failure = response.error
        answer: Any = None if failure is not None else response.value
        lacks_it = isinstance(failure, UnsupportedError) and not (names or self.all_known)
        if lacks_it and not self.of_controllers and self._met_controller():
            self.of_controllers = True
            self._ask(names, done)
            return
        self._refreshing = None
        if isinstance(answer, MetadataResponse):
            if answer.error_code:
                # e.g. REBOOTSTRAP_REQUIRED (KIP-1102): the known metadata is of no use any more
                failure = BrokerError(answer.error_code, "requesting metadata")
                # KIP-1102: counts as if every known broker had failed, so that the bootstrap addresses are next
                # (`_any_node`).
                self._refresh.failures += len(self.view.nodes)
        elif answer is not None:
            # Only where a controller was met.
            from kcli.core.cluster.controllers import as_metadata

            try:
                answer = as_metadata(answer)
            except BrokerError as error:
                failure = error
        if failure is None:
            failure = _wrong_cluster(self.options.cluster_id, answer)
        if isinstance(failure, KcliError):
            self.last_error = failure
            self._refresh.failed(now)
            done.set_error(failure)
            self.maybe_refresh(now)
            return
        if self.all_known:
            self.view = apply_metadata(self.view, answer, None, keep=names)
        else:
            self.view = apply_metadata(self.view, answer, names)
        # The brokers of log directories have one address, and each answers for itself.
        for address in self._bootstrap if self.directories is None else ():
            for node in self.view.nodes.values():
                if (node.host, node.port) == (address.host, address.port):
                    # The connection stays, though its broker has a number now: a second one to the same broker
                    # would authenticate again.
                    self.brokers.rename(address, node)
        self._foresight.clear()
        incomplete = self._refresh.answered(now, self.view, names)
        done.set_result(self.view)
        if not self.topics <= self.view.topics.keys():
            self.request_refresh()
        elif incomplete:
            self.maybe_refresh(now)

    def gone(self, topic: str, patience: float = TOPIC_PATIENCE) -> NotFoundError | None:
        """The error for a topic that brokers have not known for ``patience`` seconds: deleted, or never created."""
        missing_for = self._refresh.missing_for(topic, self.loop.now())
        if missing_for is None or missing_for < patience:
            return None
        return NotFoundError(
            f"topic {topic} does not exist",
            why=f"brokers have not reported it for {patience:g} s: it was deleted, or never existed",
            do=CHECK_NAME,
        )

    def close(self) -> None:
        """Closes all connections; requests in flight fail with their outcome unknown."""
        if not self._closed:
            self._closed = True
            self.loop.close()

    def drop(self) -> None:
        """Like ``close``, for a finalizer: calls no callbacks."""
        self._closed = True
        self.loop.drop()

    # --- inside ------------------------------------------------------------------------------------

    def _check_not_refused(self, now: float) -> None:
        """Raises why the brokers refuse this client: waiting cannot help, and further attempts may lock its account."""
        refusal = self.brokers.refusal(now)
        if refusal is not None:
            raise refusal

    def _any_node(self, purpose: str) -> Node:
        """Brokers in turn; connected ones, or those that may be tried, before those in backoff (KIP-601)."""
        now = self.loop.now()
        nodes = [*self.view.nodes.values()] or self._bootstrap
        connected = [n for n in nodes if self.brokers.offer(n, purpose) is not None]
        if connected:
            return min(connected, key=lambda n: self.brokers.pending(n, purpose))
        ready = [n for n in nodes if self.brokers.available(n, purpose, now)]
        if self.view.nodes and self._refresh.failures >= len(nodes):
            # No known broker responds: return to the bootstrap addresses (KIP-899).
            back = [n for n in self._bootstrap if self.brokers.available(n, purpose, now)]
            ready = back or ready
        if not ready:
            return min(nodes, key=lambda n: self.brokers.retry_at(n, purpose))
        self._next_any += 1
        return ready[self._next_any % len(ready)]

    def _unreachable(self, waited: float) -> KcliError:
        failures = [self.brokers.failure(n, CONTROL) for n in self._bootstrap]
        told = [self.last_error] if self.last_error is not None else []
        reasons = [e for e in failures if e is not None] or told
        final = next((e for e in reasons if is_final(e) or isinstance(e, TooManyFilesError)), None)
        if final is not None:
            return final
        closed = [error for error in reasons if isinstance(error, UnansweredError)]
        if closed and len(closed) == len(reasons) and not self.options.security_protocol.startswith("SASL"):
            return sasl_required(closed[0], encrypted=self.options.security_protocol == "SSL")
        if len(self._bootstrap) == 1 and reasons:
            return reasons[0]
        names = ", ".join(f"{n.host}:{n.port}" for n in self._bootstrap)
        why = "; ".join(dict.fromkeys(str(e) for e in reasons)) or f"no response in {waited:.1f} s"
        advice = {e.do for e in reasons}
        do = (
            advice.pop() if len(advice) == 1 else ""
        )  # of a proxy, for instance, which is on the way to all of them
        return ConnectError(
            f"cannot reach the cluster at {names}",
            why=why,
            do=do or "check the addresses (-b) and that brokers run",
        )

    def _needs_sasl(self, errors: Sequence[KcliError | None]) -> bool:
        """Whether all brokers have closed two connections at the first request: a single one may have been restarting."""
        closed = all(isinstance(error, UnansweredError) for error in errors)
        twice = self._refresh.failures >= 2 * len(self._bootstrap)
        return closed and twice and not self.options.security_protocol.startswith("SASL")


def _wrong_cluster(wanted: str, response: MetadataResponse) -> WrongClusterError | None:
    found = response.cluster_id or ""
    if not wanted or found == wanted:
        return None
    brokers = ", ".join(f"{broker.host}:{broker.port}" for broker in response.brokers[:3])
    return WrongClusterError(
        f"the brokers belong to cluster {found or 'without an id'}, not to {wanted}",
        why=f"cluster.id pins the cluster; the brokers reached are {brokers}. Nothing was requested from them",
        do="check the addresses of the brokers; if the cluster was created anew, change cluster_id",
    )


def _outcome(future: Future[Any]) -> tuple[Any, BaseException | None]:
    return (None, future.error) if future.error is not None else (future.value, None)


def check_timeout(timeout: Any) -> None:
    """Rejects values that are no timeout: NaN, which compares with no clock, would wait indefinitely."""
    number = type(timeout) is float or (isinstance(timeout, int | float) and not isinstance(timeout, bool))
    if not number or not timeout >= 0:
        raise ConfigError(
            f"timeout must be a non-negative number of seconds, got {timeout!r}",
            do="leave it out for the default",
        )


def bootstrap_nodes(servers: str) -> list[Node]:
    """The bootstrap addresses, as nodes with negative ids; ConfigError names a malformed address."""
    found = broker_addresses(servers)
    return [Node(_FIRST_BOOTSTRAP_ID - index, host, port) for index, (host, port) in enumerate(found)]
