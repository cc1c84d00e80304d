"""What ``ssl.*`` options name: authorities to trust, and the client's certificate with its key, from files or text.

Everything is read here, so that each thing that can be wrong with a file gets an error of its own. PKCS12 stores are
opened by the library ``cryptography`` (the extra ``pkcs12``).
"""

import os
import shlex

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.errors import ConfigError
from kcli.core.extras import installation
from kcli.core.net.tls.pem_files import (
    certificates_in,
    check_no_store,
    check_validity,
    format_of,
    private_key_in,
    text_of,
    unusable,
    with_line_breaks,
)
from kcli.core.secret import Secret

_NONE = Secret("")
_MOST_BYTES = 16 << 20
_OWN_CERTIFICATE = "the client's certificate "


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """The options, by their names without ``ssl.``; ``prefix`` is that of the keys in errors."""

    prefix: str = "ssl"
    ca_location: str = ""
    ca_pem: str = ""
    truststore_type: str = ""
    truststore_password: Secret = _NONE
    keystore_location: str = ""
    keystore_type: str = ""
    keystore_password: Secret = _NONE
    certificate_location: str = ""
    certificate_pem: str = ""
    key_location: str = ""
    key_pem: Secret = _NONE
    key_password: Secret = _NONE

    def key(self, name: str) -> str:
        """The option's full key: ``key_location`` → ``ssl.key.location``."""
        return f"{self.prefix}.{name.replace('_', '.')}"


class Identity(NamedTuple):
    """The client's certificate chain and private key as PEM; ``source`` names where they are from."""

    pem: Secret
    password: Secret
    certificate_source: str
    key_source: str


class _Pkcs12(NamedTuple):
    """What a store holds, as PEM; empty for what it lacks."""

    certificate: str
    others: list[str]
    key: Secret


def authorities(stores: Stores) -> str | None:
    """The trusted certificates as PEM text; None for those of the system."""
    _one_of(stores, "ca_location", "ca_pem", "two sets of authorities to trust")
    _needs_location(stores, "truststore", stores.ca_location, stores.ca_pem)
    if stores.ca_pem:
        text = with_line_breaks(stores.ca_pem)
        return certificates_in(text, stores.key("ca_pem"), stores.key("ca_pem"))
    if not stores.ca_location:
        return None
    what, option = f"the CA certificates in {stores.ca_location}", stores.key("ca_location")
    data = _read(stores.ca_location, what, option)
    if _format(data, stores.truststore_type, stores.ca_location, stores.key("truststore_type")) == "PKCS12":
        opened = _open_pkcs12(data, stores.truststore_password, what, stores.key("truststore_password"))
        certificates = [opened.certificate, *opened.others]
        if not any(certificates):
            raise unusable(
                what, "the store holds no certificate", f"{option} must name a store with authorities"
            )
        return "".join(certificates)
    if stores.truststore_password:
        raise _no_password(stores.key("truststore_password"), stores.ca_location, "")
    return certificates_in(text_of(data, what, option), what, option)


def identity(stores: Stores) -> Identity | None:
    """The client's certificate and key; None if no option names one."""
    _one_of(stores, "certificate_location", "certificate_pem", "two certificates")
    _one_of(stores, "key_location", "key_pem", "two private keys")
    parts = [
        n
        for n in ("certificate_location", "certificate_pem", "key_location", "key_pem")
        if getattr(stores, n)
    ]
    if stores.keystore_location and parts:
        raise ConfigError(
            f"{stores.key('keystore_location')} and {stores.key(parts[0])} are both given",
            why="each of them names the client's certificate or its key",
            do="leave one of them out; an empty value unsets it",
        )
    _needs_location(stores, "keystore", stores.keystore_location, "".join(parts))
    if stores.keystore_location:
        return _from_keystore(stores)
    return _from_parts(stores) if parts else None


# --- inside ------------------------------------------------------------------------------------


