"""Each client option, of each command: it changes something, or `-X` with it is refused (exit 2).

Commands are those of the command tree, options those of ``kcli/core/options.py``: a new one of either without a place in
these tables fails. That the options of every client change something once they are a client's is proven in
``tests/fault/test_every_client_option.py``; here each command hands them on to all clients that it opens.
"""

import dataclasses
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kcli.core.cluster.cluster import Cluster
from kcli.core.errors import KcliError
from kcli.core.options import ALL_OPTIONS, ClientOptions, ConsumerOptions, ProducerOptions, key_of
from kcli.core.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.secret import Secret
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.tui.app import TopApp
from kcli.tui.reports import Report
from tests.committing import commit, put
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import RawClient, batch
from tests.fake.raw_transaction import RawTransaction
from tests.fake.script import FOREVER
from tests.lines import NO_CLUSTER, PATHS, line_of
from tests.registry.server import RunningRegistry
from tests.rewinding import QUICK, others, wait_for
from tests.run import KCLI, environment, kcli, kcli_as_set_up, run
from tests.walked import NAMES, fill, write_files

NOT_ADMIN = ("consume", "exporter", "mirror", "perf", "pipeline", "produce", "query", "segments")
OF_MIRROR = "topics copy"
"""Its clients have the options of a mirror's."""
ADMIN = {
    path: line_of(path, **NAMES)
    for path in PATHS
    if path not in NO_CLUSTER and path.split()[0] not in NOT_ADMIN and path != OF_MIRROR
}
"""A line for each command about a cluster's things."""
OF_REGISTRY = "registry usage s"
"""Of the commands of a schema registry it alone contacts brokers, too."""

CONSUME, MEMBER = "consume t -e", "consume t -e -g {group}"
PRODUCE, TRANSACTIONAL = (
    "produce t {dir}/lines.txt",
    "produce t {dir}/lines.txt --transactional-id {group}",
)
STREAMS: dict[str, type[ClientOptions]] = {
    CONSUME: ConsumerOptions,
    MEMBER: ConsumerOptions,
    PRODUCE: ProducerOptions,
    TRANSACTIONAL: ProducerOptions,
}

PERF: dict[str, tuple[type[ClientOptions], ...]] = {
    "perf produce -t t --num-records 5 --record-size 100 --verify": (ProducerOptions,),
    "perf consume -t t": (ConsumerOptions,),
    "perf consume -t t -g {group}": (ConsumerOptions,),
    "perf e2e -t t --num-records 5 --record-size 100": (ProducerOptions, ConsumerOptions),
}
"""Which options of their clients have no effect is tested in ``tests/fault/test_perf_*.py``."""

COMMON = {
    "client_id": "somebody", "request_timeout_ms": 29_000, "default_api_timeout_ms": 9_000,
    "socket_connection_setup_timeout_ms": 8_000, "reconnect_backoff_ms": 51, "reconnect_backoff_max_ms": 1_501,
    "retry_backoff_ms": 101, "retry_backoff_max_ms": 1_001, "metadata_max_age_ms": 200_000,
    "connections_max_idle_ms": 500_000, "send_buffer_bytes": 70_000, "receive_buffer_bytes": 70_000,
    "receive_message_max_bytes": 90_000_000, "metadata_allowed_hosts": "127.0.0.*",
    "map_address": "nowhere:1=localhost:2",
}  # fmt: skip
TLS = {
    "security_protocol": "SSL", "ssl_ca_location": "/ca", "ssl_certificate_location": "/c", "ssl_key_location": "/k",
    "ssl_endpoint_identification_algorithm": "none", "ssl_ca_pem": "x", "ssl_truststore_type": "PEM",
    "ssl_truststore_password": Secret("x"), "ssl_keystore_location": "/s", "ssl_keystore_type": "PKCS12",
    "ssl_keystore_password": Secret("x"), "ssl_certificate_pem": "x", "ssl_key_pem": Secret("x"),
    "ssl_key_password": Secret("x"),
    "enable_ssl_certificate_verification": False,
}  # fmt: skip
SASL = {
    "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_username": "me", "sasl_password": "hunter2",
    "allow_plaintext_secrets": True,
}  # fmt: skip
PROXY = {"proxy_url": "http://proxy:1", "proxy_username": "me", "proxy_password": Secret("hunter2")}
OTHER_MECHANISMS: list[dict[str, Any]] = [
    {
        "sasl_mechanism": "OAUTHBEARER", "sasl_oauthbearer_token_file": "/t", "sasl_oauthbearer_token_command": "c d",
        "sasl_oauthbearer_token_endpoint_url": "https://h/", "sasl_oauthbearer_client_id": "c",
        "sasl_oauthbearer_client_secret": Secret("hunter2"), "sasl_oauthbearer_scope": "s",
        "sasl_oauthbearer_extensions": "a=b", "sasl_oauthbearer_header_urlencode": True,
        "sasl_oauthbearer_ca_location": "/ca",
    },
    {"sasl_mechanism": "SCRAM-SHA-512", "sasl_tokenauth": True},
    {"sasl_mechanism": "AWS_MSK_IAM", "sasl_aws_region": "eu-central-1", "sasl_aws_profile": "p"},
    {
        "sasl_mechanism": "GSSAPI", "sasl_kerberos_service_name": "s", "sasl_kerberos_principal": "p",
        "sasl_kerberos_keytab": "/k",
    },
]  # fmt: skip
IN_CODE = "sasl_oauthbearer_token_provider"
CREATES = "allow_auto_create_topics"


