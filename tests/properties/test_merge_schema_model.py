"""Merges of random changes of schemas, rows and texts, compared with a model of the table.

A property has an identity of its own, whatever it is called. A row is known by its key. A text has
lines of which every other one is changed, so that changes of two lines never touch each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import pytest

import mycel
from mycel.errors import MycelError
from mycel.schema.builder import load
from mycel.schema.formatter import format_declared
from mycel.store.backend.sqlite import copy
from tests.unit.store.given import TickingClock

TYPE_NAMES: Final = ("Doc", "Paper", "Sheet")
NEW_NAMES: Final = "abn"
"""The names of properties that are added; a renamed one may have had such a name before."""
OWN_NAMES: Final = {"main": "abcd", "draft": "abef"}
"""The names that each side gives to properties that both have."""
KEYS: Final = "pqrs"
LINES: Final = 7
ROUNDS_MAX: Final = 40
DEFAULTS: Final = {"I64": 7, "String": "d"}
TEXT: Final = 0
"""The identity of the property with a text."""
GONE: Final[Any] = object()
CONTESTED: Final[Any] = object()
_identities = count(2)


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branches are not waited for until they are on the disk: their files live for one test."""
    monkeypatch.setattr(copy, "_flush", lambda _: None)


class Property(NamedTuple):
    name: str
    type: str
    is_required: bool = False

    def declaration(self, old: str | None = None) -> str:
        default = f" @default({DEFAULTS[self.type]!r})".replace("'", '"')
        rename = "" if old in (None, self.name) else f' @rename_from("{old}")'
        return f"{self.name}: {self.type}{default if self.is_required else '?'}{rename}"


@dataclass
class Model:
    """The declaration of one type, and its rows by their keys."""

    type: str = "Doc"
    properties: dict[int, Property] = field(default_factory=dict)
    rows: dict[str, dict[int, Any]] = field(default_factory=dict)

    def schema(self, old: Model | None = None) -> str:
        """The schema as text, with what was renamed since an older one."""
        was = {} if old is None else {i: each.name for i, each in old.properties.items()}
        lines = [each.declaration(was.get(i)) for i, each in self.properties.items()]
        rename = "" if old is None or old.type == self.type else f' @rename_from("{old.type}")'
        return f"node {self.type}{rename} {{ email: String @key\n" + "\n".join(lines) + "\n}"

    def told(self) -> dict[str, dict[str, Any]]:
        """The rows, with values by the names of properties."""
        return {
            key: {self.properties[i].name: value for i, value in row.items()}
            for key, row in self.rows.items()
        }


