"""``kcli profile`` and ``kcli config``: what is written, shown, refused and listed."""

import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from kcli.commands.profile import profile
from kcli.commands.shared.context import cluster_name
from kcli.profiles.profile import MARKS
from kcli.profiles.resolve import resolve
from kcli.profiles.sources import Sources
from kcli.sandbox.errors import SeveralSandboxesError
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.sasl import Sasl
from tests.run import KCLI, ROOT, Done, environment, run
from tests.run import kcli as kcli_here
from tests.unit.sandbox.states import ENDED, make_state, remember, this_process

CANARY = "canary-55e0"
CONFIG = """# clusters of mine
current = "prod"  # the big one

[profiles.prod]
bootstrap.servers = "p1:9092,p2:9092"
# never here
security.protocol = "SASL_SSL"
sasl.mechanism = "PLAIN"
sasl.username = "ops"
sasl.password = "canary-55e0"
protected = true
[profiles.test]
bootstrap.servers = "t:1"
"""

Kcli = Callable[..., Done]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def kcli(home: Path) -> Kcli:
    def call(*arguments: str, **variables: str) -> Done:
        folders = {
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_STATE_HOME": str(home / "state"),
            "HOME": str(home),
        }
        return kcli_here(*arguments, **folders, **variables)

    return call


def write(home: Path, text: str = CONFIG) -> Path:
    path = home / "config/kcli/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o600)
    return path


def items(done: Done) -> list[dict[str, object]]:
    assert done.code in (0, 2), done.err
    found: list[dict[str, object]] = json.loads(done.out)["items"]
    return found


def test_an_option_that_is_not_imported_names_its_help(kcli: Kcli, home: Path) -> None:
    file = home / "kafkactl.yml"
    file.write_text("contexts: {default: {brokers: [h:1], producer: {partitioner: hash}}}")
    said = kcli("profile", "import", str(file), "--format", "kafkactl").err
    type_remedy("of another client; see `partitioner` in `kcli help options`", said)


def test_profiles_are_added_used_listed_and_removed(kcli: Kcli, home: Path) -> None:
    path = home / "config/kcli/config.toml"
    said = kcli("profile", "list").err
    type_remedy("there are no profiles; add one: `kcli profile add NAME -b HOST:PORT`", said, "h:1")
    added = kcli(
        "profile", "add", "prod", "-b", "h:1,h:2", "-X", "security.protocol=SASL_SSL", "-X", "read_only=true", "-X",
        "sasl.password_command=pass show x", "-X", "cluster_id=Qx", "-X", "request.timeout.ms=5000", "--client-id", "me",
    )  # fmt: skip
    assert (added.code, "warning" in added.err) == (0, False)
    assert path.read_text() == (
        '[profiles.prod]\nbootstrap.servers = "h:1,h:2"\nsecurity.protocol = "SASL_SSL"\nread_only = true\n'
        'sasl.password_command = "pass show x"\ncluster_id = "Qx"\nrequest.timeout.ms = 5000\nclient.id = "me"\n'
    )
    assert kcli("profile", "use", "prod").code == 0
    (row,) = items(kcli("profile", "list", "-o", "json"))
    assert (row["name"], row["current"], row["read_only"], row["cluster_id"]) == ("prod", True, True, "Qx")
    assert kcli("profile", "list", "-o", "name").out == "prod\n"
    assert json.loads(kcli("profile", "list", "-o", "ndjson").out)["kind"] == "Profile"
    shown = kcli("config", "show", "-o", "json")
    assert json.loads(shown.out)["profile"] == "prod"
    assert kcli("profile", "remove", "prod").code == 2  # without a terminal
    removed = kcli("profile", "remove", "prod", "--yes")
    assert (removed.code, path.read_text().strip()) == (0, "")


@pytest.mark.case("X18")
def test_files_are_for_the_user_alone(kcli: Kcli, home: Path) -> None:
    before = os.umask(0)
    try:
        assert kcli("profile", "add", "a", "-b", "h:1").code == 0
    finally:
        os.umask(before)
    path = home / "config/kcli/config.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["config.toml"]


def test_comments_and_other_profiles_stay(kcli: Kcli, home: Path) -> None:
    path = write(home)
    assert kcli("profile", "add", "new", "-b", "n:1").code == 0
    assert kcli("profile", "use", "test").code == 0
    text = path.read_text()
    assert text.startswith('# clusters of mine\ncurrent = "test"  # the big one\n')
    assert "# never here\n" in text
    assert kcli("profile", "remove", "test", "--yes").code == 0
    assert "current" not in path.read_text()


