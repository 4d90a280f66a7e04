"""Who vouches for a release: an Ed25519 signature of release.json, which has the hashes of all other files.

`release.json.sig` holds the 64 bytes of the signature and nothing else, so that `openssl pkeyutl -verify -rawin` can
check it, too. Keys are files as ssh-keygen and openssl make them.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneoff.errors import BadValue, UnreadableFile
from oneoff.table.paths import exists, is_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

__all__ = ["SIGNATURE", "KeyFile", "Origin", "Signer", "origin_of", "sign", "signer"]

SIGNATURE = "release.json.sig"

_BYTES = 64  # of a signature
_LARGEST_KEY = 20_000  # bytes of a file that can be a key
_PRIVATE = (
    "an Ed25519 private key without a passphrase, as made by `ssh-keygen -t ed25519 -N '' -f key` or "
    "`openssl genpkey -algorithm ed25519`"
)
_PUBLIC = "an Ed25519 public key: key.pub of ssh-keygen, or what openssl pkey -pubout prints"

KeyFile = str | PathLike[str]
Signer = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Origin:
    """What is known about where a release comes from.

    signed    there is a signature, by whomever
    key       the fingerprint of the key that was asked about, as ssh-keygen -l prints it; empty when none was
    owner     what the file of that key says about its owner; empty when nothing
    vouched   the signature was made with that key
    """

    signed: bool = False
    key: str = ""
    owner: str = ""
    vouched: bool = False

    @property
    def refuted(self) -> bool:
        """Signed, but not by who was asked about, or not these files."""
        return self.signed and bool(self.key) and not self.vouched

    @property
    def who(self) -> str:
        return f"{self.owner} ({self.key})" if self.owner else self.key

    def as_dict(self) -> dict[str, Any]:
        return {"signed": self.signed, "vouched": self.vouched, "key": self.key or None, "owner": self.owner or None}


def signer(path: KeyFile) -> Signer:
    """What signs with the private key in a file."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    content, name = _content(path, _PRIVATE), str(path)
    ssh = b"BEGIN OPENSSH" in content
    load = serialization.load_ssh_private_key if ssh else serialization.load_pem_private_key
    try:
        key = load(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        public = b"PUBLIC KEY" in content or content.startswith(b"ssh-")
        got = "a public key, which cannot sign" if public else str(error).split("\n")[0]
        raise BadValue(f"the key {name!r} cannot be used to sign", allowed=_PRIVATE, got=got) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadValue(f"the key {name!r} cannot be used to sign", allowed=_PRIVATE, got="a key of another kind")
    return key.sign


def sign(public: Path, path: KeyFile) -> None:
    """Sign the public half of a release that is there already, in place of whoever signed it before."""
    from oneoff.releases.disk import new_file

    made = signer(path)((public / "release.json").read_bytes())
    aside = public.parent / f".{SIGNATURE}.{secrets.token_hex(4)}"
    with new_file(aside, private=False) as file:
        file.write(made)
    aside.replace(public / SIGNATURE)


def origin_of(public: Path, path: KeyFile | None) -> Origin:
    """Whether the public half of a release is signed and, given a public key, whether its owner did so."""
    from cryptography.exceptions import InvalidSignature

    key, owner = (None, "") if path is None else _public_key(path)
    signature = _signature(public)
    if key is None:
        return Origin(signed=signature is not None)
    asked = Origin(signed=signature is not None, key=_fingerprint(key), owner=owner)
    try:
        key.verify(signature or b"", (public / "release.json").read_bytes())
    except InvalidSignature:
        return asked
    return replace(asked, vouched=True)


def _signature(public: Path) -> bytes | None:
    try:
        if exists(public / SIGNATURE) and not is_file(public / SIGNATURE):
            raise OSError("it is no plain file")
        with (public / SIGNATURE).open("rb") as file:
            return file.read(_BYTES + 1)  # one that is too long is none of this file
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableFile(f"{SIGNATURE} cannot be read", got=error.strerror or str(error)) from None


def _public_key(path: KeyFile) -> tuple[Ed25519PublicKey, str]:
    """The key in a file, and whose it says to be."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    content, name = _content(path, _PUBLIC), str(path)
    ssh = content.startswith(b"ssh-")
    load = serialization.load_ssh_public_key if ssh else serialization.load_pem_public_key
    try:
        key = load(content)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        private = b"PRIVATE KEY" in content
        got = "a private key, which nobody should pass on" if private else str(error).split("\n")[0]
        raise BadValue(f"the key {name!r} cannot be used to verify", allowed=_PUBLIC, got=got) from None
    if not isinstance(key, Ed25519PublicKey):
        raise BadValue(f"the key {name!r} cannot be used to verify", allowed=_PUBLIC, got="a key of another kind")
    words = content.split(b"\n")[0].decode("utf-8", "replace").split(maxsplit=2)
    return key, words[2].strip() if ssh and len(words) == 3 else ""


def _content(path: KeyFile, allowed: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(_LARGEST_KEY)
    except (OSError, ValueError) as error:
        got = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(f"the key {str(path)!r} cannot be read", allowed=allowed, got=got) from None


def _fingerprint(key: Ed25519PublicKey) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    wire = base64.b64decode(key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).split()[1])
    return "SHA256:" + base64.b64encode(hashlib.sha256(wire).digest()).decode().rstrip("=")
