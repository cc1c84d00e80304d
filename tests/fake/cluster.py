"""A Kafka cluster in the test's process: it does what brokers do, and fails when it is told to. A cheat sheet.

    with FakeCluster(nodes=3, topics={"t": 2}) as cluster:
        cluster.fail(ProduceRequest, Code.NOT_LEADER_OR_FOLLOWER)
        ...                                       # any client on cluster.bootstrap
        assert cluster.log("t", 0).values() == [b"one"]

All nodes live on one thread; methods may be called from the test's thread, and from callbacks on the cluster's own.
Node ids are 1, 2, 3; partition i is led by node i % nodes + 1. Options are the fields of ``settings.Settings``.

Single requests (``knobs``). Each returns a rule: ``wait(n)``, ``count``, ``requests``, ``remove()``. All take
``node=``, ``times=``, ``after=`` (how many pass first) and ``when=lambda request: …``.
    fail(Api, *codes, where=, applied=, top=)     error codes in turn, at their place in the answer
    swallow / drop(Api, then=, nth=)              answer lost; request lost. then: silence, reset, close, skip
    hold(Api, at="request" | "answer")            wait(), release(n), lose(n, then=): races made deterministic
    delay, drip, throttle, cut                    slow, in bytes, throttle_time_ms, half a frame
    wrong_correlation_id, replace, garble         another number, another answer, other bytes
    lie(edit), intercept(Api, act)                edit metadata answers; run code before a request is applied
    heal()                                        takes all rules back

Nodes (``node_controls``): stop(node, fail_over=), start, fail_over, pause, resume, reset_connections,
    close_connection, cap_versions({Api: version}), hide(Api), use_tls(context, node), advertise(node, host)
Topics (``topic_controls``): create_topic, delete_topic, recreate_topic, add_partitions, configure, topic_id, leader,
    move_leader(topic, partition, node), set_isr, reassignment, copy_replica, finish_reassignment, truncate,
    delete_records, append, finish_log_dir_move, log_dir, cap_high_watermark, log(topic, partition), set_sequence,
    forget_producer
Coordinators (``coordinator_controls``): coordinator, move_coordinator("group" | "transaction", key, node),
    lose_coordinator("group", partition),
    transactions, expire_transaction, complete_transaction, next_producer_id(id, epoch), set_producer_epoch
Groups (``groups_view``): committed_offsets, group_members, group_state, group_generation, evict, force_rebalance,
    configure_groups, with_groups, add_group(ShareGroup(…) | StreamsGroup(…)) of ``groups.other_groups``
Share groups (``share_groups``): share.lock, share.limit, share_do(cluster.share.states, group, topic, partition),
    share_do(cluster.share.expire_locks), share_do(cluster.share.forget_sessions)
SASL (``sasl``): ``sasl=Sasl(users={"alice": "secret"}, tokens={"abc": "alice"}, session_lifetime_ms=300)``
What was seen: requests, seen(Api), wait_for(Api, count), wait_until(condition), connections, notes.

``test_like_a_real_broker`` sends the same requests to a real Kafka and compares the answers, several hundred of them.
Access: acls (``acl_admin``), quotas (``quota_admin``), which are kept and not obeyed; scram (``scram_store``), with which
SCRAM logins are checked; tokens (``token_admin``), with which logins by delegation tokens are.
Controllers: quorum (``controller_admin``): make_dynamic(voters, observers), behind; levels: ``feature_admin``.
Not simulated: replication record by record (replicas share one log), recompression by the
broker. Bad peers that are no brokers at all are in ``peers``, a client for raw requests in ``raw_client``.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Self

from tests.fake.acl_admin import Acl
from tests.fake.controller_admin import Quorum
from tests.fake.coordinator_controls import CoordinatorControls
from tests.fake.groups_view import GroupsView
from tests.fake.journal import ConnectionSeen, Journal, Matcher, Seen
from tests.fake.knobs import Knobs
from tests.fake.node import HOST, Node
from tests.fake.node_controls import NodeControls
from tests.fake.quota_admin import Entity
from tests.fake.scram_store import ScramStore
from tests.fake.script import Script
from tests.fake.settings import Settings
from tests.fake.share_groups import ShareGroups
from tests.fake.state import State
from tests.fake.thread import LoopThread
from tests.fake.token_admin import Tokens
from tests.fake.topic_controls import TopicControls

_TICK = 0.02


class FakeCluster(Knobs, NodeControls, TopicControls, CoordinatorControls, GroupsView):
    """Use as a context manager, or ``close``. Options are the fields of ``Settings``."""

    def __init__(self, nodes: int = 3, *, topics: Mapping[str, int] | None = None, **settings: Any) -> None:
        self.settings = Settings(**settings)
        self._thread = LoopThread()
        self._script = Script()
        self._thread.start()
        ids = list(range(1, nodes + 1))
        self._state = self._thread.call(State, ids, self.settings)
        self._journal: Journal = self._state.journal
        self._thread.call(self._start_nodes, ids)
        for name, partitions in (topics or {}).items():
            self.create_topic(name, partitions)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exc: object) -> None:
        self.close()
        if kind is None and self._state.bugs:
            raise self._state.bugs[0]

    @property
    def bootstrap(self) -> str:
        """Addresses of all nodes, for ``bootstrap.servers``."""
        return ",".join(self.address(number) for number in self._state.nodes)

    def address(self, node: int) -> str:
        """``127.0.0.1:PORT``, the same over stop and start."""
        return f"{HOST}:{self._state.nodes[node].port}"

    @property
    def node_ids(self) -> list[int]:
        return list(self._state.nodes)

    @property
    def requests(self) -> list[Seen]:
        """Everything that arrived, oldest first."""
        return self._journal.seen()

    @property
    def connections(self) -> list[ConnectionSeen]:
        """Every connection that was accepted, oldest first."""
        return list(self._journal.connections)

    @property
    def notes(self) -> list[str]:
        """What was refused before it could be read: versions that are not offered, malformed frames."""
        return list(self._journal.notes)

    @property
    def bugs(self) -> list[BaseException]:
        """Exceptions inside the fake; leaving the ``with`` block raises the first one."""
        return self._state.bugs

    def seen(self, matcher: Matcher = None, *, node: int | None = None) -> list[Seen]:
        """The requests of an API (or those that a predicate of ``Seen`` accepts)."""
        return self._journal.seen(matcher, node)

    def wait_for(
        self,
        matcher: Matcher,
        count: int = 1,
        timeout: float = 120.0,
        *,
        node: int | None = None,
        settled: bool = False,
    ) -> list[Seen]:
        """Blocks until ``count`` such requests have come (``settled``: and their outcome is known)."""
        return self._journal.wait_for(matcher, count, timeout, node=node, settled=settled)

    def wait_until(self, condition: Callable[[], Any], timeout: float = 120.0) -> Any:
        """Blocks until ``condition()`` is true, looked at whenever something happens in the cluster."""
        return self._journal.wait_until(condition, timeout, "the condition")

    @property
    def acls(self) -> set[Acl]:
        """What is stored; may be changed."""
        return self._state.acls

    @property
    def quotas(self) -> dict[Entity, dict[str, float]]:
        """What is stored; may be changed."""
        return self._state.quotas

    @property
    def share(self) -> ShareGroups:
        """Share groups: members, sessions, the state of each offset. ``share_do`` calls it on the cluster's thread."""
        return self._state.share

    def share_do(self, act: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Calls a method of ``share`` on the cluster's thread."""
        return self._thread.call(lambda: act(*arguments, **named))

    @property
    def scram(self) -> ScramStore:
        """The SCRAM credentials; may be changed."""
        return self._state.scram

    @property
    def tokens(self) -> Tokens:
        """The delegation tokens; may be changed."""
        return self._state.tokens

    @property
    def quorum(self) -> Quorum:
        """The voters and observers; may be changed."""
        return self._state.quorum

    @property
    def stopped_brokers(self) -> set[int]:
        """Brokers that are registered and are no nodes; may be changed."""
        return self._state.stopped_brokers

    def close(self) -> None:
        """Resets all connections and gives the ports back."""
        self._thread.run(self._close_nodes())
        self._thread.stop()

    def _start_nodes(self, ids: list[int]) -> None:
        for number in ids:
            self._state.nodes[number] = Node(number, self._state, self._script)
            self._state.nodes[number].start()

        self._thread.loop.create_task(self._tick())

    async def _tick(self) -> None:
        """Lets time pass for groups: sessions end, rebalances give up."""
        while True:
            await asyncio.sleep(_TICK)
            self._state.groups.tick(self._state.now)

    async def _close_nodes(self) -> None:
        for node in self._state.nodes.values():
            await node.close()
