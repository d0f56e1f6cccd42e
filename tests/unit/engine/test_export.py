"""EXPORT: a capsule that says the same somewhere else."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import mycel
from mycel.engine import export
from mycel.engine.upsert import upsert
from mycel.engine.values import Values
from mycel.errors import (
    ConstraintViolation,
    InvalidSyntax,
    NotFound,
    ResourceExhausted,
    TypeMismatch,
    UnknownReference,
)
from mycel.kip import ast, parse
from mycel.model.limits import CAPSULE_BYTES_MAX
from mycel.store.database import Store
from mycel.store.file.rows import fetch_all
from tests.cases import cases
from tests.prepared import NEW
from tests.unit.engine.meta import PLANTED, run

DEFINITIONS = """EXPORT ?d WHERE {
    ?d {type: "$ConceptType"} UNION { ?d {type: "$PropositionType"} } }"""
PLANTS = 'EXPORT ?x WHERE { ?x {type: "Plant"} }'
EVERYTHING = """EXPORT ?x WHERE {
    ?x {type: "Plant"} UNION { ?x {type: "Pest"} } UNION { ?x (?a, ?p, ?b) } }"""


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with PLANTED.opened() as db:
        yield db


@contextmanager
def elsewhere() -> Iterator[mycel.Graph]:
    """A graph that has the types of the garden and nothing of its content."""
    with NEW.opened() as other, PLANTED.opened() as source:
        apply(other, run(source, DEFINITIONS).result["capsule"])
        yield other


def apply(db: mycel.Graph, capsule: str) -> Any:
    command = parse(capsule, bytes_max=CAPSULE_BYTES_MAX)
    assert isinstance(command, ast.Capsule)
    return db.write(lambda tx: upsert(tx, command, Values({}))).result


def blocks(capsule: str) -> tuple[ast.ConceptBlock | ast.PropositionBlock, ...]:
    command = parse(capsule)
    assert isinstance(command, ast.Capsule)
    (only,) = command.upserts
    return only.blocks


def content(db: mycel.Graph, *types: str) -> set[str]:
    """Everything about concepts of these types and all links, without what only one graph knows."""
    with db._store.reading() as reader:
        rows = fetch_all(
            reader.connection, "SELECT id FROM concept UNION SELECT id FROM proposition"
        )
        elements = [reader.element(number) for (number,) in rows]

    def said(end: str) -> str:
        element = db.get(end)
        if isinstance(element, mycel.Concept):
            return f"{element.type}:{element.name}"
        return f"({said(element.subject)} {element.predicate} {said(element.object)})"

    return {
        f"{said(each.id)} {each.attributes_json} {each.metadata_json}"
        for each in elements
        if each is not None and (isinstance(each, mycel.Proposition) or each.type in types)
    }


# The way there and back.


def test_a_capsule_of_everything_gives_an_equal_graph(db: mycel.Graph) -> None:
    with elsewhere() as other:
        domain = run(db, 'EXPORT ?x WHERE { ?x {type: "Domain"} }').result["capsule"]
        apply(other, domain)
        apply(other, run(db, EVERYTHING).result["capsule"])
        assert content(other, "Plant", "Pest") == content(db, "Plant", "Pest")


def test_applying_a_capsule_twice_changes_nothing_the_second_time(db: mycel.Graph) -> None:
    with elsewhere() as other:
        capsule = run(db, PLANTS).result["capsule"]
        apply(other, capsule)
        entries = other.snapshot().entries
        apply(other, capsule)
        assert other.snapshot().entries == entries


def test_a_capsule_applied_where_it_came_from_changes_nothing(db: mycel.Graph) -> None:
    entries = db.snapshot().entries
    apply(db, run(db, EVERYTHING).result["capsule"])
    assert db.snapshot().entries == entries


@pytest.mark.parametrize(
    "text",
    [
        'quotes " and \\ backslashes',
        "a placeholder :name inside",
        ":first",
        "line\nbreak\ttab",
        "// no comment",
        "} UPSERT {",
        "薰衣草 🌱",
        "nul-free \u2028 separators \x7f",
    ],
)
def test_any_text_survives(db: mycel.Graph, text: str) -> None:
    with db.transaction() as tx:
        tx.put_concept(
            "Tool",
            text,
            {text: text, "plain": [text, {text: [1.5, -0.0, 10**18, None, True, {}]}]},
            {"source": text},
        )
    with elsewhere() as other:
        apply(other, run(db, 'EXPORT ?x WHERE { ?x {type: "Tool"} }').result["capsule"])
        assert content(other, "Tool") >= {each for each in content(db, "Tool") if "Tool:" in each}


# What is in it.


def test_matched_concepts_bring_the_links_between_them_and_no_others(db: mycel.Graph) -> None:
    told = run(db, PLANTS).result
    assert (told["concepts"], told["propositions"]) == (3, 1)
    assert '"grows_beside"' in told["capsule"]
    assert '"repels"' not in told["capsule"]
    assert '"doubts"' not in told["capsule"]


def test_links_about_links_between_matched_concepts_come_along(db: mycel.Graph) -> None:
    told = run(db, 'EXPORT ?x WHERE { ?x {type: "Plant"} UNION { ?x {type: "Pest"} } }').result
    assert (told["concepts"], told["propositions"]) == (5, 5)
    assert '"doubts"' in told["capsule"]


def test_a_matched_link_comes_alone_and_names_its_ends(db: mycel.Graph) -> None:
    told = run(db, 'EXPORT ?l WHERE { ?l ({name: "Rosemary"}, "repels", ?b) }').result
    assert (told["concepts"], told["propositions"]) == (0, 1)
    (block,) = blocks(told["capsule"])
    assert isinstance(block, ast.PropositionBlock)
    assert isinstance(block.target, ast.LinkPattern)
    assert block.target.subject == ast.ConceptMatcher(
        type=ast.Literal("Plant"), name=ast.Literal("Rosemary")
    )


def test_a_matched_link_about_a_link_names_that_by_its_pattern(db: mycel.Graph) -> None:
    told = run(db, 'EXPORT ?l WHERE { ?l (?a, "doubts", ?b) }').result
    (block,) = blocks(told["capsule"])
    assert isinstance(block, ast.PropositionBlock)
    assert isinstance(block.target, ast.LinkPattern)
    assert isinstance(block.target.object, ast.LinkPattern)
    with elsewhere() as other:
        with pytest.raises(NotFound):
            apply(other, told["capsule"])
        apply(other, run(db, 'EXPORT ?x WHERE { ?x {type: "Plant"} }').result["capsule"])
        apply(other, run(db, 'EXPORT ?x WHERE { ?x {type: "Pest"} }').result["capsule"])
        apply(other, run(db, 'EXPORT ?l WHERE { ?l (?a, "repels", ?b) }').result["capsule"])
        assert len(apply(other, told["capsule"])["upsert_proposition_links"]) == 1


def test_definitions_come_before_what_they_define(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.put_concept("Tool", "Spade")
        tx.define_type("Late")
        tx.put_concept("Late", "Comer")
        tx.define_predicate("later_than")
    told = run(
        db,
        """EXPORT ?x WHERE { ?x {type: "Late"} UNION { ?x {type: "Tool"} }
            UNION { ?x {name: "later_than"} } UNION { ?x {name: "Late"} } }""",
    ).result
    matchers = [
        each.matcher for each in blocks(told["capsule"]) if isinstance(each, ast.ConceptBlock)
    ]
    order = [each.name.value for each in matchers if isinstance(each.name, ast.Literal)]
    assert order == ["Late", "later_than", "Spade", "Comer"]
    with elsewhere() as other:
        apply(other, told["capsule"])
        assert other.get_concept("Late", "Comer") is not None


def test_what_the_engine_keeps_for_itself_is_left_out(db: mycel.Graph) -> None:
    capsule = run(db, EVERYTHING).result["capsule"]
    for word in ("_version", "_updated_at", "_merged_from", '"C:', '"P:'):
        assert word not in capsule


def test_a_match_of_nothing_is_an_empty_capsule(db: mycel.Graph) -> None:
    outcome = run(db, 'EXPORT ?x WHERE { ?x {type: "Plant", name: "Mandrake"} }')
    assert outcome.result == {"capsule": "", "concepts": 0, "propositions": 0}
    assert outcome.next_cursor is None


def test_a_target_that_is_null_in_some_rows_is_skipped_there(db: mycel.Graph) -> None:
    told = run(
        db,
        'EXPORT ?b WHERE { ?x {type: "Plant"} OPTIONAL { (?x, "repels", ?b) } }',
    ).result
    assert told["concepts"] == 2


@pytest.mark.parametrize("weight", [0, 0.25, 1])
def test_a_capsule_carries_weights(db: mycel.Graph, weight: float) -> None:
    with db.transaction() as tx:
        one, other = (tx.get_concept("Plant", name) for name in ("Rosemary", "薰衣草 Sage"))
        assert one is not None
        assert other is not None
        tx.put_proposition(one, "grows_beside", other, weight=weight)
    told = run(db, f"{PLANTS} WITH DEFINITIONS")
    assert not told.warnings
    with NEW.opened() as there:
        there.apply_capsule(told.result["capsule"])
        command = 'FIND(?l.weight) WHERE { ?l ({name: "Rosemary"}, "grows_beside", ?o) }'
        assert there.execute(command).value == db.execute(command).value
        assert weight in there.execute(command).value


# Pages.


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 11])
def test_pages_applied_in_order_give_what_the_whole_gives(db: mycel.Graph, size: int) -> None:
    with elsewhere() as other:
        apply(other, run(db, 'EXPORT ?x WHERE { ?x {type: "Domain"} }').result["capsule"])
        page = run(db, f"{EVERYTHING} LIMIT {size}")
        apply(other, page.result["capsule"])
        while page.next_cursor is not None:
            page = run(db, f"{EVERYTHING} LIMIT {size} CURSOR :c", c=page.next_cursor)
            apply(other, page.result["capsule"])
        assert content(other, "Plant", "Pest") == content(db, "Plant", "Pest")


@pytest.mark.parametrize("size", [1, 2, 3])
def test_links_between_concepts_of_different_pages_are_not_lost(db: mycel.Graph, size: int) -> None:
    command = 'EXPORT ?x WHERE { ?x {type: "Plant"} UNION { ?x {type: "Pest"} } }'
    page = run(db, f"{command} LIMIT {size}")
    count = page.result["propositions"]
    while page.next_cursor is not None:
        page = run(db, f"{command} LIMIT {size} CURSOR :c", c=page.next_cursor)
        count += page.result["propositions"]
    assert count == run(db, command).result["propositions"] == 5


def test_a_page_holds_only_so_many_whatever_is_asked_for(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "EXPORT_ELEMENTS_MAX", 2)
    page = run(db, f"{PLANTS} LIMIT 100")
    assert page.result["concepts"] == 2
    assert page.next_cursor is not None
    assert run(db, PLANTS).next_cursor == page.next_cursor


def test_a_cursor_belongs_to_its_command_and_its_parameters(db: mycel.Graph) -> None:
    command = "EXPORT ?x WHERE { ?x {type: :t} } LIMIT 1"
    cursor = run(db, command, t="Plant").next_cursor
    assert run(db, f"{command} CURSOR :c", t="Plant", c=cursor, other=1).result["concepts"] == 1
    with pytest.raises(InvalidSyntax):
        run(db, f"{command} CURSOR :c", t="Pest", c=cursor)
    with pytest.raises(InvalidSyntax):
        run(db, f"{PLANTS} LIMIT 1 CURSOR :c", c="nonsense")


# Refusals.


def test_what_is_wrong_with_the_pattern_is_said(db: mycel.Graph) -> None:
    with pytest.raises(TypeMismatch):
        run(db, 'EXPORT ?x WHERE { ?x {type: "plant"} }')
    with pytest.raises(UnknownReference):
        run(db, 'EXPORT ?y WHERE { ?x {type: "Plant"} }')
    with pytest.raises(ConstraintViolation):
        run(db, f"{PLANTS} LIMIT :n", n=0)


def test_a_capsule_that_is_too_large_is_refused_with_a_way_out(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "CAPSULE_BYTES_MAX", 100)
    with pytest.raises(ResourceExhausted) as failure:
        run(db, PLANTS)
    assert "LIMIT" in failure.value.hint


def test_a_capsule_larger_than_a_command_is_said_to_be(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "COMMAND_BYTES_MAX", 100)
    (warning,) = run(db, PLANTS).warnings
    assert "capsule file" in warning


def test_links_nested_deeper_than_can_be_written_are_refused(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        plant = tx.get_concept("Plant", "Rosemary")
        pest = tx.get_concept("Pest", "Moth")
        assert plant is not None
        assert pest is not None
        link = tx.put_proposition(plant, "doubts", pest)
        for _ in range(80):
            link = tx.put_proposition(plant, "doubts", link)
    with pytest.raises(ResourceExhausted, match="too deep"):
        run(db, "EXPORT ?l WHERE { ?l (id: :id) }", id=link)
    whole = run(db, 'EXPORT ?l WHERE { ?l (?a, "doubts", ?b) }').result
    assert whole["propositions"] == 82
    parse(whole["capsule"])


# Graphs at random.


def tangle(rng: random.Random) -> mycel.Graph:
    """Plants and pests, links between any two of them, and links about those links."""
    db = bare()
    with db.transaction() as tx:
        elements = [
            tx.put_concept(rng.choice(["Plant", "Pest"]), f"n{n}", {"n": n}) for n in range(6)
        ]
        for n in range(12):
            subject, object_ = rng.sample(elements, 2)
            link = tx.put_proposition(subject, rng.choice(["likes", "eats"]), object_, {"l": n})
            if link not in elements:
                elements.append(link)
    return db


def bare() -> mycel.Graph:
    db = mycel.Graph(Store(":memory:"))
    with db.transaction() as tx:
        for name in ("Plant", "Pest"):
            tx.define_type(name)
        for name in ("likes", "eats"):
            tx.define_predicate(name)
    return db


def spanned(db: mycel.Graph) -> int:
    """How many links lead from plants to plants, or to such links."""

    def inside(end: str) -> bool:
        element = db.get(end)
        if isinstance(element, mycel.Concept):
            return element.type == "Plant"
        return inside(element.subject) and inside(element.object)

    with db._store.reading() as reader:
        rows = fetch_all(reader.connection, "SELECT id FROM proposition")
        links = [reader.outer_id(number) for (number,) in rows]
    return sum(map(inside, links))


def pages(db: mycel.Graph, command: str, size: int) -> Iterator[dict[str, Any]]:
    page = run(db, f"{command} LIMIT {size}")
    yield page.result
    while page.next_cursor is not None:
        page = run(db, f"{command} LIMIT {size} CURSOR :c", c=page.next_cursor)
        yield page.result


@cases("number", range(20))
def test_any_graph_comes_through_whole_whatever_the_pages(number: int, seed: int) -> None:
    rng = random.Random(f"{seed} {number}")
    with tangle(rng) as db, bare() as other:
        everything = """EXPORT ?x WHERE { ?x {type: "Plant"} UNION { ?x {type: "Pest"} }
            UNION { ?x (?a, ?p, ?b) } }"""
        told = 0
        for page in pages(db, everything, rng.randint(1, 9)):
            apply(other, page["capsule"])
            told += page["concepts"] + page["propositions"]
        assert content(other, "Plant", "Pest") == content(db, "Plant", "Pest")
        assert told == len(content(db, "Plant", "Pest"))


@cases("number", range(20))
def test_pages_of_some_concepts_bring_every_link_that_they_span_once(
    number: int, seed: int
) -> None:
    rng = random.Random(f"{seed} {number}")
    with tangle(rng) as db, bare() as other:
        told = 0
        for page in pages(db, 'EXPORT ?x WHERE { ?x {type: "Plant"} }', rng.randint(1, 4)):
            told += page["propositions"]
            if page["capsule"]:
                apply(other, page["capsule"])
        assert told == spanned(db)
        assert content(other, "Plant") <= content(db, "Plant")
        assert spanned(other) == told


def test_definitions_come_once_and_on_the_page_that_first_needs_them(db: mycel.Graph) -> None:
    whole = run(db, f"{PLANTS} WITH DEFINITIONS").result
    assert whole["definitions"][0] == "Plant"
    pages, cursor = [], ""
    while True:
        outcome = run(db, f'{PLANTS} WITH DEFINITIONS LIMIT 1 CURSOR "{cursor}"')
        pages.append(outcome.result)
        if outcome.next_cursor is None:
            break
        cursor = outcome.next_cursor
    assert len(pages) == whole["concepts"]
    assert sorted(name for page in pages for name in page["definitions"]) == sorted(
        whole["definitions"]
    )
    with NEW.opened() as other:
        for page in pages:
            apply(other, page["capsule"])
        assert run(other, PLANTS).result["propositions"] == run(db, PLANTS).result["propositions"]
    with pytest.raises(InvalidSyntax, match="does not belong"):
        run(db, f'{PLANTS} LIMIT 1 CURSOR "{cursor}"')
