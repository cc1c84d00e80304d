"""``kcli __complete`` as the scripts call it: bounded, silent, and what is kept in between."""

import json
import os
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.commands.complete import FIRST_LIMIT
from kcli.core import Admin, Producer
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import OffsetAndMetadata, ProducerRecord, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.peers import PEERS, Peer, silence
from tests.fake.script import FOREVER
from tests.run import KCLI, environment, run
from tests.unit.sandbox.states import make_state, remember, this_process

LIMIT = 0.3
SLACK = 0.35
"""For what is not the question: the end of the process, and a machine that does other things meanwhile."""


class Home:
    """A user's folders, and the question for names in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {
            "HOME": str(folder),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_STATE_HOME": str(folder / "state"),
        }

    def ask(self, kind: str, prefix: str, *words: str) -> list[str]:
        """The candidates, without their notes."""
        return [row.partition("\t")[0] for row in self.rows(kind, prefix, *words)]

    def rows(self, kind: str, prefix: str, *words: str) -> list[str]:
        """The candidates with their notes. Whatever happens: nothing on stderr, exit status 0."""
        done = run(
            [*KCLI, "__complete", kind, "zsh", prefix, "kcli", *words],
            env=environment(**self.environ), stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode().splitlines()

    def files(self) -> list[Path]:
        return sorted((self.folder / "cache" / "kcli" / "completion").iterdir())

    def age(self, seconds: float) -> None:
        """The files were written so long ago."""
        for path in self.files():
            os.utime(path, (time.time() - seconds,) * 2)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics={"orders": 3, "other": 1, "__own": 1}) as found:
        with Admin(bootstrap_servers=found.bootstrap) as admin:
            place = {TopicPartition("orders", 0): OffsetAndMetadata(0)}
            admin.commit_offsets({f"group-{number}": place for number in range(20)})
        yield found


GROUPS = sorted(f"group-{number}" for number in range(20))


def test_a_mirror_offers_topics_of_the_cluster_that_it_names_and_of_no_other(
    home: Home, cluster: FakeCluster
) -> None:
    with FakeCluster(1, topics={"elsewhere": 1}) as other:
        home.environ["XDG_CONFIG_HOME"] = str(home.folder / ".config")
        (home.folder / ".config" / "kcli").mkdir(parents=True)
        current = f'current = "it"\n[profiles.it]\nbootstrap.servers = "{other.bootstrap}"\n'
        (home.folder / ".config" / "kcli" / "config.toml").write_text(current)
        here, there = cluster.bootstrap, other.bootstrap
        assert home.ask("topics", "", "mirror", "reset", "--from", here, "--to", there) == ["orders", "other"]
        assert home.ask("topics", "", "mirror", "accept-gap", f"--to={here}") == ["orders", "other"]
        assert home.ask("topics", "", "mirror", "accept-gap", "--to", "it") == ["elsewhere"]
        assert home.ask("topics", "", "mirror", "reset") == []


def test_groups_of_all_brokers_and_topics_are_offered(home: Home, cluster: FakeCluster) -> None:
    assert home.ask("groups", "", "-b", cluster.bootstrap) == GROUPS
    assert home.ask("groups", "group-1", "-b", cluster.bootstrap) == [n for n in GROUPS if n[6] == "1"]
    assert home.ask("topics", "o", "-b", cluster.bootstrap) == ["orders", "other"]
    assert home.ask("topics", "", "-b", cluster.bootstrap) == ["orders", "other"]
    assert home.ask("topics", "_", "-b", cluster.bootstrap) == ["__own"]


def test_notes_tell_partitions_of_topics_and_states_of_groups(home: Home, cluster: FakeCluster) -> None:
    rows = home.rows("topics", "o", "-b", cluster.bootstrap)
    assert rows == ["orders\t3 partitions", "other\t1 partition"]
    assert home.rows("topics", "o", "-b", cluster.bootstrap) == rows, "from the cache"
    assert home.rows("groups", "group-11", "-b", cluster.bootstrap) == ["group-11\tEmpty"]


RECORD = {
    "id": 7,
    "customer": {"id": "4711-secret", "e-mail": "me@example.org", "tags": ["a"]},
    "items": [{"sku": "x"}],
    "": 1,
    "by_user": {f"user-{number}": number for number in range(101)},
}
PATHS = [
    'headers."trace-id"',
    "headers.src",
    "key.region",
    "value.by_user",
    "value.customer",
    'value.customer."e-mail"',
    "value.customer.id",
    "value.customer.tags",
    "value.id",
    "value.items",
    "value.items[0].sku",
]


@pytest.fixture
def records(cluster: FakeCluster) -> FakeCluster:
    headers: tuple[tuple[str, bytes | None], ...] = (("src", b"web"), ("trace-id", b"secret"))
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        for value in (b"no JSON", json.dumps(RECORD).encode(), None):
            producer.send(ProducerRecord("orders", value, b'{"region":"eu"}', headers, partition=1))
    return cluster


def fields(home: Home, kind: str, prefix: str, *words: str) -> list[str]:
    """A machine that does other things meanwhile asks again."""
    for _ in range(10):
        if (found := home.ask(kind, prefix, *words)) and (not prefix or found != [prefix]):
            return found
        shutil.rmtree(home.folder / "cache", ignore_errors=True)
    return []


def test_fields_of_the_last_records_are_offered_and_nothing_that_they_hold(
    home: Home, records: FakeCluster
) -> None:
    line = ("-b", records.bootstrap, "consume", "orders", "--select")
    assert fields(home, "value-fields", "", *line) == [path for path in PATHS if path.startswith("value")]
    assert set(PATHS) < set(home.ask("fields", "", *line))
    assert {"hour", "time"} < set(home.ask("fields", "", *line))
    assert "hour" not in home.ask("where", "", *line)
    assert home.ask("fields", "key, value.cu", *line) == [
        f"key, {path}" for path in PATHS if path.startswith("value.cu")
    ]
    assert home.rows("where", "value.id > 7 and value.it", *line) == [
        "value.id > 7 and value.items\tvalue.items",
        "value.id > 7 and value.items[0].sku\tvalue.items[0].sku",
    ]
    (path,) = home.files()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kept = path.read_text()
    assert sorted(kept.split("\n")[1:]) == sorted(f"{path}\t" for path in PATHS)
    assert "secret" not in kept
    assert "user-1" not in kept


def test_the_fields_of_a_minute_ago_need_no_request(home: Home, records: FakeCluster) -> None:
    line = ("-b", records.bootstrap, "consume", "-e", "orders", "--where")
    assert "value.id" in fields(home, "where", "value.i", *line)
    records.fail(MetadataRequest, *[Code.CLUSTER_AUTHORIZATION_FAILED] * 9)
    assert "value.id" in home.ask("where", "value.i", *line)


@pytest.mark.parametrize(
    "words",
    [
        ("consume", "other", "--where"),
        ("consume", "missing", "--where"),
        ("consume", "--where"),
        ("consume", "-g", "orders", "missing", "--where"),
        ("consume", "orders", "-X", "sasl.password_command=cat orders", "-X", "sasl.mechanism=PLAIN",
         "-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.username=me", "--where"),
    ],
)  # fmt: skip
def test_without_records_there_are_no_paths(home: Home, records: FakeCluster, words: tuple[str, ...]) -> None:
    assert home.ask("value-fields", "", "-b", records.bootstrap, *words) == []
    assert home.ask("topics", "m", "-b", records.bootstrap) == [], "the request creates no topic"


def test_a_cluster_that_cannot_be_reached_does_not_hold_up_fields(home: Home) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(5)  # it accepts, and never answers
        server = f"127.0.0.1:{listener.getsockname()[1]}"
        usual = elapsed(home, "127.0.0.1:1 is no address")
        took = []
        for number in range(3):
            begin = time.monotonic()
            found = home.ask("value-fields", "", "-b", server, "consume", f"orders-{number}", "--where")
            took.append(time.monotonic() - begin)
            assert found == []
        assert min(took) < usual + FIRST_LIMIT + SLACK


def test_sandboxes_are_offered_without_asking_a_cluster(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", home.environ["XDG_STATE_HOME"])
    assert home.ask("sandboxes", "") == []
    for name in ("one", "other"):
        remember(make_state(name))
    assert home.ask("sandboxes", "o") == ["one", "other"]
    assert home.ask("sandboxes", "ot") == ["other"]


def test_running_sandboxes_are_offered_as_profiles(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", home.environ["XDG_STATE_HOME"])
    remember(make_state("one", process=this_process()))
    remember(make_state("stopped"))
    assert home.ask("profiles", "") == home.ask("profiles", "sandbox:o") == ["sandbox:one"]
    assert home.ask("profiles", "x") == []


def test_topics_of_a_sandbox_that_is_named_are_offered(
    home: Home, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", home.environ["XDG_STATE_HOME"])
    port = int(cluster.address(1).rpartition(":")[2])
    for name, at in (("dev", port), ("default", 1)):
        remember(make_state(name, process=this_process(), port=at))
    assert home.ask("topics", "or", "--profile", "sandbox:dev") == ["orders"]


def test_the_environment_names_the_cluster_as_for_any_command(home: Home, cluster: FakeCluster) -> None:
    for name in ("KCLI_BOOTSTRAP_SERVER", "KAFKA_BOOTSTRAP_SERVERS"):
        home.environ[name] = cluster.bootstrap
        assert home.ask("topics", "or") == ["orders"]
        del home.environ[name]
    (home.folder / "settings").write_text(f"metadata.broker.list={cluster.bootstrap}\n")
    home.environ["KCLI_COMMAND_CONFIG"] = "~/settings"
    assert home.ask("topics", "or") == ["orders"]


def test_a_running_sandbox_is_asked_where_nothing_names_a_cluster(
    home: Home, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", home.environ["XDG_STATE_HOME"])
    port = int(cluster.address(1).rpartition(":")[2])
    remember(make_state("dev", process=this_process(), port=port))
    assert home.ask("topics", "or") == ["orders"]


def test_no_program_is_run_for_a_token(home: Home, cluster: FakeCluster) -> None:
    (home.folder / "settings").write_text(
        f"bootstrap.servers={cluster.bootstrap}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
        f"sasl.oauthbearer.token.command=touch {home.folder}/ran\nallow.plaintext.secrets=true\n"
    )
    before = len(cluster.connections)
    assert home.ask("topics", "", "-F", str(home.folder / "settings")) == []
    assert not (home.folder / "ran").exists()
    assert len(cluster.connections) == before


def test_names_are_requested_once_a_minute(home: Home, cluster: FakeCluster) -> None:
    server = ("-b", cluster.bootstrap)
    assert home.ask("groups", "group-7", *server) == ["group-7"]
    before = len(cluster.connections)
    assert home.ask("groups", "group-8", *server) == ["group-8"]
    assert len(cluster.connections) == before, "another prefix is no other question"
    assert home.ask("groups", "group-8", *server, "--client-id", "somebody") == ["group-8"]
    assert len(cluster.connections) > before, "another client may see other groups"
    before = len(cluster.connections)
    home.age(61)
    assert home.ask("groups", "group-8", *server) == ["group-8"]
    assert len(cluster.connections) > before


def test_each_broker_is_asked_once(home: Home, cluster: FakeCluster) -> None:
    before = len(cluster.seen(MetadataRequest))
    home.ask("groups", "", "-b", cluster.bootstrap)
    assert len(cluster.seen(ListGroupsRequest)) == 3
    assert len(cluster.seen(MetadataRequest)) == before + 1


def test_old_names_serve_while_the_cluster_is_silent(home: Home, cluster: FakeCluster) -> None:
    server = ("-b", cluster.bootstrap)
    assert home.ask("topics", "or", *server) == ["orders"]
    home.age(3600)
    for node in cluster.node_ids:
        cluster.pause(node)
    assert home.ask("topics", "or", *server) == ["orders"]
    took = []
    for _ in range(5):
        begin = time.monotonic()
        assert home.ask("topics", "or", *server) == ["orders"]
        took.append(time.monotonic() - begin)
    assert min(took) < LIMIT, "it is not asked again at once: that takes the whole time"
    for node in cluster.node_ids:
        cluster.resume(node)
    cluster.create_topic("or-new", 1)
    home.age(61)
    assert home.ask("topics", "or", *server) == ["or-new", "orders"]


def test_one_silent_broker_does_not_hide_the_groups_of_the_rest(home: Home, cluster: FakeCluster) -> None:
    server = ("-b", cluster.bootstrap)
    cluster.swallow(ListGroupsRequest, node=2, times=FOREVER)
    some: list[str] = []
    for _ in range(5):  # a busy machine may not answer within the limit
        some = some or home.ask("groups", "", *server)
        home.age(61)
    assert some
    assert set(some) < set(GROUPS)
    cluster.heal()
    home.age(61)
    assert home.ask("groups", "", *server) == GROUPS
    cluster.swallow(ListGroupsRequest, node=2, times=FOREVER)
    home.age(61)
    assert home.ask("groups", "", *server) == GROUPS, "with those that were known before"


def test_without_permission_to_list_nothing_is_offered(home: Home, cluster: FakeCluster) -> None:
    cluster.fail(ListGroupsRequest, *[Code.CLUSTER_AUTHORIZATION_FAILED] * 9)
    assert home.ask("groups", "", "-b", cluster.bootstrap) == []


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_no_peer_holds_it_up(home: Home, name: str, protocol: str) -> None:
    with Peer(PEERS[name]) as peer:
        server = ("-b", peer.address, "-X", f"security.protocol={protocol}")
        took = [held_up(home, peer, server)]
        while (
            took[-1] >= FIRST_LIMIT + SLACK and len(took) < 10
        ):  # on a busy machine; a peer does it every time
            took.append(held_up(home, peer, server))
    assert took[-1] < FIRST_LIMIT + SLACK, took


def held_up(home: Home, peer: Peer, server: tuple[str, ...]) -> float:
    """Seconds from the first connection of a request to its end."""
    before = len(peer.connects)
    for _ in range(20):  # a machine so busy that reading the configuration took all its time asks again
        shutil.rmtree(
            home.folder / "cache", ignore_errors=True
        )  # a peer without a response is not asked again for 5 s
        assert home.ask("groups", "", *server) == []
        ended = time.monotonic()
        if len(peer.connects) > before:
            return ended - peer.connects[before]
    pytest.fail("it never connected")


def test_packets_that_are_swallowed_do_not_hold_it_up(home: Home) -> None:
    """A queue of connections that is full: the system answers no more SYN, as behind a firewall that drops."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        filling = [socket.socket() for _ in range(4)]
        for one in filling:
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        usual = elapsed(home, "127.0.0.1:1 is no address")
        server = f"127.0.0.1:{listener.getsockname()[1]}"
        assert min(elapsed(home, server) for _ in range(3)) < usual + FIRST_LIMIT + SLACK
        for one in filling:
            one.close()


