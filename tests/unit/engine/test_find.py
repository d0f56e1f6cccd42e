"""FIND: pages that belong together, parameters that stay values, results that stay bounded."""

from __future__ import annotations

import json
import re
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import replace
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import mycel
from mycel.engine import find as find_module
from mycel.engine.page_cursor import cursor_after
from mycel.errors import InvalidSyntax, MycelError, ResourceExhausted
from mycel.kip import ast, format  # noqa: A004  The verb of the stage.
from mycel.store.query import statements
from tests.cases import cases
from tests.prepared import NEW
from tests.properties.kip_commands import CORE, VOCABULARY, Command, changes, finds, graphs
from tests.unit.engine.town import towns

COUNT = 2_500


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    """Forty towns, which feed each other in an order that is not that of their numbers."""
    with towns(40) as db:
        ids = dict(db.execute('FIND(?t.name, ?t.id) WHERE { ?t {type: "Town"} }').rows)
        with db.transaction() as tx:
            for n in range(40):
                tx.add_edge(ids[f"t{n}"], "feeds", ids[f"t{(n * 17 + 3) % 40}"])
        yield db


def pages(db: mycel.Graph, command: str, **parameters: Any) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of each page; `command` has a LIMIT."""
    result = db.execute(command, parameters)
    yield result.rows
    while result.next_cursor is not None:
        result = db.execute(
            f"{command} CURSOR :cursor", {**parameters, "cursor": result.next_cursor}
        )
        yield result.rows


# Pages.

LINKS = '(?a, "feeds", ?b)'
PAIRS = f'?a {{type: "Town"}} {LINKS} ?b {{type: "Town"}}'


@pytest.mark.parametrize("order", ["", "ORDER BY ?a.attributes.size DESC", "ORDER BY ?b.name"])
@pytest.mark.parametrize("size", [3, 13, 78, 79, 80, 1000])
@pytest.mark.parametrize("moment", ["", "AS OF :then"])
@pytest.mark.parametrize("clauses", [PAIRS, LINKS])
def test_pages_are_the_whole_in_parts(
    db: mycel.Graph, order: str, size: int, moment: str, clauses: str
) -> None:
    find = f"FIND(?a.name, ?b.name) {moment} WHERE {{ {clauses} }} {order}"
    then = db.snapshot().entries
    whole = db.execute(find, then=then).rows
    if moment:
        db.execute('DELETE CONCEPT ?t DETACH WHERE { ?t {type: "Town", name: "t5"} }')
    found = list(pages(db, f"{find} LIMIT {size}", then=then))
    rows = [row for page in found for row in page]
    assert sorted(rows) == sorted(whole)
    assert len(set(rows)) == len(rows) == 79
    assert all(len(page) == size for page in found[:-1])


@pytest.mark.parametrize(
    "clauses",
    [
        '?a {type: "Town"} OPTIONAL { (?a, "feeds", ?b) }',
        '(?a, "feeds"{1,4}, ?b)',
        "(?b, ?p, ?a)",
        '?a {type: "Town", name: "t3"} UNION { (?a, "feeds", ?b) }',
    ],
)
def test_pages_of_the_past_keep_the_order_of_the_first(db: mycel.Graph, clauses: str) -> None:
    """The first page may be read from the live tables and the next from history."""
    find = f"FIND(?a.id, ?b.id) WHERE {{ {clauses} }}"
    whole = db.execute(find).rows
    rows: list[Any] = []
    for n, page in enumerate(pages(db, f"{find} LIMIT 9")):
        rows += page
        if n < 8:
            db.execute(
                'UPSERT { CONCEPT { {type: "Town", name: :n} SET PROPOSITIONS {'
                ' ("feeds", {type: "Town", name: "t1"}) } } }',
                n=f"new {n}",
            )
            db.execute(
                'DELETE CONCEPT ?t DETACH WHERE { ?t {type: "Town", name: :n} }', n=f"t{n * 4}"
            )
    assert len(rows) == len(set(rows))
    assert set(rows) == set(whole)


@pytest.mark.parametrize("order", ["", "ORDER BY ?t.attributes.size, ?t.name DESC"])
def test_pages_show_one_moment_while_others_write(order: str) -> None:
    with towns(COUNT) as db:
        command = f'FIND(?t.name, ?t.attributes.size) WHERE {{ ?t {{type: "Town"}} }} {order}'
        before = db.execute(command).rows
        done, started = Event(), Event()

        def write() -> None:
            for n in range(COUNT):
                with db.transaction() as tx:
                    tx.put_concept("Town", f"new {n}", {"size": n % 7})
                    tx.put_concept("Town", f"t{COUNT - 1 - n}", {"size": 100 + n})
                db.execute(
                    'DELETE CONCEPT ?t DETACH WHERE { ?t {type: "Town", name: :name} }',
                    name=f"t{n}",
                )
                started.set()
                if done.is_set():
                    break

        writer = Thread(target=write)
        found = pages(db, f"{command} LIMIT 173")
        rows = next(found)
        writer.start()
        started.wait()
        for page in found:
            rows += page
        done.set()
        writer.join()
        assert len(rows) == len(set(rows)) == COUNT
        assert set(rows) == set(before)
        if order:
            assert rows == before
        assert db.execute(command).rows != before


def test_the_size_of_pages_may_change_between_them(db: mycel.Graph) -> None:
    command = 'FIND(?t.name) WHERE { ?t {type: "Town"} } ORDER BY ?t.name LIMIT :size'
    first = db.execute(command, size=3)
    second = db.execute(f"{command} CURSOR :cursor", size=30, cursor=first.next_cursor)
    third = db.execute(f"{command} CURSOR :cursor", size=1000, cursor=second.next_cursor)
    rows = [*first.rows, *second.rows, *third.rows]
    assert [len(first.rows), len(second.rows), len(third.rows)] == [3, 30, 7]
    assert rows == sorted(rows)
    assert third.next_cursor is None


def test_a_bad_parameter_about_the_past_is_refused_after_definitions_have_changed(
    db: mycel.Graph,
) -> None:
    then = db.snapshot().entries
    db.execute('UPSERT { CONCEPT ?t { {type: "$ConceptType", name: "Village"} } }')
    command = 'FIND(?a.name) AS OF :then WHERE { ?a {type: "Town"} FILTER(REGEX(?a.name, :like)) }'
    assert db.execute(command, {"then": then, "like": "^t7$"}).value == ["t7"]
    db.execute('UPSERT { CONCEPT ?t { {type: "$ConceptType", name: "Hamlet"} } }')
    with pytest.raises(InvalidSyntax):
        db.execute(command, {"then": then, "like": "(("})
    assert db.execute(command, {"then": then, "like": "^t8$"}).value == ["t8"]


def test_the_same_page_can_be_asked_for_again(db: mycel.Graph) -> None:
    command = 'FIND(?t.name) WHERE { ?t {type: "Town"} } LIMIT 3'
    cursor = db.execute(command).next_cursor
    again = f"{command} CURSOR :cursor"
    once = db.execute(again, cursor=cursor)
    db.execute('DELETE CONCEPT ?t DETACH WHERE { ?t {type: "Town"} FILTER(?t.name != "t0") }')
    twice = db.execute(again, cursor=cursor)
    assert (once.rows, once.next_cursor) == (twice.rows, twice.next_cursor)


def test_groups_can_be_paged_through(db: mycel.Graph) -> None:
    command = 'FIND(?t.attributes.size, COUNT(?t)) WHERE { ?t {type: "Town"} }'
    whole = db.execute(command).rows
    found = [row for page in pages(db, f"{command} LIMIT 2") for row in page]
    assert sorted(found) == sorted(whole)


def test_a_page_that_ends_with_the_last_row_has_no_next(db: mycel.Graph) -> None:
    result = db.execute('FIND(?t.name) WHERE { ?t {type: "Town"} } LIMIT 40')
    assert len(result) == 40
    assert result.next_cursor is None


# Cursors that lead nowhere.

PAGED = 'FIND(?t.name) WHERE { ?t {type: "Town"} FILTER(?t.attributes.size < :size) } LIMIT 3'


@pytest.fixture
def cursor(db: mycel.Graph) -> str:
    found = db.execute(PAGED, size=9).next_cursor
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("?t.name)", "?t.id)"),
        ("< :size", "<= :size"),
        ("LIMIT", "ORDER BY ?t.name LIMIT"),
        ("WHERE", "AS OF 30 WHERE"),
    ],
)
def test_a_cursor_of_another_command_is_refused(
    db: mycel.Graph, cursor: str, old: str, new: str
) -> None:
    with pytest.raises(InvalidSyntax):
        db.execute(f"{PAGED.replace(old, new)} CURSOR :cursor", size=9, cursor=cursor)


def test_a_cursor_of_the_same_command_with_other_values_is_refused(
    db: mycel.Graph, cursor: str
) -> None:
    with pytest.raises(InvalidSyntax):
        db.execute(f"{PAGED} CURSOR :cursor", size=8, cursor=cursor)


def test_a_cursor_does_not_mind_how_the_command_is_laid_out(db: mycel.Graph, cursor: str) -> None:
    spread = re.sub(" ", "\n  ", PAGED)
    assert len(db.execute(f"{spread} CURSOR :cursor", size=9, cursor=cursor)) == 3


@given(at=st.integers(0, 200), byte=st.integers(0, 255))
def test_a_cursor_with_one_byte_changed_is_refused(at: int, byte: int) -> None:
    cursor = CURSOR
    raw = bytearray(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    assume(raw[at % len(raw)] != byte)
    raw[at % len(raw)] = byte
    changed = urlsafe_b64encode(bytes(raw)).rstrip(b"=").decode()
    with pytest.raises(InvalidSyntax):
        find_module.place_of(changed, "a command")


CURSOR = cursor_after("a command", [12, 3, "t"])


@pytest.mark.parametrize("damage", ["x", "é", "\0", "=" * 9, "A" * 100_000, "\ud800", " "])
def test_what_is_no_cursor_is_refused(db: mycel.Graph, damage: str) -> None:
    with pytest.raises(MycelError) as caught:
        db.execute(f"{PAGED} CURSOR :cursor", size=9, cursor=damage)
    assert caught.value.code in ("KIP_1001", "KIP_2003")
    assert len(caught.value.message) < 1_000


@pytest.mark.parametrize("extra", [" ", "=", "\n", "A"])
def test_a_cursor_with_something_added_is_refused(db: mycel.Graph, cursor: str, extra: str) -> None:
    for changed in (cursor + extra, extra + cursor):
        with pytest.raises(InvalidSyntax):
            db.execute(f"{PAGED} CURSOR :cursor", size=9, cursor=changed)


def test_a_cursor_from_beyond_the_journal_is_refused(db: mycel.Graph) -> None:
    with towns(100) as other:
        other.execute('UPSERT { CONCEPT { {type: "Town", name: "more"} } }')
        foreign = other.execute(PAGED, size=9).next_cursor
    with pytest.raises(InvalidSyntax, match="does not belong"):
        db.execute(f"{PAGED} CURSOR :cursor", size=9, cursor=foreign)


# Parameters are values.

HOSTILE = [
    "",
    "'",
    '"',
    "' OR 1=1 --",
    "x'); DROP TABLE concept; --",
    '"}) } UNION { ?t {type: "$ConceptType"} }',
    ":name",
    "?1",
    "?t",
    '{type: "Town"}',
    "%",
    "_",
    "*",
    "a\0b",
    "\0",
    "\u202e",
    "😀",
    "é",
    "e\u0301",
    "\\",
    "\\0",
    "\n",
    "null",
    "[1]",
]
TEXTS = st.sampled_from(HOSTILE) | st.text(max_size=12)
NAMES = TEXTS.filter(lambda text: len(text.encode()) > 0 and "\0" not in text)


@pytest.fixture(scope="module")
def texts() -> Iterator[mycel.Graph]:
    with mycel.open(":memory:", core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type("Text")
            for n, value in enumerate([*HOSTILE, *(f"{text}{text}" for text in HOSTILE)]):
                tx.put_concept("Text", f"n{n}", {"value": value})
        yield db


VALUES = dict(enumerate([*HOSTILE, *(f"{text}{text}" for text in HOSTILE)]))
LOOK_UPS: dict[str, Any] = {
    "?t.attributes.value == :v": lambda stored, v: stored == v,
    "?t.attributes.value != :v": lambda stored, v: stored != v,
    "?t.attributes.value <= :v": lambda stored, v: stored <= v,
    "IN(?t.attributes.value, [:v, :v])": lambda stored, v: stored == v,
    "CONTAINS(?t.attributes.value, :v)": lambda stored, v: v in stored,
    "STARTS_WITH(?t.attributes.value, :v)": lambda stored, v: stored.startswith(v),
    "ENDS_WITH(?t.attributes.value, :v)": lambda stored, v: stored.endswith(v),
    "REGEX(?t.attributes.value, :escaped)": lambda stored, v: v in stored,
}


@pytest.mark.parametrize("condition", LOOK_UPS)
@given(value=TEXTS)
def test_whatever_text_is_given_only_the_value_changes(
    texts: mycel.Graph, condition: str, value: str
) -> None:
    found = texts.execute(
        f'FIND(?t.name) WHERE {{ ?t {{type: "Text"}} FILTER({condition}) }}',
        v=value,
        escaped="".join(f"\\x{{{ord(character):x}}}" for character in value),
    ).value
    expected = [n for n, stored in VALUES.items() if LOOK_UPS[condition](stored, value)]
    assert sorted(found) == sorted(f"n{n}" for n in expected)


@given(value=st.lists(TEXTS, min_size=1, max_size=5))
def test_whatever_list_is_given_only_its_values_are_found(
    texts: mycel.Graph, value: list[str]
) -> None:
    found = texts.execute(
        'FIND(?t.attributes.value) WHERE { ?t {type: "Text"} FILTER(IN(?t.attributes.value, :v)) }',
        v=value,
    ).value
    assert sorted(found) == sorted(stored for stored in VALUES.values() if stored in value)


@given(name=NAMES, other=NAMES)
def test_a_name_is_found_by_itself_and_by_nothing_else(name: str, other: str) -> None:
    with mycel.open(":memory:", core_capsules=False) as db:
        db.write(lambda tx: (tx.define_type("Text"), tx.put_concept("Text", name)))
        by_name = 'FIND(?t.name) WHERE { ?t {type: "Text", name: :name} }'
        by_filter = 'FIND(?t.name) WHERE { ?t {type: "Text"} FILTER(?t.name == :name) }'
        for command in (by_name, by_filter):
            assert db.execute(command, name=name).value == [name]
            assert db.execute(command, name=other).value == ([name] if other == name else [])


@given(text=TEXTS)
def test_a_text_in_the_place_of_a_type_or_an_id_is_refused(texts: mycel.Graph, text: str) -> None:
    assume(not text.startswith(("C:", "P:")))
    assume(not texts.execute("FIND(?t) WHERE { ?t {name: :text} }", text=text).rows)
    for command in (
        "FIND(?t) WHERE { ?t {type: :text} }",
        "FIND(?t) WHERE { (?t, :text, ?u) }",
        "FIND(?t) WHERE { ?t {id: :text} }",
        "FIND(?t) WHERE { ?t (id: :text) }",
    ):
        with pytest.raises(MycelError) as caught:
            texts.execute(command, text=text)
        assert caught.value.code in ("KIP_2001", "KIP_1001", "KIP_1002")


# Bounds.

ALL = 'FIND(?t.name) WHERE { ?t {type: "Town"} }'
LARGER = 'FIND(?t, ?t.name) WHERE { ?t {type: "Town"} }'
"""Of cells that may be larger than a name."""


@pytest.mark.parametrize("command", [ALL, LARGER])
def test_a_result_with_too_many_rows_is_refused(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(statements, "CELLS_UNCOUNTED", 10)
    monkeypatch.setattr(statements, "RESULT_ROWS_MAX", 39)
    monkeypatch.setattr(find_module, "RESULT_ROWS_MAX", 39)
    with pytest.raises(ResourceExhausted) as caught:
        db.execute(command)
    assert caught.value.code == "KIP_4002"
    assert "LIMIT" in (caught.value.hint or "")
    assert len(db.execute(f"{command} LIMIT 39")) == 39
    assert len(db.execute(f"{command} LIMIT 5")) == 5
    monkeypatch.setattr(statements, "RESULT_ROWS_MAX", 40)
    monkeypatch.setattr(find_module, "RESULT_ROWS_MAX", 40)
    assert len(db.execute(command)) == 40


def test_a_result_with_too_much_text_is_refused(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "CELLS_UNCOUNTED", 10)
    monkeypatch.setattr(statements, "RESULT_BYTES_MAX", 60)
    for command in (ALL, LARGER):
        with pytest.raises(ResourceExhausted):
            db.execute(command)
    assert db.execute('FIND(COUNT(?t)) WHERE { ?t {type: "Town"} }').value == 40


def test_a_result_that_was_refused_leaves_nothing_open(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "CELLS_UNCOUNTED", 2)
    monkeypatch.setattr(statements, "RESULT_ROWS_MAX", 3)
    monkeypatch.setattr(find_module, "RESULT_ROWS_MAX", 3)
    then = db.snapshot().entries
    db.execute('UPSERT { CONCEPT { {type: "Town", name: "soon"} } }')
    for command in (ALL, LARGER, ALL.replace("WHERE", "AS OF :then WHERE")):
        for _ in range(20):
            with pytest.raises(ResourceExhausted):
                db.execute(command, then=then)
    monkeypatch.undo()
    db.execute('UPSERT { CONCEPT { {type: "Town", name: "later"} } }')
    assert len(db.execute(ALL)) == 42


# The past.


def comparable(result: mycel.Result) -> list[str]:
    """Rows in any order; sums of the same numbers in another order may differ in the last digit."""

    def shown(value: Any) -> str:
        return f"{value:.9g}" if isinstance(value, float) else json.dumps(value, sort_keys=True)

    return sorted(str([shown(value) for value in row]) for row in result.rows)


@given(
    graph=graphs(),
    commands=st.lists(finds(), min_size=1, max_size=3),
    later=st.lists(changes(), min_size=1, max_size=4),
)
def test_a_question_about_a_moment_is_answered_as_it_was_then(
    graph: Command, commands: list[Command], later: list[Command]
) -> None:
    with mycel.open(":memory:", core_capsules=False) as db:
        for text in (VOCABULARY, CORE):
            db.execute(text)
        db.execute(graph.text, graph.parameters)
        then = db.snapshot().entries
        asked = []
        for command in commands:
            assert isinstance(command.tree, ast.Find)
            whole = replace(command.tree, limit=None, cursor=None)
            asked.append((whole, command.parameters, db.execute(format(whole), command.parameters)))
        for change in later:
            db.request(change.request)
        for whole, parameters, answer in asked:
            past = format(replace(whole, as_of=ast.Literal(then)))
            assert comparable(db.execute(past, parameters)) == comparable(answer), past


@cases("name", ["t2", "nobody"])
@cases("hops", ["{1}", "{3}", "{1,3}", "{0,2}", "{1,}", "{7}"])
@cases(
    "walk", ['(?a, "feeds"%s, ?b)', '(?b, "feeds"%s, ?a)', '(?a, "feeds"%s, ?b) (?b, "feeds", ?c)']
)
@cases("found", ["?b.name", "?a.name, ?b.name", "COUNT(?b)", "COUNT(?a)", "?b.name LIMIT"])
def test_a_walk_that_finds_its_beginning_by_itself_finds_the_same(
    db: mycel.Graph, name: str, hops: str, walk: str, found: str
) -> None:
    """With a filter on it, the concept at which the walk begins is joined first."""
    what, page = f"FIND({found.removesuffix(' LIMIT')})", ""
    if found.endswith("LIMIT"):
        page = " ORDER BY ?b.name LIMIT 3"
    begin, end = f'{{ ?a {{type: "Town", name: :name}} {walk % hops}', "}"
    alone = db.execute(f"{what} WHERE {begin} {end}{page}", name=name)
    joined = db.execute(f'{what} WHERE {begin} FILTER(?a.name != "x") {end}{page}', name=name)
    assert sorted(alone.rows) == sorted(joined.rows)
    assert (alone.next_cursor is None) == (joined.next_cursor is None)


@cases("hops", ["{1}", "{3}", "{4}", "{5}", "{1,5}", "{0,4}", "{6}", "{1,}"])
@cases("symmetric", [False, True])
def test_walks_of_any_length_are_answered_of_the_past(hops: str, symmetric: bool) -> None:
    asked = 'FIND(?b.name) %s WHERE { ?a {type: "Town", name: "t2"} (?a, "feeds"' + hops + ", ?b) }"
    with towns(9) as db:
        db.execute(
            'UPSERT { CONCEPT { {type: "$PropositionType", name: "feeds"}'
            " SET ATTRIBUTES { is_symmetric: :symmetric } } }",
            symmetric=symmetric,
        )
        answer = db.execute(asked % "")
        then = db.snapshot().entries
        db.execute('DELETE CONCEPT ?t DETACH WHERE { ?t {type: "Town", name: "t4"} }')
        assert comparable(db.execute(asked % f"AS OF {then}")) == comparable(answer)


def test_a_plan_that_fails_because_definitions_have_changed_is_made_anew(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a time, `:when` is before all of them, and all would be too many; as a text it is not."""
    monkeypatch.setattr(statements, "CELLS_UNCOUNTED", 2)
    monkeypatch.setattr(statements, "RESULT_ROWS_MAX", 5)
    monkeypatch.setattr(find_module, "RESULT_ROWS_MAX", 5)
    schema = "node Event { title: String @key %s }"
    earlier = 'FIND(?e.name) WHERE { ?e {type: "Event"} FILTER(?e.attributes.at < :when) }'
    when = {"when": "2024-01-31T00:30:00-01:00"}
    db.schema.apply(schema % "at: DateTime?")
    assert db.execute(earlier, when).value == []
    for at in ("", "at: String?"):
        db.schema.apply(schema % at)
    rows = [{"title": f"e{n}", "at": "2024-01-31T01:00:00.000Z"} for n in range(9)]
    db.load([{"type": "Event", "data": row} for row in rows])
    for _ in range(2):
        assert db.execute(earlier, when).value == []


