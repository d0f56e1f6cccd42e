"""Typed rows against a plain checker of every constraint.

The checker is written for the eye: one question after the other, no caches, no indexes, nothing
compiled. What it refuses must be refused, and what it accepts must be stored as it says.
"""

import base64
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy
from hypothesis import event, given, settings
from hypothesis import strategies as st

import mycel
from mycel.errors import MycelError
from mycel.schema.model import (
    Annotation,
    Check,
    Constraint,
    Key,
    NodeType,
    Property,
    PropertyType,
    Range,
)
from mycel.schema.row_rules import RowRules

INTEGERS = {
    "I32": range(-(2**31), 2**31),
    "I64": range(-(2**63), 2**63),
    "U32": range(2**32),
    "U64": range(2**64),
}
PATTERNS = ("^a", "b+", "^[ab]*$", "a|c", "\\d")


class Refused(Exception):  # noqa: N818 - It is an answer.
    """The checker says no."""


def demand(holds: bool) -> None:
    if not holds:
        raise Refused


# The checker: one value.


def checked(type_: PropertyType, value: Any) -> Any:
    """The value as it is stored."""
    if type_.enum_values is not None:
        demand(isinstance(value, str) and value in type_.enum_values)
        return value
    if type_.scalar == "Vector":
        demand(isinstance(value, list) and len(value) == type_.dimension)
        return [checked(PropertyType("F32"), item) for item in value]
    if type_.is_list:
        demand(isinstance(value, list))
        return [checked(PropertyType(type_.scalar), item) for item in value]
    return SCALARS[type_.scalar](type_.scalar, value)


def text(_: str, value: Any) -> str:
    demand(isinstance(value, str))
    return str(value)


def boolean(_: str, value: Any) -> bool:
    demand(isinstance(value, bool))
    return bool(value)


def integer(scalar: str, value: Any) -> int:
    demand(isinstance(value, int | float) and not isinstance(value, bool))
    demand(math.isfinite(value) and value == int(value))
    if isinstance(value, float):
        demand(abs(value) <= 2**53)
    demand(int(value) in INTEGERS[scalar])
    return int(value)


def floating(scalar: str, value: Any) -> float:
    demand(isinstance(value, int | float) and not isinstance(value, bool))
    demand(math.isfinite(value))
    if scalar == "F32":
        demand(abs(value) <= 3.4028235e38)
        value = float(str(numpy.float32(value)))
    return 0.0 if value == 0 else float(value)


def day(_: str, value: Any) -> str:
    demand(isinstance(value, str))
    found = re.fullmatch(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", value)
    demand(found is not None)
    try:
        date(*map(int, found.groups()))  # type: ignore[union-attr]
    except ValueError:
        raise Refused from None
    return str(value)


def moment(_: str, value: Any) -> str:
    demand(isinstance(value, str))
    found = re.fullmatch(
        r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})"
        r"(\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))?",
        value,
    )
    demand(found is not None)
    *numbers, fraction, sign, hours, minutes = found.groups()  # type: ignore[union-attr]
    demand(int(hours or 0) < 24 and int(minutes or 0) < 60)
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    try:
        utc = datetime(*map(int, numbers), tzinfo=UTC)  # type: ignore[misc]
        utc = utc + offset if sign == "-" else utc - offset
    except (ValueError, OverflowError):
        raise Refused from None
    milliseconds = math.floor(int((fraction or ".0")[1:4].ljust(3, "0")))
    stored = f"{utc.year:04}-{utc.month:02}-{utc.day:02}T{utc.hour:02}:{utc.minute:02}"
    return f"{stored}:{utc.second:02}.{milliseconds:03}Z"