class SchemaSide:
    """A branch, and the model of it."""

    def __init__(self, name: str, db: mycel.Graph, random: Random, log: list[str]) -> None:
        self.name, self.db, self.random, self.log = name, db, random, log
        self.model = Model()
        self.old: frozenset[int] = frozenset()
        """The properties that both sides have."""

    def step(self) -> None:
        actions = [
            *[self.put, self.set_value, self.set_value, self.set_line, self.set_line],
            *[self.remove, self.rename_type, self.rename_property, self.add_property, self.require],
        ]
        try:
            self.random.choice(actions)()
        except (IndexError, MycelError):
            return  # There is nothing like that, or the graph does not allow it.

    def put(self) -> None:
        key = self.random.choice(KEYS)
        if key in self.model.rows:
            return
        lines = [f"{each}\n" for each in range(LINES)]
        self._write(key, {TEXT: "".join(lines)})
        self.model.rows[key] = {TEXT: "".join(lines), **self._defaults()}

    def _defaults(self) -> dict[int, Any]:
        properties = self.model.properties.items()
        return {i: DEFAULTS[each.type] for i, each in properties if each.is_required}

    def _write(self, key: str, values: Mapping[int, Any]) -> None:
        type_, properties = self.model.type, self.model.properties
        given = {properties[i].name: value for i, value in values.items()}
        self.log.append(f"{self.name}: put {key} {given}")
        self.db.write(lambda tx: tx.put_concept(type_, key, {"email": key, **given}))

    def set_value(self) -> None:
        key = self.random.choice(sorted(self.model.rows))
        i = self.random.choice(sorted(self.model.properties.keys() - {TEXT}))
        value: Any = self.random.randrange(3)
        if self.model.properties[i].type == "String":
            value = str(value)
        self._write(key, {i: value})
        self.model.rows[key][i] = value

    def set_line(self) -> None:
        key = self.random.choice(sorted(self.model.rows))
        lines = self.model.rows[key][TEXT].splitlines(keepends=True)
        at = self.random.randrange(0, LINES, 2)
        lines[at] = f"{at} {self.random.randrange(10_000)}\n"
        self._write(key, {TEXT: "".join(lines)})
        self.model.rows[key][TEXT] = "".join(lines)

    def remove(self) -> None:
        key, type_ = self.random.choice(sorted(self.model.rows)), self.model.type
        self.log.append(f"{self.name}: remove {key}")
        self.db.write(lambda tx: tx.retire((type_, key)))
        del self.model.rows[key]

    # Changes of the schema.

    def _apply(self, model: Model) -> None:
        text = model.schema(self.model)
        self.log.append(f"{self.name}: {' '.join(text.split())}")
        self.db.schema.apply(text)
        self.model = model

    def rename_type(self) -> None:
        changed = deepcopy(self.model)
        changed.type = self.random.choice(TYPE_NAMES)
        self._apply(changed)

    def _free_name(self, names: str) -> str:
        used = {each.name for each in self.model.properties.values()}
        return self.random.choice(sorted({*names} - used))

    def rename_property(self) -> None:
        changed = deepcopy(self.model)
        i = self.random.choice(sorted(changed.properties.keys() & self.old - {TEXT}))
        name = self._free_name(OWN_NAMES[self.name])
        changed.properties[i] = changed.properties[i]._replace(name=name)
        self._apply(changed)

    def add_property(self) -> None:
        changed = deepcopy(self.model)
        type_ = self.random.choice(sorted(DEFAULTS))
        changed.properties[next(_identities)] = Property(self._free_name(NEW_NAMES), type_)
        self._apply(changed)

    def require(self) -> None:
        changed = deepcopy(self.model)
        i = self.random.choice(sorted(changed.properties.keys() - {TEXT}))
        changed.properties[i] = changed.properties[i]._replace(is_required=True)
        for row in changed.rows.values():
            row.setdefault(i, DEFAULTS[changed.properties[i].type])
        self._apply(changed)

    # Reading.

    def content(self) -> dict[str, dict[str, Any]]:
        with self.db.reading() as reader:
            found = reader.elements(range(2_000)).values()
        rows = (each for each in found if isinstance(each, mycel.Concept) and each.type[0] != "$")
        return {
            each.name: {name: v for name, v in each.attributes.items() if name != "email"}
            for each in rows
        }

    def declared(self) -> list[str]:
        return sorted(map(format_declared, self.db.schema.catalog.types))


def settled(base: Any, ours: Any, theirs: Any) -> Any:
    """The value of three, or CONTESTED."""
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else CONTESTED


def merged_schema(base: Model, ours: Model, theirs: Model) -> Model | None:
    """The merged declaration, without rows; None if somebody has to decide about it.

    Properties that both sides have added alike become one: `theirs` gets the identities of ours.
    """
    mine = {each.name: i for i, each in ours.properties.items() if i not in base.properties}
    for i, each in list(theirs.properties.items()):
        same = mine.get(each.name)
        if i in base.properties or same is None:
            continue
        if ours.properties[same] != each:
            return None
        theirs.properties[same] = theirs.properties.pop(i)
        for row in theirs.rows.values():
            if i in row:
                row[same] = row.pop(i)
    found = Model(settled(base.type, ours.type, theirs.type))
    for i in {**ours.properties, **theirs.properties}:
        versions = [side.properties.get(i, GONE) for side in (base, ours, theirs)]
        known = [each for each in versions if each is not GONE]
        if len(known) == 1:
            found.properties[i] = known[0]
            continue
        before = versions[0] if versions[0] is not GONE else known[0]._replace(is_required=False)
        name, is_required = (
            settled(*(getattr(each, part) for each in (before, *versions[1:])))
            for part in ("name", "is_required")
        )
        found.properties[i] = before._replace(name=name, is_required=is_required)
    names = [each.name for each in found.properties.values()]
    if CONTESTED in (found.type, *names) or len({*names}) < len(names):
        return None
    return found