def test_a_link_to_the_file_stays_a_link(kcli: Kcli, home: Path) -> None:
    path = write(home)
    path.rename(home / "dotfile")
    path.symlink_to(home / "dotfile")
    assert kcli("profile", "use", "test").code == 0
    assert path.is_symlink()
    assert 'current = "test"' in (home / "dotfile").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["add", "prod", "-b", "x:1"], 7, "profile prod exists already"),
        (["add", "a:1", "-b", "x:1"], 2, "'a:1' is no name for a profile"),
        (["add", "a"], 2, "would be empty"),
        (["add", "a", "-X", "linger.mss=1"], 2, "unknown option 'linger.mss'"),
        (["add", "a", "-X", "acks=5"], 2, "acks='5' is not a valid value"),
        (["add", "a", "-X", "color=pink"], 2, "color='pink' is not a valid value"),
        (["add", "a", "-X", "read_only=maybe"], 2, "read_only='maybe' is not a valid value"),
        (["add", "a", "-X", "key.serializer=x"], 2, "key.serializer (-X) has no effect"),
        (["use", "prd"], 2, "there is no profile 'prd'"),
        (["remove", "tset", "--yes"], 2, "there is no profile 'tset'"),
        (["show", "tset"], 2, "there is no profile 'tset'"),
        (["import", "/no/such"], 2, "cannot read /no/such"),
        (["import", "kaf"], 2, "there is no file of kaf"),
    ],
)
def test_mistakes_change_nothing(kcli: Kcli, home: Path, arguments: list[str], code: int, said: str) -> None:
    path = write(home)
    done = kcli("profile", *arguments)
    assert done.code == code, done.err
    assert said in done.err.splitlines()[0]
    assert path.read_text() == CONFIG


def test_a_dry_run_writes_nothing(kcli: Kcli, home: Path) -> None:
    path = write(home)
    for line in ("add new -b x:1", "use test", "remove test", "add prod -b x:1 --replace"):
        assert kcli("profile", *line.split(), "--dry-run").code == 0
    assert path.read_text() == CONFIG


@pytest.mark.case("S9")
def test_a_password_given_to_add_is_written_with_a_warning(kcli: Kcli, home: Path) -> None:
    done = kcli(
        "profile",
        "add",
        "a",
        "-b",
        "x:1",
        "-X",
        f"sasl.password={CANARY}",
        "-X",
        "security.protocol=SASL_SSL",
    )
    assert done.code == 0
    assert "sasl.password on the command line can be seen by all users" in done.err
    assert "in plain text, which only you can read (0600)" in done.err
    assert CANARY not in done.out + done.err


@pytest.mark.case("S12", "X17")
def test_secrets_are_shown_nowhere(kcli: Kcli, home: Path) -> None:
    write(home)
    for line in (
        "profile show prod",
        "profile list -o json",
        "config show --origin",
        "config show -o json",
        "config check",
    ):
        done = kcli(*line.split())
        assert CANARY not in done.out + done.err
    assert "(hidden)" in kcli("profile", "show", "prod").out
    (secret,) = [row for row in items(kcli("profile", "show", "prod", "-o", "json")) if row["sensitive"]]
    assert (secret["key"], secret["value"]) == ("sasl.password", None)


def test_config_show_has_the_effective_values_with_their_origins(kcli: Kcli, home: Path) -> None:
    path = write(home)
    found = kcli("config", "show", "--origin", "-o", "json", "-X", "linger.ms=3", KCLI_CLIENT_ID="me")
    rows = {str(row["key"]): (row["value"], row["origin"]) for row in items(found)}
    assert rows["linger.ms"] == (3.0, "-X")
    assert rows["client.id"] == ("me", "KCLI_CLIENT_ID")
    assert rows["bootstrap.servers"] == ("p1:9092,p2:9092", f"{path}:5")
    plain = kcli("config", "show").out
    assert "ORIGIN" not in plain
    assert "sasl.username" in plain


def test_config_show_runs_no_command(kcli: Kcli, home: Path) -> None:
    marker = home / "ran"
    write(
        home,
        f'[profiles.p]\nbootstrap.servers = "h:1"\nsasl.password_command = "touch {marker}"\n'
        'security.protocol = "SASL_SSL"\nsasl.mechanism = "PLAIN"\nsasl.username = "me"\n',
    )
    done = kcli("config", "show", "--profile", "p")
    assert "(the output of touch)" in done.out
    assert kcli("config", "check").code == 0
    assert not marker.exists()