def blob(_: str, value: Any) -> str:
    demand(isinstance(value, str))
    demand(re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", value) is not None and len(value) % 4 == 0)
    try:
        demand(base64.b64encode(base64.b64decode(value)).decode() == value)
    except ValueError:
        raise Refused from None
    return str(value)


SCALARS: dict[str, Callable[[str, Any], Any]] = {
    "String": text,
    "Bool": boolean,
    **dict.fromkeys(INTEGERS, integer),
    "F32": floating,
    "F64": floating,
    "Date": day,
    "DateTime": moment,
    "Blob": blob,
}


# The checker: one row.


def key_text(type_: PropertyType, value: Any) -> str:
    if type_.scalar == "DateTime":
        return str(value).replace(".000Z", "Z")
    return value if isinstance(value, str) else json.dumps(value)


def checked_row(
    declared: NodeType, attributes: dict[str, Any], name: str | None, *, creating: bool
) -> dict[str, Any]:
    """The row as it is stored."""
    stored = dict(attributes)
    properties = {each.name: each for each in declared.properties}
    for each, value in attributes.items():
        demand(each in properties or any(a.name == "open" for a in declared.annotations))
        if each in properties and value is not None:
            stored[each] = checked(properties[each].type, value)
    for each, property_ in properties.items():
        if creating and property_.default is not None and stored.get(each) is None:
            stored[each] = json.loads(property_.default)
    key = declared.key
    if key and name is not None:
        absent = [each for each in key if stored.get(each) is None]
        demand(creating or not absent)
        if absent:
            stored |= {each: key_in(name, properties, key)[each] for each in absent}
        texts = [key_text(properties[each].type, stored[each]) for each in key]
        one = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
        demand(name == (texts[0] if len(key) == 1 else one))
    for constraint in declared.constraints:
        match constraint:
            case Range(each, low, high) if stored.get(each) is not None:
                demand(low is None or stored[each] >= low)
                demand(high is None or stored[each] <= high)
            case Check(each, pattern) if stored.get(each) is not None:
                demand(re.search(pattern, stored[each]) is not None)
    return stored


def key_in(name: str, properties: dict[str, Property], key: tuple[str, ...]) -> dict[str, Any]:
    """The values that a name gives its key."""
    try:
        texts = [name] if len(key) == 1 else json.loads(name)
    except ValueError:
        raise Refused from None
    demand(isinstance(texts, list) and len(texts) == len(key))
    found: dict[str, Any] = {}
    for each, said in zip(key, texts, strict=True):
        demand(isinstance(said, str))
        type_ = properties[each].type
        value = said
        if type_.scalar in INTEGERS or type_.scalar in ("Bool", "F32", "F64"):
            try:
                value = json.loads(said)
            except ValueError:
                raise Refused from None
        found[each] = checked(type_, value)
        demand(key_text(type_, found[each]) == said)
    return found


# Types and rows at random.


def value_of(type_: PropertyType) -> st.SearchStrategy[Any]:
    """Values that often fit, and often just do not."""
    if type_.enum_values is not None:
        return st.sampled_from((*type_.enum_values, "z", ""))
    if type_.scalar == "Vector":
        number = st.floats(allow_nan=False, width=32) | st.integers(-3, 3)
        return st.lists(number, min_size=1, max_size=3)
    one = ONE[type_.scalar]
    return st.lists(one | st.none(), max_size=3) if type_.is_list else one


MOMENTS = st.builds(
    "{}{}{:02}:{:02}:{:02}{}{}".format,
    st.dates().map(str) | st.just("2023-02-29") | st.just("0001-01-01"),
    st.sampled_from("Tt x"),
    st.integers(0, 24),
    st.integers(0, 60),
    st.integers(0, 60),
    st.sampled_from(("", ".5", ".000", ".1234", ".")),
    st.sampled_from(("Z", "z", "", "+01:00", "-23:59", "+24:00", "+0100")),
)
ONE: dict[str, st.SearchStrategy[Any]] = {
    "String": st.text("abc1", max_size=4),
    "Bool": st.booleans(),
    **{
        scalar: st.sampled_from(
            (0, 1, -1, 5.0, -0.0, 2.5, all_[0], all_[-1], all_[0] - 1, all_[-1] + 1, 1e300)
        )
        | st.integers(-5, 5)
        for scalar, all_ in INTEGERS.items()
    },
    "F32": st.floats()
    | st.integers()
    | st.sampled_from((3.4028234663852886e38, 3.4028235e38, 3.5e38)),
    "F64": st.floats() | st.integers(-(2**70), 2**70) | st.sampled_from((-0.0, 0.0)),
    "Date": st.dates().map(str) | st.sampled_from(("2023-02-29", "20240101", "0000-01-01")),
    "DateTime": MOMENTS | st.datetimes().map(lambda at: at.isoformat("T", "seconds") + "Z"),
    "Blob": st.binary(max_size=5).map(lambda raw: base64.b64encode(raw).decode())
    | st.text("AQ=-\n", max_size=6),
}
JUNK = st.sampled_from((None, True, 0, 1.5, "", "a", [], ["a"], [1], {}, {"a": 1}))
SIMPLE = ("String", "Bool", *INTEGERS, "F32", "F64", "Date", "DateTime")
TYPES = st.one_of(
    st.builds(PropertyType, st.sampled_from((*SIMPLE, "Blob")), st.booleans()),
    st.builds(PropertyType, st.sampled_from(SIMPLE), st.booleans(), st.just(True)),
    st.builds(
        PropertyType, st.just("String"), st.booleans(), st.just(False), st.just(("a", "b", "c"))
    ),
    st.builds(
        PropertyType,
        st.just("Vector"),
        st.booleans(),
        st.just(False),
        st.none(),
        st.integers(1, 3),
    ),
)


def constraints_of(draw: st.DrawFn, property_: Property) -> list[Constraint]:
    type_ = property_.type
    if type_.is_list or type_.enum_values is not None:
        return []
    if type_.scalar in INTEGERS or type_.scalar in ("F32", "F64"):
        low, high = sorted(draw(st.tuples(st.integers(-9, 9), st.integers(-9, 9))))
        low_or_none, high_or_none = draw(st.sampled_from(((low, high), (low, None), (None, high))))
        return [Range(property_.name, low_or_none, high_or_none)]
    if type_.scalar == "String":
        return [Check(property_.name, draw(st.sampled_from(PATTERNS)))]
    return []


@st.composite
def declarations(draw: st.DrawFn) -> NodeType:
    types = draw(st.lists(TYPES, min_size=1, max_size=5))
    properties: list[Property] = []
    constraints: list[Constraint] = []
    for name, type_ in zip("pqrst", types, strict=False):
        plain = not type_.is_list and type_.scalar in ("I32", "Bool")
        default = {"I32": "3", "Bool": "true"}.get(type_.scalar) if plain else None
        says = default is not None and draw(st.booleans())
        property_ = Property(name, type_, 1, (Annotation("default", default),) if says else ())
        properties.append(property_)
        if not says and draw(st.booleans()):
            constraints += constraints_of(draw, property_)
    members = [
        each.name
        for each in properties
        if each.is_required
        and each.default is None
        and not each.type.is_list
        and each.type.scalar not in ("Vector", "Blob", "F32", "F64")
    ]
    if members and draw(st.booleans()):
        chosen = draw(st.lists(st.sampled_from(members), min_size=1, max_size=2, unique=True))
        constraints.append(Key(tuple(chosen)))
    annotations = (Annotation("open"),) if draw(st.integers(0, 3)) == 0 else ()
    return NodeType("T", 1, annotations, (), tuple(properties), tuple(constraints))


@st.composite
def rows(draw: st.DrawFn, declared: NodeType) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for each in declared.properties:
        kind = draw(st.integers(0, 9))
        if kind < 7:
            row[each.name] = draw(value_of(each.type))
        elif kind < 8:
            row[each.name] = draw(JUNK)
    if draw(st.integers(0, 9)) == 0:
        row["undeclared"] = draw(JUNK)
    return row


def name_for(draw: st.DrawFn, declared: NodeType, row: dict[str, Any]) -> str | None:
    """Often the right name, sometimes another one."""
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return None
    if kind == 1:
        return draw(st.sampled_from(("a", "1", "007", '["a","1"]', '["a", "1"]', "true")))
    properties = {each.name: each for each in declared.properties}
    try:
        types = [(each, properties[each].type) for each in declared.key]
        texts = [key_text(type_, checked(type_, row.get(each))) for each, type_ in types]
    except Refused:
        return "a"
    if len(texts) == 1:
        return texts[0]
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))


