"""Which profile is chosen, what it is stronger and weaker than, and what its marks mean."""

import dataclasses
import re
from typing import Any

import pytest

from kcli.commands.shared.configuration import may_change
from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret
from kcli.files.user_file import FileState
from kcli.profiles.config_file import ConfigFile
from kcli.profiles.profile import Profile, raise_error, read_only_refusal
from kcli.profiles.resolve import Resolved, origin_lines, resolve
from kcli.profiles.secret_keys import SecretSource
from kcli.profiles.sources import Sources, is_sandbox
from tests.run import ROOT

USER = """current = "prod"
[defaults]
client.id = "mine"
linger.ms = 1
[profiles.prod]
bootstrap.servers = "prod:1"
linger.ms = 2
[profiles.test]
bootstrap.servers = "test:1"
[profiles.bare]
client.id = "bare"
"""
SYSTEM = """[defaults]
client.id = "system"
retry.backoff.ms = 7
[profiles.shared]
bootstrap.servers = "shared:1"
"""


def sandbox() -> tuple[str, dict[str, str]]:
    return "default", {"bootstrap.servers": "s:1"}


def resolved(text: str = USER, **sources: Any) -> Resolved:
    configs = [ConfigFile("u", text, raise_error), ConfigFile("s", SYSTEM, raise_error)]
    return resolve(Sources(config_files=lambda _report: configs, **sources))


def test_the_current_profile_is_stronger_than_the_defaults_and_those_than_the_systems() -> None:
    found = resolved()
    assert found.profile is not None
    assert found.profile.name == "prod"
    assert origin_lines(found) == [
        "bootstrap.servers = prod:1 (u:6)",
        "client.id = mine (u:3)",
        "linger.ms = 2.0 (u:7)",
        "retry.backoff.ms = 7 (s:3)",
    ]


@pytest.mark.parametrize(
    ("sources", "brokers"),
    [
        ({"profile": "test"}, "test:1"),
        ({"profile": "shared"}, "shared:1"),
        ({"environ": {"KCLI_PROFILE": "test"}}, "test:1"),
        ({"environ": {"KCLI_PROFILE": "shared"}, "profile": "test"}, "test:1"),
        ({"environ": {"KCLI_BOOTSTRAP_SERVER": "e:1"}, "profile": "test"}, "e:1"),
        ({"environ": {"KAFKA_BOOTSTRAP_SERVERS": "k:1"}, "profile": "test"}, "test:1"),
        ({"environ": {"KAFKA_BOOTSTRAP_SERVERS": "k:1"}, "profile": "bare"}, "k:1"),
    ],
)
def test_what_chooses_a_profile_and_what_it_overrules(sources: dict[str, Any], brokers: str) -> None:
    assert resolved(**sources).values["bootstrap_servers"] == brokers


def test_a_side_of_a_mirror_takes_its_brokers_from_its_profile_alone() -> None:
    sources: dict[str, Any] = {"profile_required": True, "environ": {"KCLI_BOOTSTRAP_SERVER": "e:1"}}
    assert resolved(profile="test", **sources).values["bootstrap_servers"] == "test:1"
    with pytest.raises(ConfigError, match="profile bare names no broker"):
        resolved(profile="bare", **sources)
    assert resolved(ignores_current=True, flags={"bootstrap.servers": "x:1"}).profile is None


def side(**sources: Any) -> Any:
    """The options of one of two clusters."""
    return resolved(current_names_brokers=True, profile_option="--to", broker_option="--to", **sources)


@pytest.mark.parametrize(
    ("address", "profile"), [("test:1", "test"), ("other:1", None), ("test:1,other:1", None)]
)
def test_a_profile_in_use_serves_the_side_whose_brokers_it_names(address: str, profile: str | None) -> None:
    found = side(flags={"bootstrap.servers": address}, environ={"KCLI_PROFILE": "test"})
    assert (found.profile and found.profile.name) == profile
    bare = side(flags={"bootstrap.servers": address}, environ={"KCLI_PROFILE": "bare"})
    assert bare.profile is None, "it names no cluster"


LOGIN = "bootstrap.servers=mine:1\nsecurity.protocol=SSL"