@pytest.mark.case("S1")
@pytest.mark.case("S8")
def test_config_check_lists_all_problems_of_all_sources(kcli: Kcli, home: Path) -> None:
    path = write(
        home,
        'curent = "a"\n[defaults]\nlinger.mss = 1\n[profiles.a]\nacks = "5"\nsasl.password = "x"\n'
        'security.protocol = "SASL_SSL"\n[profiles.b]\ncolor = "pink"\nssl.ca.location = "/no/ca"\n'
        'sasl.password_file = "/no/pw"\nsasl.mechanism = "PLAIN"\nsecurity.protocol = "SASL_SSL"\n'
        '[profiles.c]\nsasl.username = "me"\nsasl.mechanism = "PLAIN"\nsecurity.protocol = "SASL_SSL"\n',
    )
    path.chmod(0o644)
    file = home / "f"
    file.write_text("client.idd=1\n=x\n")
    done = kcli(
        "config",
        "check",
        "-F",
        str(file),
        "-X",
        "fetch.min.byte=1",
        "-o",
        "json",
        KCLI_X_CHECK_CRC="1",
        KCLI_PROFIL="x",
    )
    assert done.code == 2
    found = " | ".join(f"{row['what']} {row['do']}" for row in items(done))
    for part in (
        f"'curent' in {path}:1", "'current'", f"'linger.mss' in {path}:3", "'linger.ms'",
        f"acks='5' is not a valid value (from {path}:5)", "chmod 600",
        f"color='pink' is not a valid value (from {path}:9)", "/no/ca cannot be read",
        "cannot read sasl.password from the file /no/pw", "there is no password for user me in profile c",
        f"'client.idd' in {file}:1", f"{file}:2: a line without a key", "'fetch.min.byte' in -X", "'check.crc' in "
        "KCLI_X_CHECK_CRC", "KCLI_PROFIL means nothing to kcli; did you mean KCLI_PROFILE",
    ):  # fmt: skip
        assert part in found, (part, found)
    assert len(items(done)) == len({json.dumps(row) for row in items(done)})


def test_config_check_names_what_tokens_and_keytabs_lack(kcli: Kcli, home: Path) -> None:
    common = 'security.protocol = "SASL_SSL"\nbootstrap.servers = "a:1"\n'
    write(
        home,
        f'[profiles.a]\n{common}sasl.mechanism = "OAUTHBEARER"\nsasl.oauthbearer.token.file = "/no/token"\n'
        f'[profiles.b]\n{common}sasl.mechanism = "OAUTHBEARER"\nsasl.oauthbearer.token.command = "no-such-program x"\n'
        f'[profiles.c]\n{common}sasl.mechanism = "GSSAPI"\nsasl.kerberos.keytab = "/no/keytab"\n'
        f'[profiles.d]\n{common}sasl.mechanism = "PLAIN"\nsasl.username = "me"\nsasl.password = "pw"\n'
        'sasl.aws.region = "eu-central-1"\n',
    )
    done = kcli("config", "check", "-o", "json")
    assert done.code == 2
    found = " | ".join(row["what"] for row in items(done))
    for part in (
        "sasl.oauthbearer.token.file: /no/token cannot be read",
        "sasl.oauthbearer.token.command: there is no program no-such-program",
        "sasl.kerberos.keytab: /no/keytab cannot be read",
        "sasl.aws.region",
    ):
        assert part in found, (part, found)
    assert len(items(done)) == 4


def test_config_check_is_content_with_what_is_right(kcli: Kcli, home: Path) -> None:
    write(home)
    done = kcli("config", "check")
    assert (done.code, done.out.splitlines()[1:]) == (0, [])
    assert "nothing is wrong" in done.err


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1}) as found:
        yield found


def test_commands_use_the_profile(kcli: Kcli, home: Path, cluster: FakeCluster) -> None:
    write(home, f'[profiles.here]\nbootstrap.servers = "{cluster.bootstrap}"\n')
    assert kcli("topics", "list", "--profile", "here", "-o", "name").out == "t\n"
    assert kcli("topics", "list", "--cluster", "here", "-o", "name").out == "t\n"
    assert kcli("topics", "list", "-o", "name", KCLI_PROFILE="here").out == "t\n"
    assert kcli("topics", "list", "-o", "name").code == 2
    kcli("profile", "use", "here")
    assert kcli("-v", "topics", "list", "-o", "name").out == "t\n"


@pytest.mark.case("X26")
@pytest.mark.parametrize(
    "line",
    ["topics delete t --yes", "produce t /dev/null", "consume t -e", "groups rewind g --to earliest --yes"],
)
def test_a_cluster_with_another_id_gets_no_request_but_for_its_metadata(
    kcli: Kcli, home: Path, cluster: FakeCluster, line: str
) -> None:
    write(home, f'[profiles.here]\nbootstrap.servers = "{cluster.bootstrap}"\ncluster_id = "another"\n')
    since = len(cluster.requests)
    done = kcli(*line.split(), "--profile", "here")
    assert done.code == 7, done.err
    assert "belong to cluster fake-kafka-cluster-id0, not to another" in done.err
    assert {one.api for one in cluster.requests[since:]} <= {"ApiVersions", "Metadata"}


