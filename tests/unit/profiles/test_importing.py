"""The files of other tools as profiles: what is carried over, and what is said about the rest."""

import dataclasses

import pytest

from kcli.core.errors import ConfigError
from kcli.core.options import ALL_OPTIONS
from kcli.profiles.importing.checking import check_name, checked, profile_name, with_own_names
from kcli.profiles.importing.found import Found
from kcli.profiles.importing.tools import READERS, default_paths, tool_of
from kcli.profiles.importing.yaml_text import load_yaml
from kcli.serde.registry.options import RegistryOptions
from tests.each import each

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";'

KAFKACTL = """
contexts:
  default:
    brokers: [localhost:9092]
  Remote-Cluster:
    brokers:
      - r1:9092
      - r2:9092
    tls: {enabled: true, ca: /ca, cert: /cert, certKey: /key, insecure: true}
    sasl:
      enabled: true
      username: admin
      password: "123"
      mechanism: scram-sha512
      tokenprovider: {plugin: azure}
    kubernetes: {enabled: false, binary: kubectl}
    clientID: me
    kafkaVersion: 1.1.1
    requestTimeout: 10s
    schemaRegistry: {url: "localhost:8081", username: a, password: b}
    producer: {requiredAcks: WaitForAll, maxMessageBytes: 1000000, partitioner: hash}
    consumer: {isolationLevel: ReadUncommitted}
current-context: default
"""
RPK = """
version: 6
globals: {}
current_profile: cloud
profiles:
  - name: local
    description: mine
    kafka_api:
      brokers: [127.0.0.1:9092]
    admin_api: {addresses: ["127.0.0.1:9644"]}
  - name: cloud
    kafka_api:
      brokers: [c1:9092]
      tls: {ca_file: /ca, insecure_skip_verify: false}
      sasl: {user: u, password: p}
    schema_registry: {addresses: ["s:8081"], tls: {}}
    from_cloud: true
"""
KAF = """
current-cluster: local
clusters:
- name: local
  version: ""
  brokers: ["l:9092"]
  SASL: null
  TLS: null
  security-protocol: ""
- name: confluent
  brokers: ["c:9092"]
  SASL: {mechanism: PLAIN, username: k, password: s}
  TLS: {cafile: "", clientfile: "", clientkeyfile: "", insecure: true}
  security-protocol: SASL_SSL
  schema-registry-url: https://sr
  schema-registry-credentials: {username: a, password: b}
"""
KCL = """
current_profile = "prod"
[profiles.prod]
seed_brokers = ["a:1", "b:2"]
timeout_ms = 5000
[profiles.prod.tls]
ca_cert_path = "/ca"
server_name = "x"
[profiles.prod.sasl]
method = "scram-sha-256"
user = "u"
pass = "${KAFKA_PASS}"
[profiles.dev]
seed_brokers = ["d:1"]
"""


def read(tool: str, text: str, name: str = "own") -> dict[str, Found]:
    return {
        one.name: one for one in (checked(found, "f", "/etc/t") for found in READERS[tool](text, "f", name))
    }


def test_contexts_of_kafkactl() -> None:
    found = read("kafkactl", KAFKACTL)
    assert dict(found["default"].pairs) == {
        "bootstrap.servers": "localhost:9092",
        "security.protocol": "PLAINTEXT",
    }
    remote = found["Remote-Cluster"]
    assert dict(remote.pairs) == {
        "bootstrap.servers": "r1:9092,r2:9092",
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": "/ca",
        "ssl.certificate.location": "/cert",
        "ssl.key.location": "/key",
        "enable.ssl.certificate.verification": "false",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "admin",
        "sasl.password": "123",
        "client.id": "me",
        "request.timeout.ms": "10000",
        "acks": "all",
        "isolation.level": "read_uncommitted",
        "max.request.size": "1000000",
        "schema.registry.url": "http://localhost:8081",
        "basic.auth.user.info": "a:b",
    }
    assert {key for key, _why in remote.dropped} == {
        "sasl.tokenprovider.plugin",
        "kubernetes.binary",
        "kafkaVersion",
        "producer.partitioner",
    }
    assert not found["default"].dropped


