"""kcl's ``config.toml``: one cluster at the top, or ``[profiles.NAME]``. Pure.

Source: client/client.go and commands/myconfig of twmb/kcl. Newer versions replace ``${NAME}`` by a variable; kcli never
does, so such values are not carried over.
"""

import tomllib
from typing import Any

from kcli.core.errors import ConfigError
from kcli.profiles.importing.found import Fields, Found, Pairs, protocol

_MECHANISMS = {
    "": "", "plain": "PLAIN", "plaintext": "PLAIN", "scramsha256": "SCRAM-SHA-256", "scramsha512": "SCRAM-SHA-512",
    "awsmskiam": "AWS_MSK_IAM",
}  # fmt: skip
_REASONS = {
    "tls.server_name": "kcli checks the name that the broker advertises",
    "tls.min_version": "kcli requires TLS 1.2 or newer",
    "tls.cipher_suites": "kcli leaves the choice to OpenSSL",
    "tls.curve_preferences": "kcli leaves the choice to OpenSSL",
    "sasl.zid": "kcli logs in as the user itself",
    "sasl.user": "kcli has AWS's credentials from where AWS's own tools look; sasl.aws.profile names a profile",
    "sasl.pass": "kcli has AWS's credentials from where AWS's own tools look; sasl.aws.profile names a profile",
}


def read_kcl(text: str, path: str, name: str) -> list[Found]:
    """The cluster at the top as ``name``, or a profile for each of kcl's."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid TOML", why=str(error), do="correct the file") from None
    current = document.pop("current_profile", None)
    profiles = document.pop("profiles", None)
    if isinstance(profiles, dict) and profiles:
        return [
            _cluster(one, inner)._replace(current=one == current)
            for one, inner in profiles.items()
            if isinstance(inner, dict)
        ]
    return [_cluster(name, document)]


def _cluster(name: str, document: dict[str, Any]) -> Found:
    fields = Fields(document)
    tls, sasl = document.get("tls") is not None, document.get("sasl") is not None
    method = fields.text("sasl.method")
    mechanism = _MECHANISMS.get(method.lower().replace("-", "").replace("_", ""), method)
    pairs: Pairs = [
        ("bootstrap.servers", ",".join(fields.texts("seed_brokers"))),
        ("security.protocol", protocol(tls=tls, sasl=sasl and bool(mechanism))),
        ("default.api.timeout.ms", fields.text("timeout_ms")),
        ("ssl.ca.location", fields.text("tls.ca_cert_path")),
        ("ssl.certificate.location", fields.text("tls.client_cert_path")),
        ("ssl.key.location", fields.text("tls.client_key_path")),
        ("sasl.mechanism", mechanism),
    ]
    if mechanism != "AWS_MSK_IAM":
        pairs += [("sasl.username", fields.text("sasl.user")), ("sasl.password", fields.text("sasl.pass"))]
    if fields.flag("sasl.is_token") and mechanism.startswith("SCRAM"):
        pairs.append(("sasl.tokenauth", "true"))
    if fields.flag("tls.insecure") or fields.flag("tls.insecure_skip_verify"):
        pairs.append(("enable.ssl.certificate.verification", "false"))
    kept = [(key, text) for key, text in pairs if text and "${" not in text]
    dropped = [
        (key, "it names a variable, which kcli does not replace; KCLI_X_… variables set options")
        for key, text in pairs
        if "${" in text
    ]
    return Found(name, kept, dropped + fields.left(_REASONS))