def answer(work: Callable[[], dict[str, Any]]) -> str:
    """What a checker says, as text: to Python, 1, 1.0 and True are equal."""
    try:
        return json.dumps(work(), sort_keys=True)
    except (Refused, MycelError):
        return "refused"


@settings(max_examples=settings.default.max_examples * 4)
@given(st.data())
def test_a_row_is_stored_or_refused_as_the_plain_checker_says(data: st.DataObject) -> None:
    declared = data.draw(declarations())
    row = data.draw(rows(declared))
    name = data.draw(st.composite(name_for)(declared, row))
    creating = data.draw(st.booleans())
    rules = RowRules(declared)

    def expected() -> dict[str, Any]:
        return checked_row(declared, row, name, creating=creating)

    given_ = json.dumps(row, sort_keys=True)
    said = answer(lambda: rules.shape(row, name=name, creating=creating))
    assert said == answer(expected)
    event("refused" if said == "refused" else "taken")
    assert json.dumps(row, sort_keys=True) == given_, "the caller's row has changed"
    if said == "refused":
        return
    stored = json.loads(said)
    required = [each.name for each in declared.properties if each.is_required]
    assert list(rules.missing(stored)) == [each for each in required if stored.get(each) is None]
    assert answer(lambda: rules.shape(stored, name=name, creating=False)) in (said, "refused")


