"""The web configuration of Prometheus's exporters (``--web.config.file`` of exporter-toolkit): TLS, users, headers.

Each of its keys is obeyed, or refused by name; an unknown one is refused too, as there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.exporter.bcrypt_hash import is_hash
from kcli.exporter.certificate import TlsFiles
from kcli.files.user_file import read_bounded, version_of
from kcli.profiles.file_safety import refusal
from kcli.profiles.importing.yaml_text import load_yaml

_CLIENTS = {
    "": "",
    "NoClientCert": "",
    "VerifyClientCertIfGiven": "optional",
    "RequireAndVerifyClientCert": "required",
}
"""By ``client_auth_type``: what is asked of clients."""
_VERSIONS = ("TLS12", "TLS13")
_HEADERS = (
    "Content-Security-Policy",
    "Strict-Transport-Security",
    "X-Content-Type-Options",
    "X-Frame-Options",
    "X-XSS-Protection",
)
_TLS_KEYS = ("cert_file", "key_file", "client_auth_type", "client_ca_file", "min_version", "max_version")
_REFUSED = {
    "rate_limit": "64 connections at a time are served",
    "tls_server_config.cert": "the certificate is read from a file: cert_file",
    "tls_server_config.key": "the key is read from a file: key_file",
    "tls_server_config.client_ca": "the authorities are read from a file: client_ca_file",
    "tls_server_config.client_allowed_sans": "each client with a certificate of client_ca_file is served",
    "tls_server_config.cipher_suites": "the ciphers are those of this system's OpenSSL",
    "tls_server_config.curve_preferences": "the curves are those of this system's OpenSSL",
    "tls_server_config.prefer_server_cipher_suites": "the order of ciphers is that of this system's OpenSSL",
}
"""Keys of the format that kcli does not have, and why."""


class WebConfig(NamedTuple):
    """``users``: hashes by name, None: nobody is asked; ``tls`` None: plain HTTP. ``headers`` of each response."""

    users: Mapping[str, str] | None
    tls: TlsFiles | None
    headers: Mapping[str, str]


class WebConfigFile:
    """Read again when it changes. ``warn`` is called when a new file cannot be used: what is in use remains.

    Raises ConfigError for a file that cannot be used at first.
    """

    def __init__(self, path: str, warn: Callable[[str], object]) -> None:
        self._path, self._warn, self._lock = path, warn, Lock()
        self._seen = version_of(path)
        self._config = read_web_config(path)

    def current(self) -> WebConfig:
        """What the file says now."""
        with self._lock:
            seen = version_of(self._path)
            if seen != self._seen:
                self._seen = seen
                try:
                    found = read_web_config(self._path)
                    _check_same_kind(self._path, self._config, found)
                    self._config = found
                except ConfigError as error:
                    self._warn(f"the web configuration in use remains: {error}")
            return self._config


def read_web_config(path: str) -> WebConfig:
    """ConfigError names the key that is wrong, and shows no hash."""
    try:
        data, state = read_bounded(path)
        text = data.decode()
    except UnicodeDecodeError:
        raise _unusable(path, "it is not UTF-8") from None
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cannot read the web configuration {path}",
            why=(getattr(error, "strerror", None) or str(error)).lower(),
            do="--web-config must name a file that you may read",
        ) from None
    if (unsafe := refusal(path, state, os.getuid(), "hashes of passwords")) is not None:
        raise unsafe
    try:
        found = load_yaml(text, path)
    except ConfigError as error:
        raise _unusable(path, error.why) from None
    _check_keys(path, "", found, ("tls_server_config", "http_server_config", "basic_auth_users"))
    users = _section(path, found, "basic_auth_users")
    return WebConfig(
        _users(path, users) if users else None,
        _tls(path, _section(path, found, "tls_server_config")),
        _headers(path, _section(path, found, "http_server_config")),
    )


def _users(path: str, users: Mapping[str, Any]) -> Mapping[str, str]:
    for name, known in users.items():
        if ":" in name:
            raise _unusable(path, f"there is a colon in the user {name}, which ends a name where it is sent")
        if not (isinstance(known, str) and is_hash(known)):
            old = isinstance(known, str) and known.startswith(("$5$", "$6$"))
            why = (
                "it is one of SHA-crypt"
                if old
                else "it is $2y$, $2b$ or $2a$, a cost up to 16, and 53 characters"
            )
            raise _unusable(path, f"the hash of user {name} is none of bcrypt: {why}")
    return users


def _tls(path: str, tls: Mapping[str, Any]) -> TlsFiles | None:
    if not tls:
        return None
    _check_keys(path, "tls_server_config.", tls, _TLS_KEYS)
    for key, value in tls.items():
        if not isinstance(value, str):
            raise _unusable(path, f"tls_server_config.{key} is no text")
    for key in ("cert_file", "key_file"):
        if not tls.get(key):
            raise _unusable(path, f"tls_server_config has no {key}")
    asked = str(tls.get("client_auth_type", ""))
    if asked not in _CLIENTS:
        raise _unusable(
            path,
            f"client_auth_type is {asked}; it may be {', '.join(filter(None, _CLIENTS))}: others are not verified",
        )
    authority = str(tls.get("client_ca_file", ""))
    if bool(_CLIENTS[asked]) != bool(authority):
        raise _unusable(path, "client_ca_file and a client_auth_type that verifies are given together")
    for key in ("min_version", "max_version"):
        if tls.get(key, "TLS12") not in _VERSIONS:
            raise _unusable(path, f"{key} is {tls[key]}; it may be {' or '.join(_VERSIONS)}")
    if (tls.get("min_version"), tls.get("max_version")) == ("TLS13", "TLS12"):
        raise _unusable(path, "min_version is above max_version")
    folder = os.path.dirname(path)  # as there: files are named from where the configuration is
    return TlsFiles(
        os.path.join(folder, tls["cert_file"]),
        os.path.join(folder, tls["key_file"]),
        os.path.join(folder, authority) if authority else None,
        _CLIENTS[asked] == "optional",
        tls.get("min_version", ""),
        tls.get("max_version", ""),
        ("cert_file", "key_file", "client_ca_file"),
    )


def _headers(path: str, http: Mapping[str, Any]) -> Mapping[str, str]:
    _check_keys(path, "http_server_config.", http, ("http2", "headers"))
    if http.get("http2", False) is not False:
        raise _unusable(path, "http_server_config.http2 is not false: the pages are served by HTTP/1.1")
    headers = _section(path, http, "headers", "http_server_config.")
    _check_keys(path, "http_server_config.headers.", headers, _HEADERS)
    for name, value in headers.items():
        if not (isinstance(value, str) and value.isascii() and value.isprintable()):
            raise _unusable(path, f"the header {name} is no text of one line in ASCII")
    return headers


def _section(path: str, found: Mapping[str, Any], name: str, above: str = "") -> Mapping[str, Any]:
    inner = found.get(name)
    if inner is not None and not isinstance(inner, dict):
        raise _unusable(path, f"{above}{name} is no mapping")
    return inner or {}


def _check_keys(path: str, above: str, found: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in found:
        if (why := _REFUSED.get(f"{above}{key}")) is not None:
            raise _unusable(path, f"kcli has no {above}{key}: {why}")
        if key not in known:
            raise _unusable(path, f"there is no {above}{key}; there are {', '.join(known)}")


def _check_same_kind(path: str, before: WebConfig, after: WebConfig) -> None:
    if (before.tls is None) != (after.tls is None) or (before.users is None) != (after.users is None):
        raise _unusable(path, "TLS and users are not switched on or off while the pages are served")


def _unusable(path: str, why: str) -> ConfigError:
    return ConfigError(
        f"cannot use the web configuration {path}",
        why=why,
        do="see https://prometheus.io/docs/prometheus/latest/configuration/https/; `htpasswd -nBC 10 NAME` asks for a "
        "password and prints its hash",
    )