@pytest.mark.case("X20")
def test_completion_offers_the_names(kcli: Kcli, home: Path) -> None:
    write(home)
    done = run(
        [*KCLI, "__complete", "profiles", "fish", "p", "kcli", "topics", "list", "--profile"],
        capture_output=True,
        env=environment(XDG_CONFIG_HOME=str(home / "config")),
    )
    assert done.stdout == b"prod\n"


def test_every_example_of_profile_is_a_command() -> None:
    context = click.Context(profile)
    names = profile.list_commands(context)
    text = "\n".join(line for name in names for line, _ in profile.get_command(context, name).examples)  # type: ignore[union-attr]
    assert set(re.findall(r"kcli profile (\w+)", text)) == set(names)
    assert (ROOT / "docs/profiles.md").exists()


def test_added_paths_lead_to_the_same_file_from_every_folder(
    kcli: Kcli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "here/d").mkdir(parents=True)
    monkeypatch.chdir(home / "here")
    given = ("ssl.ca.location=d/ca.pem", "ssl.keystore.location=~/me.p12", "security.protocol=SSL")
    assert (
        kcli("profile", "add", "p", "-b", "h:1", *(part for one in given for part in ("-X", one))).code == 0
    )
    shown = kcli("profile", "show", "p").out
    assert str(home / "here/d/ca.pem") in shown
    assert str(home / "me.p12") in shown
    (home / "here/client.properties").write_text("bootstrap.servers=h:1\nssl.truststore.location=ca.pem\n")
    monkeypatch.chdir(home)
    assert kcli("profile", "import", "here/client.properties").code == 0
    assert str(home / "here/ca.pem") in kcli("profile", "show", "client").out


def test_config_check_reports_profiles_without_brokers(kcli: Kcli, home: Path) -> None:
    path = write(home, '[profiles.e]\nbootstrap.servers = ""\n[profiles.n]\nclient.id = "x"\n')
    found = {row["what"]: row["severity"] for row in items(kcli("config", "check", "-o", "json"))}
    assert found == {
        f"bootstrap.servers names no broker (from {path}:2)": "error",
        f"profile n names no broker ({path}:3): commands need -b with it": "warning",
    }


def test_config_check_fails_for_errors_and_not_for_warnings(kcli: Kcli, home: Path) -> None:
    path = write(home, '[profiles.n]\nclient.id = "x"\n')
    done = kcli("config", "check", "-o", "json")
    assert (done.code, [row["severity"] for row in items(done)]) == (0, ["warning"])
    path.write_text('[profiles.e]\nbootstrap.servers = ""\n')
    done = kcli("config", "check", "-o", "json")
    assert (done.code, [row["severity"] for row in items(done)]) == (2, ["error"])


def test_config_show_needs_no_choice_of_a_sandbox(kcli: Kcli, monkeypatch: pytest.MonkeyPatch) -> None:
    def several() -> None:
        raise SeveralSandboxesError("several sandboxes run", why="a (h:1), b (h:2)")

    monkeypatch.setattr("kcli.commands.config._showing.find_sandbox", several)
    shown = kcli("config", "show", "-b", "h:1")
    assert (shown.code, shown.out.split()[-1], shown.err) == (0, "h:1", "")
    without = kcli("config", "show", "--client-id", "me")
    assert (without.code, without.out.split()[-1]) == (0, "me")
    assert "several sandboxes run (a (h:1), b (h:2)): no option is from a sandbox" in without.err


