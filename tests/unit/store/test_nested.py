"""Links about links about links: nesting has no bound, and nothing that is sound needs itself."""

from pathlib import Path

import pytest

import mycel
from mycel.errors import DatabaseCorrupt, ResourceExhausted
from mycel.model.limits import JSON_DEPTH_MAX
from mycel.store.log.topological import inside_out
from tests.unit.store.given import FACT, assert_sound, raw

DEEP = 1_200
"""More than Python recurses."""


def build(path: Path, depth: int) -> tuple[str, str, str]:
    """A chain of links, each about the one before. A concept, and the first and the last link."""
    with mycel.open(path, core_capsules=False, durability="off") as db, db.transaction() as tx:
        tx.define_type(FACT)
        one, end = tx.put_concept(FACT, "one"), tx.put_concept(FACT, "end")
        links = [end]
        for _ in range(depth):
            links.append(tx.add_edge(one, "attested_by", links[-1]))
    return end, links[1], links[-1]


def test_a_deep_chain_is_written_to_proven_and_forgotten_like_any_other(path: Path) -> None:
    """Each by who has just opened the file, and knows no keys yet."""
    end, first, last = build(path, DEEP)
    with mycel.open(path) as db:
        assert db.prove(last).verify(db.snapshot().overall_root)
    with mycel.open(path) as db:
        more = db.add_edge(end, "references", last)
        assert db.get_edge(end, "references", last) is not None
    with mycel.open(path) as db:
        db.write(lambda tx: tx.move(end, name="moved"))
        assert_sound(db)
    with mycel.open(path) as db:
        assert db.purge(last, "why").propositions == 2, more
    with mycel.open(path) as db:
        assert db.write(lambda tx: tx.retire(first)).propositions == DEEP - 1
        assert_sound(db)


def test_a_chain_that_is_too_deep_for_a_row_is_not_exported(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "rows.jsonl"
    build(path, JSON_DEPTH_MAX + 1)
    with mycel.open(path, core_capsules=False) as db:
        assert db.export(target).links == JSON_DEPTH_MAX + 1
    with mycel.open(tmp_path / "other.db", core_capsules=False) as db:
        db.write(lambda tx: tx.define_type(FACT))
        assert db.load(target).links == JSON_DEPTH_MAX + 1
    for depth in (JSON_DEPTH_MAX + 2, DEEP):
        path.unlink()
        build(path, depth)
        with (
            mycel.open(path, core_capsules=False) as db,
            pytest.raises(ResourceExhausted) as refused,
        ):
            db.export(tmp_path / f"{depth}.jsonl")
        assert "64 levels" in str(refused.value)


def test_a_link_about_itself_is_damage(path: Path) -> None:
    end, first, last = build(path, 3)
    with raw(path) as connection:
        number = int(first.split(":")[1])
        connection.execute("UPDATE proposition SET subject = id WHERE id = ?", (number,))
    with mycel.open(path, core_capsules=False) as db:
        assert not db.verify().ok
        with pytest.raises(DatabaseCorrupt):
            db.prove(last)
        with pytest.raises(DatabaseCorrupt):
            db.add_edge(last, "references", first)
        with pytest.raises(DatabaseCorrupt):
            db.write(lambda tx: tx.move(end, name="moved"))


def test_what_several_need_comes_once_and_before_them() -> None:
    needs = {"a": "bcd", "b": "d", "c": "bd", "d": ""}
    assert list(inside_out("a", lambda each: needs[each])) == ["d", "b", "c", "a"]


@pytest.mark.parametrize(
    "needs", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "bc", "b": "", "c": "a"}]
)
def test_what_needs_itself_never_comes(needs: dict[str, str]) -> None:
    with pytest.raises(DatabaseCorrupt):
        list(inside_out("a", lambda each: needs[each]))
