"""Schemas applied one after the other to a graph with data in it.

Whatever is applied is in force afterwards, and the data satisfies it; whatever is refused leaves
everything as it was. What satisfies a schema is decided here once more, as plainly as can be.
"""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Any

from hypothesis import event, given

import mycel
from mycel.errors import MycelError
from mycel.schema.catalog import Catalog
from mycel.schema.model import (
    Check,
    EdgeType,
    InstanceType,
    Key,
    NodeType,
    Property,
    Range,
    Unique,
)
from tests.properties.test_schema_plans import chances, history, loaded
from tests.unit.store.given import problems

ACTORS = {"$self", "$system"}
ROWS = 6


def value_for(declared: Property, random: Random) -> Any:
    """Something for a property, now and then something that it does not take."""
    type_ = declared.type
    if random.random() < 0.2 or (type_.is_nullable and random.random() < 0.3):
        return None
    if type_.enum_values is not None:
        return random.choice([*type_.enum_values, "x", "z"])
    if type_.scalar == "Vector":
        return [random.choice([0, 0.5])] * (type_.dimension or 0)
    if type_.is_list:
        return random.choices(["a", "b"], k=random.randrange(3))
    if type_.scalar == "String":
        return random.choice(["x", "y", "aa", "ab", "b", "1"])
    return random.choice([0, 1, 2, 7, -3, 60])


def fill(db: mycel.Graph, catalog: Catalog, random: Random) -> None:
    """Write rows; what the schema refuses is left out."""
    names: dict[str, list[str]] = {name: [] for name in catalog.nodes}
    for node in catalog.nodes.values():
        for _ in range(ROWS):
            row = {each.name: value_for(each, random) for each in node.properties}
            row = {name: value for name, value in row.items() if value is not None}
            name = _name(node, row) or f"n{random.randrange(20)}"
            put = (node.kip_name, name, row)
            try:
                names[node.name].append(db.write(lambda tx, put=put: tx.put_concept(*put)))  # type: ignore[misc]
            except MycelError:
                continue
    for edge in catalog.edges.values():
        for _ in range(ROWS):
            ends = [names[edge.from_type], names[edge.to_type]]
            if not all(ends):
                break
            row = {each.name: value_for(each, random) for each in edge.properties}
            row = {name: value for name, value in row.items() if value is not None}
            link = (random.choice(ends[0]), edge.kip_name, random.choice(ends[1]), row)
            try:
                db.write(lambda tx, link=link: tx.put_proposition(*link))  # type: ignore[misc]
            except MycelError:
                continue


def disturb(db: mycel.Graph, catalog: Catalog, random: Random) -> None:
    """Remove some, and let others have another name, where the schema lets them."""
    for node in catalog.nodes.values():
        for each in concepts(db, node.kip_name):
            chance = random.random()
            try:
                if chance < 0.2:
                    db.write(lambda tx, each=each: tx.retire(each.id))  # type: ignore[misc]
                elif chance < 0.4:
                    name = f"m{random.randrange(20)}"
                    db.write(lambda tx, each=each, name=name: tx.move(each.id, name=name))  # type: ignore[misc]
            except MycelError:
                continue


def test_what_is_dropped_and_declared_again_is_all_there() -> None:
    for seed in range(40):
        random = Random(seed)
        schemas = [found for each in history(random) if (found := loaded(each)) is not None]
        with mycel.open(":memory:", core_capsules=False) as db:
            db.schema.apply(schemas[0])
            fill(db, schemas[0], random)
            before = everything(db, schemas[0])
            assert db.schema.apply("", allow_removals=True).applied or not schemas[0].nodes
            assert db.schema.apply(schemas[0]).applied or not schemas[0].nodes
            assert everything(db, schemas[0]) == before


def everything(db: mycel.Graph, catalog: Catalog) -> list[Any]:
    """All rows, and all links, as they are."""
    rows = [each for node in catalog.nodes.values() for each in concepts(db, node.kip_name)]
    links = [link for each in rows for link in db.edges_out(each.id)]
    return sorted((each.id, each.attributes_json) for each in (*rows, *links))


def _name(node: NodeType, row: dict[str, Any]) -> str | None:
    """The name that a key of texts and integers gives."""
    if not node.key or any(column not in row for column in node.key):
        return None
    texts = [str(row[column]) for column in node.key]
    listed = ",".join(f'"{text}"' for text in texts)
    return texts[0] if len(texts) == 1 else f"[{listed}]"