def test_profiles_of_rpk() -> None:
    found = read("rpk", RPK)
    assert dict(found["local"].pairs) == {
        "description": "mine",
        "bootstrap.servers": "127.0.0.1:9092",
        "security.protocol": "PLAINTEXT",
    }
    assert [key for key, _ in found["local"].dropped] == ["admin_api.addresses"]
    assert dict(found["cloud"].pairs) == {
        "bootstrap.servers": "c1:9092",
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": "/ca",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "u",
        "sasl.password": "p",
        "schema.registry.url": "https://s:8081",
    }
    assert [key for key, _ in found["cloud"].dropped] == ["from_cloud"]
    token = RPK.replace("password: p}", "password: 'token:abc', mechanism: OAUTHBEARER}")
    cloud = read("rpk", token)["cloud"]
    assert "sasl.password" not in dict(cloud.pairs)
    assert (
        "kafka_api.sasl.password",
        "it is a token; sasl.oauthbearer.token.file names one",
    ) in cloud.dropped


def test_clusters_of_kaf() -> None:
    found = read("kaf", KAF)
    assert dict(found["local"].pairs) == {"bootstrap.servers": "l:9092", "security.protocol": "PLAINTEXT"}
    assert dict(found["confluent"].pairs) == {
        "bootstrap.servers": "c:9092",
        "security.protocol": "SASL_SSL",
        "enable.ssl.certificate.verification": "false",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "k",
        "sasl.password": "s",
        "schema.registry.url": "https://sr",
        "basic.auth.user.info": "a:b",
    }


def test_client_credentials_of_kaf() -> None:
    text = """
clusters:
- name: oauth
  brokers: [c:9092]
  security-protocol: SASL_SSL
  SASL: {mechanism: OAUTHBEARER, clientID: me, clientSecret: s, tokenURL: 'https://idp/token', scopes: [a, b]}
"""
    found = read("kaf", text)["oauth"]
    assert dict(found.pairs) == {
        "bootstrap.servers": "c:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "s",
        "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
        "sasl.oauthbearer.scope": "a b",
    }
    assert not found.dropped


def test_a_method_of_kcl_that_is_amazons() -> None:
    text = 'seed_brokers = ["a:1"]\n[tls]\n[sasl]\nmethod = "aws-msk-iam"\nuser = "AKID"\npass = "hunter2"\n'
    found = read("kcl", text)["own"]
    assert dict(found.pairs)["sasl.mechanism"] == "AWS_MSK_IAM"
    assert {key for key, _ in found.dropped} == {"sasl.user", "sasl.pass"}
    assert "hunter2" not in str(found)


def test_options_of_another_mechanism_are_listed_with_the_reason() -> None:
    text = "bootstrap.servers=a:1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\n"
    text += "sasl.username=u\nsasl.kerberos.service.name=kafka\nsasl.aws.region=\nsasl.oauthbearer.scope=s\n"
    found = read("properties", text)["own"]
    assert [key for key, _ in found.pairs][-2:] == ["sasl.mechanism", "sasl.username"]
    assert found.dropped == [
        ("sasl.kerberos.service.name", "sasl.mechanism is SCRAM-SHA-256, and it is an option of GSSAPI"),
        ("sasl.oauthbearer.scope", "sasl.mechanism is SCRAM-SHA-256, and it is an option of OAUTHBEARER"),
    ]