@dataclass
class Observed:
    """What became of a run; ``seen`` are the requests that it sent."""

    code: int
    out: str
    err: str
    seconds: float
    seen: list[Any]

    def requests(self, api: type) -> list[Any]:
        return [one.request for one in self.seen if one.kind is api]


@dataclass
class Here:
    """A cluster and a folder; for runs of lines."""

    cluster: FakeCluster
    folder: Path
    registry: str
    count: int = 0
    group: str = field(default="")

    def words(self, line: str) -> list[str]:
        self.count += 1
        self.group = f"group{self.count}"
        return line.format(dir=self.folder, group=self.group).split()

    def kcli(self, line: str, *more: str) -> Observed:
        before, began = len(self.cluster.requests), time.monotonic()
        done = kcli(*self.words(line), *more, bootstrap=self.cluster.bootstrap)
        seconds = time.monotonic() - began
        return Observed(done.code, done.out, done.err, seconds, self.cluster.requests[before:])

    def inside(self, line: str, *more: str) -> tuple[int, str]:
        """Exit status and stderr, in the environment of the test."""
        done = kcli_as_set_up(*self.words(line), *more)
        return done.code, done.err

    @contextmanager
    def topic(self, *batches: bytes, partitions: int = 1) -> Iterator[str]:
        """A topic of its own."""
        self.count += 1
        name = f"topic{self.count}"
        self.cluster.create_topic(name, partitions)
        for raw in batches:
            self.cluster.append(name, 0, raw)
        yield name


def x(name: str, value: object) -> tuple[str, str]:
    value = value.reveal() if isinstance(value, Secret) else value
    return "-X", f"{key_of(name)}={str(value).lower() if isinstance(value, bool) else value}"


def names(kind: type[ClientOptions]) -> set[str]:
    return {row.name for row in dataclasses.fields(kind)}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    folder = tmp_path_factory.mktemp("options")
    write_files(folder)
    with FakeCluster(1) as cluster, RunningRegistry() as registry:
        fill(cluster)
        registry.content.register("s", {"schema": '"int"'})
        yield Here(cluster, folder, registry.url)


