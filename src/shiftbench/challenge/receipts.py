"""Receipts of scores that nobody can change afterwards, not even the host: signed entries of a log that only grows.

Three kinds of documents, each plain JSON, signed with the server's Ed25519 key over its canonical JSON without the
signature:
    receipt      an entry of the log (a score), its place, and the proof that it is in the log of `size` and `root`
    checkpoint   `size` and `root` of the log at a moment; the organiser publishes it where it cannot be taken back
    growth       the proof that the log of an earlier size is the beginning of that of a later one

`verified` needs neither the server nor the network. The log itself (`shiftbench challenge export --log`) proves
everything, too. Proofs are those of RFC 9162, see `merkle`; signatures those of RFC 8032.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftbench.challenge.merkle import Hash, Tree, grew, includes
from shiftbench.errors import SettingsError, ShiftbenchError, counted, first_line, quoted, shortened
from shiftbench.io import files

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY = "key.pem"  # in the folder of a server's state
FIELDS = {
    "receipt": {"challenge": str, "entry": str, "index": int, "size": int, "root": str, "proof": list},
    "checkpoint": {"challenge": str, "size": int, "root": str, "at": int},
    "growth": {"challenge": str, "first": int, "old": str, "size": int, "root": str, "proof": list},
}
MOST = 2**53


class VerificationError(ShiftbenchError):
    """Documents that are not what they should be: somebody changed them, or the log."""


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and without spaces, in ASCII: the same bytes for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


@dataclass(frozen=True)
class Key:
    """The key of a server."""

    private: Ed25519PrivateKey

    @classmethod
    def of(cls, state: Path) -> Key:
        """The key in the folder of a server's state; made, readable for its owner alone, where there is none."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519

        path = state / KEY
        if not path.exists():
            made = ed25519.Ed25519PrivateKey.generate().private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            _write_once(path, made)
        try:
            found = serialization.load_pem_private_key(path.read_bytes(), password=None)
        except (ValueError, TypeError) as error:
            raise SettingsError(
                f"{path}: expected the server's key, found: {first_line(error)}. Bring it back from a backup."
            ) from None
        if not isinstance(found, ed25519.Ed25519PrivateKey):
            raise SettingsError(f"{path}: expected an Ed25519 key, found another. Bring it back from a backup.")
        return cls(found)

    @property
    def public(self) -> str:
        """The public key, 64 hexadecimal digits."""
        return self.private.public_key().public_bytes_raw().hex()

    def signed(self, kind: str, **fields: Any) -> dict[str, Any]:
        """A document of this kind."""
        document = {"kind": kind, "key": self.public, **fields}
        return {**document, "signature": self.private.sign(canonical(document)).hex()}