def test_plans_say_that_a_sandbox_is_used_and_other_commands_with_v(
    kcli: Kcli, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"bootstrap.servers": cluster.bootstrap}
    monkeypatch.setattr("kcli.sandbox.discovery.find_sandbox", lambda: ("dev", options))
    said = f"note: sandbox dev at {cluster.bootstrap}"
    assert "sandbox" not in kcli("topics", "list").err
    assert said in kcli("topics", "list", "-v").err
    assert "sandbox" not in kcli("topics", "list", "-v", "-b", cluster.bootstrap).err
    assert ", sandbox dev):" in kcli("topics", "create", "new", "--dry-run").out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('bootstrap.servers = "h:99999"', "'h:99999' is not the address of a broker (from PATH:2)"),
        ('bootstrap.servers = "me:pw@h:1"', "'h:1' is not the address of a broker (from PATH:2)"),
        (
            'security.protocol = "SASL_PLAINTEXT"\nsasl.mechanism = "PLAIN"\nsasl.username = "u"',
            "sasl.mechanism=PLAIN over SASL_PLAINTEXT is refused (profile p)",
        ),
        ('security.protocol = "SASL_SSL"', "sasl.mechanism is not set (profile p)"),
        (
            'security.protocol = "SSL"\nenable.ssl.certificate.verification = false',
            "the brokers' certificates are not verified",
        ),
        ('security.protocol = "SSL"\nssl.ca.location = "config.toml"', "cannot use the CA certificates in"),
        ('schema.registry.url = "h:8081"', "is no address"),
        ("readonly = true", "unknown option 'readonly' in PATH"),
        ('sasl.password = "${env:X}"\nsecurity.protocol = "SASL_SSL"', "sasl.password has a placeholder"),
    ],
)
def test_config_check_finds_what_commands_would_refuse(kcli: Kcli, home: Path, text: str, said: str) -> None:
    brokers = "" if "bootstrap" in text else 'bootstrap.servers = "h:1"\n'
    path = write(home, f"[profiles.p]\n{brokers}{text}\n")
    done = kcli("config", "check", "-o", "json")
    assert done.code == (2 if "error" in {row["severity"] for row in items(done)} else 0)
    assert said.replace("PATH", str(path)) in " | ".join(str(row["what"]) for row in items(done))


def test_config_check_names_every_bad_address(kcli: Kcli, home: Path) -> None:
    path = write(home, '[profiles.p]\nbootstrap.servers = "h:99999,good:1,a b:1"\n')
    found = [str(row["what"]) for row in items(kcli("config", "check", "-o", "json"))]
    assert found == [
        f"{one!r} is not the address of a broker (from {path}:2)" for one in ("h:99999", "a b:1")
    ]


@pytest.mark.parametrize("key", ["sasl.username", "sasl.password"])
def test_what_holds_a_placeholder_is_not_said_to_be_missing(kcli: Kcli, home: Path, key: str) -> None:
    values = {"sasl.username": "me", "sasl.password": "pw"} | {key: "${env:X}"}
    text = "".join(f'{name} = "{value}"\n' for name, value in values.items())
    protocol = 'security.protocol = "SASL_SSL"\nsasl.mechanism = "PLAIN"\n'
    write(home, f'[profiles.p]\nbootstrap.servers = "h:1"\n{protocol}{text}')
    found = [str(row["what"]) for row in items(kcli("config", "check", "-o", "json"))]
    assert [what for what in found if "chmod" not in what] == [
        what for what in found if what.startswith(f"{key} has a placeholder")
    ]


def test_a_current_profile_that_does_not_exist_is_replaced_by_use(kcli: Kcli, home: Path) -> None:
    write(home, 'current = "nope"\n[profiles.prod]\nbootstrap.servers = "h:1"\n')
    done = kcli("topics", "list")
    assert (done.code, "`kcli profile use prod`" in done.err) == (2, True)
    assert "profile add" not in done.err


def test_a_mark_of_a_profile_in_a_variable_is_named_as_one(kcli: Kcli, home: Path) -> None:
    write(home, '[profiles.p]\nbootstrap.servers = "h:1"\n')
    said = kcli("config", "show", "--profile", "p", KCLI_READ_ONLY="true").err
    assert "KCLI_READ_ONLY means nothing to kcli; read_only is a mark of a profile" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("security.protocol=SASL_SSL sasl.mechanism=PLAIN sasl.username=ops", "as User:ops"),
        (
            "security.protocol=SASL_SSL sasl.mechanism=OAUTHBEARER sasl.oauthbearer.client.id=app",
            "as app by OAUTHBEARER",
        ),
        ("security.protocol=SASL_SSL sasl.mechanism=OAUTHBEARER", "by OAUTHBEARER"),
        (
            "security.protocol=SASL_SSL sasl.mechanism=GSSAPI sasl.kerberos.principal=me@R",
            "as me@R by GSSAPI",
        ),
        ("security.protocol=SASL_SSL sasl.mechanism=AWS_MSK_IAM", "by AWS_MSK_IAM"),
        ("security.protocol=SSL ssl.keystore.location=/k.p12", "with certificate /k.p12"),
        ("security.protocol=SSL ssl.certificate.location=/k.pem", "with certificate /k.pem"),
        ("security.protocol=SSL", ""),
        ("ssl.certificate.location=/k.pem", ""),
    ],
)
def test_plans_say_what_is_known_of_the_user(options: str, said: str) -> None:
    resolved = resolve(Sources(flags={"bootstrap.servers": "h:1"}, properties=options.split()))
    assert cluster_name(resolved)[:2] == ("h:1", said)