def check(db: mycel.Graph, catalog: Catalog) -> None:
    """Every row satisfies what is declared."""
    for node in catalog.nodes.values():
        rows = [each for each in concepts(db, node.kip_name) if each.name not in ACTORS]
        for row in rows:
            check_row(node, row.attributes)
            wanted = _name(node, row.attributes)
            assert not node.key or row.name == wanted
        check_unique(node, [row.attributes for row in rows])
    for edge in catalog.edges.values():
        links = [
            link
            for node in (catalog.nodes[edge.from_type],)
            for each in concepts(db, node.kip_name)
            for link in db.edges_out(each.id, [edge.kip_name])
        ]
        for link in links:
            check_row(edge, link.attributes)
            target = db.get(link.object)
            assert isinstance(target, mycel.Concept)
            assert target.type == catalog.nodes[edge.to_type].kip_name
        ends = [{"src": link.subject, "dst": link.object} for link in links]
        check_unique(edge, [link.attributes | end for link, end in zip(links, ends, strict=True)])
        counts = Counter(link.subject for link in links)
        most = edge.cardinality.maximum
        assert all(edge.cardinality.minimum <= count for count in counts.values())
        assert most is None or all(count <= most for count in counts.values())


def concepts(db: mycel.Graph, type_name: str) -> list[mycel.Concept]:
    found = db.execute("FIND(?x.id) WHERE { ?x {type: :t} }", t=type_name).to_dict()["result"]
    elements = [db.get(each) for each in found]
    return [each for each in elements if isinstance(each, mycel.Concept)]


def check_row(declared: InstanceType, row: dict[str, Any]) -> None:
    properties = {each.name: each for each in declared.properties}
    assert declared.is_open or row.keys() <= properties.keys()
    for name, each in properties.items():
        value = row.get(name)
        assert value is not None or each.type.is_nullable
        if value is not None:
            check_value(each, value)
    for constraint in declared.constraints:
        match constraint:
            case Range(name, minimum, maximum) if row.get(name) is not None:
                assert minimum is None or row[name] >= minimum
                assert maximum is None or row[name] <= maximum
            case Check(name, pattern) if row.get(name) is not None:
                assert re.search(pattern, row[name])
            case _:
                pass


def check_value(declared: Property, value: Any) -> None:
    type_ = declared.type
    if type_.enum_values is not None:
        assert value in type_.enum_values
    elif type_.scalar == "Vector":
        assert len(value) == type_.dimension
    elif type_.is_list:
        assert isinstance(value, list)
    elif type_.scalar == "String":
        assert isinstance(value, str)
    else:
        assert isinstance(value, int | float)


def check_unique(declared: InstanceType, rows: list[dict[str, Any]]) -> None:
    for constraint in declared.constraints:
        if not isinstance(constraint, Unique | Key):
            continue
        tuples = [tuple(row.get(column) for column in constraint.columns) for row in rows]
        whole = [each for each in tuples if None not in each]
        assert len(set(whole)) == len(whole)


@given(chances)
def test_what_is_applied_is_in_force_and_the_data_satisfies_it(random: Random) -> None:
    schemas = [found for each in history(random) if (found := loaded(each)) is not None]
    with mycel.open(":memory:", core_capsules=False) as db:
        for desired in schemas:
            before, accepted = db.snapshot(), db.schema.catalog
            planned = db.schema.plan(desired)
            assert db.snapshot() == before
            result = db.schema.apply(desired, allow_removals=True)
            event(f"supported: {result.supported}")
            assert result.supported == planned.supported
            assert result.steps == planned.steps
            if result.applied:
                assert db.schema.catalog.same_shape(desired)
                assert db.schema.plan(desired).steps == ()
                assert db.schema.at(before.entries).ir() == accepted.ir()
            else:
                assert db.snapshot() == before
                assert db.schema.catalog.ir() == accepted.ir()
            check(db, db.schema.catalog)
            fill(db, db.schema.catalog, random)
            disturb(db, db.schema.catalog, random)
            check(db, db.schema.catalog)
        assert problems(db.verify(replay=True)) == []


def test_the_rows_written_here_are_mostly_accepted() -> None:
    """Otherwise the test above would say little."""
    with mycel.open(":memory:", core_capsules=False) as db:
        text = "node A { a: String  b: I32?  @unique(a, b) } edge B: A -> A { c: enum(x, y)? }"
        db.schema.apply(text)
        fill(db, db.schema.catalog, Random(1))
        assert len(concepts(db, "A")) > 2
        assert isinstance(db.schema.catalog.edges["B"], EdgeType)