def test_plans_that_are_forgotten_and_kept_at_once_do_no_harm(db: mycel.Graph) -> None:
    """Twenty shapes of one command, so that plans come and go, some of them because they fail."""
    command = "FIND(?t.name) WHERE { ?t {type: :type} }"
    known = db.engine._commands.known
    with db.transaction() as tx:
        for n in range(20):
            tx.define_type(f"Kind{n}")
    db.execute(command, type="Town")
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            for n in range(400):
                db.execute(command, type=f"Kind{n % 20}")
                plans = list(known[command].plans.values())
                if plans:
                    known[command].forget(plans[0])
        except BaseException as error:  # noqa: BLE001 - shown below
            failed.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert failed == []


def test_ties_come_in_one_order_with_and_without_pages() -> None:
    """An index gives elements in the order of its values, and ties are in that of numbers."""
    blocks = " ".join(
        f'CONCEPT {{ {{type: "Tie", name: "t{at}"}} SET ATTRIBUTES {{ k: {90 - at} }} }}'
        for at in range(8)
    )
    where = '?a {type: "Tie"} FILTER(?a.attributes.k > 80)'
    find = f"FIND(?a.name) WHERE {{ {where} }} ORDER BY ?a.metadata.absent"
    with NEW.opened() as db:
        db.schema.apply("node Tie { k: I32 @index }")
        db.execute(f"UPSERT {{ {blocks} }}")
        whole = db.execute(find).value
        page = db.execute(f"{find} LIMIT 3")
        names = list(page.value)
        while page.next_cursor:
            page = db.execute(f"{find} LIMIT 3 CURSOR :next", next=page.next_cursor)
            names += page.value
        assert names == whole