def test_a_secret_command_has_the_time_that_is_given(kcli: Kcli, home: Path) -> None:
    write(
        home,
        '[profiles.p]\nbootstrap.servers = "127.0.0.1:1"\nsecurity.protocol = "SASL_SSL"\n'
        'sasl.mechanism = "PLAIN"\nsasl.username = "u"\nsasl.password_command = "sleep 60"\n',
    )
    done = kcli("topics", "list", "--profile", "p", "--timeout", "300ms")
    assert (done.code, "more than 0.3 s" in done.err) == (2, True)


def test_the_marks_of_profiles_are_in_the_help_of_options(kcli: Kcli) -> None:
    text = kcli("help", "options").out
    assert all(f"\n  {mark}\n" in text for mark in MARKS)


def test_marks_and_flags_are_named_where_they_are(kcli: Kcli, home: Path) -> None:
    assert (
        "color='pink' is not a valid value (from -X)"
        in kcli("profile", "add", "p", "-b", "h:1", "-X", "color=pink").err
    )
    assert "(from -b)" in kcli("profile", "add", "p", "-b", "h:0").err
    path = write(home, '[profiles.p]\nbootstrap.servers = "h:1"\nread_only = true\n')
    shown = {row["key"]: row["origin"] for row in items(kcli("profile", "show", "p", "-o", "json"))}
    assert shown["read_only"] == f"{path}:3"
    rows = items(kcli("config", "show", "-b", "g:1", "--client-id", "me", "-o", "json"))
    assert {row["key"]: row["origin"] for row in rows} == {
        "bootstrap.servers": "-b",
        "client.id": "--client-id",
    }


def test_a_file_that_is_missing_is_named_with_the_key_that_the_user_wrote(kcli: Kcli, home: Path) -> None:
    path = write(home, '[profiles.p]\nbootstrap.servers = "h:1"\nssl.truststore.location = "trust.jks"\n')
    found = kcli("config", "check", "-o", "json")
    assert f"ssl.truststore.location: {path.parent}/trust.jks cannot be read" in found.out


def test_an_import_says_what_it_changes_and_what_will_not_work(kcli: Kcli, home: Path) -> None:
    (home / "t.jks").write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    (home / "c.toml").write_text(
        'current_profile = "b"\n[profiles."evil name\\u001b[31m"]\nseed_brokers = ["h:1"]\n'
        '[profiles.b]\nseed_brokers = ["h:2"]\ntls = {ca_cert_path = "t.jks", client_cert_path = "gone.pem"}\n'
    )
    done = kcli("profile", "import", str(home / "c.toml"), "-o", "json")
    assert done.code == 0
    assert "the profile of 'evil name\\x1b[31m' is named evil-name-31m" in done.err
    assert (
        f"b: ssl.ca.location: {home}/t.jks is a JKS store, which kcli does not read; convert it: keytool"
        in done.err
    )
    assert f"b: ssl.certificate.location: there is no file {home}/gone.pem" in done.err
    assert "the current one of kcl is b; to make it that of kcli: kcli profile use b" in done.err
    listed = kcli("profile", "list", "-o", "json")
    assert [row.keys() for row in items(done)] == [row.keys() for row in items(listed)]


def test_a_protected_profile_is_removed_or_replaced_only_by_its_name(kcli: Kcli, home: Path) -> None:
    path = write(
        home,
        CONFIG.replace("protected = true", 'protected = true\ncolor = "red"\ndescription = "the big one"'),
    )
    before = path.read_text()
    replacing = ("profile", "add", "prod", "-b", "x:1", "--replace")
    for line in (("profile", "remove", "prod"), replacing):
        done = kcli(*line, "--yes")
        assert (done.code, path.read_text()) == (2, before)
        assert "confirmation by name required" in done.err
        for part in ("protected = true", "color = red", "description = the big one"):
            assert part in done.err
        assert CANARY not in done.err
    assert kcli("profile", "add", "test", "-b", "x:1", "--replace").code == 0  # not protected
    assert kcli(*replacing, "--confirm", "prod").code == 0
    assert "protected" not in path.read_text()
    assert kcli("profile", "remove", "prod", "--yes").code == 0


def test_a_profile_without_brokers_is_added_with_a_warning(kcli: Kcli) -> None:
    assert "profile a names no broker" in kcli("profile", "add", "a", "-X", "client.id=x").err
    assert "names no broker" not in kcli("profile", "add", "b", "-b", "h:1").err


def test_choices_are_added_as_kcli_spells_them(kcli: Kcli, home: Path) -> None:
    assert kcli("profile", "add", "p", "-b", "h:1", "-X", "security.protocol=ssl").code == 0
    assert 'security.protocol = "SSL"' in (home / "config/kcli/config.toml").read_text()