@pytest.fixture
def here(shared: Here, monkeypatch: pytest.MonkeyPatch) -> Iterator[Here]:
    for name in list(os.environ):
        if name.startswith(("KCLI_", "KAFKA_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("KCLI_BOOTSTRAP_SERVER", shared.cluster.bootstrap)
    monkeypatch.setenv("KCLI_X_SCHEMA_REGISTRY_URL", shared.registry)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("kcli.commands.top.options.is_terminal", lambda _stream: True)
    monkeypatch.setattr("kcli.tui.app.TopApp.run", one_reading)
    yield shared
    shared.cluster.heal()


def one_reading(app: TopApp) -> None:
    """In place of the screen of ``kcli top``: its clients take one reading."""
    posted: list[Report] = []
    came = threading.Event()
    app.feed.start(lambda message: (posted.append(message), came.set()))
    assert came.wait(120)
    app.feed.close()
    app.error = getattr(posted[0], "error", None)


# --- every command -------------------------------------------------------------------------------------


def test_every_command_is_in_a_table() -> None:
    of_two_clusters = {path for path in PATHS if path.startswith("mirror ")}  # tests/cli/test_mirror.py
    of_two_clusters |= {"segments restore"}  # tests/cli/test_segments_restore.py
    jobs = {"query", *(path for path in PATHS if path.startswith("pipeline "))}  # tests/pipeline
    without_end = {"exporter"}  # tests/fault/test_exporter.py
    tests = {" ".join(line.split()[:2]) for line in PERF}
    others = {"consume", "produce"} | tests | of_two_clusters | jobs | without_end
    assert {*PATHS} == NO_CLUSTER | ADMIN.keys() | {OF_MIRROR} | others


class _NoFurtherError(KcliError):
    """Ends a run where it opens a client."""


@contextmanager
def clients(*, stop: bool = False) -> Iterator[list[ClientOptions]]:
    """The options of each client that is opened in the block."""
    opened: list[ClientOptions] = []
    real = Cluster.__init__

    def spying(self: Cluster, options: ClientOptions, *more: Any, **named: Any) -> None:
        opened.append(options)
        if stop:
            raise _NoFurtherError("as far as the test goes")
        real(self, options, *more, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cluster, "__init__", spying)
        yield opened


LINES = [*(f"{command} {rest}".strip() for command, rest in ADMIN.items()), OF_REGISTRY, *STREAMS, *PERF]


def test_the_options_of_every_client_are_in_a_table() -> None:
    others = {name: value for table in OTHER_MECHANISMS for name, value in table.items()}
    in_tables = COMMON.keys() | TLS.keys() | SASL.keys() | PROXY.keys() | others.keys()
    assert (
        names(ClientOptions)
        == {"bootstrap_servers", "log_dirs", "log_dirs_transactions", "cluster_id", CREATES, IN_CODE}
        | in_tables
    )
    for name, value in {**COMMON, **TLS, **SASL, **PROXY, **others}.items():
        assert getattr(ClientOptions(), name) != value, f"{name}={value} is the default: it proves nothing"


@pytest.mark.parametrize("line", LINES)
def test_each_command_gives_options_to_all_its_clients(here: Here, line: str) -> None:
    words = [word for name, value in COMMON.items() for word in x(name, value)]
    os.environ.pop("KCLI_BOOTSTRAP_SERVER")
    with clients() as opened:
        code, err = here.inside(line, "-X", f"bootstrap.servers={here.cluster.bootstrap}", *words)
    assert code in (0, 1, 6, 8), (
        err
    )  # nobody is a member of that group; it has no log of commits; there are no ACLs
    assert opened
    for options in opened:
        assert {name: getattr(options, name) for name in COMMON} == COMMON
        assert options.bootstrap_servers == here.cluster.bootstrap
    with clients(stop=True) as opened:
        here.inside(line, "-b", "h:1", *(word for name, value in TLS.items() for word in x(name, value)))
    assert {name: getattr(opened[0], name) for name in TLS} == TLS
    with clients(stop=True) as opened:
        here.inside(line, "-b", "h:1", *(word for name, value in SASL.items() for word in x(name, value)))
    assert {name: getattr(opened[0], name) for name in SASL} == SASL | {"sasl_password": Secret("hunter2")}
    url = "http://me:hunter2@proxy:1"
    with clients(stop=True) as opened:
        here.inside(line, "-b", "h:1", *x("proxy_url", url))
    assert {name: getattr(opened[0], name) for name in PROXY} == PROXY
    for table in OTHER_MECHANISMS:
        given = {"security_protocol": "SASL_SSL", **table}
        with clients(stop=True) as opened:
            here.inside(
                line, "-b", "h:1", *(word for name, value in given.items() for word in x(name, value))
            )
        assert {name: getattr(opened[0], name) for name in given} == given


def test_a_live_rewind_gives_options_to_its_barrier_too(here: Here) -> None:
    words = [word for name, value in COMMON.items() for word in x(name, value)]
    with others(here.cluster.bootstrap, "t", "live", 1, **QUICK), clients() as opened:
        wait_for(lambda: max(here.cluster.committed_offsets("live").values(), default=0) >= 20)
        opened.clear()
        code, err = here.inside("groups rewind live --to 3 --live --yes --watch=0s -o json", *words)
    assert code in (0, 6), err
    assert "offsets of group live set" in err
    guards = [one for one in opened if isinstance(one, ConsumerOptions) and one.group_id == "live"]
    assert guards
    for options in opened:
        assert {name: getattr(options, name) for name in COMMON} == COMMON


@pytest.mark.parametrize("line", LINES)
def test_options_of_tls_are_refused_where_nothing_is_encrypted(here: Here, line: str) -> None:
    for name in TLS.keys() - {"security_protocol"}:
        code, err = here.inside(line, *x(name, TLS[name]))
        assert (code, f"-X {key_of(name)} has no effect" in err) == (2, True), err


@pytest.mark.parametrize("line", LINES)
def test_credentials_are_refused_where_nothing_is_authenticated(here: Here, line: str) -> None:
    for name in SASL.keys() - {"security_protocol", "allow_plaintext_secrets"}:
        code, err = here.inside(line, *x(name, SASL[name]))
        assert (code, f"{key_of(name)} (-X) has no effect" in err) == (2, True), err


@pytest.mark.parametrize("table", OTHER_MECHANISMS, ids=lambda table: table["sasl_mechanism"])
def test_options_of_another_mechanism_are_refused(here: Here, table: dict[str, Any]) -> None:
    for name in table.keys() - {"sasl_mechanism"}:
        given = ("-X", "security.protocol=SASL_SSL", "-X", "sasl.mechanism=PLAIN", *x(name, table[name]))
        code, err = here.inside("topics list", *given)
        assert (code, f"{key_of(name)} (-X) has no effect" in err) == (2, True), err
        assert re.search(rf"an option of .*\b{table['sasl_mechanism']}\b", err)
        assert "\n  why: sasl.mechanism is PLAIN" in err


@pytest.mark.parametrize("line", LINES)
def test_options_of_other_clients_are_refused_from_x_and_passed_over_in_files(here: Here, line: str) -> None:
    kinds = PERF.get(line, (STREAMS.get(line, ClientOptions),))
    foreign = {name for options in ALL_OPTIONS for name in names(options)}.difference(*map(names, kinds))
    foreign |= {CREATES} if kinds == (ClientOptions,) else set()
    with clients(stop=True) as opened:
        for name in sorted(foreign):
            code, err = here.inside(line, *x(name, value_of(name)))
            assert (code, f"-X {key_of(name)} has no effect" in err) == (2, True), (name, err)
    assert not opened
    shared = here.folder / "shared.properties"
    shared.write_text("".join(f"{key_of(name)}={value_of(name)}\n" for name in sorted(foreign)))
    with clients() as opened:
        code, err = here.inside(line, "-F", str(shared), "-v")
    assert code in (0, 1, 6, 8), err
    assert all(key_of(name) in err for name in foreign)
    for options in opened:
        spread = {
            name for name in names(type(options)) & foreign if str(getattr(options, name)) == value_of(name)
        }
        assert spread <= {"enable_auto_commit", "isolation_level"}, (
            "it leaked into a client of the command's own"
        )


def value_of(name: str) -> str:
    """A legal value of an option that is not its default."""
    for kind in ALL_OPTIONS:
        for row in dataclasses.fields(kind):
            if row.name == name:
                return _other(row)
    raise AssertionError(name)


def _other(row: Any) -> str:
    if isinstance(row.default, bool):
        return str(not row.default).lower()
    if row.metadata["choices"]:
        return next(choice for choice in row.metadata["choices"] if choice not in ("", row.default))
    if isinstance(row.default, int | float):
        return str(int(row.default) + 1)
    return "3" if row.default is None else "other"


def test_a_registry_that_is_not_asked_is_refused_from_x(here: Here) -> None:
    use_it = {"profile test", "undo", OF_REGISTRY}
    for line in sorted({*LINES} - use_it):
        with clients(stop=True) as opened:
            code, err = here.inside(line, "-X", "schema.registry.url=http://127.0.0.1:1")
        assert (code, "no schema registry is used" in err) == (2, True), (line, err)
        assert not opened


# --- consume and produce -------------------------------------------------------------------------------

Proof = Callable[[Here, str], None]


def sent(
    name: str, value: object, api: type, look: Callable[[Any], object], expected: object, *more: str
) -> Proof:
    """With the option, a request says ``expected``; without it none does."""

    def proof(here: Here, line: str) -> None:
        done = here.kcli(line, *more, *x(name, value))
        assert done.code == 0, done.err
        assert expected in [look(one) for one in done.requests(api)]
        plain = here.kcli(line, *more)
        assert expected not in [look(one) for one in plain.requests(api)]

    return proof


def _sizes(request: Any) -> int:
    return max((p.partition_max_bytes for t in request.topics for p in t.partitions), default=0)


def _on(line: str, topic: str) -> str:
    return line.replace(" t ", f" {topic} ", 1)


def one_batch(here: Here) -> Any:
    """A topic of its own, with a batch in it."""
    return here.topic(batch(b"one", b"two"))


def damaged(here: Here, line: str, *more: str) -> Observed:
    """A run that reads a batch whose bytes have changed on their way."""

    def flip(_request: Any, answer: Any) -> None:
        for topic in answer.responses:
            for data in topic.partitions:
                if data.records:
                    raw = bytearray(b"".join(data.records))
                    raw[-2] ^= 1
                    data.records = [bytes(raw)]

    rule = here.cluster.replace(FetchRequest, flip)
    try:
        return here.kcli(line, *more)
    finally:
        rule.remove()


def check_crcs(here: Here, line: str) -> None:
    with one_batch(here) as topic:
        assert damaged(here, _on(line, topic)).code == 5
        assert damaged(here, _on(line, topic), *x("check_crcs", False)).code == 0


def on_corrupt(here: Here, line: str) -> None:
    with one_batch(here) as topic:
        line = _on(line, topic)
        done = damaged(here, line, *x("on_corrupt", "skip"))
        assert (done.code, done.out) == (0, "")
        assert "skipped" in done.err
        assert damaged(here, line, "--on-corrupt", "fail", *x("on_corrupt", "skip")).code == 5


def max_decompressed_batch_bytes(here: Here, line: str) -> None:
    with here.topic(batch(b"x" * 50_000, codec=1)) as topic:
        assert here.kcli(_on(line, topic)).code == 0
        assert here.kcli(_on(line, topic), *x("max_decompressed_batch_bytes", 1_024)).code == 5


def auto_offset_reset(here: Here, line: str) -> None:
    assert here.kcli(line).out
    latest = here.kcli(line, *x("auto_offset_reset", "latest"))
    assert (latest.code, latest.out) == (0, "")
    assert latest.err.count("auto.offset.reset=latest (-X)") == 1
    assert here.kcli(line, "--from-beginning", *x("auto_offset_reset", "latest")).out
    time.sleep(1.1)  # the records are older than the duration then
    assert here.kcli(line, *x("auto_offset_reset", "by_duration:PT1S")).out == ""
    none = here.kcli(line, *x("auto_offset_reset", "none"))
    assert none.code == (5 if "-g" in line else 2), none.err
    assert not none.out


def on_out_of_range(here: Here, line: str) -> None:
    """Where the log begins behind what a start or a commit says."""
    with here.topic() as topic:
        put(here.cluster, topic, 0)
        here.cluster.delete_records(topic, 0, 5)

        def again(*more: str) -> Observed:
            words = here.words(_on(line, topic))
            if "-g" in words:
                commit(here.cluster, here.group, {TopicPartition(topic, 0): OffsetAndMetadata(1)})
                return here.kcli(" ".join(words), *more)
            return here.kcli(" ".join(words), "--offset", "1", *more)

        assert again().code == 5
        found = again(*x("on_out_of_range", "earliest"))
        assert (found.code, len(found.out.splitlines())) == (0, 15), found.err
        assert again("--on-out-of-range", "fail", *x("on_out_of_range", "earliest")).code == 5


def show_control_batches(here: Here, line: str) -> None:
    with here.topic() as topic, RawClient(here.cluster.address(1)) as client:
        transaction = RawTransaction(client, f"writer-{topic}", topic=topic)
        assert transaction.init() == 0
        assert transaction.add(0) == [0]
        assert transaction.produce(0, b"a") == 0
        assert transaction.end(True) == 0
        form = ("-f", "%o\\n")
        assert here.kcli(_on(line, topic), *form).out.split() == ["0"]
        assert here.kcli(_on(line, topic), *form, *x("show_control_batches", True)).out.split() == ["0", "1"]


def exclude_internal_topics(here: Here, line: str) -> None:
    def internal(answer: Any) -> None:
        for topic in answer.topics:
            topic.is_internal = topic.is_internal or topic.name.startswith("topic")

    with here.topic() as topic:
        put(here.cluster, topic, 0)
        here.cluster.lie(internal)
        pattern = _on(line, f"^{topic}$")
        assert here.kcli(pattern).code == 1
        assert here.kcli(pattern, *x("exclude_internal_topics", False)).out


def enable_auto_commit(here: Here, line: str) -> None:
    assert here.kcli(line).requests(OffsetCommitRequest)
    assert not here.kcli(line, *x("enable_auto_commit", False)).requests(OffsetCommitRequest)
    assert not here.kcli(line, *x("enable_auto_commit", True), "--no-commit").requests(OffsetCommitRequest)
    assert here.kcli(line, *x("enable_auto_commit", False), "--commit").requests(OffsetCommitRequest)


def auto_commit_interval_ms(here: Here, line: str) -> None:
    """A batch a fetch, so that there is something to commit between polls."""
    with here.topic() as topic:
        for _ in range(8):
            here.cluster.append(topic, 0, batch(b"x" * 2_000))
        small = [*x("fetch_max_bytes", 2_000), *x("max_partition_fetch_bytes", 2_000)]
        once = here.kcli(_on(line, topic), *small).requests(OffsetCommitRequest)
        often = here.kcli(_on(line, topic), *small, *x("auto_commit_interval_ms", 0))
        assert len(often.requests(OffsetCommitRequest)) > len(once) == 1


def heartbeat_interval_ms(here: Here, line: str) -> None:
    line = line.replace(" -e", " --idle-timeout 400ms")
    few = here.kcli(line).requests(HeartbeatRequest)
    many = here.kcli(line, *x("heartbeat_interval_ms", 20)).requests(HeartbeatRequest)
    assert len(few) <= 1
    assert len(many) > 3


def group_protocol(here: Here, line: str) -> None:
    new = here.kcli(line, *x("group_protocol", "consumer"))
    assert new.requests(ConsumerGroupHeartbeatRequest)
    assert not new.requests(JoinGroupRequest)
    for name in ("session_timeout_ms", "heartbeat_interval_ms", "partition_assignment_strategy"):
        refused = here.kcli(line, *x("group_protocol", "consumer"), *x(name, value_of(name)))
        assert (refused.code, "the coordinator decides" in refused.err) == (2, True)


def group_id(here: Here, line: str) -> None:
    """``-g`` wins; what knows nothing of groups wins over a file, and contradicts ``-X``."""
    done = here.kcli(line, *x("group_id", "configured"))
    joined = [one.group_id for one in done.requests(JoinGroupRequest)]
    assert set(joined) == ({here.group} if "-g" in line else {"configured"})
    if "-g" not in line:
        assert "reading as a member of group configured: group.id (-X)" in done.err
        assert here.kcli(line, "-p", "0", *x("group_id", "configured")).code == 2
        file = here.folder / "group.properties"
        file.write_text("group.id=configured\n")
        passed = here.kcli(line, "-p", "0", "-F", str(file))
        assert (passed.code, passed.requests(JoinGroupRequest)) == (0, [])
        assert f"group.id ({file}:1) is not used" in passed.err
        assert not here.kcli(line, "-F", str(file), "-X", "group.id=").requests(JoinGroupRequest)


def fetch_buffer_bytes(here: Here, line: str) -> None:
    """Smaller than what an answer may carry, it is what is asked for."""
    sent("fetch_buffer_bytes", 5_000, FetchRequest, lambda one: one.max_bytes <= 5_000, True)(here, line)


def fields(api: type, name: str) -> tuple[type, Callable[[Any], object]]:
    return api, lambda one: getattr(one, name)


READING: dict[str, Proof] = {
    "fetch_min_bytes": sent("fetch_min_bytes", 7, *fields(FetchRequest, "min_bytes"), 7),
    "fetch_max_wait_ms": sent("fetch_max_wait_ms", 77, *fields(FetchRequest, "max_wait_ms"), 77),
    "fetch_max_bytes": sent("fetch_max_bytes", 77_777, *fields(FetchRequest, "max_bytes"), 77_777),
    "max_partition_fetch_bytes": sent("max_partition_fetch_bytes", 7_777, FetchRequest, _sizes, 7_777),
    "isolation_level": sent(
        "isolation_level", "read_uncommitted", *fields(FetchRequest, "isolation_level"), 0
    ),
    "client_rack": sent("client_rack", "here", *fields(FetchRequest, "rack_id"), "here"),
    "fetch_buffer_bytes": fetch_buffer_bytes,
    "check_crcs": check_crcs,
    "on_corrupt": on_corrupt,
    "max_decompressed_batch_bytes": max_decompressed_batch_bytes,
    "auto_offset_reset": auto_offset_reset,
    "on_out_of_range": on_out_of_range,
    "show_control_batches": show_control_batches,
    "exclude_internal_topics": exclude_internal_topics,
    "group_id": group_id,
}

NEW = x("group_protocol", "consumer")
OF_MEMBERS: dict[str, Proof] = {
    "group_instance_id": sent("group_instance_id", "me", *fields(JoinGroupRequest, "group_instance_id"), "me"),
    "session_timeout_ms": sent("session_timeout_ms", 7_777, *fields(JoinGroupRequest, "session_timeout_ms"), 7_777),
    "max_poll_interval_ms": sent(
        "max_poll_interval_ms", 77_777, *fields(JoinGroupRequest, "rebalance_timeout_ms"), 77_777
    ),
    "partition_assignment_strategy": sent(
        "partition_assignment_strategy", "roundrobin", JoinGroupRequest, lambda one: [p.name for p in one.protocols],
        ["roundrobin"],
    ),
    "group_remote_assignor": sent(
        "group_remote_assignor", "range", *fields(ConsumerGroupHeartbeatRequest, "server_assignor"), "range", *NEW
    ),
    "group_protocol": group_protocol,
    "heartbeat_interval_ms": heartbeat_interval_ms,
    "enable_auto_commit": enable_auto_commit,
    "auto_commit_interval_ms": auto_commit_interval_ms,
}  # fmt: skip


def produced(here: Here, line: str, *more: str, lines: str = "") -> tuple[Observed, list[Any]]:
    """A run on a topic of its own, and the batches of records that are in it then."""
    with here.topic() as topic:
        if lines:
            file = here.folder / "own.txt"
            file.write_text(lines)
            line = line.replace("{dir}/lines.txt", str(file))
        done = here.kcli(_on(line, topic), *more)
        return done, [batch for batch in here.cluster.log(topic, 0).batches if not batch.is_control]


def acks(here: Here, line: str) -> None:
    done = here.kcli(line, *x("acks", "1"))
    if "--transactional-id" in line:
        assert (done.code, "needs acks=all" in done.err) == (2, True)
        return
    assert {one.acks for one in done.requests(ProduceRequest)} == {1}
    assert {one.acks for one in here.kcli(line).requests(ProduceRequest)} == {-1}
    zero = here.kcli(line, *x("acks", "0"), "--checkpoint", str(here.folder / "at"))
    assert (zero.code, "--checkpoint with --acks 0" in zero.err) == (2, True)


def enable_idempotence(here: Here, line: str) -> None:
    done = here.kcli(line, *x("enable_idempotence", False))
    if "--transactional-id" in line:
        assert (done.code, "enable.idempotence=true" in done.err) == (2, True)
        return
    assert not done.requests(InitProducerIdRequest)
    assert here.kcli(line).requests(InitProducerIdRequest)


def max_in_flight_requests_per_connection(here: Here, line: str) -> None:
    def most_at_once(*more: str) -> int:
        here.cluster.delay(ProduceRequest, 0.05)
        done, _batches = produced(here, line, *x("batch_size", 1), "--debug=proto", *more, lines="x\n" * 8)
        here.cluster.heal()
        assert done.code == 0, done.err
        steps = [row.split()[1] for row in done.err.splitlines() if " Produce " in row]
        return max(steps[:n].count("→") - steps[:n].count("←") for n in range(len(steps) + 1))

    assert most_at_once() > 1
    assert most_at_once(*x("max_in_flight_requests_per_connection", 1)) == 1


def linger_ms(here: Here, line: str) -> None:
    """The input is a pipe that stays open behind its first line."""

    def comes_before_the_end(milliseconds: int, patience: float) -> bool:
        pipe = here.folder / "pipe"
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        found: list[bool] = []
        before = len(here.cluster.seen(ProduceRequest))

        def write() -> None:
            with open(pipe, "wb", buffering=0) as file:
                file.write(b"line\n")
                end = time.monotonic() + patience
                while len(here.cluster.seen(ProduceRequest)) == before and time.monotonic() < end:
                    time.sleep(0.01)
                found.append(len(here.cluster.seen(ProduceRequest)) > before)

        thread = threading.Thread(target=write)
        thread.start()
        words = here.words(line.replace(" {dir}/lines.txt", ""))
        with open(pipe, "rb") as given:
            command = [*KCLI, *words, *x("linger_ms", milliseconds)]
            done = run(command, stdin=given, env=environment(here.cluster.bootstrap))
        thread.join()
        assert done.returncode == 0
        return found[0]

    assert comes_before_the_end(0, 10)
    assert not comes_before_the_end(3_000, 1)


def batch_size(here: Here, line: str) -> None:
    assert len(produced(here, line)[1]) == 1
    assert len(produced(here, line, *x("batch_size", 1))[1]) == 3


def max_request_size(here: Here, line: str) -> None:
    done, batches = produced(here, line, *x("max_request_size", 300), lines="short\n" + "x" * 310 + "\n")
    assert (done.code, [batch.count for batch in batches]) == (6, [1]), done.err


def compression_type(here: Here, line: str) -> None:
    assert {batch.codec for batch in produced(here, line)[1]} == {0}
    assert {batch.codec for batch in produced(here, line, *x("compression_type", "gzip"))[1]} == {1}


def compression_level(here: Here, line: str) -> None:
    text = "".join(f"{n * n * 7919 % 10_007} and so on\n" for n in range(3_000))
    gzip = x("compression_type", "gzip")
    fast, best = (
        produced(here, line, *gzip, *x("compression_level", level), lines=text)[1] for level in (1, 9)
    )
    assert sum(batch.size for batch in fast) > sum(batch.size for batch in best)
    refused = here.kcli(line, *x("compression_level", 3))
    assert (refused.code, "nothing is compressed" in refused.err) == (2, True)


def delivery_timeout_ms(here: Here, line: str) -> None:
    here.cluster.drop(ProduceRequest, "skip", times=FOREVER)
    done = here.kcli(line, *x("delivery_timeout_ms", 300), *x("request_timeout_ms", 200))
    assert done.code in (1, 3), done.err
    assert done.seconds < 60


def memory(here: Here, line: str) -> tuple[Observed, str]:
    """Batches that nobody confirms take more than there is; the run, and why lines were not sent."""
    failed = here.folder / "memory.failed"
    failed.unlink(missing_ok=True)
    here.cluster.drop(ProduceRequest, "skip", times=FOREVER)
    try:
        done, _batches = produced(
            here, line, "--failed", str(failed), *x("buffer_memory", 3_000), *x("batch_size", 1_000),
            *x("max_block_ms", 200), *x("delivery_timeout_ms", 3_000), *x("request_timeout_ms", 1_000),
            lines=("x" * 500 + "\n") * 20,
        )  # fmt: skip
        return done, failed.read_text()
    finally:
        here.cluster.heal()


def buffer_memory(here: Here, line: str) -> None:
    done, reasons = memory(here, line)
    assert done.code, done.err
    assert "buffer.memory" in reasons


def max_block_ms(here: Here, line: str) -> None:
    _done, reasons = memory(here, line)
    assert "after 0.2 s" in reasons, reasons


def transactional_id(here: Here, line: str) -> None:
    """The flag wins."""
    done = here.kcli(line, *x("transactional_id", "configured"))
    used = {one.transactional_id for one in done.requests(InitProducerIdRequest)}
    assert used == ({here.group} if "--transactional-id" in line else {"configured"})


def partitioner(here: Here, line: str) -> None:
    def places(*more: str) -> list[int]:
        with here.topic(partitions=3) as topic:
            for key in "abcdef":
                assert here.kcli(_on(line, topic), "-k", key, *more).code == 0
            return [
                len([b for b in here.cluster.log(topic, n).batches if not b.is_control]) for n in range(3)
            ]

    assert places() != places(*x("partitioner", "consistent"))
    refused = here.kcli(line, *x("partitioner", "manual"))
    assert (refused.code, "manual without partitions" in refused.err) == (2, True)


WRITING: dict[str, Proof] = {
    proof.__name__: proof
    for proof in (
        acks, enable_idempotence, max_in_flight_requests_per_connection, linger_ms, batch_size, max_request_size,
        compression_type, compression_level, delivery_timeout_ms, transactional_id, partitioner,
    )
}  # fmt: skip

OF_TRANSACTIONS: dict[str, Proof] = {
    "transaction_timeout_ms": sent(
        "transaction_timeout_ms", 7_777, *fields(InitProducerIdRequest, "transaction_timeout_ms"), 7_777
    )
}

PROOFS: dict[str, dict[str, Proof]] = {
    CONSUME: READING,
    MEMBER: READING | OF_MEMBERS,
    PRODUCE: WRITING | {"buffer_memory": buffer_memory, "max_block_ms": max_block_ms},
    TRANSACTIONAL: WRITING | OF_TRANSACTIONS | {"buffer_memory": buffer_memory, "max_block_ms": max_block_ms},
}
REFUSED: dict[str, set[str]] = {
    CONSUME: {"max_poll_records", *OF_MEMBERS},
    MEMBER: {"max_poll_records"},
    PRODUCE: {*OF_TRANSACTIONS},
    TRANSACTIONAL: set(),
}
CASES = [(line, name) for line, proofs in PROOFS.items() for name in proofs]


@pytest.mark.parametrize("line", STREAMS)
def test_every_option_of_the_command_s_client_has_a_proof(line: str) -> None:
    own = names(STREAMS[line]) - names(ClientOptions)
    assert own == PROOFS[line].keys() | REFUSED[line]
    assert not PROOFS[line].keys() & REFUSED[line]


@pytest.mark.parametrize(("line", "name"), CASES, ids=lambda part: part.split(" {dir}")[0])
def test_the_option_changes_what_the_command_does(here: Here, line: str, name: str) -> None:
    PROOFS[line][name](here, line)


@pytest.mark.parametrize("line", STREAMS)
def test_options_that_a_run_has_no_use_for_are_refused(here: Here, line: str) -> None:
    for name in REFUSED[line]:
        code, err = here.inside(line, *x(name, value_of(name)))
        assert (code, f"-X {key_of(name)} has no effect" in err) == (2, True), err


@pytest.mark.parametrize("line", [CONSUME, PRODUCE])
def test_a_command_that_reads_from_brokers_may_let_them_create_topics(here: Here, line: str) -> None:
    with clients() as opened:
        code, err = here.inside(line, *x(CREATES, True))
    assert code == 0, err
    assert [options.allow_auto_create_topics for options in opened] == [True]