def _from_keystore(stores: Stores) -> Identity:
    where, option = stores.keystore_location, stores.key("keystore_location")
    what = f"the client's certificate and key in {where}"
    data = _read(where, what, option)
    if _format(data, stores.keystore_type, where, stores.key("keystore_type")) == "PKCS12":
        return _from_pkcs12(stores, data, what)
    if stores.keystore_password:
        raise _no_password(stores.key("keystore_password"), where, stores.key("key_password"))
    text = text_of(data, what, option)
    return _joined(stores, text, text, what, what, option)


def _from_pkcs12(stores: Stores, data: bytes, what: str) -> Identity:
    password = stores.keystore_password or stores.key_password
    if stores.key_password and stores.key_password != password:
        raise ConfigError(
            f"{stores.key('key_password')} and {stores.key('keystore_password')} differ",
            why="a PKCS12 store has one password, for the store and its key",
            do=f"give {stores.key('keystore_password')} alone",
        )
    opened = _open_pkcs12(data, password, what, stores.key("keystore_password"))
    if not (opened.key and opened.certificate):
        missing = "certificate for its private key" if opened.key else "private key"
        raise unusable(
            what,
            f"the store holds no {missing}",
            "give the store with the client's key, not the one with the authorities",
        )
    chain = "".join([opened.certificate, *opened.others])
    check_validity(chain, f"the client's certificate in {stores.keystore_location}")
    pem = Secret(chain + opened.key.reveal())
    return Identity(pem, _NONE, stores.keystore_location, stores.keystore_location)


def _from_parts(stores: Stores) -> Identity:
    if not (stores.certificate_location or stores.certificate_pem):
        given = stores.key("key_location" if stores.key_location else "key_pem")
        raise ConfigError(
            f"{given} is given without a certificate",
            why="a private key is of no use without the certificate for it",
            do=f"name it with {stores.key('certificate_location')}",
        )
    option = stores.key("certificate_location")
    if stores.certificate_location:
        what = f"{_OWN_CERTIFICATE}{stores.certificate_location}"
        chain = text_of(_read_pem(stores.certificate_location, what, option), what, option)
    else:
        option = what = stores.key("certificate_pem")
        chain = with_line_breaks(stores.certificate_pem)
    key_option = stores.key("key_location")
    if stores.key_location:
        key_what = f"the client's private key {stores.key_location}"
        key = text_of(_read_pem(stores.key_location, key_what, key_option), key_what, key_option)
    elif stores.key_pem:
        key_option = key_what = stores.key("key_pem")
        key = with_line_breaks(stores.key_pem.reveal())
    else:  # as OpenSSL's tools do: one file with both
        key_what, key = what, chain
    return _joined(stores, chain, key, what, key_what, option, key_option)


def _joined(
    stores: Stores, chain: str, key: str, what: str, key_what: str, option: str, key_option: str = ""
) -> Identity:
    own = certificates_in(chain, what, option)
    elsewhere = f"; or name the key with {stores.key('key_location')}" if key_what == what else ""
    found = private_key_in(key, key_what, key_option or option, elsewhere)
    check_validity(own, f"the client's certificate in {what.removeprefix(_OWN_CERTIFICATE)}")
    return Identity(Secret(f"{own}\n{found}\n"), stores.key_password, what, key_what)


def _read(path: str, what: str, option: str) -> bytes:
    do = f"{option} must name a PEM or PKCS12 file that you may read"
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cannot read {what}", why=getattr(error, "strerror", None) or str(error), do=do
        ) from None
    if not data:
        raise ConfigError(f"cannot use {what}", why="the file is empty", do=do)
    if len(data) > _MOST_BYTES:
        raise ConfigError(f"cannot use {what}", why="the file has more than 16 MiB", do=do)
    return data


def _read_pem(path: str, what: str, option: str) -> bytes:
    data = _read(path, what, option)
    check_no_store(data, what, f"name a store with {option.rsplit('.', 2)[0]}.keystore.location")
    return data


def is_jks(path: str) -> bool:
    """Whether the file is a JKS store; False where it cannot be read."""
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return format_of(file.read(4)) == "JKS"
    except (OSError, ValueError):
        return False