@pytest.mark.case("S8")
def test_a_config_file_that_is_a_folder_is_named_with_what_helps(kcli: Kcli, home: Path) -> None:
    (home / "config/kcli/config.toml").mkdir(parents=True)
    done = kcli("topics", "list", "-b", "h:1")
    assert (done.code, "it is a folder" in done.err, "move it away" in done.err) == (2, True, True)


def test_a_home_that_cannot_be_written_is_named(kcli: Kcli, home: Path) -> None:
    (home / "state").write_text("")
    done = kcli("profile", "add", "p", "-b", "h:1")
    assert f"cannot make {home}/state/kcli" in done.err
    assert "do: check HOME and XDG_STATE_HOME" in done.err


def test_warnings_of_config_show_are_warnings(kcli: Kcli, home: Path) -> None:
    write(home).chmod(0o644)
    done = kcli("config", "show")
    assert "warning: " in done.err
    assert json.loads(kcli("config", "show", "-o", "json").out)["warnings"]


@pytest.mark.parametrize("arguments", [("--timeout", "0"), ("--timeout", "0ms")])
def test_no_time_at_all_is_refused(kcli: Kcli, arguments: tuple[str, ...]) -> None:
    done = kcli("topics", "list", "-b", "h:1", *arguments)
    assert (done.code, "must be more than 0" in done.err) == (2, True)
    assert kcli("topics", "list", "-b", "h:1", KCLI_TIMEOUT="0").code == 2