# The checker: the whole graph.

SCHEMA = """
node Person {
    email: String @key
    level: I32
    team: enum(red, blue)?
    desk: I64?
    @unique(team, desk)
    @range(level, 0..3)
}
node City { }
edge LivesIn: Person -> City @card(1..2) { rank: I32? @unique(src, rank) }
"""
PEOPLE, CITIES = ("ann", "bob", "cid"), ("rome", "oslo", "kiev")


@dataclass
class Graph:
    """People, and where they live: all there is, as Python's own dictionaries."""

    people: dict[str, dict[str, Any]] = field(default_factory=dict)
    homes: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    """Who got or lost a home in this transaction."""

    def copy(self) -> "Graph":
        people = {name: dict(row) for name, row in self.people.items()}
        return Graph(people, {ends: dict(row) for ends, row in self.homes.items()})

    def homes_of(self, person: str) -> int:
        return sum(each == person for each, _ in self.homes)

    def put(self, name: str, row: dict[str, Any]) -> None:
        merged = {"email": name} | self.people.get(name, {}) | row
        demand(merged["email"] == name)
        demand(merged.get("level") is None or 0 <= merged["level"] <= 3)
        demand(merged.get("team") in (None, "red", "blue"))
        self.people[name] = merged

    def link(self, person: str, city: str, row: dict[str, Any]) -> None:
        if (person, city) not in self.homes:
            demand(self.homes_of(person) < 2)
            self.touched.add(person)
        self.homes[person, city] = self.homes.get((person, city), {}) | row

    def unlink(self, person: str, city: str) -> None:
        if self.homes.pop((person, city), None) is not None:
            self.touched.add(person)

    def retire(self, name: str) -> None:
        for person, city in list(self.homes):
            if person == name:
                del self.homes[person, city]
        self.people.pop(name, None)

    def commit(self) -> None:
        tuples = [(row.get("team"), row.get("desk")) for row in self.people.values()]
        held = [each for each in tuples if None not in each]
        demand(len(held) == len(set(held)))
        ranks = [(person, row.get("rank")) for (person, _), row in self.homes.items()]
        held = [each for each in ranks if None not in each]
        demand(len(held) == len(set(held)))
        demand(all(row.get("level") is not None for row in self.people.values()))
        demand(all(self.homes_of(each) >= 1 for each in self.touched if each in self.people))