def test_profiles_of_kcl_and_its_flat_file() -> None:
    found = read("kcl", KCL)
    assert dict(found["prod"].pairs) == {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "SASL_SSL",
        "default.api.timeout.ms": "5000",
        "ssl.ca.location": "/ca",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "u",
    }
    assert {key for key, _ in found["prod"].dropped} == {"sasl.password", "tls.server_name"}
    assert dict(found["dev"].pairs)["bootstrap.servers"] == "d:1"
    flat = read("kcl", 'seed_brokers = ["x:1"]\n[tls]\n')
    assert dict(flat["own"].pairs) == {"bootstrap.servers": "x:1", "security.protocol": "SSL"}


def test_kcats_file_has_no_escapes_but_two() -> None:
    text = "# c\nmetadata.broker.list=b\\:1\ntopic.auto.offset.reset=earliest\nsasl.password=a\\n=b \nnonsense\nx.y=1\n"
    found = read("kcat", text + f"sasl.jaas.config={JAAS}\nstatistics.interval.ms=5\n")["own"]
    assert found.pairs == [
        ("metadata.broker.list", "b:1"),
        ("auto.offset.reset", "earliest"),
        ("sasl.password", "a\\n=b"),
        ("sasl.username", "u"),
        ("sasl.password", "p"),
    ]
    assert [key for key, _ in found.dropped] == ["f:5", "x.y", "statistics.interval.ms"]


def test_properties_of_java() -> None:
    text = "bootstrap.servers=a:1,\\\n b:2\nsecurity.protocol=SASL_SSL\nkey.serializer=x\nno.such=1\n"
    text += f"sasl.jaas.config={JAAS}\n"
    found = read("properties", text)["own"]
    assert found.pairs == [
        ("bootstrap.servers", "a:1,b:2"),
        ("security.protocol", "SASL_SSL"),
        ("sasl.username", "u"),
        ("sasl.password", "p"),
    ]
    assert [key for key, _ in found.dropped] == ["key.serializer", "no.such"]


@pytest.mark.case("S10")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: &x [1]\nb: *x", "line 2: *x is an alias"),
        ("a: &a [x]\nb: &b [*a,*a]\nc: &c [*b,*b]", "alias"),
        ("a: !!python/object/apply:os.system ['true']", "line 1: !!python/object/apply:os.system is a tag"),
        ("a: !include x", "!include is a tag"),
        ("[" * 5000, "nested more than 30 levels"),
        ("a: [", "line 1"),
        ("- a", "it is no mapping"),
        ("", "it is no mapping"),
        ("a: 2001-99-99", ""),
    ],
)
def test_yaml_is_plain_and_bounded(text: str, why: str) -> None:
    if not why:
        load_yaml("a: b", "f")
        return
    with pytest.raises(ConfigError, match="f is not read") as caught:
        load_yaml(text, "f")
    assert why in caught.value.why


@pytest.mark.parametrize(
    ("path", "text", "tool"),
    [
        ("/x/config.toml", "", "kcl"),
        ("/x/kcat.conf", "", "kcat"),
        ("/x/config.yml", KAFKACTL, "kafkactl"),
        ("/x/rpk.yaml", RPK, "rpk"),
        ("/home/me/.kaf/config", KAF, "kaf"),
        ("/x/client.properties", "a=b", "properties"),
        ("/x/client.conf", "a=b", "properties"),
    ],
)
def test_the_tool_is_found_by_name_and_content(path: str, text: str, tool: str) -> None:
    assert tool_of(path, text) == tool


def test_a_file_of_no_known_tool_is_an_error() -> None:
    with pytest.raises(ConfigError, match="of no tool that kcli knows"):
        tool_of("x.yml", "a: b")


def test_where_the_tools_keep_their_files() -> None:
    environ = {"HOME": "/h", "KCAT_CONFIG": "/k"}
    assert list(default_paths("kcat", environ)) == ["/k", "/h/.config/kcat.conf", "/h/.config/kafkacat.conf"]
    assert next(default_paths("kafkactl", environ)) == "/h/.config/kafkactl/config.yml"
    assert list(default_paths("rpk", environ)) == ["/h/.config/rpk/rpk.yaml"]
    assert list(default_paths("kaf", environ)) == ["/h/.kaf/config"]
    assert list(default_paths("kcl", {"HOME": "/h", "KCL_CONFIG_DIR": "/c"})) == ["/c/config.toml"]