def _write_once(path: Path, data: bytes) -> None:
    """Write a private file unless another process was first; it appears whole."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # readable for its owner alone
    temporary = Path(name)
    try:
        os.write(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)
    with suppress(FileExistsError):
        path.hardlink_to(temporary)
    temporary.unlink()


def tree_of(log: Iterable[str]) -> Tree:
    """The Merkle tree over the entries of a log."""
    tree = Tree()
    for entry in log:
        tree.append(entry.encode())
    return tree


def receipt(key: Key, challenge: str, tree: Tree, index: int, entry: str) -> dict[str, Any]:
    """The receipt of entry `index`; challenge: its slug."""
    proof = [each.hex() for each in tree.inclusion_proof(index)]
    head = {"size": len(tree), "root": tree.root().hex()}
    return key.signed("receipt", challenge=challenge, entry=entry, index=index, proof=proof, **head)


def checkpoint(key: Key, challenge: str, tree: Tree, at: int) -> dict[str, Any]:
    """What the log is now; at: microseconds since 1970 UTC."""
    return key.signed("checkpoint", challenge=challenge, size=len(tree), root=tree.root().hex(), at=at)


def growth(key: Key, challenge: str, tree: Tree, first: int) -> dict[str, Any]:
    """The proof that the log of `first` entries is the beginning of what it is now."""
    proof = [each.hex() for each in tree.consistency_proof(first)] if first else []  # any log begins with the empty one
    heads = {"first": first, "old": tree.root(first).hex(), "size": len(tree), "root": tree.root().hex()}
    return key.signed("growth", challenge=challenge, proof=proof, **heads)


# --- verification, offline --------------------------------------------------------------------------------------------


def read(path: Path) -> list[dict[str, Any]]:
    """The documents in a file: one, or a list of them.

    Raises:
        VerificationError: if it is not JSON, or a name occurs twice in an object.
    """
    try:
        value = json.loads(files.read_text(path), object_pairs_hook=_different)
    except OSError as error:
        raise VerificationError(f"{path}: expected a document, found: {error.strerror}. Check the path.") from None
    except (ValueError, RecursionError) as error:
        raise VerificationError(f"{path}: expected JSON, found: {first_line(error)}. Download it again.") from None
    found = value if isinstance(value, list) else [value]
    if not found or not all(isinstance(each, dict) for each in found):
        raise VerificationError(f"{path}: expected receipts or checkpoints, found {quoted(value)}. Download it again.")
    return found


def _different(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a name twice in one object")
    return found


def verified(
    documents: Sequence[Mapping[str, Any]], *, key: str = "", sha256: str = "", log: Sequence[str] = ()
) -> list[str]:
    """What the documents prove together, one sentence each.

    Args:
        documents: receipts, checkpoints and proofs of growth of one server.
        key: the server's public key as published elsewhere; without it the documents' own, which must be one.
        sha256: of the file that was submitted; each receipt must be of it.
        log: all entries of the log, if there.

    Raises:
        VerificationError: naming everything that does not fit.
    """
    if not documents:
        raise VerificationError("expected a receipt or a checkpoint, found none. Name a file.")
    problems = [problem for each in documents for problem in _misformed(each)]
    if problems:
        raise VerificationError(*problems)
    problems += _strangers(documents, key)
    problems += [problem for each in documents for problem in _disproved(each)]
    problems += _other_file(documents, sha256)
    problems += _forks(documents, log)
    if problems:
        raise VerificationError(*dict.fromkeys(problems))
    known = "the key that you named" if key else "their own key: compare it with the one published elsewhere"
    facts = [f"{counted(len(documents), 'document')} signed with {documents[0]['key']}, {known}"]
    return (
        facts
        + [shortened(_sentence_on(each)) for each in documents]
        + (["the file is the one that was scored"] if sha256 else [])
    )


def _misformed(document: Mapping[str, Any]) -> list[str]:
    """Fields that are missing, unknown or of another type."""
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in FIELDS:
        return [f"expected a document of kind {', '.join(FIELDS)}, found {quoted(kind)}. Download it again."]
    known = {"kind": str, "key": str, "signature": str, **FIELDS[kind]}
    odd = [f"{name} missing" for name in known.keys() - document.keys()]
    odd += [f"{quoted(name)} unknown" for name in document.keys() - known.keys()]
    odd += [name for name, type_ in known.items() if name in document and not _is(document[name], type_)]
    sizes = {"key": 32, "signature": 64, "root": 32, "old": 32}
    odd += [name for name, size in sizes.items() if name in document and not _hex(document[name], size)]
    proof = document.get("proof")
    odd += ["proof"] * (isinstance(proof, list) and not all(_hex(each, 32) for each in proof))
    return [
        f"{kind}: expected every field as the server writes it, found another: {', '.join(sorted({*odd}))}."
    ] * bool(odd)


def _is(value: object, kind: type) -> bool:
    if isinstance(value, str) and not files.is_unicode(value):
        return False
    return type(value) is kind and (kind is not int or (isinstance(value, int) and 0 <= value < MOST))


def _hex(value: object, size: int) -> bool:
    return isinstance(value, str) and len(value) == 2 * size and all(each in "0123456789abcdef" for each in value)


def _strangers(documents: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """Documents of other servers, or of other challenges."""
    wanted = key.strip().lower() or documents[0]["key"]
    problems = [
        f"{each['kind']}: expected the key {wanted}, found {each['key']}. It is of another server, or forged."
        for each in documents
        if each["key"] != wanted
    ]
    names = sorted({each["challenge"] for each in documents})
    if len(names) > 1:
        problems.append(f"expected documents of one challenge, found those of {', '.join(names)}. Verify them apart.")
    return problems


def _disproved(document: Mapping[str, Any]) -> list[str]:
    """What is wrong with a document by itself."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    kind, problems = document["kind"], []
    signed = {name: value for name, value in document.items() if name != "signature"}
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(document["key"]))
        public.verify(bytes.fromhex(document["signature"]), canonical(signed))
    except (InvalidSignature, ValueError):
        problems.append(f"{kind}: expected the server's signature of it, found another. It was changed, or forged.")
    proof = [bytes.fromhex(each) for each in document.get("proof", ())]
    if kind == "receipt":
        entry, index = document["entry"].encode(), document["index"]
        if not includes(entry, index, proof, _head(document)[1], document["size"]):
            problems.append("receipt: expected a proof that the entry is in the log, found one that shows nothing.")
        problems += _odd_entry(document)
    if kind == "growth":
        old = bytes.fromhex(document["old"])
        if not grew(document["first"], old, document["size"], _head(document)[1], proof):
            problems.append("growth: expected a proof that the log only grew, found one that shows nothing.")
    return problems


