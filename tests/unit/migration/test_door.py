"""`db.schema`: what callers are told."""

from __future__ import annotations

import mycel


def test_messages_of_other_writes_are_no_versions() -> None:
    with mycel.open(":memory:") as db:
        db.schema.apply("node Person { age: I32? }")
        (first,) = db.schema.history()
        for at, said in enumerate(("rubbish", first.ir_hash, f"sha256:{64 * '0'}")):
            db.write(
                lambda tx, at=at: tx.put_concept("Person", f"p{at}"),  # type: ignore[misc]
                message=f"schema apply {said}",
            )
        db.schema.apply("node Person { age: I32?  name: String? }")
        versions = db.schema.history()
        assert [[step["kind"] for step in each.steps] for each in versions] == [
            ["add_type"],
            ["add_property"],
        ]
        assert versions[-1].ir_hash == db.schema.catalog.ir_hash
