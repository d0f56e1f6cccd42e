"""Heads that a server signs, clients that pin the key, and witnesses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

import mycel
from mycel.errors import (
    AccessDenied,
    HistoryRewritten,
    InvalidSyntax,
    InvalidValueType,
    NotFound,
    RemoteFailed,
)
from mycel.knowledge.elsewhere import Elsewhere
from mycel.remote.registry import RemoteEntry, RemoteRegistry
from mycel.remote.signing import HeadSigner, create_key, key_file
from mycel.remote.sources import FileSource, ServerSource, open_source
from mycel.remote.witness import Witness, read_heads
from tests.adapters.cli.conftest import Run, run
from tests.adapters.http.team import Team, team
from tests.adapters.remote.test_clones import honest, lying, write

__all__ = ["run", "team"]


def test_a_server_signs_heads_and_a_clone_pins_the_key(
    team: Team, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("TOKEN", team.token("ada", "write:/**"))
    there, mine = team.folder / "shop.db", tmp_path / "mine.db"
    write(there, "a", "one")
    made = run("key", "create", "--db", str(there))
    assert made.status == 0, made.stderr
    assert run("key", "create", "--db", str(there)).status == 1
    assert run("key", "show", "--db", str(there)).stdout == made.stdout
    assert key_file(there).stat().st_mode & 0o077 == 0
    team.serve()
    assert team.server is not None
    url = f"{team.server.url}/ws/shop"
    assert run("clone", url, str(mine), "--token-env", "TOKEN").status == 0
    assert RemoteRegistry().get("shop").key == made.stdout.strip()
    write(there, "b", "two")
    assert run("pull", "--db", str(mine)).status == 0
    checked = run("verify", "--remote", "shop", "--json")
    assert (checked.status, checked.object["ok"]) == (0, True)
    assert [item["check"] for item in checked.object["checks"]] == ["signature", "history", "clone"]
    assert "signed by the pinned key" in checked.object["checks"][0]["says"]
    with mycel.open(tmp_path / "own.db") as db:
        know = mycel.Knowledge(db, workspace="own", elsewhere=Elsewhere())
        know.add("x", content="here")
        know.link("x", "about", "concept://shop/a", weight=0.1)
        assert know.traverse("x").distant[0].state == "fetched"
    with open_source(RemoteEntry("shop", url, "TOKEN", path="/a")) as source:
        assert source.head().signature
    port = team.server.address[1]
    team.server.stop()
    key_file(there).unlink()
    create_key(key_file(there))
    write(there, "c", "three")
    team.serve("--port", str(port))
    refused = run("pull", "--db", str(mine))
    assert (refused.status, "not signed by the key" in refused.stderr) == (1, True)
    assert run("verify", "--remote", "shop").status == 1
    with mycel.open(tmp_path / "own.db") as db:
        know = mycel.Knowledge(db, workspace="own", elsewhere=Elsewhere())
        assert know.traverse("x").distant[0].state != "fetched"
    key_file(there).chmod(0o644)
    with pytest.raises(AccessDenied, match="Others may read"):
        HeadSigner(key_file(there))


def test_each_file_that_is_not_a_usable_key_is_refused_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "shop.db.key"
    with pytest.raises(NotFound, match="There is no key"):
        HeadSigner(path)
    create_key(path)
    private = load_pem_private_key(path.read_bytes(), None)
    encrypted = private.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for content in (public, encrypted, b"no key", path.read_bytes() + b"\n" * 5000):
        path.write_bytes(content)
        with pytest.raises(InvalidValueType, match="without a password") as caught:
            HeadSigner(path)
        assert "mycel key create" in caught.value.hint
    path.unlink()
    path.mkdir(mode=0o700)
    with pytest.raises((AccessDenied, InvalidValueType)):
        HeadSigner(path)


def test_a_file_of_heads_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "witness.jsonl"
    path.write_bytes(b"\xff\n")
    with pytest.raises(InvalidSyntax, match="cannot be read"):
        read_heads(path)
    with pytest.raises(InvalidSyntax, match="cannot be read"):
        read_heads(tmp_path)


def test_a_head_that_the_pinned_key_has_not_signed_does_not_count(tmp_path: Path) -> None:
    write(tmp_path / "true.db", "a", "one")
    signer, other = create_key(tmp_path / "one.key"), create_key(tmp_path / "other.key")

    def signed(change: Callable[[dict[str, Any]], object]) -> Callable[[str], Any]:
        true = honest(db)

        def answer(path: str) -> tuple[int, dict[str, str], bytes]:
            status, headers, body = true(path)
            if path.startswith("/refs"):
                payload = json.loads(body)
                (head,) = payload["branches"]
                payload["key"] = signer.key
                head["signature"] = signer.sign("main", [], head["entries"], head["overall_root"])
                change(payload)
                body = json.dumps(payload).encode()
            return status, headers, body

        return answer

    def by_another(payload: dict[str, Any]) -> None:
        head = payload["branches"][0]
        payload["key"] = other.key
        head["signature"] = other.sign("main", [], head["entries"], head["overall_root"])

    def of_draft(payload: dict[str, Any]) -> None:
        head = payload["branches"][0]
        head["signature"] = signer.sign("draft", [], head["entries"], head["overall_root"])

    with mycel.open(tmp_path / "true.db") as db:
        for change, is_right in (
            (lambda payload: None, True),
            (by_another, False),
            (of_draft, False),
            (lambda payload: payload["branches"][0].pop("signature"), False),
            (lambda payload: payload["branches"][0].update(signature="zz"), False),
            (lambda payload: payload["branches"][0].update(entries=1), False),
            (lambda payload: payload["branches"][0].update(overall_root="00" * 32), False),
            (lambda payload: payload.update(paths=["/infra/**"]), False),
        ):
            with lying(signed(change)) as url:
                source = ServerSource(RemoteEntry("shop", url, key=signer.key), "main")
                if is_right:
                    assert source.head().key == signer.key
                    continue
                with pytest.raises(RemoteFailed, match="not signed"):
                    source.head()


def test_witnesses_find_a_fork(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    write(one, "a", "one")
    write(two, "a", "one")
    own, other = tmp_path / "own.jsonl", tmp_path / "other.jsonl"
    words = ("witness", str(one), "--file", str(own))
    assert run(*words).status == 0
    write(one, "b", "two")
    assert run(*words).status == 0
    assert run(*words).status == 0
    assert [head.entries for head in read_heads(own)] == sorted(
        {head.entries for head in read_heads(own)}
    )
    write(two, "b", "another")
    assert run("witness", str(two), "--file", str(other)).status == 0
    # Nobody has rewritten anything, but each was shown another history.
    found = run(*words, "--compare", str(other))
    assert (found.status, "rewritten" in found.stderr) == (1, True)
    for name in "cde":
        write(two, name, "and more")
    with mycel.open(two) as db:
        heads = Witness(own, str(one))
        for _ in range(2):
            with pytest.raises(HistoryRewritten):
                heads.look(FileSource(db, "shop"), 0)
    assert [bool(head.problem) for head in read_heads(own)] == [False, False, True, True]
    newest = Witness(own, str(one)).newest
    assert newest is not None
    own.write_text("{}")
    with pytest.raises(InvalidSyntax, match="Line 1"):
        read_heads(own)