def merged_lines(base: str, ours: str, theirs: str) -> list[Any]:
    texts = (text.splitlines(keepends=True) for text in (base, ours, theirs))
    return [settled(*lines) for lines in zip(*texts, strict=True)]


def merged_rows(schema: Model, base: Model, ours: Model, theirs: Model) -> dict[str, Any]:
    """The merged rows; CONTESTED for a row, a value or a line that somebody has to decide about."""
    found: dict[str, Any] = {}
    for key in {**ours.rows, **theirs.rows}:
        before, mine, others = (side.rows.get(key, GONE) for side in (base, ours, theirs))
        if GONE in (mine, others):
            left = mine if others is GONE else others
            if before is not GONE and left != before:
                found[key] = CONTESTED
            if before is not GONE:
                continue
            mine = others = left
        row: dict[int, Any] = {}
        for i, each in schema.properties.items():
            values = [({} if v is GONE else v).get(i, GONE) for v in (before, mine, others)]
            row[i] = settled(*values)
            if row[i] is CONTESTED and i == TEXT and values[0] is not GONE:
                row[i] = merged_lines(*values)
            if row[i] is GONE:
                row.pop(i)
                if each.is_required:
                    row[i] = DEFAULTS[each.type]
        found[key] = row
    return found


class Decider:
    """Decides about the conflicts of a merge at random, and notes what it has given as values."""

    def __init__(self, side: SchemaSide) -> None:
        self.side, self.random = side, side.random
        self.given: dict[tuple[str, str], Any] = {}
        """Whole values by key and name, as given; the texts of contested lines as a list."""

    def run(self, merge: mycel.Merge) -> None:
        taken: list[str] = []
        while merge.status == "conflicts":
            assert len(taken) < ROUNDS_MAX, taken[-6:]
            if not merge.unresolved:
                merge = self.side.db.merges.commit()
                continue
            conflict = self.random.choice(merge.unresolved)
            assert conflict.options, conflict
            choice, *value = self.decision(conflict)
            taken.append(f"  {conflict.kind} {conflict.label} {conflict.path}: {choice} {value}")
            self.side.log.append(taken[-1])
            merge = self.side.db.merges.resolve(conflict, choice, *value)

    def decision(self, conflict: mycel.Conflict) -> tuple[Any, ...]:
        plain = [each for each in conflict.options if each not in ("value", "lines")]
        if conflict.field != "attributes" or not conflict.path:
            return (self.random.choice(plain),)
        choice = self.random.choice(conflict.options)
        place = str(conflict.identity["name"]), conflict.path[0]
        self.given.pop(place, None)
        if choice == "lines":
            texts = [f"given {self.random.randrange(10_000)}\n" for _ in range(conflict.parts)]
            self.given[place] = texts
            return choice, texts
        if choice == "value":
            is_text = isinstance(conflict.ours, str) or isinstance(conflict.theirs, str)
            value = "given\nby hand\n" if is_text else 99
            self.given[place] = value
            return choice, value
        return (choice,)


def check_rows(
    wanted: Mapping[str, Any], schema: Model, side: SchemaSide, decider: Decider
) -> None:
    """All rows that nobody was asked about are there, with all values and lines."""
    found = side.content()
    assert found.keys() - wanted.keys() == set()
    for key, row in wanted.items():
        if row is CONTESTED:
            continue
        names = {schema.properties[i].name: value for i, value in row.items()}
        asked = {name for name, value in names.items() if value is CONTESTED}
        assert found[key].keys() - asked == names.keys() - asked, (key, found[key], names)
        for name, value in names.items():
            given = decider.given.get((key, name))
            if isinstance(value, list) and isinstance(given, list):
                parts = iter(given)
                text = "".join(next(parts) if each is CONTESTED else each for each in value)
                assert found[key][name] == text
            elif given is not None:
                assert found[key].get(name) == given, (key, name, found[key], given)
            elif isinstance(value, list):
                lines = found[key][name].splitlines(keepends=True)
                is_asked = CONTESTED in value
                pairs = zip(lines, value, strict=True)
                assert is_asked or all(line == each for line, each in pairs), (key, name, lines)
            elif value is not CONTESTED:
                assert found[key][name] == value, (key, name, found[key][name], value)