def elapsed(home: Home, server: str) -> float:
    begin = time.monotonic()
    assert home.ask("topics", "", "-b", server) == []
    return time.monotonic() - begin


def test_a_file_of_options_that_never_ends_does_not_hold_it_up(home: Home) -> None:
    os.mkfifo(home.folder / "pipe")
    usual = elapsed(home, "no address at all:x")
    begin = time.monotonic()
    assert home.ask("groups", "", "-F", str(home.folder / "pipe")) == []
    assert time.monotonic() - begin < usual + LIMIT + SLACK


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["-b"],
        ["-b", ""],
        ["-b", "a:b:c"],
        ["-b", "$(touch boom)"],
        ["-F", "/nowhere"],
        ["-F", "/"],
        ["-X", "no.such.key=1"],
        ["-X", "acks"],
        ["-b", "127.0.0.1:1"],
        ["-b", "nowhere.invalid:9092"],
        ["-b", "127.0.0.1:1", "-X", "security.protocol=SSL", "-X", "ssl.ca.location=/nowhere"],
    ],
)
def test_nothing_is_reported_about_invalid_arguments(home: Home, words: list[str]) -> None:
    assert home.ask("groups", "", *words) == []


@pytest.mark.parametrize(
    "arguments", [[], ["groups"], ["groups", "zsh"], ["brokers", "zsh", ""], ["groups", "bash", "kcli "]]
)
def test_nothing_is_reported_about_an_invalid_request(home: Home, arguments: list[str]) -> None:
    done = run([*KCLI, "__complete", *arguments], env=environment(**home.environ), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.case("X20")
def test_what_is_kept_is_private_and_no_secret(home: Home, cluster: FakeCluster) -> None:
    home.ask("topics", "", "-b", cluster.bootstrap)
    (path,) = home.files()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert sorted(path.read_text().split("\n")[1:]) == [
        "__own\t1 partition",
        "orders\t3 partitions",
        "other\t1 partition",
    ]


@pytest.mark.parametrize(
    "harm", ["garbage", "folder", "no cache", "file for a folder", "read-only", "no home"]
)
def test_names_are_offered_also_where_none_can_be_kept(home: Home, cluster: FakeCluster, harm: str) -> None:
    server = ("-b", cluster.bootstrap)
    home.ask("topics", "", *server)
    (path,) = home.files()
    if harm == "garbage":
        path.write_bytes(bytes(range(256)) * 40)
    elif harm == "folder":
        path.unlink()
        path.mkdir()
    elif harm == "no cache":
        home.environ["XDG_CACHE_HOME"] = "/proc/nowhere"
    elif harm == "file for a folder":
        shutil.rmtree(home.folder / "cache")
        (home.folder / "cache").write_text("")
    elif harm == "read-only":
        if os.geteuid() == 0:
            home.environ["XDG_CACHE_HOME"] = "/sys"
        else:
            path.unlink()
            path.parent.chmod(0o500)
    else:
        home.environ |= {"XDG_CACHE_HOME": "relative", "HOME": ""}
    assert home.ask("topics", "", *server) == ["orders", "other"]


def test_of_very_many_names_only_some_are_printed(home: Home) -> None:
    with Peer(silence) as peer:
        server = ("-b", peer.address)
        assert home.ask("groups", "", *server) == []
        (path,) = home.files()
        path.write_text("\n".join(["kcli names 2", *(f"{n % 26:02}-{n}" for n in range(50_000))]))
        assert len(home.ask("groups", "", *server)) == 2_000
        assert len(home.ask("groups", "07-1", *server)) < 2_000
        home.age(61)
        assert home.ask("groups", "07-7", *server), "also when the alarm ends it"


def test_it_loads_no_click_and_asks_without_the_client_of_an_admin(
    home: Home, cluster: FakeCluster, tmp_path: Path
) -> None:
    words = ["__complete", "groups", "zsh", "", "kcli", "-b", cluster.bootstrap]
    command = [KCLI[0], "-X", "importtime", *KCLI[1:], *words]
    for number in range(10):  # 0.3 s are too little on a busy machine; a new cache remembers no failure
        given = environment(**home.environ | {"XDG_CACHE_HOME": str(tmp_path / f"cache-{number}")})
        done = subprocess.run(command, env=given, capture_output=True, text=True)
        if done.stdout:
            break
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert [row.partition("\t")[0] for row in done.stdout.splitlines()] == GROUPS
    assert "kcli.flows.completion.names_request" in loaded
    assert not loaded & {"click", "rich", "ssl", "json", "kcli.core.admin.admin", "kcli.core.records.batch"}
    done = subprocess.run(command, env=given, capture_output=True, text=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert [row.partition("\t")[0] for row in done.stdout.splitlines()] == GROUPS
    assert not loaded & {
        "socket",
        "selectors",
        "kcli.core.cluster.cluster",
        "kcli.flows.completion.names_request",
    }