@pytest.mark.parametrize(
    ("sources", "protocol"),
    [
        ({"flags": {"bootstrap.servers": "mine:1"}}, "SSL"),
        ({"flags": {"bootstrap.servers": "other:1"}}, None),
        ({"profile": "test", "profile_required": True}, None),
    ],
)
def test_a_file_that_a_variable_names_serves_the_side_whose_brokers_it_names(
    sources: dict[str, Any], protocol: str | None
) -> None:
    """The login of one cluster is not sent to the other."""
    found = side(files=["f"], read_file=lambda _path: LOGIN, files_from_variable=True, **sources)
    assert found.values.get("security_protocol") == protocol
    assert any("f (from KCLI_COMMAND_CONFIG) is not used: --to" in text for text in found.details) == (
        not protocol
    )


OTHER: list[tuple[str, dict[str, Any]]] = [
    ("-b", {"flags": {"bootstrap.servers": "other:1"}}),
    ("-X", {"properties": ["metadata.broker.list=prod:1,other:1"]}),
    ("f:2", {"files": ["f"], "read_file": lambda _path: "acks=1\nbootstrap.servers=other"}),
    (
        "v:1",
        {"files": ["v"], "read_file": lambda _path: "bootstrap.servers=other", "files_from_variable": True},
    ),
    ("KCLI_BOOTSTRAP_SERVER", {"environ": {"KCLI_BOOTSTRAP_SERVER": "other:1"}}),
    ("KCLI_X_BOOTSTRAP_SERVERS", {"environ": {"KCLI_X_BOOTSTRAP_SERVERS": "prod:2"}}),
]
"""Ways to name another cluster than that of the profile prod."""


def with_variable(sources: dict[str, Any], **variables: str) -> dict[str, Any]:
    return {**sources, "environ": {**sources.get("environ", {}), **variables}}


@pytest.mark.parametrize(("origin", "sources"), OTHER)
def test_another_cluster_by_address_starts_without_the_current_profile(
    origin: str, sources: dict[str, Any]
) -> None:
    found = resolved(**sources)
    assert found.profile is None
    assert found.origins["bootstrap_servers"] == origin
    assert found.values["linger_ms"] == 1.0  # that of [defaults]
    assert found.details[-1] == (
        f"profile prod (from current in u:1) is not used: {origin} names another cluster; --profile prod beside it "
        "uses the profile's options"
    )


@pytest.mark.parametrize(("origin", "sources"), OTHER)
def test_a_profile_that_is_chosen_beside_the_address_keeps_its_options(
    origin: str, sources: dict[str, Any]
) -> None:
    found = resolved(profile="prod", **sources)
    assert (found.profile is not None, found.values["linger_ms"]) == (True, 2.0)
    assert found.origins["bootstrap_servers"] == origin
    on_line = origin in ("-b", "-X", "f:2")
    chosen = resolved(**with_variable(sources, KCLI_PROFILE="prod"))
    assert (chosen.profile is None) == on_line
    assert chosen.values["linger_ms"] == (1.0 if on_line else 2.0)


@pytest.mark.parametrize(
    ("own", "address", "same"),
    [
        ("p1:9092,p2:9092", "p2:9092", True),
        ("p1:9092,p2:9092", "P2", True),
        ("p1:9092,p2:9092", "p2:9092,p1", True),
        ("p1:9092,p2:9092", "SSL://p1:9092", True),
        ("p1:9092,p2:9092", "p1:9092,other:9092", False),
        ("p1:9092", "p1:9093", False),
        ("p1:9092", "p1", True),
    ],
)
def test_brokers_of_the_profile_are_no_other_cluster(own: str, address: str, same: bool) -> None:
    text = f'current = "p"\n[profiles.p]\nbootstrap.servers = "{own}"\nlinger.ms = 2'
    found = resolved(text, flags={"bootstrap.servers": address})
    assert (found.profile is not None) == same
    assert ("linger_ms" in found.values) == same


def test_a_profile_without_brokers_is_for_any_address() -> None:
    found = resolved(USER.replace('"prod"', '"bare"'), flags={"bootstrap.servers": "h:1"})
    assert found.profile is not None
    assert found.values["client_id"] == "bare"


