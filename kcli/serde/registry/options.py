"""Options of the registry client, under the names that Confluent's clients use. Pure.

They are declared as in ``kcli.core.options``, so that help, checks and hiding of secrets are the same. They are not
options of a Kafka client: callers that collect keys first check ``is_registry_key`` (``profiles/secret_keys.py``).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kcli.core import classes
from kcli.core.classes import dataclass
from kcli.core.errors import ConfigError
from kcli.core.options import Vocabulary, option, parse_value
from kcli.core.secret import Secret

SASL_INHERIT = "SASL_INHERIT"
"""The credentials are those with which clients authenticate to brokers: ``sasl.username`` and ``sasl.password``."""
_NO_SECRET = Secret("")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryOptions:
    """How to reach a schema registry; without ``schema_registry_url`` there is none."""

    schema_registry_url: str = option(
        "",
        "schema registry: http(s)://HOST[:PORT][/PATH], several separated by commas, tried in order",
        aliases=("schema.registry.urls",),
    )
    basic_auth_credentials_source: str = option(
        "",
        "where name and password for the registry come from: the URL, basic.auth.user.info, or those for the brokers",
        aliases=("schema.registry.basic.auth.credentials.source",),
        choices=("", "URL", "USER_INFO", SASL_INHERIT),
    )
    basic_auth_user_info: Secret = option(
        _NO_SECRET,
        "name and password for the registry, as NAME:PASSWORD",
        aliases=("schema.registry.basic.auth.user.info",),
        secret=True,
    )
    bearer_auth_credentials_source: str = option(
        "",
        "STATIC_TOKEN: bearer.auth.token is sent; OAUTHBEARER: a token that bearer.auth.issuer.endpoint.url grants",
        aliases=("schema.registry.bearer.auth.credentials.source",),
        choices=("", "STATIC_TOKEN", "OAUTHBEARER"),
    )
    bearer_auth_token: Secret = option(
        _NO_SECRET,
        "token for the registry; of a file or a command it is read again before it expires",
        aliases=("schema.registry.bearer.auth.token",),
        secret=True,
    )
    bearer_auth_token_reader: Callable[[], Secret] | None = option(
        None, "reads bearer.auth.token again, where it is from a file or a command", in_code=True
    )
    bearer_auth_issuer_endpoint_url: str = option(
        "",
        "https address that grants tokens for the registry to client credentials",
        aliases=("schema.registry.bearer.auth.issuer.endpoint.url",),
    )
    bearer_auth_issuer_ca_location: str = option(
        "",
        "PEM file of the authorities to trust for that address, instead of the system's",
        aliases=("schema.registry.bearer.auth.issuer.ca.location",),
        path=True,
    )
    bearer_auth_client_id: str = option(
        "", "the client that the issuer knows", aliases=("schema.registry.bearer.auth.client.id",)
    )
    bearer_auth_client_secret: Secret = option(
        _NO_SECRET,
        "the secret of bearer.auth.client.id",
        aliases=("schema.registry.bearer.auth.client.secret",),
        secret=True,
    )
    bearer_auth_scope: str = option(
        "", "the scope that is requested from the issuer", aliases=("schema.registry.bearer.auth.scope",)
    )
    bearer_auth_cache_expiry_buffer_seconds: int = option(
        300,
        "how long before it expires a token is renewed; at the latest after half of its life",
        aliases=("schema.registry.bearer.auth.cache.expiry.buffer.seconds",),
        low=0,
    )
    bearer_auth_logical_cluster: str = option(
        "",
        "the logical cluster of Confluent Cloud's registry, sent beside the token",
        aliases=("schema.registry.bearer.auth.logical.cluster",),
    )
    bearer_auth_identity_pool_id: str = option(
        "",
        "the identity pool of Confluent Cloud, sent beside the token",
        aliases=("schema.registry.bearer.auth.identity.pool.id",),
    )
    proxy_host: str = option(
        "",
        "HTTP proxy to the registry, instead of the one of HTTPS_PROXY",
        aliases=("schema.registry.proxy.host",),
    )
    proxy_port: int = option(0, "the port of proxy.host", aliases=("schema.registry.proxy.port",), low=0)
    schema_registry_ssl_ca_location: str = option(
        "",
        "PEM or PKCS12 file of the authorities to trust for the registry, instead of the system's",
        aliases=("schema.registry.ssl.truststore.location",),
        path=True,
    )
    schema_registry_ssl_ca_pem: str = option(
        "",
        "the authorities to trust for the registry, as PEM text",
        aliases=("schema.registry.ssl.truststore.certificates",),
    )
    schema_registry_ssl_truststore_type: str = option(
        "",
        "format of schema.registry.ssl.truststore.location; empty: found in the file",
        choices=("", "PEM", "PKCS12", "JKS"),
    )
    schema_registry_ssl_truststore_password: Secret = option(
        _NO_SECRET, "password of a PKCS12 file in schema.registry.ssl.truststore.location", secret=True
    )
    schema_registry_ssl_keystore_location: str = option(
        "",
        "PEM or PKCS12 file with both the client's certificate and its private key for the registry",
        path=True,
    )
    schema_registry_ssl_keystore_type: str = option(
        "",
        "format of schema.registry.ssl.keystore.location; empty: found in the file",
        choices=("", "PEM", "PKCS12", "JKS"),
    )
    schema_registry_ssl_keystore_password: Secret = option(
        _NO_SECRET, "password of a PKCS12 file in schema.registry.ssl.keystore.location", secret=True
    )
    schema_registry_ssl_certificate_location: str = option(
        "",
        "PEM file of the client's certificate for the registry",
        path=True,
    )
    schema_registry_ssl_certificate_pem: str = option(
        "",
        "the client's certificate for the registry, with its chain, as PEM text",
        aliases=("schema.registry.ssl.keystore.certificate.chain",),
    )
    schema_registry_ssl_key_location: str = option(
        "", "PEM file of the client's private key for the registry", path=True
    )
    schema_registry_ssl_key_pem: Secret = option(
        _NO_SECRET,
        "the client's private key for the registry, as PEM text",
        aliases=("schema.registry.ssl.keystore.key",),
        secret=True,
    )
    schema_registry_ssl_key_password: Secret = option(_NO_SECRET, "password of that key", secret=True)
    schema_registry_ssl_endpoint_identification_algorithm: str = option(
        "https",
        "https checks that the certificate names the registry's host; none (or empty) switches that off",
        choices=("https", "none", ""),
    )
    schema_registry_request_timeout_ms: int = option(
        10_000,
        "how long to wait for the registry's answer to one request",
        aliases=("schema.registry.timeout.ms", "schema.registry.http.read.timeout.ms"),
        low=1,
    )
    schema_registry_api_timeout_ms: int = option(
        60_000, "how long a request may take with all its retries; --timeout sets it too", low=1
    )
    schema_registry_max_retries: int = option(
        3, "how often a request that failed is sent again, to the next address", low=0
    )
    schema_registry_retries_wait_ms: int = option(
        100,
        "wait before a request is sent again; doubles with each failure, and is longer where the registry says so",
        low=0,
    )
    schema_registry_retries_max_wait_ms: int = option(
        2_000,
        "the longest wait before a request is sent again, unless the registry wants a longer one",
        low=0,
    )
    schema_registry_wire: Callable[[str], None] | None = option(
        None, "is called with a line for each request and each response, without secrets", in_code=True
    )
    schema_registry_cache_capacity: int = option(1_000, "how many schemas are remembered", low=1)

    @classmethod
    def build(cls, values: Mapping[str, Any]) -> "RegistryOptions":
        """From values by field name; other names are ignored."""
        names = {field.name for field in classes.fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in names})


_REGISTRY = Vocabulary((RegistryOptions,), "the schema registry")
registry_option = _REGISTRY.fields.get

_REFUSED = {
    "bearer.auth.custom.": ("it names code of another client", "use bearer.auth.token_command"),
    "bearer.auth.uami.": ("kcli asks no service of a cloud for tokens", "use bearer.auth.token_command"),
    "bearer.auth.issuer.endpoint.query": (
        "kcli asks no service of a cloud for tokens",
        "use bearer.auth.token_command",
    ),
    "bearer.auth.scope.claim.name": ("kcli leaves the claims of a token to the registry", "leave it out"),
    "bearer.auth.sub.claim.name": ("kcli leaves the claims of a token to the registry", "leave it out"),
    "url.randomize": ("the addresses are tried in their order", "leave it out"),
    "http.connect.timeout.ms": (
        "connecting is part of the time of a request",
        "use schema.registry.request.timeout.ms",
    ),
}
"""Why kcli cannot do what an option of Confluent's clients requests, and what to do: by the beginning of the key without
``schema.registry.``
"""


def registry_field(key: str, origin: str = "") -> "classes.Field[Any]":
    """The option that ``key`` spells; ConfigError with the nearest name for an unknown key."""
    refused = None if key in _REGISTRY.fields else _refusal(key.removeprefix("schema.registry."))
    if refused is not None:
        where = f" (from {origin})" if origin else ""
        raise ConfigError(f"{key} is not supported{where}", why=refused[0], do=refused[1])
    return _REGISTRY.field_of(key, origin)


def _refusal(name: str) -> tuple[str, str] | None:
    """Why kcli cannot do what an option of another client requests, and what to do; None if it is of none."""
    if name.startswith("ssl."):
        from kcli.core.foreign_options import is_foreign, unsupported_tls  # large: only for what is no option

        return unsupported_tls(name) or (
            ("kcli has no such option of TLS", "leave it out") if is_foreign(name) else None
        )
    if name == "proxy":  # of the client for Python, a URL
        return "kcli takes the proxy by host and port", "use proxy.host and proxy.port"
    return next((told for start, told in _REFUSED.items() if name.startswith(start)), None)


def parse_registry_pairs(pairs: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """Typed values by field name from (key, text, origin) triples; a later one wins."""
    found = [(registry_field(key, origin), text, origin) for key, text, origin in pairs]
    return {field.name: parse_value(field, text, origin) for field, text, origin in found}
