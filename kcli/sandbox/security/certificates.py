"""A certificate authority of a sandbox's own, and the certificates that it issues to nodes and users.

Needs the package ``cryptography``, which only a secure sandbox loads. Keys are elliptic (P-256): they are made in a
millisecond. Everything is bytes in memory; ``folder.py`` decides what is written where.
"""

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kcli.core.classes import dataclass
from kcli.core.secret import Secret

_LIFETIME = timedelta(days=3650)
_CLOCK_TOLERANCE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate with its key. ``authority`` is the certificate of the CA that signed it."""

    name: str
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    authority: x509.Certificate

    def key_pem(self, password: Secret | None = None) -> bytes:
        """PKCS#8, encrypted if a password is given."""
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password:
            encryption = serialization.BestAvailableEncryption(password.reveal().encode())
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        )

    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def chain_pem(self) -> bytes:
        """Key, certificate and CA in one file: what a broker reads as a key store of type PEM."""
        return self.key_pem() + self.certificate_pem() + _pem(self.authority)

    def pkcs12(self, password: Secret) -> bytes:
        encryption = serialization.BestAvailableEncryption(password.reveal().encode())
        return pkcs12.serialize_key_and_certificates(
            self.name.encode(), self.key, self.certificate, [self.authority], encryption
        )


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA: its key and its self-signed certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def create(cls, name: str) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        builder = (
            _builder(subject, subject, key.public_key(), lifetime=_LIFETIME)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
        )
        return cls(key, builder.sign(key, hashes.SHA256()))

    @classmethod
    def load(cls, key_pem: bytes, certificate_pem: bytes) -> "Authority":
        """The reverse of ``key_pem`` and ``certificate_pem``; ValueError for anything else."""
        key = serialization.load_pem_private_key(key_pem, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("the key of the sandbox's CA is of another kind")
        return cls(key, x509.load_pem_x509_certificate(certificate_pem))

    def issue(
        self,
        name: str,
        *,
        hosts: Sequence[str] = (),
        lifetime: timedelta = _LIFETIME,
    ) -> Issued:
        """A certificate with the subject ``CN=name``; with ``hosts`` (names and addresses) for a server as well.

        A negative ``lifetime`` makes one that expired that long ago.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = _builder(_name(name), self.certificate.subject, key.public_key(), lifetime=lifetime)
        if hosts:
            purposes.append(ExtendedKeyUsageOID.SERVER_AUTH)
            names = x509.SubjectAlternativeName(list(map(_host, hosts)))
            builder = builder.add_extension(names, critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = (
            builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
            .add_extension(issuer, critical=False)
        )
        return Issued(name, key, builder.sign(self.key, hashes.SHA256()), self.certificate)

    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def certificate_pem(self) -> bytes:
        return _pem(self.certificate)

    def truststore(self, password: Secret) -> bytes:
        """The CA as PKCS#12 with the attribute by which Java recognises a trusted certificate."""
        entry = pkcs12.PKCS12Certificate(self.certificate, b"ca")
        encryption = serialization.BestAvailableEncryption(password.reveal().encode())
        return pkcs12.serialize_java_truststore([entry], encryption)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, lifetime: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    end = now + lifetime
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, end) - _CLOCK_TOLERANCE)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
