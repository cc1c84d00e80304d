"""kafkactl's ``config.yml``: ``contexts``, each a cluster. Pure. Its keys are read without regard to case (viper).

Source: README.adoc and internal/common-operation.go of deviceinsight/kafkactl.
"""

from typing import Any

from kcli.core.positions import parse_duration_ms
from kcli.profiles.importing.found import Fields, Found, Pairs, protocol
from kcli.profiles.importing.yaml_text import load_yaml

_MECHANISMS = {
    "": "PLAIN", "plaintext": "PLAIN", "scram-sha256": "SCRAM-SHA-256", "scram-sha512": "SCRAM-SHA-512",
    "oauth": "OAUTHBEARER",
}  # fmt: skip
_ACKS = {"noresponse": "0", "waitforlocal": "1", "waitforall": "all", "0": "0", "1": "1", "-1": "all"}
_ISOLATION = {"readcommitted": "read_committed", "readuncommitted": "read_uncommitted"}
_REASONS = {
    "kubernetes": "kcli connects to the brokers itself, without a pod",
    "sasl.tokenprovider": "plug-ins of kafkactl do not run in kcli; sasl.oauthbearer.token.command names a program",
    "kafkaversion": "kcli asks each broker for its version",
    "avro": "-s chooses how records are decoded",
    "protobuf": "-s chooses how records are decoded",
    "producer.partitioner": "its names are those of another client; see `partitioner` in `kcli help options`",
    "sasl": "sasl.enabled is not true in that file",
    "tls": "tls.enabled is not true in that file",
}


def read_kafkactl(text: str, path: str, _name: str) -> list[Found]:
    """A profile for each context."""
    loaded = load_yaml(text, path)
    contexts, current = loaded.get("contexts") or {}, str(loaded.get("current-context"))
    return [
        _context(str(name), document)._replace(current=str(name) == current)
        for name, document in contexts.items()
        if isinstance(document, dict)
    ]


def _context(name: str, document: dict[str, Any]) -> Found:
    fields = Fields(document, ignore_case=True)
    dropped: list[tuple[str, str]] = []
    pairs: Pairs = [("bootstrap.servers", ",".join(fields.texts("brokers")))]
    tls, sasl = fields.flag("tls.enabled"), fields.flag("sasl.enabled")
    pairs.append(("security.protocol", protocol(tls=tls, sasl=sasl)))
    if tls:
        pairs += [
            ("ssl.ca.location", fields.text("tls.ca")),
            ("ssl.certificate.location", fields.text("tls.cert")),
            ("ssl.key.location", fields.text("tls.certKey")),
        ]
        if fields.flag("tls.insecure"):
            pairs.append(("enable.ssl.certificate.verification", "false"))
    if sasl:
        given = fields.text("sasl.mechanism")
        mechanism = _MECHANISMS.get(given.lower(), given)
        pairs += [
            ("sasl.mechanism", mechanism),
            ("sasl.username", fields.text("sasl.username")),
            ("sasl.password", fields.text("sasl.password")),
        ]
    pairs.append(("client.id", fields.text("clientID")))
    _timeout(fields, pairs, dropped)
    _mapped(fields, "producer.requiredAcks", "acks", _ACKS, pairs, dropped)
    _mapped(fields, "consumer.isolationLevel", "isolation.level", _ISOLATION, pairs, dropped)
    pairs.append(("max.request.size", fields.text("producer.maxMessageBytes")))
    _registry(fields, pairs)
    return Found(name, [pair for pair in pairs if pair[1]], dropped + fields.left(_REASONS))


def _timeout(fields: Fields, pairs: Pairs, dropped: list[tuple[str, str]]) -> None:
    text = fields.text("requestTimeout")
    try:
        if text:
            pairs.append(("request.timeout.ms", str(round(parse_duration_ms(text)))))
    except ValueError as error:
        dropped.append(("requestTimeout", str(error)))


def _mapped(
    fields: Fields,
    theirs: str,
    ours: str,
    words: dict[str, str],
    pairs: Pairs,
    dropped: list[tuple[str, str]],
) -> None:
    text = fields.text(theirs)
    if text and text.lower() not in words:
        dropped.append((theirs, f"it is none of {', '.join(words)}"))
    elif text:
        pairs.append((ours, words[text.lower()]))


def _registry(fields: Fields, pairs: Pairs) -> None:
    url = fields.text("schemaRegistry.url") or fields.text("avro.schemaRegistry")
    tls = fields.flag("schemaRegistry.tls.enabled")
    if url:
        pairs.append(
            ("schema.registry.url", url if "://" in url else f"{'https' if tls else 'http'}://{url}")
        )
    if user := fields.text("schemaRegistry.username"):
        pairs.append(("basic.auth.user.info", f"{user}:{fields.text('schemaRegistry.password')}"))
    if tls:
        pairs += [
            ("schema.registry.ssl.ca.location", fields.text("schemaRegistry.tls.ca")),
            ("schema.registry.ssl.certificate.location", fields.text("schemaRegistry.tls.cert")),
            ("schema.registry.ssl.key.location", fields.text("schemaRegistry.tls.certKey")),
        ]