def _odd_entry(document: Mapping[str, Any]) -> list[str]:
    """An entry that says something else than its place, or may be read in several ways."""
    try:
        entry = json.loads(document["entry"], object_pairs_hook=_different)
        usual = isinstance(entry, dict) and canonical(entry) == document["entry"].encode()
    except (ValueError, RecursionError):
        usual = False
    if not usual:
        return ["receipt: expected an entry in canonical JSON, found another text."]
    if entry.get("number") != document["index"]:
        return [f"receipt: expected entry {document['index']}, found {quoted(entry.get('number'))} in it."]
    return []


def _other_file(documents: Sequence[Mapping[str, Any]], sha256: str) -> list[str]:
    if not sha256:
        return []
    found = [json.loads(each["entry"]).get("sha256") for each in documents if each["kind"] == "receipt"]
    if not found:
        return ["expected a receipt of the file, found none. Name one."]
    return [
        f"receipt: expected the file of SHA-256 {each}, found one of {sha256}. Another file was scored."
        for each in found
        if each != sha256
    ]


def _head(document: Mapping[str, Any]) -> tuple[int, Hash]:
    return document["size"], bytes.fromhex(document["root"])


def _forks(documents: Sequence[Mapping[str, Any]], log: Sequence[str]) -> list[str]:
    """Heads of the log that cannot be of one log, or are not shown to be."""
    heads = {_head(each) for each in documents}
    heads |= {(each["first"], bytes.fromhex(each["old"])) for each in documents if each["kind"] == "growth"}
    if log:
        tree = tree_of(log)
        return [
            f"expected the log that the documents are of, found another with "
            f"{counted(len(log), 'entry', 'entries')}: its first {size:,} do not have their root."
            for size, root in sorted(heads)
            if size > len(tree) or tree.root(size) != root
        ]
    problems, sizes = [], [size for size, _ in heads]
    for size in sorted({size for size in sizes if sizes.count(size) > 1}):
        problems.append(
            f"expected one log of {counted(size, 'entry', 'entries')}, found two: the server shows different logs."
        )
    linked = {(each["first"], each["size"]) for each in documents if each["kind"] == "growth"}
    together = _joined(sorted({*sizes}), linked)
    if len(together) > 1:
        apart = " and ".join(f"{min(each):,}" for each in together)
        problems.append(
            f"expected proofs that the logs of {apart} entries are one, found none. Download the proof of growth, or "
            "name the whole log with --log."
        )
    return problems


def _joined(sizes: Sequence[int], linked: Iterable[tuple[int, int]]) -> list[set[int]]:
    groups = [{size} for size in sizes if size]  # the empty log is the beginning of every other
    for first, last in linked:
        touched = [group for group in groups if group & {first, last}]
        groups = [group for group in groups if group not in touched] + ([set().union(*touched)] if touched else [])
    return sorted(groups, key=min)


def _sentence_on(document: Mapping[str, Any]) -> str:
    if document["kind"] == "receipt":
        entry = json.loads(document["entry"])
        facts = ", ".join(
            f"{name} {entry[name]}"
            for name in ("board", "phase", "team", "score", "rank")
            if name in entry and (name, entry[name]) != ("rank", None)  # references have none
        )
        return f"entry {document['index']:,} of {document['size']:,} in the log: {facts}"
    if document["kind"] == "checkpoint":
        return f"checkpoint of {counted(document['size'], 'entry', 'entries')}, root {document['root'][:16]}…"
    return (
        f"the log of {counted(document['first'], 'entry', 'entries')} is the beginning of that of {document['size']:,}"
    )