@pytest.mark.parametrize("sources", [{}, *(sources for _origin, sources in OTHER)])
def test_secrets_among_the_variables_of_a_cluster_are_not_for_another_one(sources: dict[str, Any]) -> None:
    secrets = {
        "KAFKA_SASL_USERNAME": "u",
        "KAFKA_SASL_PASSWORD": "hunter2",
        "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
    }
    found = resolved(**with_variable(sources, KAFKA_BOOTSTRAP_SERVERS="kafka:1", **secrets))
    assert not {"sasl_username", "sasl_password", "security_protocol"} & found.values.keys()
    assert "KAFKA_SASL_PASSWORD" in found.details[-1]
    assert "names another cluster" in found.details[-1]
    without_brokers = resolved(**with_variable(sources, **secrets))
    assert without_brokers.values["sasl_username"] == "u"


def test_a_sandbox_is_a_profile_by_its_name() -> None:
    options = {"bootstrap.servers": "s:1", "security.protocol": "SSL"}
    found = resolved(profile="sandbox:dev", sandbox={"dev": options}.__getitem__)
    assert found.profile is not None
    assert (found.profile.name, found.profile.origin) == ("sandbox:dev", "sandbox dev")
    assert found.origins == {
        **found.origins,
        "bootstrap_servers": "sandbox dev",
        "security_protocol": "sandbox dev",
    }
    for chosen in ({"environ": {"KCLI_PROFILE": "sandbox:dev"}}, {"text": 'current = "sandbox:dev"'}):
        assert resolved(sandbox={"dev": options}.__getitem__, **chosen).values["bootstrap_servers"] == "s:1"


@pytest.mark.parametrize(
    ("name", "sandbox"),
    [
        ("sandbox:dev", True),
        ("sandbox:9092", False),
        ("sandbox:9092,h:1", False),
        ("sandbox", False),
        ("sandbox:1a", True),
    ],
)
def test_a_sandbox_is_told_from_a_host_of_that_name(name: str, sandbox: bool) -> None:
    assert is_sandbox(name) == sandbox


@pytest.mark.case("S1")
def test_a_profile_that_does_not_exist_is_named_with_the_nearest_and_all() -> None:
    with pytest.raises(ConfigError, match=r"no profile 'prdo' \(from --profile\)") as caught:
        resolved(profile="prdo")
    assert caught.value.why == "there are prod, test, bare, shared"
    assert caught.value.do == "did you mean 'prod'?"
    with pytest.raises(ConfigError, match=r"from current in u:1"):
        resolved('current = "gone"')


@pytest.mark.parametrize("chosen", [{"profile": "bare"}, {"environ": {"KCLI_PROFILE": "bare"}}])
def test_a_profile_without_brokers_never_leads_to_a_sandbox(chosen: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="profile bare names no broker") as caught:
        resolved(find_sandbox=sandbox, **chosen)
    assert "it has no bootstrap.servers (u:10)" in caught.value.why
    assert "-b HOST:PORT" in caught.value.do