def test_names_that_kcli_cannot_use_are_changed() -> None:
    assert profile_name("eu/prod: 1") == "eu-prod-1"
    assert profile_name("..") == "imported"
    for name in ("", "a b", "a:1", "-x", "a/b"):
        with pytest.raises(ConfigError):
            check_name(name)


def test_relative_paths_become_those_of_the_imported_files_folder() -> None:
    text = (
        "ssl.truststore.location=d/ca.p12\nssl.keystore.location=/abs/me.p12\nsasl.password_file=./pw\n"
        "sasl.oauthbearer.token.file=token\nsasl.kerberos.keytab=k\nschema.registry.ssl.ca.location=r\nclient.id=d/x\n"
    )
    assert dict(read("properties", text)["own"].pairs) == {
        "ssl.truststore.location": "/etc/t/d/ca.p12",
        "ssl.keystore.location": "/abs/me.p12",
        "sasl.password_file": "/etc/t/pw",
        "sasl.oauthbearer.token.file": "/etc/t/token",
        "sasl.kerberos.keytab": "/etc/t/k",
        "schema.registry.ssl.ca.location": "/etc/t/r",
        "client.id": "d/x",
    }


@each("field", [field for kind in (*ALL_OPTIONS, RegistryOptions) for field in dataclasses.fields(kind)])
def test_options_that_sound_like_files_are_declared_as_paths(field: "dataclasses.Field[object]") -> None:
    """An option that is forgotten here would lead to another file in another folder."""
    sounds = field.name.endswith(("_location", "_file", "_keytab", "_path", "_dirs"))
    assert bool(field.metadata["path"]) == sounds


@pytest.mark.parametrize(
    ("tool", "text", "current"),
    [
        ("kafkactl", KAFKACTL + "current-context: Remote-Cluster\n", "Remote-Cluster"),
        (
            "rpk",
            "current_profile: b\nprofiles:\n- {name: a, kafka_api: {brokers: [h:1]}}\n- {name: b}\n",
            "b",
        ),
        (
            "kaf",
            "current-cluster: b\nclusters:\n- {name: a, brokers: [h:1]}\n- {name: b, brokers: [h:1]}\n",
            "b",
        ),
        (
            "kcl",
            'current_profile = "b"\n[profiles.a]\nseed_brokers=["h:1"]\n[profiles.b]\nseed_brokers=["h:1"]',
            "b",
        ),
    ],
)
def test_the_current_cluster_of_a_tool_is_known(tool: str, text: str, current: str) -> None:
    assert [one.name for one in read(tool, text).values() if one.current] == [current]


def test_choices_are_written_as_kcli_spells_them() -> None:
    found = read("kcat", "security.protocol=sasl_ssl\nsasl.mechanisms=scram-sha-512\nclient.id=Me\n", "own")[
        "own"
    ]
    assert dict(found.pairs) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "client.id": "Me",
    }


def test_two_clusters_never_become_one_profile() -> None:
    named = with_own_names([Found("a-b", [], []), Found("a-b", [], []), Found("a-b-2", [], [])])
    assert [one.name for one in named] == ["a-b", "a-b-2", "a-b-2-2"]


@pytest.mark.parametrize(
    ("name", "do"),
    [
        ("ünï", "did you mean 'uni'?"),
        ("", "for example: prod-eu"),
        ("日本", "for example: prod-eu"),
        ("-a b", "did you mean 'a-b'?"),
        ("_x", "did you mean 'x'?"),
    ],
)
def test_a_name_that_is_suggested_resembles_what_was_written(name: str, do: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_name(name)
    assert caught.value.do == do
