"""A password that goes in by every way and through every command, and comes out nowhere (R24): neither on stdout and
stderr at any verbosity, nor in tracebacks, files, and arguments or environments of children.

What kcli writes is also checked to be its owner's alone. The table of commands is compared with the command tree.
"""

import ast
import base64
import os
import re
import resource
import socket
import ssl
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pexpect
import pytest

from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.cluster.brokers import Brokers
from kcli.exporter.exposition import OPENMETRICS
from kcli.flows.monitor.monitor import Monitor
from tests.auditing import Arguments, audited
from tests.certificates import Authority
from tests.checks.source_calls import places
from tests.cli.test_every_option import ADMIN, OF_MIRROR, PERF, STREAMS
from tests.exporting import Answer, get, until
from tests.fake.cluster import FakeCluster
from tests.fake.sasl import Sasl
from tests.lines import NO_CLUSTER, PATHS
from tests.run import KCLI, Done, environment, kcli
from tests.walked import FILES, fill

CANARY = "canary-9f8e7d"
FORMS = [
    CANARY,
    CANARY.encode().hex(),
    *(base64.b64encode(b"x" * n + CANARY.encode()).decode()[4:-4] for n in range(3)),
]
PLAIN = "org.apache.kafka.common.security.scram.ScramLoginModule"
JAAS = f'{PLAIN} required username="alice" password="{CANARY}";'
LOUD = ("-vvv", "--debug")

ALONE = {
    "profile list": "-o json",
    "profile show": "plain -o json",
    "profile use": "file",
    "profile add": "new -b h:1 --dry-run",
    "profile copy": "plain another --dry-run",
    "profile rename": "plain another --dry-run",
    "profile remove": "plain --yes",
    "profile import": "{dir}/client.properties --name other --dry-run",
    "config show": "--origin",
    "config check": "",
    "sandbox up": "none --dry-run",
    "sandbox down": "none",
    "sandbox status": "-o json",
    "sandbox logs": "none",
    "demo": "--dry-run",
    "completion": "bash",
    "perf compare": "{dir}/none {dir}/none",
    "pipeline doctor": "--java-home {dir}/none",
    "pipeline pack": "--file {dir}/none/deps.tar.gz",
    "registry check": "s {dir}/none --type avro",
    "registry config": "",
    "registry delete": "s",
    "registry describe": "s",
    "registry export": "",
    "registry import": "{dir}/none",
    "registry list": "",
    "registry mode": "",
    "registry register": "s {dir}/none --type avro",
    "registry undelete": "s",
    "registry usage": "s --timeout 1s",
    "segments describe": "{dir}/gone-0",
    "segments dump": "{dir}/gone-0",
    "segments list": "{dir}/gone-0",
    "segments verify": "{dir}/gone-0",
    "help": "profiles",
    "man": "groups rewind",
    "schema": "Group",
}
"""A line for each command that needs no cluster; some are refused."""
JOBS = {
    "pipeline export": "t {dir}/exported --dry-run",
    "pipeline perf": "-t t --num-records 3",
    "pipeline profile": "t",
    "pipeline replay": "t --to t --until 1h --force --dry-run",
}
"""A line for each job of one cluster that needs no Spark; its task reads the password once more."""
OF_TWO = (
    *(
        f"mirror {verb}"
        for verb in ("accept-gap", "check", "promote", "reset", "reverse", "run", "status", "verify")
    ),
    "pipeline mirror",
    "pipeline verify",
    "segments restore",
)
SERVER = "exporter"
"""It runs until it is ended, and shows its state to others: it has tests of its own at the end."""
ELSEWHERE = {"pipeline import", "pipeline query", "query", "top"}
"""They need an export, or Spark: see tests/pipeline, and tests/pipeline/test_cluster_ref.py about what a job contains;
or a terminal: tests/tui/test_outages.py.
"""
LINES = [f"{name} {rest}".strip() for name, rest in ADMIN.items() if name not in ELSEWHERE] + [
    *STREAMS,
    *PERF,
]
LINES += [f"{name} {rest} --runner inline" for name, rest in JOBS.items()]
LINES.append(f"{OF_MIRROR} t copied --dry-run")