@pytest.mark.parametrize(
    ("text", "sources", "said"),
    [
        (
            '[profiles.e]\nbootstrap.servers = ""',
            {"profile": "e"},
            "bootstrap.servers names no broker (from u:2)",
        ),
        ("", {"properties": ["bootstrap.servers="]}, "bootstrap.servers names no broker (from -X)"),
        (
            '[profiles.e]\nbootstrap.servers = "b:1"',
            {"profile": "e", "properties": ["bootstrap.servers="]},
            "bootstrap.servers names no broker (from -X)",
        ),
        ('[defaults]\nbootstrap.servers = ""', {}, "bootstrap.servers names no broker (from u:2)"),
    ],
)
def test_an_empty_address_never_leads_to_a_sandbox(text: str, sources: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved(text, find_sandbox=sandbox, **sources)
    assert caught.value.what == said
    assert resolved("", find_sandbox=sandbox).values["bootstrap_servers"] == "s:1"


SECRET = "sasl.password_file"


def test_secrets_stay_where_they_are_until_they_are_wanted() -> None:
    text = '[profiles.p]\nbootstrap.servers = "p:1"\nsecurity.protocol = "SASL_SSL"\nsasl.password_file = "/pw"\n'
    found = resolved(text + 'ssl.key.password = "keyring:kafka/eu/me"', profile="p")
    source = SecretSource("sasl.password", "file", "/pw", "u:4")
    assert found.values["sasl_password"] == source
    assert "sasl.password = (the file /pw) (u:4)" in origin_lines(found)
    read: list[SecretSource] = []
    assert found.revealed(read.append).values["sasl_password"] is None
    assert {one.text for one in read} == {"/pw", "kafka/eu/me"}


def test_secrets_that_the_protocol_does_not_use_are_not_read() -> None:
    found = resolved(
        environ={"KCLI_X_SSL_KEY_PASSWORD_COMMAND": "false", "KCLI_X_SASL_PASSWORD": "keyring:a/b"},
        properties=["security.protocol=PLAINTEXT"],
    )
    assert found.origins["ssl_key_password"] == "KCLI_X_SSL_KEY_PASSWORD_COMMAND"
    revealed = found.revealed(lambda source: pytest.fail(f"{source} was read"))
    assert not {"ssl_key_password", "sasl_password"} & revealed.values.keys()


@pytest.mark.parametrize(
    "pair", ["sasl.password_file=", "sasl.password=keyring:x", "sasl.password_command= "]
)
def test_incomplete_sources_of_secrets_are_errors(pair: str) -> None:
    with pytest.raises(ConfigError, match=r"sasl\.password"):
        resolved(properties=[pair, "security.protocol=SASL_SSL"])


@pytest.mark.case("S1")
def test_only_secrets_have_sources() -> None:
    with pytest.raises(ConfigError, match=r"'client\.id_file'"):
        resolved(properties=["client.id_file=x"])


@pytest.mark.case("S9", "X16")
@pytest.mark.parametrize("key", ["sasl.password", "ssl.key.password", "basic.auth.user.info"])
def test_a_secret_on_the_command_line_is_warned_of_with_what_to_use_instead(key: str) -> None:
    found = resolved(properties=[f"{key}=hunter2", "security.protocol=SASL_SSL"])
    (said,) = [text for text in found.warnings if key in text]
    for way in (f"{key}_file=FILE", f"{key}_command=COMMAND", "keyring:SERVICE/USER"):
        assert way in said
    assert "KCLI_X_" + key.upper().replace(".", "_") in said
    assert ("asks for it" in said) == (key == "sasl.password")
    assert "hunter2" not in "".join((*found.warnings, *origin_lines(found)))
    instead = resolved(properties=[f"{key}_file=/pw", "security.protocol=SASL_SSL"])
    assert not instead.warnings


@pytest.mark.case("S9")
def test_a_password_in_a_jaas_configuration_on_the_command_line_is_warned_of() -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    jaas = f'sasl.jaas.config={module} required username="me" password="hunter2";'
    found = resolved(properties=[jaas, "security.protocol=SASL_SSL"])
    assert [text for text in found.warnings if "on the command line" in text]
    assert found.values["sasl_username"] == "me"


STATES = [
    (FileState(7, 0o100600), False, ""),
    (FileState(7, 0o100640), False, "chmod 600 f"),
    (FileState(7, 0o100604), False, "chmod 600 f"),
    (FileState(7, 0o100602), True, "chmod 600 f"),
    (FileState(8, 0o100600), True, "belongs to another user"),
    (FileState(0, 0o100600), False, ""),
    (FileState(7, 0o100600, link_owner=7), False, "symbolic link"),
    (FileState(7, 0o100600, link_owner=8), True, "symbolic link of another user"),
    (FileState(7, 0o010600), False, ""),  # a pipe of the shell
]


@pytest.mark.case("S8", "X16")
@pytest.mark.parametrize(("state", "refused", "said"), STATES)
def test_a_file_with_secrets_is_warned_of_or_refused(state: FileState, refused: bool, said: str) -> None:
    sources: dict[str, Any] = {"files": ["f"], "file_state": {"f": state}.get, "user": 7}
    texts = {"f": "sasl.password=hunter2\nsecurity.protocol=SASL_SSL"}
    if refused:
        with pytest.raises(ConfigError, match="f is not used") as caught:
            resolved(read_file=texts.__getitem__, **sources)
        assert said in f"{caught.value.what} {caught.value.do}"
        return
    found = resolved(read_file=texts.__getitem__, **sources)
    assert (said in "".join(found.warnings)) if said else not found.warnings
    harmless = resolved(read_file=lambda _path: "linger.ms=5", **sources)
    assert not harmless.warnings


@pytest.mark.case("S8", "X16")
def test_a_file_with_commands_must_not_be_changeable_by_others() -> None:
    text = (
        '[profiles.p]\nbootstrap.servers = "p:1"\nsasl.password_command = "x"\nsecurity.protocol = "SASL_SSL"'
    )
    for state, message in (
        (FileState(8, 0o100600), "belongs to another user"),
        (FileState(7, 0o100606), "change it"),
    ):
        with pytest.raises(ConfigError, match=message):
            resolved(text, profile="p", file_state={"u": state}.get, user=7)
    readable = FileState(7, 0o100644)
    found = resolved(text, profile="p", file_state={"u": readable}.get, user=7)
    assert not found.warnings  # a command is no secret


@pytest.mark.case("S8")
@pytest.mark.parametrize(
    ("other", "mode", "what", "why"),
    [
        ("", 0o666, "every user can change it", "it holds what your commands connect to"),
        ('sasl.password = "x"', 0o606, "every user can change it", "it holds secrets"),
        ('sasl.password = "x"', 0o644, "", "other users can read it: chmod 600 u"),
        ("", 0o644, "", ""),
    ],
)
def test_the_whole_file_of_profiles_is_judged_whichever_profile_is_in_use(
    other: str, mode: int, what: str, why: str
) -> None:
    text = f'[profiles.p]\nbootstrap.servers = "p:1"\n[profiles.other]\n{other}'
    sources: dict[str, Any] = {"file_state": {"u": FileState(7, 0o100000 | mode)}.get, "user": 7}
    if what:
        with pytest.raises(ConfigError, match=what) as caught:
            resolved(text, profile="p", **sources)
        assert why in caught.value.why
        return
    assert why in "".join(resolved(text, profile="p", **sources).warnings)
    assert bool(why) == bool(resolved(text, profile="p", **sources).warnings)


def test_a_read_only_profile_refuses_what_changes_anything_or_does_not_say() -> None:
    assert may_change(None, {})
    assert may_change(True, {})
    assert not may_change(False, {})
    assert not may_change(lambda flags: bool(flags["x"]), {"x": 0})
    refusal = read_only_refusal(Profile("p", "u:3", read_only=True), "`kcli produce`")
    assert refusal is not None
    assert (refusal.exit_code, "u:3" in refusal.why) == (7, True)
    assert read_only_refusal(Profile("p", "u:3"), "x") is None
    assert read_only_refusal(None, "x") is None


EXAMPLES = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/profiles.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_profiles_of_the_documentation_can_be_used(text: str) -> None:
    config = ConfigFile("docs", text, raise_error)
    assert config.names
    for name in config.names:
        found = resolve(Sources(config_files=lambda _report: [config], profile=name))
        assert found.values["bootstrap_servers"]
        assert found.ignored == ()
        if found.values.get("sasl_mechanism") == "OAUTHBEARER":
            secrets = {
                name: Secret("x") for name in ("sasl_oauthbearer_client_secret",) if name in found.values
            }
            made = dataclasses.replace(found, values={**found.values, **secrets}).options(ClientOptions)
            sources = (
                made.sasl_oauthbearer_token_endpoint_url,
                made.sasl_oauthbearer_token_file,
                made.sasl_oauthbearer_token_command,
            )
            assert sum(map(bool, sources)) == 1


def test_a_mark_has_the_line_where_it_is() -> None:
    text = '[profiles.p]\nbootstrap.servers = "p:1"\ncolor = "red"\nread_only = true\n'
    profile = resolved(text, profile="p").profile
    assert profile is not None
    assert profile.mark_origins == {"color": "u:3", "read_only": "u:4"}
    refusal = read_only_refusal(profile, "`kcli x`")
    assert refusal is not None
    assert refusal.why == "read_only = true in u:4; nothing was done"