@pytest.fixture
def sandbox(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    """A cluster that is remembered as the running sandbox ``dev``, beside one called ``default``."""
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    with FakeCluster(1, topics={"t": 1}) as cluster:
        port = int(cluster.bootstrap.rpartition(":")[2])
        remember(make_state("dev", process=this_process(), port=port))
        remember(make_state("default", process=this_process(), port=1))
        remember(make_state("gone", process=ENDED, port=2))
        yield cluster


@pytest.mark.parametrize(
    "line",
    [
        "topics list --profile sandbox:dev",
        "groups list --cluster sandbox:dev",
        "consume t -e --profile sandbox:dev",
        "mirror --from sandbox:dev --to sandbox:dev -t t --map-topic t=copy --dry-run",
        "pipeline mirror --from sandbox:dev --to sandbox:dev -t t --map-topic t=copy --dry-run --runner inline",
        "pipeline verify --from sandbox:dev --to sandbox:dev -t t --map-topic t=copy --level offsets --runner inline",
        "profile show sandbox:dev",
        "config show --profile sandbox:dev",
        "doctor --profile sandbox:dev",
    ],
)
def test_a_sandbox_is_chosen_by_name_wherever_a_profile_is(
    kcli: Kcli, sandbox: FakeCluster, line: str
) -> None:
    sandbox.create_topic("copy", 1)
    done = kcli(*line.split())
    assert done.code == 0, done.err
    gone = kcli(*line.replace("sandbox:dev", "sandbox:gone").split())
    assert (gone.code, "sandbox gone is not running" in gone.err) == (2, True)
    assert "start it: `kcli sandbox up gone`, or choose sandbox:de" in gone.err


def test_a_sandbox_may_be_the_current_profile(kcli: Kcli, sandbox: FakeCluster) -> None:
    assert kcli("profile", "use", "sandbox:gone").code == 2
    assert kcli("profile", "use", "sandbox:dev").code == 0
    assert kcli("topics", "list", "-o", "name").out == "t\n"
    assert kcli("topics", "list", "-o", "name", KCLI_PROFILE="sandbox:dev").out == "t\n"
    done = kcli("profile", "remove", "sandbox:dev", "--yes")
    assert (done.code, "`kcli sandbox down dev` stops it" in done.err) == (2, True)
    assert kcli("profile", "show").code == 0


def test_secrets_of_a_profile_are_not_sent_to_another_cluster(kcli: Kcli, home: Path) -> None:
    write(home, CONFIG.replace('"SASL_SSL"', '"SASL_PLAINTEXT"\nallow.plaintext.secrets = true'))
    with FakeCluster(1, topics={"t": 1}) as cluster:
        done = kcli("topics", "list", "-b", cluster.bootstrap, "-o", "name", "-v")
        assert (done.code, done.out) == (0, "t\n")
        assert "profile prod (from current in" in done.err
        assert "is not used: -b names another cluster" in done.err
        assert not {"SaslHandshakeRequest", "SaslAuthenticateRequest"} & {
            seen.kind.__name__ for seen in cluster.requests
        }
        beside = kcli("topics", "list", "-b", cluster.bootstrap, "--profile", "prod")
        assert beside.code == 4


BACKSLASHES = r"p\a\\ss\u0041\n"
WAYS = {
    "-F": ("topics list -F {file}", {}),
    "KCLI_COMMAND_CONFIG": ("topics list", {"KCLI_COMMAND_CONFIG": "{file}"}),
    "profile import": ("profile import {file} --name p", {}),
    "profile import --format kcat": ("profile import {file} --format kcat --name p", {}),
    "profile add": ("profile add p -F {file}", {}),
    "a task of a job": ("pipeline profile t --runner inline -F {file}", {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_password_with_backslashes_in_a_file_of_librdkafka_is_sent_as_it_is(
    kcli: Kcli, home: Path, way: str
) -> None:
    line, variables = WAYS[way]
    with FakeCluster(1, topics={"t": 1}, sasl=Sasl(users={"me": BACKSLASHES})) as cluster:
        file = home / "kcat.properties"
        file.write_text(
            f"metadata.broker.list={cluster.bootstrap}\nsecurity.protocol=sasl_plaintext\nsasl.mechanisms=PLAIN\n"
            f"sasl.username=me\nsasl.password={BACKSLASHES}\n"
        )
        file.chmod(0o600)
        given = {name: text.format(file=file) for name, text in variables.items()}
        done = kcli(*line.format(file=file).split(), "--allow-plaintext-secrets", "-v", **given)
        assert done.code == 0, done.err
        if "kcat" not in way:
            assert (
                f"{file}: read as librdkafka's key=value lines, since metadata.broker.list (line 1) is"
                in done.err
            )
        if way.startswith("profile"):
            done = kcli("topics", "list", "--profile", "p", "--allow-plaintext-secrets")
            assert done.code == 0, done.err


def test_a_backslash_in_a_file_that_may_be_of_either_is_warned_of(kcli: Kcli, home: Path) -> None:
    file = home / "some.properties"
    file.write_text("bootstrap.servers=h:1\nclient.id=a\\b\n")
    said = f"{file}:2: a backslash in client.id is read as an escape"
    for line in (f"config show -F {file}", f"profile add p -F {file}", f"profile import {file} --name q"):
        assert said in kcli(*line.split()).err
    assert said in kcli("config", "check", "-F", str(file)).out


@pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed")
def test_a_file_of_librdkafka_is_read_as_kcat_reads_it(kcli: Kcli, home: Path) -> None:
    file = home / "kcat.conf"
    file.write_text(
        "# c\n  client.rack= x\\ty \\u0041 \nclient.id=a\\b\\:c\\=d\\\\e\\\ngroup.id=\\n\\#\r\n"
        "metadata.broker.list=h\\:1\n"
    )
    dump = subprocess.run(
        ["kcat", "-F", str(file), "-X", "dump"], capture_output=True, text=True, check=False
    ).stdout
    theirs = dict(line.split(" = ", 1) for line in dump.splitlines() if " = " in line)
    ours = {
        row["key"]: row["value"]
        for row in json.loads(kcli("config", "show", "-F", str(file), "-o", "json").out)["items"]
    }
    assert ours["client.rack"] == " x\\ty \\u0041"
    for key in ("client.id", "client.rack", "group.id"):
        assert ours[key] == theirs[key]


@pytest.mark.parametrize("mode", [0o666, 0o644, 0o600])
def test_a_file_with_secrets_that_is_imported_is_judged_as_one_that_is_used(
    kcli: Kcli, home: Path, mode: int
) -> None:
    file = home / "kcat.conf"
    file.write_text(
        "bootstrap.servers=h:1\nsecurity.protocol=SASL_SSL\nsasl.mechanisms=PLAIN\nsasl.username=u\nsasl.password=x\n"
    )
    file.chmod(mode)
    for line in (f"config show -F {file}", f"profile import {file} --name p --dry-run"):
        done = kcli(*line.split())
        assert done.code == (2 if mode == 0o666 else 0), done.err
        assert ("is not used: every user can change it" in done.err) == (mode == 0o666)
        assert ("holds secrets, and other users can read it" in done.err) == (mode == 0o644)


def test_config_check_names_every_bad_address_of_brokers_and_registries(kcli: Kcli, home: Path) -> None:
    write(
        home,
        '[profiles.p]\nbootstrap.servers = "h:99999,ok:1,two words:1"\nschema.registry.url = "ftp://x,http://ok:1,gopher://y"\n',
    )
    done = kcli("config", "check", "-o", "json", "-b", "a:0,b:1,c:x")
    assert done.code == 2
    what = " ".join(row["what"] for row in json.loads(done.out)["items"])
    for bad in ("'h:99999'", "'two words:1'", "'a:0'", "'c:x'", "'ftp://x'", "'gopher://y'"):
        assert bad in what
    assert "ok:1" not in what
