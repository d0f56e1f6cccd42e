"""The rules of a merge, each as a case of data, merged in both directions."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import mycel
from mycel.model import ids
from mycel.store.backend.sqlite import copy
from tests.cases import cases
from tests.prepared import Prepared
from tests.unit.store.given import TickingClock

CASES: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("merge_cases.toml").read_text("utf-8")
)["case"]

POLICIES = ("set", "max", "min", "counter", "newest", "ask")


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branches are not waited for until they are on the disk: their files live for one test."""
    monkeypatch.setattr(copy, "_flush", lambda _: None)


def define(db: mycel.Graph) -> None:
    schema = {word: {"is_required": False, "merge": word} for word in POLICIES}
    schema["s"] = schema.pop("set")
    with db.transaction() as tx:
        tx.define_type("Fact", {"instance_schema": schema})
        tx.define_type("Note")
        tx.define_predicate("likes")


GIVEN = Prepared(define)


@contextmanager
def opened(path: Path, **options: Any) -> Iterator[mycel.Graph]:
    with mycel.open(path, durability="off", **options) as db:
        yield db


def at(name: str) -> tuple[str, str]:
    return "Fact", name


def apply(tx: mycel.Transaction, step: list[Any]) -> None:
    """One step of a case."""
    match step:
        case ["put", name, attributes, *metadata]:
            tx.put_concept("Fact", name, attributes, *metadata)
        case ["drop", name, *keys]:
            tx.update(at(name), drop_attributes=keys)
        case ["forget", name, *keys]:
            tx.update(at(name), drop_metadata=keys)
        case ["retire", name]:
            tx.retire(at(name))
        case ["move", name, new]:
            tx.move(at(name), name=new)
        case ["type", name, new]:
            tx.move(at(name), type_name=new)
        case ["rename", name, new]:
            tx.move(("Note", name), name=new)
        case ["fact", name]:
            tx.move(("Note", name), type_name="Fact")
        case ["link", subject, object_, weight, *attributes]:
            tx.put_proposition(at(subject), "likes", at(object_), *attributes, weight=weight)
        case ["unlink", subject, object_]:
            tx.remove_edge(at(subject), "likes", at(object_))
        case ["weight", subject, object_, weight]:
            tx.update((at(subject), "likes", at(object_)), weight=weight)
        case ["lift", subject, object_, new]:
            tx.relink((at(subject), "likes", at(object_)), object_=at(new))
        case ["lead", subject, object_, new]:
            tx.relink((at(subject), "likes", at(object_)), subject=at(new))
        case ["about", subject, object_, other]:
            tx.put_proposition((at(subject), "likes", at(object_)), "likes", at(other))
        case ["define", type_, predicate]:
            tx.define_type(type_)
            tx.define_predicate(predicate)
        case ["planet", name]:
            tx.put_concept("Planet", name)
        case ["orbit", subject, object_]:
            tx.put_proposition(("Planet", subject), "orbits", ("Planet", object_))
        case _:
            raise AssertionError(step)


def write(db: mycel.Graph, steps: list[Any], actor: str) -> None:
    """The steps as transactions; `commit` begins another one."""
    rest = list(steps)
    while rest:
        with db.transaction(actor=actor) as tx:
            while rest and (step := rest.pop(0)) != ["commit"]:
                apply(tx, step)


def content(db: mycel.Graph) -> dict[str, Any]:
    """Attributes, metadata and weights by name, of what the cases have written."""
    with db._store.reading() as reader:
        elements = reader.elements(range(2000))
    found: dict[str, Any] = {}

    def name(number: int) -> str:
        element = elements[number]
        if isinstance(element, mycel.Concept):
            return element.name
        ends = (name(ids.parse_id(end)) for end in (element.subject, element.object))
        return f"{next(ends)} {element.predicate} {next(ends)}"

    for number, each in elements.items():
        if isinstance(each, mycel.Concept) and each.type not in ("Fact", "Note", "Planet"):
            continue
        found[name(number)] = each
    return found


