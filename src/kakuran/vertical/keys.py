"""Keys and certificates: each party makes its own, and the plan pins everybody's."""

from __future__ import annotations

import base64
import datetime
import os
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from kakuran.errors import ProtocolError

_LIFETIME = datetime.timedelta(days=730)


def own_key(plan: Path, party: str) -> Path:
    """Where a party's key is unless it says otherwise: beside the plan."""
    return plan.parent / f"{party}.key"


def make_key(path: Path, party: str) -> str:
    """Write a new private key with its self-signed certificate where only the owner can read it.

    Returns the certificate (base64 of DER), which belongs in the plan.
    """
    key = Ed25519PrivateKey.generate()
    certificate = _self_signed(key, party)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ProtocolError(f"{path}: there is a key already; take it with --key {path}, or move it away") from None
    except OSError as error:
        raise ProtocolError(f"{path}: the key cannot be written: {error.strerror}") from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(secret + certificate.public_bytes(serialization.Encoding.PEM))
    return _as_text(certificate)


def certificate_in(path: Path) -> str:
    """The certificate (base64 of DER) beside a private key."""
    try:
        return _as_text(x509.load_pem_x509_certificate(path.read_bytes()))
    except (OSError, ValueError, x509.InvalidVersion) as error:
        raise ProtocolError(f"{path}: not a key made by `kakuran vertical init`: {error}") from error


def der(certificate: str) -> bytes:
    """A pinned certificate as the bytes TLS compares; refuses text that is none."""
    try:
        content = base64.b64decode(certificate, validate=True)
        x509.load_der_x509_certificate(content)
    except (ValueError, x509.InvalidVersion) as error:
        raise ProtocolError("the plan holds something that is not a certificate; make it anew") from error
    return content


def _self_signed(key: Ed25519PrivateKey, party: str) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, party[:64])])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, None)
    )


def _as_text(certificate: x509.Certificate) -> str:
    return base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode()
