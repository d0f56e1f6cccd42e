"""What a WHERE binds, as numbers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mycel
from mycel.engine.values import Values
from mycel.engine.where_targets import targets
from mycel.errors import TypeMismatch, UnknownReference
from mycel.kip import ast, parse
from tests.unit.engine.town import towns


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with towns(6) as db:
        yield db


def block(where: str) -> ast.Block:
    find = parse(f"FIND(?a) WHERE {{ {where} }}")
    assert isinstance(find, ast.Find)
    return find.where


def found(
    db: mycel.Graph, where: str, variable: str, *, limit: int | None = None, **given: object
) -> list[int]:
    with db._store.reading() as reader:
        return targets(reader, block(where), variable, Values(given), limit=limit)


def test_each_binding_comes_once_in_the_order_of_numbers(db: mycel.Graph) -> None:
    links = found(db, '(?a, "feeds"{1,}, ?b)', "a")
    assert links == sorted(set(links))
    assert len(links) == 5


def test_a_limit_takes_the_first(db: mycel.Graph) -> None:
    every = found(db, '?a {type: "Town"}', "a")
    assert found(db, '?a {type: "Town"}', "a", limit=2) == every[:2]


def test_a_variable_that_an_optional_left_null_is_no_target(db: mycel.Graph) -> None:
    where = '?a {type: "Town"} OPTIONAL { (?a, "feeds", ?b) }'
    every = found(db, where, "b")
    assert len(every) == 5
    assert found(db, where, "b", limit=2) == every[:2]


def test_links_and_concepts_are_told_by_their_numbers(db: mycel.Graph) -> None:
    (link,) = found(db, '?l ({name: "t0"}, "feeds", ?a)', "l")
    assert link % 2 == 1


def test_what_a_transaction_has_defined_and_written_is_seen_in_it(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_type("Hill")
        id_ = tx.put_concept("Hill", "low")
        rows = targets(tx.reader, block('?a {type: "Hill"}'), "a", Values())
        assert rows == [int(id_.removeprefix("C:"))]
        tx.retire(id_)
        assert targets(tx.reader, block('?a {type: "Hill"}'), "a", Values()) == []


def test_what_was_rolled_back_is_not_defined(db: mycel.Graph) -> None:
    class DeliberateError(Exception):
        pass

    def work() -> None:
        with db.transaction() as tx:
            tx.define_type("Hill")
            assert targets(tx.reader, block('?a {type: "Hill"}'), "a", Values()) == []
            raise DeliberateError

    with pytest.raises(DeliberateError):
        work()
    with pytest.raises(TypeMismatch):
        found(db, '?a {type: "Hill"}', "a")


def test_a_variable_that_nothing_binds_is_refused(db: mycel.Graph) -> None:
    with pytest.raises(UnknownReference):
        found(db, '?a {type: "Town"}', "b")