def conversion(path: str) -> str:
    """How to convert a JKS store."""
    target = f"{os.path.splitext(path)[0]}.p12"
    return (
        f"convert it: keytool -importkeystore -srckeystore {shlex.quote(path)} "
        f"-destkeystore {shlex.quote(target)} -deststoretype PKCS12; then name the new file"
    )


def _format(data: bytes, wanted: str, where: str, option: str) -> str:
    """The format of a store. As Java does, JKS also accepts a PKCS12 file."""
    found = format_of(data)
    if found == "JKS":
        raise ConfigError(
            f"{where} is a JKS store, which kcli does not read",
            why="JKS is a format of Java only; Java itself replaced it by PKCS12 in version 9",
            do=conversion(where),
        )
    if wanted and found and found != wanted and (wanted, found) != ("JKS", "PKCS12"):
        raise ConfigError(
            f"{where} is not a {wanted} store",
            why=f"{option} is {wanted}, and the file is {found}",
            do=f"leave {option} out, or correct it",
        )
    return found


def _open_pkcs12(data: bytes, password: Secret, what: str, option: str) -> _Pkcs12:
    try:
        from cryptography.hazmat.primitives.serialization import (  # optional
            Encoding,
            NoEncryption,
            PrivateFormat,
            pkcs12,
        )
    except ImportError:
        raise ConfigError(
            f"cannot open {what}: PKCS12 needs a library",
            why="the Python package cryptography is not installed",
            do=f"{installation('pkcs12')}, or convert the store: openssl pkcs12 -in STORE -out STORE.pem",
        ) from None
    try:
        opened = pkcs12.load_pkcs12(data, password.reveal().encode() if password else None)
        own = opened.cert.certificate if opened.cert is not None else None
        others = [one.certificate for one in opened.additional_certs]
        key = (
            opened.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) if opened.key else b""
        )
        return _Pkcs12(
            own.public_bytes(Encoding.PEM).decode() if own is not None else "",
            [one.public_bytes(Encoding.PEM).decode() for one in others],
            Secret(key.decode()),
        )
    except ValueError as error:
        if "password" not in str(error).lower():
            raise unusable(what, f"the store is damaged ({error})", "copy the file again") from None
        raise ConfigError(
            f"cannot open {what}",
            why="its password is wrong" if password else "it has a password, and none is given",
            do=f"correct {option}" if password else f"give {option}, in a file that only you can read",
        ) from None
    except Exception as error:  # noqa: BLE001 - the library has no base class of errors, and some are its own
        raise unusable(
            what,
            f"its encryption is not supported ({type(error).__name__}: {error})",
            "convert it: openssl pkcs12 -in STORE -out STORE.pem",
        ) from None


def _one_of(stores: Stores, first: str, second: str, what: str) -> None:
    if getattr(stores, first) and getattr(stores, second):
        raise ConfigError(
            f"{stores.key(first)} and {stores.key(second)} are both given",
            why=f"they name {what}",
            do="leave one of them out; an empty value unsets it",
        )


def _needs_location(stores: Stores, kind: str, location: str, text: str) -> None:
    """A type or password of a store that nothing names would have no effect. Java wants type=PEM with PEM text."""
    if location:
        return
    named = getattr(stores, f"{kind}_type")
    option = f"{kind}_password" if getattr(stores, f"{kind}_password") else f"{kind}_type" if named else ""
    if not option or (option.endswith("type") and named == "PEM" and text):
        return
    raise ConfigError(
        f"{stores.key(option)} is given without {stores.key(f'{kind}_location')}",
        why="it describes a store, and no store is named",
        do="name the store, or leave it out",
    )


def _no_password(option: str, where: str, instead: str) -> ConfigError:
    return ConfigError(
        f"{option} is given for {where}, which is a PEM file",
        why="a PEM file as a whole has no password",
        do=f"use {instead} for an encrypted private key, or leave it out" if instead else "leave it out",
    )