def check_schemas(seed: int, folder: Path, log: list[str] | None = None) -> None:
    random, log = Random(seed), [] if log is None else log
    path = folder / "graph.db"
    with mycel.open(path, clock_us=TickingClock(), durability="off", core_capsules=False) as db:
        main = SchemaSide("main", db, random, log)
        main.model.properties = {TEXT: Property("text", "String"), 1: Property("a", "I64")}
        db.schema.apply(main.model.schema())
        main.put()
        main.put()
        db.branches.create("draft")
        with db.open_branch("draft") as opened:
            draft = SchemaSide("draft", opened, random, log)
            draft.model = deepcopy(main.model)
            # Somebody who has decided about a property of two types may be asked about it again.
            may_ask = check_round(main, draft, may_ask=False)
            check_round(main, draft, may_ask=may_ask)


def check_round(main: SchemaSide, draft: SchemaSide, *, may_ask: bool) -> bool:
    """Change both sides, and merge them. Returns True if the merge asks about a declaration."""
    base, random = deepcopy(main.model), main.random
    for side in (main, draft):
        side.old = frozenset(base.properties)
        for _ in range(random.randrange(7)):
            side.step()
    ours, theirs = random.sample([main, draft], 2)
    mine, others = deepcopy(ours.model), deepcopy(theirs.model)
    schema = merged_schema(base, mine, others)
    ours.log.append(f"{ours.name} <- {theirs.name}")
    merge = ours.db.merge(theirs.name)
    kinds = {each.kind for each in merge.conflicts}
    is_asked = "definition" in kinds
    assert is_asked or schema is not None, "somebody has to decide about the declaration"
    assert may_ask or is_asked == (schema is None), merge.conflicts
    decider = Decider(ours)
    decider.run(merge)
    for text in ours.declared():
        assert load(text).ir_hash, "the merged schema can be read again"
    if schema is not None and not is_asked:
        check_rows(merged_rows(schema, base, mine, others), schema, ours, decider)
        wanted = load(schema.schema()).types
        assert ours.declared() == sorted(map(format_declared, wanted))
    back = theirs.db.merge(ours.name)
    assert back.conflicts == (), back.conflicts
    assert theirs.declared() == ours.declared()
    assert theirs.content() == ours.content(), (theirs.content(), ours.content())
    for side in (ours, theirs):
        assert not side.db.verify(replay=True).problems
    main.model = read_model(main)
    draft.model = deepcopy(main.model)
    return is_asked


def read_model(side: SchemaSide) -> Model:
    """A model of a graph as it is, with identities of its own."""
    (declared,) = side.db.schema.catalog.types
    model = Model(declared.name)
    by_name: dict[str, int] = {}
    for each in declared.properties:
        if each.name != "email":
            i = TEXT if each.name == "text" else next(_identities)
            model.properties[i] = Property(each.name, each.type.scalar, not each.type.is_nullable)
            by_name[each.name] = i
    model.rows = {
        key: {by_name[name]: value for name, value in row.items()}
        for key, row in side.content().items()
    }
    return model


@pytest.mark.parametrize("seed", [1, 50, 198, 225, 306, 348, 393])
def test_schemas_rows_and_texts_merge_as_the_model_says(seed: int, tmp_path: Path) -> None:
    check_schemas(seed, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_many_schemas_merge_as_the_model_says(part: int, seed: int, tmp_path: Path) -> None:
    for number in range(50):
        folder = tmp_path / str(number)
        folder.mkdir()
        check_schemas(seed * 10_000 + part * 50 + number + 100, folder)