def check(db: mycel.Graph, wanted: dict[str, Any], case: dict[str, Any]) -> None:
    found = content(db)
    for name, attributes in wanted.items():
        if isinstance(attributes, bool):
            assert (name in found) == attributes, (name, sorted(found))
        else:
            assert repr(found[name].attributes) == repr(dict(sorted(attributes.items()))), name
    for name, attributes in case.get("links", {}).items():
        assert found[name].attributes == attributes
    for name, weight in case.get("weights", {}).items():
        assert found[name].weight == weight
    for name, metadata in case.get("metadata", {}).items():
        assert found[name].metadata == metadata


def run(case: dict[str, Any], folder: Path, *, swapped: bool) -> None:
    path = folder / f"{swapped}.db"
    GIVEN.put(path)
    clock = TickingClock(4_102_444_800_000_000)  # Later than the graph that is given.
    sides = {"ours": case.get("ours", []), "theirs": case.get("theirs", [])}
    other = {"ours": "theirs", "theirs": "ours"}

    def turned(side: str) -> str:
        return other.get(side, side) if swapped else side

    with opened(path, clock_us=clock) as db:
        write(db, case.get("base", []), "base")
        db.branches.create("draft")
        with opened(path, clock_us=clock, branch="draft") as draft:
            graphs = {turned("ours"): db, turned("theirs"): draft}
            late = case.get("late", "ours")
            for side in (other[late], late):
                write(graphs[side], sides[side], side)
        options = {key: case[key] for key in ("policy", "trust", "granularity") if key in case}
        merged = db.merge("draft", **options)
        found = [
            (each.kind, name_of(each.identity), ".".join(each.path)) for each in merged.conflicts
        ]
        wanted = [tuple(each) for each in case.get("conflicts", [])]
        if swapped and "move_move" in (each[0] for each in wanted):
            wanted = [(kind, "a3", key) for kind, _, key in wanted]
        assert found == wanted
        rules = [(each.rule, turned(each.side)) for each in merged.choices]
        assert rules == [tuple(each) for each in case.get("choices", [])]
        if "warnings" in case:
            assert len(merged.warnings) == case["warnings"]
        if not wanted:
            assert merged.status == ("merged" if sides[turned("theirs")] else "up_to_date")
            check(db, case.get("result", {}), case)
        else:
            assert merged.status == "conflicts"
            assert merged.commit is None
            before = db.snapshot()
            hunks = case.get("hunks")
            if hunks and not swapped:
                assert merged.conflicts[0].hunks == hunks
            assert not db.merges.resolve("*", turned(case["resolve"])).unresolved
            assert db.snapshot() == before, "nothing is written before the commit"
            assert db.merges.commit().status == "merged"
            check(db, case["then"], case)
        assert db.merge("draft").status == "up_to_date", "a second merge has nothing to do"


def name_of(identity: Any) -> str:
    if "predicate" in identity:
        ends = name_of(identity["subject"]), name_of(identity["object"])
        return f"{ends[0]} {identity['predicate']} {ends[1]}"
    return str(identity["name"])


def run_way(case: dict[str, Any], folder: Path, *, swapped: bool) -> None:
    with TemporaryDirectory(dir=folder) as inner:
        run(case, Path(inner), swapped=swapped and "one_way" not in case)


@cases("case", CASES, ids=[each["name"] for each in CASES])
def test_a_merge_follows_its_rules(case: dict[str, Any], tmp_path: Path) -> None:
    """Every other case the other way round."""
    run_way(case, tmp_path, swapped=CASES.index(case) % 2 == 1)


@pytest.mark.soak
@cases("case", CASES, ids=[each["name"] for each in CASES])
def test_a_merge_follows_its_rules_in_the_other_direction(
    case: dict[str, Any], tmp_path: Path
) -> None:
    run_way(case, tmp_path, swapped=CASES.index(case) % 2 == 0)