def assert_clean(*texts: str) -> None:
    for text in texts:
        for form in FORMS:
            assert form not in text, text[max(0, text.find(form) - 200) : text.find(form) + 100]


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1) as found:
        fill(found)
        found.tokens.add(wall_ms(), "alice", token_id="token-of-a")
        found.settings.sasl = Sasl(users={"alice": CANARY})
        yield found


OF_SCRIPTS = ("env", "pager", "pager-cmdline", "pager-environ", "kcli-cmdline")
"""Files that the tests' own programs write."""


@pytest.fixture(autouse=True)
def children() -> Iterator[list[Arguments]]:
    """Program, arguments, folder and environment of all processes that are started: they hold no canary."""
    with audited("subprocess.Popen") as seen:
        yield seen
    assert_clean(repr(seen))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Afterwards the canary is in the files of the test itself only, and all others are private."""
    own = {
        "password": CANARY,
        "client.properties": f"{COMMON}sasl.password={CANARY}\n",
        "jaas": f"{JAVA}{JAAS}\n",
    }
    own["dump.sh"] = 'env > "$1/env"; cat "$1/password"'
    own |= FILES
    tables = "\n".join(f"[profiles.{name}]\n{MINE}{line}" for name, line in profiles(tmp_path).items())
    own["kcli/config.toml"] = tables
    for name, text in own.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)
    before = os.umask(0)
    yield tmp_path
    os.umask(before)
    for path in tmp_path.rglob("*"):
        if path.is_file() and str(path.relative_to(tmp_path)) not in own:
            assert_clean(path.read_text(errors="replace"))
            assert path.name in OF_SCRIPTS or not stat.S_IMODE(path.stat().st_mode) & 0o077, path


COMMON = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.username=alice\n"
JAVA = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config="
MINE = "".join(f'{line.partition("=")[0]} = "{line.partition("=")[2]}"\n' for line in COMMON.splitlines())


def profiles(folder: Path) -> dict[str, str]:
    return {
        "plain": f'sasl.password = "{CANARY}"',
        "file": f'sasl.password_file = "{folder}/password"',
        "command": f'sasl.password_command = "sh {folder}/dump.sh {folder}"',
        "none": "",
    }


def x(text: str) -> list[str]:
    return [word for line in text.splitlines() for word in ("-X", line)]


def variables(prefix: str, text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {prefix + key.upper().replace(".", "_"): value for key, _, value in pairs}


def ways(folder: Path) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Arguments and variables of each way in."""
    secret = f"sasl.password={CANARY}"
    return {
        "-X": (x(COMMON + secret), {}),
        "-X jaas": (x(JAVA + JAAS), {}),
        "-X file": (x(f"{COMMON}sasl.password_file={folder}/password"), {}),
        "-F": (["-F", f"{folder}/client.properties"], {}),
        "-F jaas": (["-F", f"{folder}/jaas"], {}),
        "KCLI_X": ([], variables("KCLI_X_", COMMON + secret)),
        "KCLI_X jaas": ([], variables("KCLI_X_", JAVA + JAAS)),
        "KAFKA": ([], variables("KAFKA_", COMMON + secret)),
        **{f"profile {name}": (["--profile", name], {}) for name in profiles(folder) if name != "none"},
    }


WAYS = tuple(ways(Path("/")))


