"""JAAS configurations and callback handlers of Java: what becomes of them, and that none is run or shown."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.profiles.java_sasl import parse_jaas, translated
from kcli.profiles.profile import Pair, raise_error
from kcli.profiles.sifting import sifted

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
KERBEROS = "com.sun.security.auth.module.Krb5LoginModule"
AMAZON = "software.amazon.msk.auth.iam.IAMLoginModule"
JAAS = "sasl.jaas.config"


def options(text: str, key: str = JAAS) -> list[tuple[str, str]]:
    return [(pair.key, pair.text) for pair in translated([Pair(key, text, "f:1")], raise_error)]


@pytest.mark.parametrize("module", [PLAIN, SCRAM, f"kafkashaded.{PLAIN}"])
@pytest.mark.parametrize(
    ("written", "password"),
    [
        ('"secret"', "secret"),
        ("'secret'", "secret"),
        ("secret", "secret"),
        (r'"a\"b\\c\td"', 'a"b\\c\td'),
        (r'"\101\7"', "A\a"),
        ('"with ; and = and // no comment"', "with ; and = and // no comment"),
        ('"a/*b*/c"', "a/*b*/c"),
        ('""', ""),
    ],
)
def test_user_and_password(module: str, written: str, password: str) -> None:
    text = f'{module} required\n  username="me" // who\n /* and */ password={written};'
    assert options(text) == [("sasl.username", "me"), ("sasl.password", password)]


@pytest.mark.parametrize(
    "text",
    [
        "", "x", f"{PLAIN} required", f"{PLAIN} maybe x=1;", f'{PLAIN} required x="open;', f"{PLAIN} required x;",
        f"{PLAIN} required =x;", f"{PLAIN} required x==;", f"{PLAIN} required; {PLAIN} required;", ";",
    ],
)  # fmt: skip
def test_what_is_no_configuration_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config cannot be read \(from f:1\)") as caught:
        options(text)
    assert caught.value.exit_code == 2


@given(st.text(alphabet="ab\"'\\;= \n/*", max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with contextlib.suppress(ConfigError):
        parse_jaas(text, "f:1")


def test_an_unknown_module_is_named_and_never_loaded() -> None:
    with pytest.raises(ConfigError, match=r"os\.system") as caught:
        options('os.system required command="hunter2";')
    assert "hunter2" not in f"{caught.value}{caught.value.do}"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f'{PLAIN} required usename="hunter2";', "'usename'"),
        (f'{KERBEROS} required useKeyTab=true principal="hunter2";', "useKeyTab without keyTab"),
        (f'{KERBEROS} required useTicketCache=true ticketCache="hunter2";', "ticketCache"),
        (f'{AMAZON} required awsRoleArn="hunter2";', "awsRoleArn"),
        (f'{OAUTH} required unsecuredLoginStringClaim_sub="hunter2";', "unsecuredLoginStringClaim_sub"),
    ],
)
def test_options_that_kcli_cannot_obey_are_named(text: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what) as caught:
        options(text)
    assert "hunter2" not in f"{caught.value}{caught.value.do}"


def test_a_delegation_token() -> None:
    assert options(f'{SCRAM} required username="id" password="hmac" tokenauth="true";') == [
        ("sasl.username", "id"),
        ("sasl.password", "hmac"),
        ("sasl.tokenauth", "true"),
    ]
    assert ("sasl.tokenauth", "true") not in options(f'{SCRAM} required username="u" tokenauth="false";')


def test_client_credentials() -> None:
    text = (
        f'{OAUTH} required clientId="me" clientSecret="hunter2" scope="a b" extension_logicalCluster="lkc-1";'
    )
    assert options(text) == [
        ("sasl.oauthbearer.client.id", "me"),
        ("sasl.oauthbearer.client.secret", "hunter2"),
        ("sasl.oauthbearer.scope", "a b"),
        ("sasl.oauthbearer.extensions", "logicalCluster=lkc-1"),
    ]


def test_a_ticket_of_the_cache_needs_no_option() -> None:
    assert options(f"{KERBEROS} required useTicketCache=true renewTGT=true;") == []
    assert options(f'{KERBEROS} required useTicketCache=true principal="me@R";') == [
        ("sasl.kerberos.principal", "me@R")
    ]


def test_a_keytab() -> None:
    text = (
        f'{KERBEROS} required useKeyTab=true storeKey=true keyTab="/k" principal="me@R" serviceName="kafka";'
    )
    assert sorted(options(text)) == [
        ("sasl.kerberos.keytab", "/k"),
        ("sasl.kerberos.principal", "me@R"),
        ("sasl.kerberos.service.name", "kafka"),
    ]


def test_the_module_of_amazon() -> None:
    assert options(f"{AMAZON} required;") == []
    assert options(f'{AMAZON} required awsProfileName="dev" awsDebugCreds="true";') == [
        ("sasl.aws.profile", "dev")
    ]


@pytest.mark.parametrize(
    ("key", "same", "other"),
    [
        ("sasl.oauthbearer.method", "OIDC", "magic"),
        ("sasl.oauthbearer.grant.type", "client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
        ("sasl.oauthbearer.metadata.authentication.type", "none", "azure_imds"),
    ],
)
def test_options_of_librdkafka_that_need_nothing(key: str, same: str, other: str) -> None:
    assert options(same, key) == []
    with pytest.raises(ConfigError, match=f"{key}"):
        sifted([translated([Pair(key, other, "f:1")], raise_error)])


@pytest.mark.parametrize(
    "name",
    [
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
        "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
        "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
    ],
)
def test_well_known_handlers_do_what_kcli_does_anyway(name: str) -> None:
    for key in ("sasl.login.callback.handler.class", "sasl.client.callback.handler.class"):
        assert options(name, key) == []


def test_tokens_of_amazon_are_its_own_mechanism() -> None:
    name = "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"
    pairs = [
        Pair("sasl.login.callback.handler.class", name, "f:1"),
        Pair("sasl.mechanism", "OAUTHBEARER", "f:2"),
    ]
    assert translated(pairs, raise_error)[-1] == Pair("sasl.mechanism", "AWS_MSK_IAM", "f:1")


def test_other_handlers_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"names com\.example\.Handler, which kcli does not know"):
        options("com.example.Handler", "sasl.login.callback.handler.class")
