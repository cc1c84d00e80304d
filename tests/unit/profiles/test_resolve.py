"""Who wins, what is said, what is refused. Every neighbouring pair of sources is tried."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions, ConsumerOptions, ProducerOptions
from kcli.core.secret import Secret
from kcli.profiles.resolve import Resolved, origin_lines, resolve
from kcli.profiles.sources import Sources

SAYERS: list[tuple[str, dict[str, Any]]] = [
    ("-b", {"flags": {"bootstrap.servers": "flag:1"}}),
    ("-X", {"properties": ["bootstrap.servers=x:1"]}),
    ("f:1", {"files": ["f"]}),
    ("KCLI_BOOTSTRAP_SERVER", {"environ": {"KCLI_BOOTSTRAP_SERVER": "kcli:1"}}),
    ("KAFKA_BOOTSTRAP_SERVERS", {"environ": {"KAFKA_BOOTSTRAP_SERVERS": "kafka:1"}}),
    ("sandbox dev", {"find_sandbox": lambda: ("dev", {"bootstrap.servers": "sandbox:1"})}),
]
PLAIN_JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="@";'
VALUES = ["flag:1", "x:1", "file:1", "kcli:1", "kafka:1", "sandbox:1"]


def name_of(sayer: dict[str, Any]) -> str:
    """The same name in every process: functions are shown with their address."""
    return " ".join(name if callable(value) else f"{name}={value}" for name, value in sayer.items())


def resolved(*sayers: dict[str, Any]) -> Resolved:
    merged: dict[str, Any] = {"read_file": {"f": "bootstrap.servers=file:1"}.__getitem__}
    for sayer in sayers:
        for key, value in sayer.items():
            merged[key] = {**merged.get(key, {}), **value} if isinstance(value, dict) else value
    return resolve(Sources(**merged))


@pytest.mark.parametrize(("strong", "weak"), list(itertools.combinations(range(len(SAYERS)), 2)))
def test_the_stronger_source_wins_and_is_remembered(strong: int, weak: int) -> None:
    found = resolved(SAYERS[weak][1], SAYERS[strong][1])
    assert found.values["bootstrap_servers"] == VALUES[strong]
    assert found.origins["bootstrap_servers"] == SAYERS[strong][0]


@pytest.mark.parametrize("index", range(len(SAYERS)))
def test_each_source_alone(index: int) -> None:
    assert resolved(SAYERS[index][1]).values["bootstrap_servers"] == VALUES[index]


def test_without_any_broker_the_error_shows_the_ways() -> None:
    with pytest.raises(ConfigError, match="no broker is named") as caught:
        resolved()
    for way in ("-b HOST:PORT", "KCLI_BOOTSTRAP_SERVER", "-F", "kcli sandbox up"):
        assert way in caught.value.do
    assert resolve(Sources(), need_broker=False).values == {}


def test_the_sandbox_lookup_may_fail_and_runs_only_when_needed() -> None:
    def several() -> None:
        raise ConfigError("several sandboxes run", why="a, b", do="-b")

    with pytest.raises(ConfigError, match="several sandboxes"):
        resolved({"find_sandbox": several})
    assert resolved(SAYERS[4][1], {"find_sandbox": several}).values["bootstrap_servers"] == "kafka:1"


def test_the_client_options_of_a_sandbox_are_the_weakest_and_name_it() -> None:
    options = {"bootstrap.servers": "sandbox:1", "security.protocol": "SSL", "ssl.ca.location": "/ca"}
    finder = {"find_sandbox": lambda: ("dev", options)}
    found = resolved(finder, {"properties": ["ssl.ca.location=/mine"]})
    assert found.values == {
        "bootstrap_servers": "sandbox:1",
        "security_protocol": "SSL",
        "ssl_ca_location": "/mine",
    }
    assert found.origins == {
        "bootstrap_servers": "sandbox dev",
        "security_protocol": "sandbox dev",
        "ssl_ca_location": "-X",
    }


def test_the_last_x_and_the_last_file_win_and_spellings_are_one_option() -> None:
    files = {"f": "metadata.broker.list=f:1", "g": "bootstrap.servers=g:1\nlinger.ms=7"}
    found = resolve(
        Sources(
            files=["f", "g"],
            read_file=files.__getitem__,
            properties=["linger.ms=1", "queue.buffering.max.ms=2"],
        )
    )
    assert found.values == {"bootstrap_servers": "g:1", "linger_ms": 2.0}
    assert found.origins == {"bootstrap_servers": "g:1", "linger_ms": "-X"}


def test_kcli_x_variables() -> None:
    found = resolve(
        Sources(environ={"KCLI_X_LINGER_MS": "9", "KCLI_BOOTSTRAP_SERVER": "h:1", "KCLI_CLIENT_ID": "me"})
    )
    assert (found.values["linger_ms"], found.values["client_id"]) == (9.0, "me")
    assert found.origins["linger_ms"] == "KCLI_X_LINGER_MS"


@pytest.mark.case("S1")
@pytest.mark.parametrize(
    ("sources", "where", "near"),
    [
        ({"properties": ["linger.mss=1"]}, "-X", "linger.ms"),
        ({"files": ["f"], "read_file": lambda _path: "\nacks2=1"}, "f:2", "acks"),
        ({"environ": {"KCLI_X_CLIENT_IDD": "1"}}, "KCLI_X_CLIENT_IDD", "client.id"),
    ],
)
def test_unknown_keys_are_reported_with_their_location_and_the_nearest(
    sources: dict[str, Any], where: str, near: str
) -> None:
    with pytest.raises(ConfigError, match="unknown option") as caught:
        resolve(Sources(**sources))
    assert where in caught.value.what
    assert near in caught.value.do
    assert caught.value.exit_code == 2


def test_illegal_values_name_their_origin() -> None:
    with pytest.raises(ConfigError, match="from f:1"):
        resolve(Sources(files=["f"], read_file=lambda _path: "acks=2"))


@pytest.mark.case("S1")
def test_java_only_keys_are_kept_apart() -> None:
    text = "key.serializer=x\ninterceptor.classes=y\nbootstrap.servers=h:1"
    found = resolve(Sources(files=["f"], read_file=lambda _path: text))
    assert found.ignored == (("key.serializer", "f:1"), ("interceptor.classes", "f:2"))
    assert set(found.values) == {"bootstrap_servers"}


def test_kafka_variables_are_reported_when_used_and_only_then() -> None:
    environ = {"KAFKA_BOOTSTRAP_SERVERS": "k:1", "KAFKA_SECURITY_PROTOCOL": "SSL"}
    said = resolve(Sources(environ=environ)).notes
    assert said == ("using KAFKA_BOOTSTRAP_SERVERS, KAFKA_SECURITY_PROTOCOL from the environment",)
    said = resolve(Sources(environ=environ, flags={"bootstrap.servers": "k:1"})).notes
    assert said == ("using KAFKA_SECURITY_PROTOCOL from the environment",)
    found = resolve(Sources(environ=environ, flags={"bootstrap.servers": "h:1"}))
    assert (found.notes, found.values) == ((), {"bootstrap_servers": "h:1"})


def test_kafka_variables_of_others_are_no_error() -> None:
    environ = {"KAFKA_HEAP_OPTS": "-Xmx1G", "KAFKA_SSL_NONSENSE": "x", "KAFKA_BOOTSTRAP_SERVERS": "k:1"}
    found = resolve(Sources(environ=environ))
    assert found.values == {"bootstrap_servers": "k:1"}
    assert len(found.details) == 1
    assert "KAFKA_SSL_NONSENSE" in found.details[0]


def test_empty_variables_are_unset() -> None:
    environ = {"KCLI_BOOTSTRAP_SERVER": "", "KAFKA_BOOTSTRAP_SERVERS": "k:1", "KCLI_X_LINGER_MS": ""}
    assert resolve(Sources(environ=environ)).values == {"bootstrap_servers": "k:1"}


def test_stray_kcli_variables_are_warned_of() -> None:
    found = resolve(
        Sources(environ={"KCLI_BOOTSTRAP": "h:1", "KCLI_IMPL": "pure"}, flags={"bootstrap.servers": "h:1"})
    )
    assert len(found.warnings) == 1
    assert "KCLI_BOOTSTRAP means nothing" in found.warnings[0]


def test_options_of_each_client_and_own_flags() -> None:
    found = resolve(Sources(properties=["bootstrap.servers=h:1", "linger.ms=3", "client.rack=r"]))
    assert found.options(ProducerOptions).linger_ms == 3.0
    assert found.options(ConsumerOptions).client_rack == "r"
    assert found.options(ClientOptions).bootstrap_servers == "h:1"
    assert found.options(ProducerOptions, {"acks": "1", "linger_ms": None}) == ProducerOptions(
        bootstrap_servers="h:1", linger_ms=3.0, acks="1"
    )


def test_every_value_has_an_origin() -> None:
    found = resolve(Sources(properties=["linger.ms=3"], flags={"bootstrap.servers": "h:1"}))
    assert origin_lines(found) == ["bootstrap.servers = h:1 (-b)", "linger.ms = 3.0 (-X)"]


def test_options_of_the_registry_are_apart_and_come_from_everywhere() -> None:
    found = resolved(
        SAYERS[0][1],
        {"read_file": {"f": "schema.registry.url=http://f\nschema.registry.timeout.ms=7"}.__getitem__},
        {"files": ["f"], "properties": ["basic.auth.user.info=me:secret"]},
        {"environ": {"KCLI_X_SCHEMA_REGISTRY_URL": "http://e", "KCLI_X_SCHEMA_REGISTRY_MAX_RETRIES": "1"}},
    )
    assert set(found.values) == {"bootstrap_servers"}
    assert found.registry == {
        "schema_registry_url": "http://f",
        "schema_registry_request_timeout_ms": 7,
        "basic_auth_user_info": Secret("me:secret"),
        "schema_registry_max_retries": 1,
    }
    assert found.registry_origins["schema_registry_url"] == "f:1"
    assert found.registry_origins["schema_registry_max_retries"] == "KCLI_X_SCHEMA_REGISTRY_MAX_RETRIES"
    assert [text for text in found.warnings if "basic.auth.user.info on the command line" in text]
    assert "basic.auth.user.info = (hidden) (-X)" in origin_lines(found)
    assert "schema.registry.url = http://f (f:1)" in origin_lines(found)
    assert found.options(ProducerOptions).bootstrap_servers == "flag:1"


def test_secrets_in_the_registry_address_are_hidden() -> None:
    url = "schema.registry.url=http://me:secret@a,http://b"
    found = resolved(SAYERS[0][1], {"properties": [url]})
    assert [line for line in origin_lines(found) if "(hidden)@" in line]
    assert "schema.registry.url on the command line" in found.warnings[0]
    assert "secret" not in " ".join(origin_lines(found)).replace("secrets", "")


def test_an_unknown_option_of_the_registry_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"schema\.registry\.ulr") as caught:
        resolved(SAYERS[0][1], {"properties": ["schema.registry.ulr=x"]})
    assert "schema.registry.url" in caught.value.do


def test_options_of_librdkafka_are_kept_apart_and_a_typo_is_not() -> None:
    text = "queue.buffering.max.messages=9\nstatistics.interval.ms=0\nbootstrap.servers=h:1\nlog_level=7"
    found = resolve(Sources(files=["f"], read_file=lambda _path: text))
    assert [key for key, _ in found.ignored] == [
        "queue.buffering.max.messages",
        "statistics.interval.ms",
        "log_level",
    ]
    with pytest.raises(ConfigError, match=r"queue\.buffering\.max\.m'") as caught:
        resolve(Sources(files=["f"], read_file=lambda _path: "queue.buffering.max.m=9"))
    assert "queue.buffering.max.ms" in caught.value.do


@pytest.mark.parametrize("key", ["key.serializer", "queue.buffering.max.messages", "retries"])
def test_options_of_other_clients_are_refused_from_the_command_line(key: str) -> None:
    with pytest.raises(ConfigError, match="has no effect") as caught:
        resolve(Sources(properties=[f"{key}=1"]))
    assert caught.value.exit_code == 2


UNSUPPORTED: list[dict[str, Any]] = [
    {"environ": {"KCLI_X_SASL_OAUTHBEARER_CONFIG": "x"}},
    {"environ": {"KAFKA_SSL_CIPHER_SUITES": "x", "KAFKA_SECURITY_PROTOCOL": "SSL"}},
    {"properties": ["ssl.enabled.protocols=TLSv1.3"]},
]


@pytest.mark.parametrize("sayer", UNSUPPORTED, ids=name_of)
def test_unsupported_settings_are_refused_from_every_source(sayer: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="is not supported") as caught:
        resolved(SAYERS[0][1], sayer)
    assert caught.value.exit_code == 2
    assert "did you mean" not in caught.value.do


@pytest.mark.parametrize("protocol", ["SSL", "PLAINTEXT"])
@pytest.mark.parametrize(
    "source",
    [
        lambda protocol: {"properties": ["sasl.mechanism=PLAIN", f"security.protocol={protocol}"]},
        lambda protocol: {"environ": {"KAFKA_SASL_MECHANISM": "PLAIN", "KAFKA_SECURITY_PROTOCOL": protocol}},
        lambda protocol: {"environ": {"KCLI_X_SASL_USERNAME": "me", "KCLI_X_SECURITY_PROTOCOL": protocol}},
    ],
    ids=["-X", "KAFKA", "KCLI_X"],
)
def test_credentials_beside_a_protocol_that_does_not_use_them_are_refused(
    source: Callable[[str], dict[str, Any]], protocol: str
) -> None:
    """One source contradicts itself: who relies on the credentials would connect as nobody."""
    with pytest.raises(ConfigError, match="has no effect") as caught:
        resolved(source(protocol))
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("sayer", UNSUPPORTED[:2], ids=name_of)
def test_a_stronger_source_that_chooses_a_protocol_without_sasl_overrules_it(sayer: dict[str, Any]) -> None:
    found = resolved(SAYERS[0][1], sayer, {"properties": ["security.protocol=PLAINTEXT"]})
    assert found.values["security_protocol"] == "PLAINTEXT"
    assert found.ignored


SASL: list[dict[str, Any]] = [
    {"files": ["f"], "read_file": {"f": "sasl.password=hunter2"}.__getitem__},
    {"environ": {"KCLI_X_SASL_USERNAME": "x"}},
    {"environ": {"KAFKA_SASL_MECHANISM": "PLAIN"}},
    {"properties": ["sasl.mechanism=PLAIN"]},
]


@pytest.mark.parametrize("sayer", SASL, ids=name_of)
@pytest.mark.parametrize("protocol", ["", "KAFKA_SECURITY_PROTOCOL"])
def test_credentials_that_would_not_be_used_are_refused_unless_the_protocol_was_chosen_later(
    sayer: dict[str, Any], protocol: str
) -> None:
    weaker = {"environ": {protocol: "SSL", **sayer.get("environ", {})}} if protocol else {}
    if protocol and "KAFKA_SASL_MECHANISM" in weaker["environ"]:
        return  # both of the same rank
    with pytest.raises(ConfigError, match="has no effect") as caught:
        resolved(SAYERS[0][1], sayer | weaker)
    assert "do not authenticate" in caught.value.why
    assert "hunter2" not in f"{caught.value.what}{caught.value.why}{caught.value.do}"
    if "properties" not in sayer:
        found = resolved(SAYERS[0][1], sayer, {"properties": ["security.protocol=PLAINTEXT"]})
        assert found.values["security_protocol"] == "PLAINTEXT"


def option_name(option: str) -> str:
    return option.partition("=")[0].removesuffix("_file").replace(".", "_")


MECHANISMS_AND_OPTIONS = [
    ("OAUTHBEARER", "sasl.username=me", "PLAIN and SCRAM-SHA-256 and SCRAM-SHA-512"),
    ("OAUTHBEARER", "sasl.password_file=/hunter2", "PLAIN and"),
    ("SCRAM-SHA-512", "sasl.oauthbearer.token.file=/t", "OAUTHBEARER"),
    ("PLAIN", "sasl.oauthbearer.client.secret=hunter2", "OAUTHBEARER"),
    ("plain", "sasl.aws.region=eu-central-1", "AWS_MSK_IAM"),
    ("GSSAPI", "sasl.aws.profile=p", "AWS_MSK_IAM"),
    ("AWS_MSK_IAM", "sasl.kerberos.keytab=/k", "GSSAPI"),
]


def test_a_template_of_java_with_kerberos_beside_scram_works() -> None:
    text = (
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nsasl.kerberos.service.name=kafka\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="me" password="pw";\n'
    )
    found = resolved(SAYERS[0][1], {"files": ["f"], "read_file": {"f": text}.__getitem__})
    assert (found.values["sasl_username"], "sasl_kerberos_service_name" in found.values) == ("me", False)
    assert not [text for text in found.warnings if "kerberos" in text]


@pytest.mark.parametrize(("mechanism", "option", "owner"), MECHANISMS_AND_OPTIONS)
def test_an_option_of_another_mechanism_is_refused_from_x_and_ignored_in_files(
    mechanism: str, option: str, owner: str
) -> None:
    """As Java does; unless the mechanism was chosen later it is said."""
    chosen = f"security.protocol=SASL_SSL\nsasl.mechanism={mechanism}\n"
    file: dict[str, Any] = {"files": ["f"], "read_file": {"f": f"{chosen}{option}\n"}.__getitem__}
    found = resolved(SAYERS[0][1], file)
    assert option_name(option) not in found.values
    (said,) = found.unused
    assert said in found.details
    assert said.startswith(option.partition("=")[0])
    assert "(f:3) has no effect" in said
    assert f"sasl.mechanism is {mechanism.upper()}" in said
    assert owner in said
    assert "hunter2" not in said

    with pytest.raises(ConfigError, match=r"\(-X\) has no effect") as caught:
        resolved(SAYERS[0][1], {"properties": [*chosen.split(), option]})
    assert owner in caught.value.why
    assert "hunter2" not in f"{caught.value}{caught.value.do}"

    weaker = {"files": ["f"], "read_file": {"f": f"security.protocol=SASL_SSL\n{option}"}.__getitem__}
    found = resolved(SAYERS[0][1], weaker, {"properties": [f"sasl.mechanism={mechanism}"]})
    assert set(found.values) == {"bootstrap_servers", "security_protocol", "sasl_mechanism"}


def test_the_arguments_of_the_program_for_tokens_are_not_shown() -> None:
    text = "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.command=get --key hunter2\n"
    found = resolved(SAYERS[0][1], {"files": ["f"], "read_file": {"f": text}.__getitem__})
    assert "sasl.oauthbearer.token.command = (the output of get) (f:3)" in origin_lines(found)


def test_an_empty_value_takes_an_option_of_another_mechanism_away() -> None:
    text = "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.kerberos.service.name=kafka\n"
    found = resolved(
        SAYERS[0][1],
        {"files": ["f"], "read_file": {"f": text}.__getitem__},
        {"properties": ["sasl.kerberos.service.name="]},
    )
    assert "sasl_kerberos_service_name" not in found.values


def test_credentials_of_a_file_are_read() -> None:
    text = "security.protocol=sasl_ssl\nsasl.mechanism=scram-sha-256\nsasl.username=me\nsasl.password=hunter2"
    found = resolved(SAYERS[0][1], {"files": ["f"], "read_file": {"f": text}.__getitem__})
    options = found.options(ClientOptions)
    assert (options.security_protocol, options.sasl_mechanism) == ("SASL_SSL", "SCRAM-SHA-256")
    assert options.sasl_password.reveal() == "hunter2"
    assert "hunter2" not in "".join(origin_lines(found)) + repr(options)


def test_a_misspelt_option_of_sasl_in_the_environment_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"sasl\.mechanis'") as caught:
        resolved(SAYERS[0][1], {"environ": {"KAFKA_SASL_MECHANIS": "PLAIN"}})
    assert "sasl.mechanism" in caught.value.do


def test_a_wrong_protocol_in_the_environment_never_falls_back_to_plaintext() -> None:
    with pytest.raises(ConfigError, match="KAFKA_SECURITY_PROTOCOL"):
        resolved(SAYERS[0][1], {"environ": {"KAFKA_SECURITY_PROTOCOL": "TLS"}})


def test_options_of_tls_have_javas_and_librdkafkas_spellings() -> None:
    found = resolved(
        SAYERS[0][1],
        {
            "properties": [
                "ssl.truststore.location=/ca.pem",
                "ssl.keystore.key=secret",
                "security.protocol=SSL",
            ]
        },
        {"files": ["g"], "read_file": {"g": "ssl.truststore.type=pem\nssl.certificate.pem=text"}.__getitem__},
    )
    assert found.values["ssl_ca_location"] == "/ca.pem"
    assert found.values["ssl_truststore_type"] == "PEM"
    assert found.values["ssl_certificate_pem"] == "text"
    assert found.values["ssl_key_pem"] == Secret("secret")
    assert "secret" not in " ".join(origin_lines(found))


def test_what_does_not_count_is_marked_where_the_configuration_is_shown() -> None:
    found = resolve(Sources(properties=["linger.ms=3"], flags={"bootstrap.servers": "h:1"}))
    assert origin_lines(found, {"linger_ms": "not used by this command"})[1] == (
        "linger.ms = 3.0 (-X, not used by this command)"
    )


@pytest.mark.case("S10")
@pytest.mark.parametrize(
    ("pair", "do"),
    [
        ("sasl.password=${env:PW}", "use sasl.password_file or sasl.password_command"),
        ("sasl.password=${file:/s.properties:pw}", "use sasl.password_file or sasl.password_command"),
        ("sasl.password=${PW}", "use sasl.password_file or sasl.password_command"),
        ("sasl.password=x${vault:a}y", "use sasl.password_file or sasl.password_command"),
        (f"sasl.jaas.config={PLAIN_JAAS.replace('@', '${file:/s:pw}')}", "use sasl.password_file"),
        ("sasl.password=file:d/pw", "name the file with sasl.password_file"),
        ("sasl.password=env:FOO", "set the variable KCLI_X_SASL_PASSWORD"),
        ("sasl.password=cmd:pass x", "give the command with sasl.password_command"),
        ("sasl.username=${env:USER}", "write the value itself"),
        ("basic.auth.user.info=${env:A}", "use basic.auth.user.info_file"),
    ],
)
def test_placeholders_of_other_programs_are_refused_and_not_sent_as_passwords(pair: str, do: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved(SAYERS[0][1], {"properties": ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", pair]})
    assert "-X" in caught.value.what
    assert do in caught.value.do
    assert "vault" not in f"{caught.value.what} {caught.value.why}"


@pytest.mark.parametrize("password", ["pa${x}ss", "$ecret", "a:env:b", "{}", "${", "filed:x"])
def test_passwords_that_only_resemble_placeholders_are_used(password: str) -> None:
    pairs = ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", f"sasl.password={password}"]
    assert resolved(SAYERS[0][1], {"properties": pairs}).values["sasl_password"] == Secret(password)


def test_the_settings_of_config_providers_mean_nothing_to_kcli() -> None:
    texts = {"f": "config.providers=env\nconfig.providers.env.class=org.X\nbootstrap.servers=h:1"}
    found = resolve(Sources(files=["f"], read_file=texts.__getitem__))
    assert [key for key, _origin in found.ignored] == ["config.providers", "config.providers.env.class"]


@pytest.mark.case("S1")
@pytest.mark.parametrize(
    ("sayer", "mark"),
    [
        ({"properties": ["readonly=true"]}, "did you mean 'read_only'?"),
        ({"properties": ["protect=true"]}, "did you mean 'protected'?"),
        ({"properties": ["colour=red"]}, "did you mean 'color'?"),
        ({"properties": ["read.only=true"]}, "did you mean 'read_only'?"),
        ({"environ": {"KCLI_X_READ_ONLY": "false"}}, "write it below [profiles.NAME]"),
        ({"environ": {"KCLI_X_READONLY": "false"}}, "did you mean 'read_only'?"),
    ],
)
def test_a_misspelt_mark_of_a_profile_is_told_the_nearest(sayer: dict[str, Any], mark: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved(SAYERS[0][1], sayer)
    assert mark in caught.value.do


@pytest.mark.parametrize("name", ["ENABLED_PROTOCOLS", "CIPHER_SUITES", "ENGINE_FACTORY_CLASS"])
def test_what_a_brokers_container_says_of_tls_does_not_stop_a_plaintext_connection(name: str) -> None:
    found = resolved(SAYERS[0][1], {"environ": {f"KAFKA_SSL_{name}": "TLSv1.3"}})
    assert found.ignored
    with pytest.raises(ConfigError, match="is not supported"):
        resolved(SAYERS[0][1], {"environ": {f"KAFKA_SSL_{name}": "x", "KAFKA_SECURITY_PROTOCOL": "SSL"}})


def test_javas_default_of_enabled_protocols_is_what_kcli_does() -> None:
    texts = {"f": "security.protocol=SSL\nssl.enabled.protocols=TLSv1.2,TLSv1.3"}
    found = resolved(SAYERS[0][1], {"files": ["f"], "read_file": texts.__getitem__})
    assert [key for key, _origin in found.ignored] == ["ssl.enabled.protocols"]


@pytest.mark.parametrize("protocol", ["SSL", "PLAINTEXT"])
def test_the_remedy_for_unused_credentials_never_takes_tls_away(protocol: str) -> None:
    environ = {"KAFKA_SASL_MECHANISM": "PLAIN", "KAFKA_SECURITY_PROTOCOL": protocol}
    sayers = (SAYERS[0][1], {"environ": {"KCLI_X_SASL_USERNAME": "me", "KAFKA_SECURITY_PROTOCOL": protocol}})
    with pytest.raises(ConfigError) as caught:
        resolved(*sayers)
    assert caught.value.do.endswith(f"unset KCLI_X_SASL_USERNAME, or choose -X security.protocol={protocol}")
    assert ("SASL_PLAINTEXT" in caught.value.do) == (protocol == "PLAINTEXT")
    assert resolved(SAYERS[0][1], {"environ": environ}, {"properties": [f"security.protocol={protocol}"]})
