"""Options of the registry client, under the names that Confluent's clients use. Pure.

They are declared as in ``kcli.core.options``, so that help, checks and hiding of secrets are the same. They are not
options of a Kafka client: callers that collect keys first check ``is_registry_key`` (``profiles/secret_keys.py``).
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kcli.core.options import Vocabulary, option
from kcli.core.secret import Secret

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
        "where name and password for the registry come from: the URL, or basic.auth.user.info",
        aliases=("schema.registry.basic.auth.credentials.source",),
        choices=("", "URL", "USER_INFO"),
    )
    basic_auth_user_info: Secret = option(
        _NO_SECRET,
        "name and password for the registry, as NAME:PASSWORD",
        aliases=("schema.registry.basic.auth.user.info",),
        secret=True,
    )
    bearer_auth_credentials_source: str = option(
        "",
        "STATIC_TOKEN: bearer.auth.token is sent to the registry",
        aliases=("schema.registry.bearer.auth.credentials.source",),
        choices=("", "STATIC_TOKEN"),
    )
    bearer_auth_token: Secret = option(
        _NO_SECRET, "token for the registry", aliases=("schema.registry.bearer.auth.token",), secret=True
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
    schema_registry_ssl_ca_location: str = option(
        "",
        "PEM file of the authorities to trust for the registry, instead of the system's",
        aliases=("schema.registry.ssl.truststore.location",),
        path=True,
    )
    schema_registry_ssl_certificate_location: str = option(
        "",
        "PEM file of the client's certificate for the registry",
        path=True,
    )
    schema_registry_ssl_key_location: str = option(
        "", "PEM file of the client's private key for the registry", path=True
    )
    schema_registry_ssl_key_password: Secret = option(_NO_SECRET, "password of that key", secret=True)
    schema_registry_ssl_endpoint_identification_algorithm: str = option(
        "https",
        "https checks that the certificate names the registry's host; none switches that off",
        choices=("https", "none"),
    )
    schema_registry_request_timeout_ms: int = option(
        10_000,
        "how long to wait for the registry's answer to one request",
        aliases=("schema.registry.timeout.ms",),
        low=1,
    )
    schema_registry_max_retries: int = option(
        3, "how often a request that failed is sent again, to the next address", low=0
    )
    schema_registry_cache_capacity: int = option(
        1_000, "how many schemas are remembered", aliases=("schema.registry.cache.capacity",), low=1
    )

    @classmethod
    def build(cls, values: Mapping[str, Any]) -> "RegistryOptions":
        """From values by field name; other names are ignored."""
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in names})


_REGISTRY = Vocabulary((RegistryOptions,), "the schema registry")
registry_field = _REGISTRY.field_of
registry_option = _REGISTRY.fields.get
parse_registry_pairs = _REGISTRY.parse_pairs
