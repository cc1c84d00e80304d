"""rpk's ``rpk.yaml``: ``profiles``, a list. Pure.

Source: src/go/rpk/pkg/config (rpk_yaml.go, profile_doc.go) of redpanda-data/redpanda; older files have
``truststore_file`` and ``type`` for ca_file and mechanism. SCRAM-SHA-256 is rpk's default mechanism.
"""

from typing import Any

from kcli.profiles.importing.found import Fields, Found, Pairs, of_each, protocol
from kcli.profiles.importing.yaml_text import load_yaml

_REASONS = {
    "admin_api": "kcli talks to Kafka's port only",
    "cloud_cluster": "it belongs to Redpanda's cloud",
    "from_cloud": "it belongs to Redpanda's cloud",
    "license_check": "it belongs to Redpanda",
    "prompt": "kcli has no prompt of its own; `color` marks a profile",
    "schema_registry.tls.insecure_skip_verify": "kcli checks the registry's certificate",
}


def read_rpk(text: str, path: str, _name: str) -> list[Found]:
    """A profile for each of rpk's."""
    return of_each(load_yaml(text, path), "profiles", "current_profile", _profile)


def _profile(document: dict[str, Any]) -> Found:
    fields = Fields(document)
    name, dropped = fields.text("name"), list[tuple[str, str]]()
    pairs: Pairs = [("description", fields.text("description"))]
    api = document.get("kafka_api") or {}
    tls, sasl = api.get("tls") is not None, fields.has("kafka_api.sasl.user")
    pairs.append(("bootstrap.servers", ",".join(fields.texts("kafka_api.brokers"))))
    pairs.append(("security.protocol", protocol(tls=tls, sasl=sasl)))
    fields.take("kafka_api.tls.enabled")
    pairs += [
        (
            "ssl.ca.location",
            fields.text("kafka_api.tls.ca_file") or fields.text("kafka_api.tls.truststore_file"),
        ),
        ("ssl.certificate.location", fields.text("kafka_api.tls.cert_file")),
        ("ssl.key.location", fields.text("kafka_api.tls.key_file")),
    ]
    if fields.flag("kafka_api.tls.insecure_skip_verify"):
        pairs.append(("enable.ssl.certificate.verification", "false"))
    if sasl:
        mechanism = fields.text("kafka_api.sasl.mechanism") or fields.text("kafka_api.sasl.type")
        password = fields.text("kafka_api.sasl.password")
        if password.startswith("token:"):  # a bearer token, for a short time
            dropped.append(
                ("kafka_api.sasl.password", "it is a token; sasl.oauthbearer.token.file names one")
            )
            password = ""
        pairs += [
            ("sasl.mechanism", mechanism.upper() or "SCRAM-SHA-256"),
            ("sasl.username", fields.text("kafka_api.sasl.user")),
            ("sasl.password", password),
        ]
    _registry(fields, (document.get("schema_registry") or {}).get("tls") is not None, pairs)
    return Found(name, [pair for pair in pairs if pair[1]], dropped + fields.left(_REASONS))


def _registry(fields: Fields, tls: bool, pairs: Pairs) -> None:
    scheme = "https" if tls else "http"
    urls = [one if "://" in one else f"{scheme}://{one}" for one in fields.texts("schema_registry.addresses")]
    pairs += [
        ("schema.registry.url", ",".join(urls)),
        ("schema.registry.ssl.ca.location", fields.text("schema_registry.tls.ca_file")),
        ("schema.registry.ssl.certificate.location", fields.text("schema_registry.tls.cert_file")),
        ("schema.registry.ssl.key.location", fields.text("schema_registry.tls.key_file")),
    ]
