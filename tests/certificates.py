"""Certificates that are made on the fly: authorities, brokers and clients, good ones and bad ones, in all file formats.

authority = Authority(folder)
authority.broker("127.0.0.1", "localhost")     # an ssl.SSLContext for the server's side
client = authority.client("ops")               # client.certificate, client.key, client.pkcs12("secret"): paths
"""

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

YEAR = datetime.timedelta(days=365)


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass
class Authority:
    """``ca`` is the file to trust it; ``folder`` gets everything that it issues."""

    folder: Path
    name: str = "ca"

    def __post_init__(self) -> None:
        self._ca = trustme.CA(key_type=trustme.KeyType.ECDSA)
        self.ca = self.folder / f"{self.name}.pem"
        self.pem = self._ca.cert_pem.bytes().decode()
        self.ca.write_text(self.pem)

    def issue(self, *names: str, **how: Any) -> trustme.LeafCert:
        return self._ca.issue_cert(*names, **{"key_type": trustme.KeyType.ECDSA, **how})

    def expired(self, *names: str) -> trustme.LeafCert:
        return self.issue(*names, not_before=now() - 2 * YEAR, not_after=now() - YEAR)

    def not_yet_valid(self, *names: str) -> trustme.LeafCert:
        return self.issue(*names, not_before=now() + YEAR, not_after=now() + 2 * YEAR)

    def broker(self, *names: str, certificate: trustme.LeafCert | None = None) -> ssl.SSLContext:
        """The server's side of TLS with a certificate for ``names``."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        (certificate or self.issue(*(names or ("127.0.0.1",)))).configure_cert(context)
        return context

    def demanding(self, *names: str, certificate: trustme.LeafCert | None = None) -> ssl.SSLContext:
        """A broker that requires certificates of clients, from this authority."""
        context = self.broker(*names, certificate=certificate)
        context.verify_mode = ssl.CERT_REQUIRED
        self._ca.configure_trust(context)
        return context

    def self_signed(self, name: str) -> ssl.SSLContext:
        """A broker whose certificate no authority has issued."""
        key = ec.generate_private_key(ec.SECP256R1())
        who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(name))])
        made = x509.CertificateBuilder(
            who, who, key.public_key(), x509.random_serial_number(), now() - YEAR, now() + YEAR
        )
        signed = made.add_extension(address, critical=False).sign(key, hashes.SHA256())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file = self.folder / "self-signed.pem"
        file.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def client(self, name: str = "client", certificate: trustme.LeafCert | None = None) -> "ClientFiles":
        return ClientFiles(self, name, certificate or self.issue(f"{name}@example.org"))

    def truststore(self, password: str) -> Path:
        """The authority's certificate in a PKCS12 file."""
        path = self.folder / f"{self.name}-trust.p12"
        certificate = x509.load_pem_x509_certificate(self.pem.encode())
        path.write_bytes(
            pkcs12.serialize_key_and_certificates(None, None, None, [certificate], _encrypted(password))
        )
        return path


class ClientFiles:
    """A client's certificate and key; the files are written when they are named."""

    def __init__(self, authority: Authority, name: str, leaf: trustme.LeafCert) -> None:
        self._folder = authority.folder
        self._name = name
        self.certificate_pem = "".join(blob.bytes().decode() for blob in leaf.cert_chain_pems)
        self.key_pem = leaf.private_key_pem.bytes().decode()

    @property
    def certificate(self) -> Path:
        return self.file("crt.pem", self.certificate_pem)

    @property
    def key(self) -> Path:
        return self.file("key.pem", self.key_pem)

    @property
    def both(self) -> Path:
        return self.file("both.pem", self.key_pem + self.certificate_pem)

    def key_of_another_kind(self) -> Path:
        """RSA; the certificates here are of elliptic curves."""
        made = rsa.generate_private_key(65_537, 2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return self.file("rsa.pem", made.decode())

    def encrypted_key_pem(self, password: str) -> str:
        return (
            self._key()
            .private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, _encrypted(password)
            )
            .decode()
        )

    def encrypted_key(self, password: str) -> Path:
        return self.file("encrypted.pem", self.encrypted_key_pem(password))

    def pkcs12(self, password: str = "") -> Path:
        path = self._folder / f"{self._name}.p12"
        chain = x509.load_pem_x509_certificates(self.certificate_pem.encode())
        how = _encrypted(password) if password else serialization.NoEncryption()
        path.write_bytes(pkcs12.serialize_key_and_certificates(b"me", self._key(), chain[0], chain[1:], how))
        return path

    def file(self, end: str, text: str) -> Path:
        path = self._folder / f"{self._name}.{end}"
        path.write_text(text)
        return path

    def _key(self) -> Any:
        return serialization.load_pem_private_key(self.key_pem.encode(), None)


def _encrypted(password: str) -> serialization.KeySerializationEncryption:
    return serialization.BestAvailableEncryption(password.encode())
