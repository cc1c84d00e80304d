"""kaf's ``~/.kaf/config``: ``clusters``, a list. Pure. Source: pkg/config/config.go of birdayz/kaf."""

from typing import Any

from kcli.profiles.importing.found import Fields, Found, Pairs, of_each, protocol
from kcli.profiles.importing.yaml_text import load_yaml

_REASONS = {
    "version": "kcli asks each broker for its version",
    "SASL.version": "kcli asks each broker for its version",
    "SASL.token": "it is a token; sasl.oauthbearer.token.file names one",
}


def read_kaf(text: str, path: str, _name: str) -> list[Found]:
    """A profile for each cluster."""
    return of_each(load_yaml(text, path), "clusters", "current-cluster", _cluster)


def _cluster(document: dict[str, Any]) -> Found:
    fields = Fields(document)
    name = fields.text("name")
    tls, sasl = document.get("TLS") is not None, fields.has("SASL.mechanism") or fields.has("SASL.username")
    chosen = fields.text("security-protocol").upper()
    pairs: Pairs = [
        ("bootstrap.servers", ",".join(fields.texts("brokers"))),
        ("security.protocol", chosen or protocol(tls=tls, sasl=sasl)),
        ("ssl.ca.location", fields.text("TLS.cafile")),
        ("ssl.certificate.location", fields.text("TLS.clientfile")),
        ("ssl.key.location", fields.text("TLS.clientkeyfile")),
    ]
    if fields.flag("TLS.insecure"):
        pairs.append(("enable.ssl.certificate.verification", "false"))
    if sasl:
        pairs += [
            ("sasl.mechanism", fields.text("SASL.mechanism").upper() or "PLAIN"),
            ("sasl.username", fields.text("SASL.username")),
            ("sasl.password", fields.text("SASL.password")),
            ("sasl.oauthbearer.client.id", fields.text("SASL.clientID")),
            ("sasl.oauthbearer.client.secret", fields.text("SASL.clientSecret")),
            ("sasl.oauthbearer.token.endpoint.url", fields.text("SASL.tokenURL")),
            ("sasl.oauthbearer.scope", " ".join(fields.texts("SASL.scopes"))),
        ]
    pairs.append(("schema.registry.url", fields.text("schema-registry-url")))
    if user := fields.text("schema-registry-credentials.username"):
        password = fields.text("schema-registry-credentials.password")
        pairs.append(("basic.auth.user.info", f"{user}:{password}"))
    return Found(name, [pair for pair in pairs if pair[1]], fields.left(_REASONS))
