"""Signed heads: the key of a workspace (Ed25519), and the text that it signs.

A key is a file beside the graph, `shop.db.key`, that only its user can read. A server that finds it
signs the head of each branch that it shows; since a head commits to the whole journal, the
signature covers every commit before. The signed text is:

    mycel-head-1
    branch main
    path /infra/**                 for a copy of a part, one line for each
    entries 1042
    overall_root 9f…

The `cryptography` package signs and checks; it is imported when a key is used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from mycel.errors import (
    AccessDenied,
    DuplicateExists,
    InvalidValueType,
    NotFound,
    RemoteFailed,
    Unsupported,
)
from mycel.store.file.branch_files import split
from mycel.store.file.plain_files import read_bounded, refusal_of

PREFIX: Final = "ed25519:"
SUFFIX: Final = ".key"
_KEY_BYTES_MAX: Final = 4096


class HeadSigner:
    """Signs heads with the key of a workspace."""

    def __init__(self, path: Path) -> None:
        """Read the key.

        Raises:
            NotFound: there is no such file.
            AccessDenied: other users may read it, or this one may not.
            InvalidValueType: the file is not a private key that can be used without a password.
            Unsupported: `cryptography` is not installed.
        """
        ed25519, serialization = _library()
        try:
            if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
                raise AccessDenied(
                    f"Others may read the key in {str(path)!r}.", hint=f"chmod 600 {path}"
                )
            content = read_bounded(path, _KEY_BYTES_MAX)
            private = serialization.load_pem_private_key(content, None)
        except FileNotFoundError:
            raise NotFound(
                f"There is no key {str(path)!r}.", hint="`mycel key create` makes one."
            ) from None
        except OSError as error:
            raise AccessDenied(
                refusal_of(str(path), error), hint="Check its owner and its permissions."
            ) from None
        except (ValueError, TypeError):
            private = None
        if not isinstance(private, ed25519.Ed25519PrivateKey):
            raise InvalidValueType(
                f"{str(path)!r} is not an Ed25519 private key in PEM without a password.",
                hint="Put such a key there, or move the file away and run `mycel key create`.",
            )
        self._private: Final = private
        self.key: Final = PREFIX + private.public_key().public_bytes_raw().hex()
        """The public key in the form that clients pin."""

    def sign(self, branch: str, paths: Sequence[str], entries: int, overall_root: str) -> str:
        """The signature of a head, in hexadecimal."""
        signature: bytes = self._private.sign(_statement(branch, paths, entries, overall_root))
        return signature.hex()


def key_file(graph: str | os.PathLike[str]) -> Path:
    """The path of the key of a graph, even if the file does not exist."""
    path, _ = split(Path(graph).resolve())
    return path.with_name(path.name + SUFFIX)


def signer_of(graph: str | os.PathLike[str]) -> HeadSigner | None:
    """The signer of the heads of a graph; None if it has no key, or is not in a file."""
    if "://" in str(graph):
        return None
    path = key_file(graph)
    return HeadSigner(path) if path.exists() else None


def create_key(path: Path) -> HeadSigner:
    """Make a key, in a file that only its user can read.

    Raises:
        DuplicateExists: the graph has a key already.
        Unsupported: `cryptography` is not installed.
    """
    ed25519, serialization = _library()
    content = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise DuplicateExists(
            f"There is a key {str(path)!r} already.",
            hint="Clients have pinned it. To replace it, move it away and tell them the new one.",
        ) from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return HeadSigner(path)


def can_check() -> bool:
    """True if `cryptography` is installed."""
    return find_spec("cryptography") is not None


def check_signature(
    key: str,
    signature: str,
    branch: str,
    paths: Sequence[str],
    entries: int,
    overall_root: str,
) -> None:
    """Check the signature of a head.

    Raises:
        RemoteFailed: the signature is not by this key.
        Unsupported: `cryptography` is not installed.
    """
    ed25519, _ = _library()
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - it is an extra

    try:
        public = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(_digits(key)))
        public.verify(bytes.fromhex(signature), _statement(branch, paths, entries, overall_root))
    except (InvalidSignature, ValueError):
        raise RemoteFailed(
            f"The head that the remote shows is not signed by the key {key}.",
            hint="Nothing was changed here. Ask the person who runs the remote. If the key was"
            " replaced, `mycel remote"
            " remove` the remote and add it with the new --key.",
        ) from None


def _digits(key: str) -> str:
    if not key.startswith(PREFIX):
        raise ValueError(key)
    return key.removeprefix(PREFIX)


def _statement(branch: str, paths: Sequence[str], entries: int, overall_root: str) -> bytes:
    lines = ["mycel-head-1", f"branch {branch}", *(f"path {path}" for path in paths)]
    return "\n".join([*lines, f"entries {entries}", f"overall_root {overall_root}"]).encode()


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - as above
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        raise Unsupported(
            f"Signatures of heads need {error.name}, which is not installed.",
            hint="Install it: pip install 'mycel[signing]'",
        ) from None
    return ed25519, serialization
