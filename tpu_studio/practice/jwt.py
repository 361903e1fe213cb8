"""JSON Web Tokens with RS256 (RFC 7519), as key files sign them and Google's sign-in hands them out."""

from __future__ import annotations

import base64
import json

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tpu_studio.practice import jsonbody
from tpu_studio.practice.state import Record


def new_key_pair() -> tuple[str, str]:
    """Private and public half of an RSA key, as PEM."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return pem.decode(), public.decode()


def signed(claims: dict[str, object], private: str, kid: str) -> str:
    head = _packed(json.dumps({"alg": "RS256", "typ": "JWT", "kid": kid}).encode())
    text = f"{head}.{_packed(json.dumps(claims).encode())}"
    key = serialization.load_pem_private_key(private.encode(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return f"{text}.{_packed(key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def parts(token: str) -> tuple[Record, Record]:
    """Header and claims, unverified. Raises ValueError."""
    if token.count(".") != 2:
        raise ValueError("a token has three parts")
    head, claims, _ = (_unpacked(part) for part in token.split("."))
    header, said = jsonbody.read(head), jsonbody.read(claims)
    if not isinstance(header, dict) or not isinstance(said, dict):
        raise ValueError("header and claims must be objects")
    return header, said


def is_signed_by(token: str, public: str) -> bool:
    text, _, signature = token.rpartition(".")
    key = serialization.load_pem_public_key(public.encode())
    assert isinstance(key, rsa.RSAPublicKey)
    try:
        key.verify(_unpacked(signature), text.encode(), padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        return False
    return True


def _packed(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _unpacked(text: str) -> bytes:
    """Raises ValueError (binascii.Error)."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
