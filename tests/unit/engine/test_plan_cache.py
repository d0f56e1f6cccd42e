"""Commands that were seen before are neither parsed nor planned again, unless they have to be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import Any

import pytest

import mycel
from mycel.engine import engine as engine_module
from mycel.engine.plan_cache import COMMANDS_CACHED_MAX, PLANS_PER_COMMAND_MAX
from mycel.errors import InvalidSyntax, InvalidValueType, TypeMismatch, UnknownReference
from tests.unit.engine.town import counted_plannings, towns

BY_NAME = 'FIND(?t.name) WHERE { ?t {type: "Town", name: :name} }'
BY_SIZE = 'FIND(?t.name) WHERE { ?t {type: "Town"} FILTER(?t.attributes.size == :size) }'
NEIGHBOURS = 'FIND(?o.name) WHERE { ({type: "Town", name: "t1"}, "feeds", ?o) }'
DEFINE = 'UPSERT { CONCEPT { {type: "$PropositionType", name: "joins"} } }'
JOINS = 'FIND(?o) WHERE { (?s, "joins", ?o) }'
RETIRE = 'DELETE CONCEPT ?p DETACH WHERE { ?p {type: "$PropositionType", name: "joins"} }'
MAKE_SYMMETRIC = (
    'UPSERT { CONCEPT { {type: "$PropositionType", name: "feeds"}'
    " SET ATTRIBUTES { is_symmetric: true } } }"
)


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with towns() as db:
        yield db


def test_the_same_text_is_planned_once(db: mycel.Graph) -> None:
    with counted_plannings() as made:
        for n in range(5):
            assert db.execute(BY_NAME, name=f"t{n}").value == [f"t{n}"]
    assert len(made) == 1


def test_a_reader_that_is_new_uses_the_plan_that_is_there(db: mycel.Graph) -> None:
    with counted_plannings() as made:
        db.execute(BY_NAME, name="t1")
        with db._store.reading(), db._store.reading():  # The next one has to be made.
            assert db.execute(BY_NAME, name="t2").value == ["t2"]
    assert len(made) == 1


def test_a_page_of_a_fixed_size_is_cut_and_continued_every_time(db: mycel.Graph) -> None:
    first = 'FIND(?t.name) WHERE { ?t {type: "Town"} FILTER(?t.name >= :from) }'
    page = f"{first} ORDER BY ?t.name ASC LIMIT 2"
    names = db.execute(f"{first} ORDER BY ?t.name ASC", {"from": ""}).value
    assert len(names) == 5
    for start in (1, 0, 2):
        result = db.execute(page, {"from": names[start]})
        assert result.value == names[start : start + 2]
        after = {"from": names[start], "at": result.next_cursor}
        assert db.execute(f"{page} CURSOR :at", after).value == names[start + 2 : start + 4]
    assert db.execute(page, {"from": names[-1]}).next_cursor is None


@pytest.mark.parametrize("command", [NEIGHBOURS, BY_NAME])
def test_parameters_are_looked_at_every_time(db: mycel.Graph, command: str) -> None:
    db.execute(command, {"name": "t1"})
    with pytest.raises(InvalidValueType, match="must be an object, not an array"):
        db.execute(command, ["t1"])  # type: ignore[arg-type]
    assert db.execute(command, MappingProxyType({"name": "t1"})).value
    if command is BY_NAME:
        for none in (None, {}, {"nmae": "t1"}):
            with pytest.raises(UnknownReference):
                db.execute(command, none)
        with pytest.raises(InvalidValueType):
            db.execute(command, {"name": 1})


def test_an_error_about_a_parameter_has_its_place_every_time(db: mycel.Graph) -> None:
    for command, right, wrong in (
        ("FIND(?t) WHERE { ?t {id: :p} }", "C:2", "C"),
        ("FIND(?l) WHERE { ?l (id: :p) }", "P:3:feeds", "C:2"),
        ('FIND(?t) WHERE { ?t {type: "Town"} FILTER(REGEX(?t.name, :p)) }', "^t", "("),
        ('FIND(?t) WHERE { ?t {type: "Town"} FILTER(REGEX(?t.name, :p)) } LIMIT 1', "^t", "("),
    ):
        for value in (wrong, right, wrong):
            if value == right:
                db.execute(command, p=value)
                continue
            with pytest.raises(InvalidSyntax) as refused:
                db.execute(command, p=value)
            assert refused.value.data["column"] == command.index(":p") + 1, command


def test_the_same_text_is_parsed_once(db: mycel.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counted(text: str, **named: Any) -> Any:
        parsed.append(text)
        return parse(text, **named)

    parse = engine_module.parse
    monkeypatch.setattr(engine_module, "parse", counted)
    for _ in range(3):
        db.execute(NEIGHBOURS)
        db.execute("DESCRIBE CONCEPT TYPES")
    assert parsed == [NEIGHBOURS, "DESCRIBE CONCEPT TYPES"]


def test_a_text_of_a_class_of_its_own_is_the_same_command(db: mycel.Graph) -> None:
    class Command(StrEnum):
        NEIGHBOURS = NEIGHBOURS

    with counted_plannings() as made:
        assert db.execute(Command.NEIGHBOURS).value == db.execute(NEIGHBOURS).value
    assert len(made) == 1


def test_a_write_does_not_make_plans_anew(db: mycel.Graph) -> None:
    with counted_plannings() as made:
        for n in range(10, 15):
            db.execute('UPSERT { CONCEPT { {type: "Town", name: :name} } }', name=f"t{n}")
            assert db.execute(BY_NAME, name=f"t{n}").value == [f"t{n}"]
    assert len(made) == 1


@pytest.mark.parametrize(
    ("command", "values", "plans"),
    [
        (BY_SIZE, [1, 2, 3.5, 2**40], 1),
        (BY_SIZE, [1, "1", True, False, None, [1], {"a": 1}], 7),
        (BY_SIZE, [[1], [2], [1]], 2),
        (BY_SIZE.replace("== :size", "< :size"), ["a", "b"], 1),
        (
            BY_SIZE.replace("?t.attributes.size == :size", "IN(?t.name, :size)"),
            [["a"], ["b", "c"]],
            1,
        ),
        (
            BY_SIZE.replace("?t.attributes.size == :size", "IN(?t.name, :size)"),
            [["a"], [1], ["a", 1]],
            3,
        ),
    ],
)
def test_values_of_another_kind_get_a_plan_of_their_own(
    db: mycel.Graph, command: str, values: list[Any], plans: int
) -> None:
    with counted_plannings() as made:
        for value in (*values, *values):
            db.execute(command, size=value)
    assert len(made) == plans


def test_names_of_types_and_predicates_get_a_plan_each(db: mycel.Graph) -> None:
    command = "FIND(COUNT(?t)) WHERE { ?t {type: :type} }"
    with counted_plannings() as made:
        for name in ("Town", "$ConceptType", "Town"):
            assert db.execute(command, type=name).value > 0
    assert len(made) == 2


def test_values_of_other_kinds_find_what_they_should(db: mycel.Graph) -> None:
    for name, size in {"a": "1", "b": True, "c": [1], "d": 1.0, "e": {"x": [1]}}.items():
        db.execute(
            'UPSERT { CONCEPT { {type: "Town", name: :name} SET ATTRIBUTES { size: :size } } }',
            name=name,
            size=size,
        )
    cases = ((1, ["d", "t1"]), ("1", ["a"]), (True, ["b"]), ([1.0], ["c"]), ({"x": [1]}, ["e"]))
    for value, names in (*cases, *reversed(cases)):
        assert sorted(db.execute(BY_SIZE, size=value).value) == names


def test_commands_are_remembered_up_to_a_bound(db: mycel.Graph) -> None:
    for n in range(COMMANDS_CACHED_MAX + 20):
        db.execute(f"FIND(?t{n}.id) WHERE {{ ?t{n} {{id: :id}} }}", id="C:2")
    assert len(db.engine._commands.known) == COMMANDS_CACHED_MAX


def test_plans_of_a_command_are_kept_up_to_a_bound(db: mycel.Graph) -> None:
    for n in range(PLANS_PER_COMMAND_MAX * 3):
        db.execute(BY_SIZE, size=[n])
    plans = db.engine._commands.known[BY_SIZE].plans
    assert len(plans) == PLANS_PER_COMMAND_MAX


def test_a_command_that_cannot_be_planned_is_not_kept_as_a_plan(db: mycel.Graph) -> None:
    for _ in range(3):
        with pytest.raises(TypeMismatch):
            db.execute(JOINS)
    assert not db.engine._commands.known[JOINS].plans


def test_a_list_is_compared_with_the_list_that_is_given(db: mycel.Graph) -> None:
    db.execute('UPDATE ?t SET ATTRIBUTES { size: [1] } WHERE { ?t {type: "Town", name: "t0"} }')
    for value, names in (([2], []), ([1], ["t0"]), (["1"], []), ([1.0], ["t0"])):
        assert db.execute(BY_SIZE, size=value).value == names


# Definitions change.


def test_a_definition_is_seen_by_the_next_query(db: mycel.Graph) -> None:
    with pytest.raises(TypeMismatch):
        db.execute(JOINS)
    db.execute(DEFINE)
    assert db.execute(JOINS).value == []
    db.execute(RETIRE)
    with pytest.raises(TypeMismatch):
        db.execute(JOINS)
    db.execute(DEFINE)
    assert db.execute(JOINS).value == []


def test_a_predicate_that_becomes_symmetric_is_so_for_a_query_asked_before(
    db: mycel.Graph,
) -> None:
    assert db.execute(NEIGHBOURS).value == ["t2"]
    db.execute(MAKE_SYMMETRIC)
    assert sorted(db.execute(NEIGHBOURS).value) == ["t0", "t2"]
    db.execute(
        "UPDATE ?p SET ATTRIBUTES { is_symmetric: false }"
        ' WHERE { ?p {type: "$PropositionType", name: "feeds"} }'
    )
    assert db.execute(NEIGHBOURS).value == ["t2"]


def test_a_definition_that_is_rolled_back_is_never_seen(db: mycel.Graph) -> None:
    assert db.request({"command": DEFINE, "dry_run": True})["result"]["valid"]
    with pytest.raises(TypeMismatch):
        db.execute(JOINS)


def test_every_reader_and_thread_sees_a_definition(db: mycel.Graph) -> None:
    """Readers that are idle while definitions change still know the old ones."""
    readers = [db._store.take() for _ in range(4)]
    for reader in readers:
        reader.reread()
    for reader in readers:
        db._store.give(reader)
    for _ in readers:
        db.execute(NEIGHBOURS)
    db.execute(DEFINE)
    db.execute(MAKE_SYMMETRIC)
    answers: list[Any] = []

    def ask() -> None:
        answers.append(db.execute(JOINS).value)
        answers.append(sorted(db.execute(NEIGHBOURS).value))

    threads = [Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers, key=len) == [[]] * 6 + [["t0", "t2"]] * 6


def run_elsewhere(path: Path, *commands: str) -> None:
    """The commands, in a process of their own."""
    program = (
        "import sys, mycel\n"
        "with mycel.open(sys.argv[1]) as db:\n"
        "    for command in sys.argv[2:]: db.execute(command)"
    )
    subprocess.run([sys.executable, "-c", program, str(path), *commands], check=True)


def test_a_definition_of_another_process_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with towns(path=str(path)) as db:
        with pytest.raises(TypeMismatch):
            db.execute(JOINS)
        assert db.execute(NEIGHBOURS).value == ["t2"]
        run_elsewhere(path, DEFINE, MAKE_SYMMETRIC)
        assert db.execute(JOINS).value == []
        assert sorted(db.execute(NEIGHBOURS).value) == ["t0", "t2"]
        run_elsewhere(path, RETIRE)
        with pytest.raises(TypeMismatch):
            db.execute(JOINS)


def test_a_type_retired_and_another_defined_do_not_share_a_plan(db: mycel.Graph) -> None:
    command = 'FIND(?s.name) WHERE { ?s {type: "Spring"} }'
    for kind in ("a", "b"):
        db.execute(
            'UPSERT { CONCEPT { {type: "$ConceptType", name: "Spring"} } }'
            f'UPSERT {{ CONCEPT {{ {{type: "Spring", name: "{kind}"}} }} }}'
        )
        assert db.execute(command).value == [kind]
        db.execute(f'DELETE CONCEPT ?s DETACH WHERE {{ ?s {{type: "Spring", name: "{kind}"}} }}')
        db.execute('DELETE CONCEPT ?t DETACH WHERE { ?t {type: "$ConceptType", name: "Spring"} }')


# Sums beyond 64 bits.


def test_a_sum_beyond_64_bits_is_planned_again_once(db: mycel.Graph) -> None:
    command = 'FIND(SUM(?t.attributes.size)) WHERE { ?t {type: "Town"} }'
    assert db.execute(command).value == 10
    db.execute('UPDATE ?t SET ATTRIBUTES { size: :huge } WHERE { ?t {type: "Town"} }', huge=2**62)
    with counted_plannings() as made:
        assert db.execute(command).value == 5 * 2.0**62
        assert db.execute(command).value == 5 * 2.0**62
    assert len(made) == 1