def run(home: Path, cluster: FakeCluster | str, line: str, way: str, *more: str, **env: str) -> Done:
    arguments, given = ways(home)[way]
    bootstrap = cluster if isinstance(cluster, str) else cluster.bootstrap
    words = line.format(dir=home, group=f"group-{os.getpid()}").split()
    folders = {"XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "TMPDIR": str(home)}
    return kcli(*words, *arguments, *more, bootstrap=bootstrap, **folders, **given, **env)


@pytest.mark.case("S12", "R24")
@pytest.mark.parametrize("way", WAYS)
def test_every_way_in(home: Path, cluster: FakeCluster, way: str) -> None:
    done = run(home, cluster, "topics list -o name", way, *LOUD, KCLI_X_SSL_KEY_PASSWORD=CANARY)
    assert (done.code, done.out) == (0, "other\nt\n"), done.err
    assert_clean(done.out, done.err)
    for line in ("config show --origin", "config show -o json", "config check", "profile list -o json"):
        found = run(home, cluster, line, way, *LOUD)
        assert_clean(found.out, found.err)
    if "file" not in way and "command" not in way:
        added = run(home, cluster, "profile add new -b h:1 --dry-run", way, *LOUD)
        assert_clean(added.out, added.err)


@pytest.mark.case("R24")
def test_the_environment_of_a_command_has_no_secret(home: Path, cluster: FakeCluster) -> None:
    secrets = variables("KCLI_X_", f"ssl.key.password={CANARY}") | variables(
        "KAFKA_", f"sasl.jaas.config={JAAS}"
    )
    assert run(home, cluster, "topics list", "profile command", **secrets).code == 0
    text = (home / "env").read_text()
    assert "PATH=" in text
    assert_clean(text)


@pytest.mark.case("R24")
def test_every_command_is_tried() -> None:
    perf = {" ".join(line.split()[:2]) for line in PERF}
    tried = {*ADMIN, *ALONE, *JOBS, *OF_TWO, *ELSEWHERE, *perf, SERVER, OF_MIRROR, "produce", "consume"}
    assert {*PATHS} == tried
    assert ALONE.keys() == NO_CLUSTER


@pytest.mark.case("R24", "X18", "X19")
@pytest.mark.parametrize("line", LINES)
def test_every_command(home: Path, cluster: FakeCluster, line: str) -> None:
    """As it should be, with a wrong password, and with an internal error."""
    done = run(home, cluster, line, "KCLI_X", *LOUD)
    assert done.code in (0, 1, 6, 8), done.err  # g has no member to be removed, and there are no ACLs
    assert_clean(done.out, done.err)

    with patch.object(cluster.settings, "sasl", Sasl(users={"alice": "another"})):
        refused = run(home, cluster, line, "KCLI_X", *LOUD)
    assert refused.code == 4, refused.err
    assert_clean(refused.out, refused.err)

    def crash(self: Brokers, *_: object) -> None:
        assert self._options.sasl_password.reveal() == CANARY
        raise RuntimeError(f"a defect {self._options} {vars(self)} {self._authentication!r}")

    with patch.object(Brokers, "send", crash):
        crashed = run(home, cluster, line, "KCLI_X", *LOUD)
    assert crashed.code == 1, crashed.err
    assert "Traceback" in crashed.err
    assert "a defect" in crashed.err
    assert_clean(crashed.out, crashed.err)


@pytest.mark.case("R24", "X18")
@pytest.mark.parametrize("line", [f"{name} {rest}".strip() for name, rest in ALONE.items()])
def test_every_command_without_a_cluster(home: Path, cluster: FakeCluster, line: str) -> None:
    done = run(home, cluster, line, "KCLI_X", *LOUD)
    assert done.code in (0, 1, 2, 7), done.err
    assert "internal error" not in done.err
    assert_clean(done.out, done.err)


@pytest.mark.case("R24")
def test_commands_on_two_profiles(home: Path, cluster: FakeCluster) -> None:
    path = home / "kcli/config.toml"
    text = path.read_text()
    for name in ("plain", "command"):
        brokers = f'bootstrap.servers = "{cluster.bootstrap}"\n'
        text = text.replace(f"[profiles.{name}]\n", f"[profiles.{name}]\n{brokers}")
    path.write_text(text)
    for line in (
        "mirror --map-topic t=copied --until-caught-up --yes",
        "mirror check --max-lag-time 1h",
        "pipeline mirror --map-topic t=copied-by-tasks --runner inline --yes",
        "pipeline verify --map-topic t=copied --runner inline",
    ):
        words = f"{line} --from plain --to command -t t -o json".split()
        done = kcli(*words, *LOUD, XDG_CONFIG_HOME=str(home), XDG_STATE_HOME=str(home / "state"))
        assert done.code == 0, done.err
        assert "records" in done.out
        assert_clean(done.out, done.err)
    for line in (
        "mirror reset t --offset latest --from plain",
        "mirror accept-gap --all",
        "mirror promote --from plain",
        f"segments restore {home}/gone-0",
        "mirror reverse --from plain",
    ):
        words = f"{line} --to command --yes -o json".split()
        done = kcli(*words, *LOUD, XDG_CONFIG_HOME=str(home), XDG_STATE_HOME=str(home / "state"))
        assert done.code in (0, 7), (line, done.err)
        assert_clean(done.out, done.err)


@pytest.mark.case("R24")
@pytest.mark.parametrize("way", ["-X", "KCLI_X", "profile plain", "-F jaas"])
@pytest.mark.parametrize("verbose", [(), ("-v",), ("-o", "json"), LOUD])
def test_a_wrong_password(home: Path, cluster: FakeCluster, way: str, verbose: tuple[str, ...]) -> None:
    with patch.object(cluster.settings, "sasl", Sasl(users={"alice": "another"})):
        done = run(home, cluster, "topics list", way, *verbose)
    assert done.code == 4, done.err
    assert_clean(done.out, done.err)


@pytest.mark.case("R24")
@pytest.mark.parametrize("way", ["-X", "profile command", "KAFKA"])
def test_no_broker_and_a_peer_that_is_none(home: Path, way: str) -> None:
    with (
        socket.socket() as taken
    ):  # bound and not listening: refused, and nobody else gets the port meanwhile
        taken.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run(home, closed, "topics list", way, "--timeout", "300ms", *LOUD)
    assert done.code == 3
    assert_clean(done.out, done.err)


@pytest.mark.case("S12", "R24", "X17")
def test_a_crash_with_its_traceback(home: Path, cluster: FakeCluster) -> None:
    def crash(self: Admin) -> None:
        options = self.cluster.options
        assert options.sasl_password.reveal() == CANARY
        raise RuntimeError(f"{options} {options!r} {vars(self)} {options.sasl_password}")

    with patch.object(Admin, "list_topics", crash):
        done = run(home, cluster, "topics list", "KCLI_X", *LOUD)
    assert done.code == 1
    assert "Traceback" in done.err
    assert "sasl_password=(hidden)" in done.err
    assert_clean(done.err)


@pytest.mark.case("S12", "X17")
def test_no_core_is_written_once_there_is_a_secret(home: Path, cluster: FakeCluster) -> None:
    limits: list[tuple[int, int]] = []
    with patch.object(resource, "setrlimit", lambda _what, limit: limits.append(limit)):
        run(home, cluster, "topics list", "KCLI_X")
        assert [soft for soft, _hard in limits] == [0]
        kcli("topics", "list", "--timeout", "100ms", bootstrap="127.0.0.1:1")
        assert len(limits) == 1
        token = x(
            "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.command=echo x"
        )
        kcli("topics", "list", "--timeout", "100ms", *token, bootstrap="127.0.0.1:1")
    assert len(limits) == 2


def shell(home: Path, cluster: FakeCluster, *more: str) -> "pexpect.spawn[str]":
    variables = environment(cluster.bootstrap, XDG_CONFIG_HOME=str(home), XDG_STATE_HOME=str(home / "state"))
    words = [*KCLI[1:], "topics", "list", "-o", "name", "--profile", "none", *more]
    return pexpect.spawn(KCLI[0], words, env=variables, encoding="utf-8", timeout=120)


@pytest.mark.case("R24", "X16")
def test_a_password_that_is_typed(home: Path, cluster: FakeCluster) -> None:
    child = shell(home, cluster, *LOUD)
    seen = ""
    child.expect("Password of alice at 127")
    seen += child.before or ""
    child.waitnoecho()
    argv = Path(f"/proc/{child.pid}/cmdline").read_text()
    child.sendline(CANARY)
    child.expect(pexpect.EOF)
    seen += child.before or ""
    child.close()
    assert child.exitstatus == 0
    assert "\nt\r\n" in seen
    assert_clean(seen, argv)


@pytest.mark.parametrize(("answer", "code"), [("\n", 2), ("\x04", 2), ("\x03", 130)])
def test_no_password_is_typed(home: Path, cluster: FakeCluster, answer: str, code: int) -> None:
    child = shell(home, cluster)
    child.expect("Password of alice")
    child.waitnoecho()
    child.send(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code or child.signalstatus == 2


def test_no_input_asks_for_no_password(home: Path, cluster: FakeCluster) -> None:
    child = shell(home, cluster, "--no-input")
    child.expect("there is no password for user alice")
    child.expect("--no-input was given")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 2


@pytest.mark.case("R24")
def test_a_pager_is_given_neither_in_its_arguments_nor_in_its_environment(
    home: Path, cluster: FakeCluster
) -> None:
    """As the system shows it to others, and for kcli itself too: its arguments have no secret."""
    names = ("cmdline", "environ")
    dump = "; ".join(f"cat /proc/$$/{name} > {home}/pager-{name}" for name in names)
    (home / "pager").write_text(f"{dump}; cat /proc/$PPID/cmdline > {home}/kcli-cmdline; cat")
    secrets = variables("KCLI_X_", f"{COMMON}sasl.password={CANARY}")
    words = environment(
        cluster.bootstrap, XDG_CONFIG_HOME=str(home), KCLI_PAGER=f"sh {home}/pager", TERM="xterm", **secrets
    )
    child = pexpect.spawn(
        KCLI[0], [*KCLI[1:], "help", "options", *LOUD], env=words, encoding="utf-8", timeout=120
    )
    shown = child.read()
    child.close()
    assert child.exitstatus == 0
    assert "sasl.password" in shown
    for name in ("pager-cmdline", "pager-environ", "kcli-cmdline"):
        assert (home / name).read_bytes()
    assert_clean(shown)  # the fixture reads the files


STARTS = ("run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput")
NOT_BY_SUBPROCESS = ("os.system", "os.popen", "os.spawn", "os.exec", "os.posix_spawn", "pty.spawn")


@pytest.mark.case("R24")
def test_every_child_gets_an_environment_without_options_of_clients() -> None:
    """Wherever a process is started, ``env=`` is ``child_environment`` or written out."""

    def starts(call: ast.Call) -> bool:
        name = ast.unparse(call.func)
        return name.startswith(NOT_BY_SUBPROCESS) or name in [f"subprocess.{start}" for start in STARTS]

    found = {
        place: [ast.unparse(word.value) for call in calls for word in call.keywords if word.arg == "env"]
        for place, calls in places(r"subprocess|os\.(system|popen|spawn|exec|posix)|pty", starts).items()
    }
    assert len(found) == 11
    assert found.pop("output/terminal.py:_piped") == ["environ"]  # tried above
    # Local workers inherit the variables that a job names as places of secrets: decision 0090.
    (jvm,) = found.pop("pipeline/spark/jvm.py:Jvm.__init__")
    assert jvm.startswith("{**environ, ")
    assert found.pop("sandbox/identity.py:_ps") == ["{'LC_ALL': 'C', 'TZ': 'UTC0'}"]
    assert not [
        place for place, given in found.items() if len(given) != 1 or "child_environment(" not in given[0]
    ]


# --- kcli exporter ---------------------------------------------------------------------------------------------------

USER_HASH = "$2b$04$canaryinthesaltofhashePpcq8iqDOWA3UZF.tMJPY/vrElgZuo2"
"""Of the canary, by bcrypt."""


class Served(NamedTuple):
    """Options of a server with a certificate and users, and what clients of it need."""

    flags: str
    web: Path
    tls: str
    key: str
    trust: ssl.SSLContext


@pytest.fixture
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    folder = tmp_path_factory.mktemp("served")
    authority = Authority(folder)
    own = authority.client("server", authority.issue("127.0.0.1"))
    tls = f"tls_server_config: {{cert_file: {own.certificate}, key_file: {own.key}}}\n"
    web = folder / "web.yml"
    web.write_text(f"{tls}basic_auth_users: {{prom: {USER_HASH}}}\n")
    web.chmod(0o600)
    own.key.chmod(0o600)
    trust = ssl.create_default_context(cafile=str(authority.ca))
    flags = f"{SERVER} --listen 127.0.0.1:0 --interval 1s"
    return Served(f"{flags} --web-config {web}", web, tls, own.key_pem.splitlines()[1], trust)


@pytest.mark.case("R24")
@pytest.mark.parametrize("way", ["-F", "-F jaas", "profile plain", "profile file", "profile command"])
def test_an_exporter_shows_no_secret(
    home: Path, cluster: FakeCluster, served: Served, children: list[Arguments], way: str
) -> None:
    """On its pages, in its log and among the processes: while it reads, with a changed file of users, and without a
    cluster.
    """
    words = [*KCLI, *served.flags.split(), *ways(home)[way][0], *LOUD]
    folders = {"XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "TMPDIR": str(home)}
    variables = environment(cluster.bootstrap, KCLI_X_SSL_KEY_PASSWORD=CANARY, **folders)
    right = f"Basic {base64.b64encode(f'prom:{CANARY}'.encode()).decode()}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, env=variables, text=True, **pipes) as process:
        children.clear()  # the exporter itself was given the canary
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url, process.communicate()[1]

            def page(path: str, authorization: str = right, accept: str = "*/*") -> Answer:
                return get(url, path, context=served.trust, Authorization=authorization, Accept=accept)

            def seen() -> list[Answer]:
                found = [page("/metrics"), page("/metrics", accept=OPENMETRICS), page("/healthz"), page("/")]
                return [
                    *found,
                    page("/nothing"),
                    page("/metrics", "Basic eDp5"),
                    page("/metrics", "Bearer x"),
                ]

            until(lambda: page("/healthz").status == 200)
            while_read = seen()
            assert "kcli_group_lag_records{" in while_read[0].text
            served.web.write_text(
                f"{served.tls}basic_auth_users: {{prom: {CANARY}}}\n"
            )  # a password where its hash belongs
            assert page("/healthz").status == 200
            with patch.object(cluster.settings, "sasl", Sasl(users={"alice": "another"})):
                cluster.reset_connections()
                until(lambda: page("/healthz").status == 503)
                without = seen()
            argv = Path(f"/proc/{process.pid}/cmdline").read_text()
            process.terminate()
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 143
    assert "the web configuration in use remains" in err
    assert "no sample" in err
    for answer in (*while_read, *without):
        assert_clean(answer.text, repr(answer.headers))
        assert served.key not in answer.text
    assert_clean(out, err, argv)
    assert served.key not in err
    assert USER_HASH not in err


@pytest.mark.case("R24", "X18")
def test_an_exporter_that_fails_shows_no_secret(home: Path, cluster: FakeCluster, served: Served) -> None:
    """With a wrong password, and with internal errors: before it serves, and in the thread that reads the cluster."""
    with patch.object(cluster.settings, "sasl", Sasl(users={"alice": "another"})):
        refused = run(home, cluster, served.flags, "KCLI_X", *LOUD)
    assert refused.code == 4, refused.err

    def crash(self: Any, *_: object) -> None:
        brokers = self if isinstance(self, Brokers) else self._admin.cluster.brokers
        assert brokers._options.sasl_password.reveal() == CANARY
        raise RuntimeError(f"a defect {brokers._options} {vars(brokers)} {vars(self)}")

    for where, name in ((Brokers, "send"), (Monitor, "read")):
        with patch.object(where, name, crash):
            crashed = run(home, cluster, served.flags, "KCLI_X", *LOUD)
        assert crashed.code == 1, crashed.err
        assert "Traceback" in crashed.err
        assert "a defect" in crashed.err
        assert_clean(crashed.out, crashed.err)
    assert_clean(refused.out, refused.err)


@pytest.mark.case("R24")
@pytest.mark.parametrize("flag", ["--web-config", "--tls-certificate", "--tls-key", "--tls-client-ca"])
@pytest.mark.parametrize(
    "text", [CANARY, f"prom:{CANARY}\n", USER_HASH, f"-----BEGIN PRIVATE KEY-----\n{CANARY}"]
)
def test_a_file_of_an_exporter_that_cannot_be_used_is_not_repeated(
    home: Path, cluster: FakeCluster, served: Served, flag: str, text: str
) -> None:
    own = re.findall(r"(?<=_file: )[^,}]+", served.tls)
    needed = {"--tls-key": own[:1], "--tls-client-ca": own}.get(flag, [])
    tls = " ".join(
        f"{name} {path}" for name, path in zip(("--tls-certificate", "--tls-key"), needed, strict=False)
    )
    file = served.web
    file.write_text(text)
    flags = served.flags.partition(" --web-config")[0]
    done = run(home, cluster, f"{flags} {tls} {flag} {file}", "KCLI_X", *LOUD)
    assert done.code == 2, done.err
    assert str(file) in done.err
    assert_clean(done.out, done.err)
    assert USER_HASH not in done.err


@pytest.mark.case("X31")
def test_the_canary_can_be_found(children: list[Arguments]) -> None:
    """The test can fail: each form of the canary is recognised, also in the environment of a child."""
    subprocess.run(["true"], env={"SECRET": CANARY})
    with pytest.raises(AssertionError):
        assert_clean(repr(children))
    children.clear()
    for form in (CANARY, CANARY.encode().hex(), base64.b64encode(f"\0alice\0{CANARY}".encode()).decode()):
        with pytest.raises(AssertionError):
            assert_clean(f"… {form} …")