PERSON_ROWS = st.fixed_dictionaries(
    {"level": st.sampled_from((0, 1, 2, 3, 3, 3, 4))},
    optional={
        "team": st.sampled_from(("red", "blue", "red", "blue", "pink", None)),
        "desk": st.sampled_from((1, 2, 3, None)),
    },
)
PUT = st.tuples(st.just("put"), st.sampled_from(PEOPLE), PERSON_ROWS | st.just({}))
LINK = st.tuples(
    st.just("link"),
    st.sampled_from(PEOPLE),
    st.sampled_from(CITIES),
    st.fixed_dictionaries({}, optional={"rank": st.sampled_from((1, 2, None))}),
)
STEPS = st.one_of(
    PUT,
    LINK,
    st.tuples(st.just("unlink"), st.sampled_from(PEOPLE), st.sampled_from(CITIES)),
    st.tuples(st.just("retire"), st.sampled_from(PEOPLE)),
)
BULK = st.lists(PUT, min_size=4, max_size=6).map(lambda steps: ("bulk", steps))
BULK_LINKS = st.lists(LINK, min_size=4, max_size=6).map(lambda steps: ("bulk links", steps))
TRANSACTIONS = st.lists(
    st.lists(STEPS, min_size=1, max_size=5) | st.lists(BULK | BULK_LINKS, min_size=1, max_size=2),
    min_size=1,
    max_size=6,
)


def in_store(db: mycel.Graph, steps: list[Any]) -> bool:
    """Whether the store takes a transaction."""
    try:
        with db.transaction() as tx:
            for kind, *said in steps:
                _do(tx, kind, *said)
    except MycelError:
        return False
    return True


def _do(tx: mycel.Transaction, kind: str, *said: Any) -> None:
    match kind, said:
        case "put", (name, row):
            tx.put_concept("Person", name, row)
        case "bulk", (steps,):
            tx.put_concepts([mycel.ConceptRow("Person", name, row) for _, name, row in steps])
        case "bulk links", (steps,):
            found = [(_ends(tx, *ends), row) for _, *ends, row in steps]
            tx.put_propositions(
                [mycel.PropositionRow(e[0], "LivesIn", e[1], row) for e, row in found if e]
            )
        case "link", (person, city, row) if ends := _ends(tx, person, city):
            tx.put_proposition(ends[0], "LivesIn", ends[1], row)
        case "unlink", (person, city) if ends := _ends(tx, person, city):
            tx.remove_edge(ends[0], "LivesIn", ends[1])
        case "retire", (name,) if found := tx.get_concept("Person", name):
            tx.retire(found)


def _ends(tx: mycel.Transaction, person: str, city: str) -> tuple[str, str] | None:
    """The ids of both, if the person is there; cities always are."""
    source, target = tx.get_concept("Person", person), tx.get_concept("City", city)
    return (source.id, target.id) if source and target else None


def in_model(graph: Graph, steps: list[Any]) -> Graph | None:
    """What a transaction makes of a graph; None if it is refused."""
    after = graph.copy()
    try:
        for step in steps:
            kind, *said = step
            if kind.startswith("bulk"):
                each_kind = "put" if kind == "bulk" else "link"
                for _, *each in said[0]:
                    if each_kind == "put" or each[0] in after.people:
                        getattr(after, each_kind)(*each)
            elif kind == "put" or said[0] in after.people:
                getattr(after, kind)(*said)
        after.commit()
    except Refused:
        return None
    after.touched.clear()
    return after


def state(db: mycel.Graph) -> tuple[dict[str, Any], dict[tuple[str, str], Any]]:
    people = {
        name: found.attributes for name in PEOPLE if (found := db.get_concept("Person", name))
    }
    homes = {
        (person, db.get(edge.object).name): edge.attributes  # type: ignore[union-attr]
        for person in people
        for edge in db.edges_out(db.get_concept("Person", person), "LivesIn")  # type: ignore[arg-type]
    }
    return people, homes


@given(TRANSACTIONS)
def test_a_transaction_is_taken_or_refused_as_the_plain_checker_says(
    transactions: list[list[Any]],
) -> None:
    with mycel.open(durability="off", core_capsules=False) as db:
        assert db.schema.apply(SCHEMA).applied
        db.write(lambda tx: tx.put_concepts([mycel.ConceptRow("City", name) for name in CITIES]))
        graph = Graph()
        for steps in transactions:
            after = in_model(graph, steps)
            event("refused" if after is None else "taken")
            assert in_store(db, steps) == (after is not None)
            graph = after or graph
            assert state(db) == (graph.people, graph.homes)
        assert db.verify(replay=True).ok
