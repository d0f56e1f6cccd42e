"""SEARCH: from words to elements, best first, with scores that mean the same everywhere."""

from collections.abc import Iterator
from typing import Any

import pytest

import mycel
from mycel.engine import search
from mycel.errors import (
    ConstraintViolation,
    InvalidValueType,
    TypeMismatch,
    UnknownReference,
)
from mycel.search.search import find
from mycel.search.sections import with_seat
from mycel.store.index import text
from mycel.store.query import candidates, lookup
from tests.prepared import NEW
from tests.unit.engine.meta import PLANTED, run


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with PLANTED.opened() as db:
        yield db


def names(db: mycel.Graph, command: str, **parameters: Any) -> list[str]:
    return [each["name"] for each in run(db, command, **parameters).result]


def links(db: mycel.Graph, command: str, **parameters: Any) -> list[str]:
    return [each["id"] for each in run(db, command, **parameters).result]


def statements(db: mycel.Graph, command: str) -> list[str]:
    """The links that a search finds, as the names of their ends and the predicate."""
    return [_statement(db, link["id"]) for link in run(db, command).result]


def _statement(db: mycel.Graph, element: str) -> str:
    node = db.get(element)
    if isinstance(node, mycel.Concept):
        return node.name
    assert isinstance(node, mycel.Proposition)
    return f"{_statement(db, node.subject)} {node.predicate} {_statement(db, node.object)}"


def scores(db: mycel.Graph, command: str, **parameters: Any) -> list[float]:
    return [each["metadata"]["_score"] for each in run(db, command, **parameters).result]


def add(db: mycel.Graph, type_name: str, *texts: str) -> None:
    with db.transaction() as tx:
        for text in texts:
            tx.put_concept(type_name, text)


# Concepts.


def test_what_has_all_words_comes_first_however_frequent_the_words_are(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "SCANNED_MAX", 50)
    texts = ["rake teeth handle", *["rake teeth"] * 40, *["handle"] * 50]
    with db.transaction() as tx:
        for number, words in enumerate(texts):
            tx.put_concept("Tool", f"number {number}", {"text": words})
    for question in ("rake teeth handle", "rake teeth handle unheardof"):
        found = names(db, "SEARCH CONCEPT :question", question=question)
        assert found[0] == "number 0", question


def test_a_result_is_a_node_with_its_score_among_its_metadata(db: mycel.Graph) -> None:
    (found,) = run(db, 'SEARCH CONCEPT "louse"').result
    aphid = db.get_concept("Pest", "Aphid")
    assert aphid is not None
    wire = aphid.to_dict()
    score = found["metadata"].pop("_score")
    assert score == pytest.approx(0.8, abs=0.01)
    assert found == wire


def test_scores_fall_from_first_to_last_and_stay_between_0_and_1(db: mycel.Graph) -> None:
    add(db, "Tool", "green shrub shears", "shrub of the sea", "green thing")
    found = scores(db, 'SEARCH CONCEPT "green shrub"')
    assert found == sorted(found, reverse=True)
    assert all(0 < score <= 1 for score in found)


def test_the_very_name_is_first_whatever_its_case_and_scores_1(db: mycel.Graph) -> None:
    add(db, "Tool", "lavender lavender lavender", "Lavender oil press")
    for asked in ("Lavender", "LAVENDER", "lavender", "  lavender "):
        assert names(db, "SEARCH CONCEPT :q", q=asked)[0] == "Lavender"
        assert scores(db, "SEARCH CONCEPT :q", q=asked)[0] == 1.0


def test_an_alias_comes_right_after_a_name(db: mycel.Graph) -> None:
    add(db, "Tool", "dew of sea collector")
    assert names(db, 'SEARCH CONCEPT "dew of sea"')[0] == "Rosemary"
    assert scores(db, 'SEARCH CONCEPT "dew of sea"')[0] == 0.97


def test_a_name_that_begins_so_comes_before_texts_that_contain_it(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.put_concept("Tool", "Sprayer", {"description": "rose rose rose"})
        tx.put_concept("Tool", "Rose shears")
    found = run(db, 'SEARCH CONCEPT "rose"').result
    assert [each["name"] for each in found[:3]] == ["Rosemary", "Rose shears", "Sprayer"]
    assert found[2]["metadata"]["_score"] <= 0.8 < found[1]["metadata"]["_score"]


def test_the_beginning_of_a_word_inside_a_name_is_found(db: mycel.Graph) -> None:
    add(db, "Tool", "A brass watering can")
    assert names(db, 'SEARCH CONCEPT "water"') == ["A brass watering can"]
    assert names(db, 'SEARCH CONCEPT "brass wat"') == ["A brass watering can"]
    assert scores(db, 'SEARCH CONCEPT "wat"')[0] <= 0.4


def test_one_or_two_letters_are_no_beginning_of_a_word(db: mycel.Graph) -> None:
    add(db, "Tool", "A brass watering can")
    assert names(db, 'SEARCH CONCEPT "wa" WITH TYPE "Tool"') == []
    assert names(db, 'SEARCH CONCEPT "A b"')[0] == "A brass watering can"


def test_more_of_the_words_score_higher(db: mycel.Graph) -> None:
    add(db, "Tool", "copper garden lamp", "copper pipe", "garden gnome copper lamp holder")
    found = dict(
        zip(
            names(db, 'SEARCH CONCEPT "copper lamp"'),
            scores(db, 'SEARCH CONCEPT "copper lamp"'),
            strict=True,
        )
    )
    assert found["copper pipe"] <= 0.4 < found["garden gnome copper lamp holder"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("薰衣草", "薰衣草 Sage"),
        ("衣草", "薰衣草 Sage"),
        ("活血", "薰衣草 Sage"),
        ("丹参", "薰衣草 Sage"),
    ],
)
def test_chinese_is_found_by_any_part_of_it(db: mycel.Graph, asked: str, expected: str) -> None:
    assert names(db, "SEARCH CONCEPT :q", q=asked) == [expected]


def test_japanese_and_korean_are_found(db: mycel.Graph) -> None:
    add(db, "Tool", "園芸ばさみ", "원예 가위")
    assert names(db, 'SEARCH CONCEPT "ばさみ"') == ["園芸ばさみ"]
    assert names(db, 'SEARCH CONCEPT "가위"') == ["원예 가위"]


def test_words_are_found_in_other_forms_of_them(db: mycel.Graph) -> None:
    assert set(names(db, 'SEARCH CONCEPT "shrubs" WITH TYPE "Plant"')) == {"Rosemary", "Lavender"}


@pytest.mark.parametrize("asked", ["", "   ", "!?", "the", "\u0301", '" or "', "zzzz"])
def test_a_question_that_says_nothing_finds_nothing(db: mycel.Graph, asked: str) -> None:
    assert names(db, "SEARCH CONCEPT :q", q=asked) == []
    assert links(db, "SEARCH PROPOSITION :q", q=asked) == []


def test_a_name_without_words_is_found_all_the_same(db: mycel.Graph) -> None:
    add(db, "Tool", "+++", "The")
    assert names(db, 'SEARCH CONCEPT "+++"') == ["+++"]
    assert names(db, 'SEARCH CONCEPT "the"') == ["The"]


def test_what_was_written_a_moment_ago_is_found_while_others_hold_the_pen(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.put_concept("Tool", "Fresh trowel")
    with db._store.reading() as reader:
        assert [hit.element.to_dict()["name"] for hit in find(reader, "trowel", "CONCEPT")] == [
            "Fresh trowel"
        ]
        kind = reader.type_number("Plant")
        assert find(reader, "trowel", "CONCEPT", types=[kind]) == []


def test_what_was_removed_is_not_found(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        moth = tx.get_concept("Pest", "Moth")
        assert moth is not None
        tx.retire(moth)
    assert names(db, 'SEARCH CONCEPT "moth"') == []


# Options.


def test_a_type_narrows_the_search_before_the_limit_counts(db: mycel.Graph) -> None:
    add(db, "Tool", *(f"shrub {n}" for n in range(60)))
    assert len(names(db, 'SEARCH CONCEPT "shrub" LIMIT 50')) == 50
    found = names(db, 'SEARCH CONCEPT "shrub" WITH TYPE "Plant" LIMIT 2')
    assert set(found) == {"Rosemary", "Lavender"}


def test_a_type_that_is_not_defined_is_answered_with_the_closest_names(db: mycel.Graph) -> None:
    with pytest.raises(TypeMismatch) as failure:
        run(db, 'SEARCH CONCEPT "x" WITH TYPE "plant"')
    assert failure.value.code == "KIP_2001"
    assert "Plant" in failure.value.hint
    with pytest.raises(TypeMismatch, match="repels"):
        run(db, 'SEARCH PROPOSITION "x" WITH TYPE "repel"')


def test_a_type_whose_definition_was_removed_counts_as_not_defined(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        definition = tx.get_concept("$ConceptType", "Tool")
        assert definition is not None
        tx.retire(definition)
    with pytest.raises(TypeMismatch):
        run(db, 'SEARCH CONCEPT "x" WITH TYPE "Tool"')


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_every_mode_finds_by_words_when_nothing_knows_meanings(db: mycel.Graph, mode: str) -> None:
    outcome = run(db, 'SEARCH CONCEPT "louse" MODE :mode', mode=mode)
    assert outcome == run(db, 'SEARCH CONCEPT "louse"')
    assert outcome.warnings == ()


def test_a_mode_that_does_not_exist_is_answered_with_those_that_do(db: mycel.Graph) -> None:
    with pytest.raises(ConstraintViolation) as failure:
        run(db, 'SEARCH CONCEPT "louse" MODE :mode', mode="psychic")
    assert all(mode in failure.value.hint for mode in ("keyword", "semantic", "hybrid"))


def test_a_threshold_cuts_off_what_scores_less(db: mycel.Graph) -> None:
    every_score = scores(db, 'SEARCH CONCEPT "green shrub"')
    least = (every_score[0] + every_score[-1]) / 2
    kept = scores(db, 'SEARCH CONCEPT "green shrub" THRESHOLD :least', least=least)
    assert kept == [score for score in every_score if score >= least]
    assert 0 < len(kept) < len(every_score)
    assert scores(db, 'SEARCH CONCEPT "aphid" THRESHOLD 1') == [1.0]


@pytest.mark.parametrize("threshold", [-0.1, 1.01, 80])
def test_a_threshold_that_no_score_can_have_is_refused(db: mycel.Graph, threshold: float) -> None:
    with pytest.raises(ConstraintViolation, match="between 0 and 1"):
        run(db, 'SEARCH CONCEPT "x" THRESHOLD :t', t=threshold)


def test_without_a_limit_ten_are_given(db: mycel.Graph) -> None:
    add(db, "Tool", *(f"spade {n}" for n in range(30)))
    assert len(names(db, 'SEARCH CONCEPT "spade"')) == 10
    assert len(names(db, 'SEARCH CONCEPT "spade" LIMIT 30')) == 30


def test_a_limit_beyond_the_most_is_said_to_be_cut(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SEARCH_LIMIT_MAX", 5)
    add(db, "Tool", *(f"spade {n}" for n in range(30)))
    outcome = run(db, 'SEARCH CONCEPT "spade" LIMIT 30')
    assert len(outcome.result) == 5
    assert "at most 5" in outcome.warnings[0]
    assert run(db, 'SEARCH CONCEPT "aphid" LIMIT 30').warnings == ()


def test_parameters_are_checked(db: mycel.Graph) -> None:
    with pytest.raises(InvalidValueType):
        run(db, "SEARCH CONCEPT :q", q=5)
    with pytest.raises(InvalidValueType):
        run(db, 'SEARCH CONCEPT "x" THRESHOLD :t', t="high")
    with pytest.raises(ConstraintViolation):
        run(db, 'SEARCH CONCEPT "x" LIMIT :n', n=0)
    with pytest.raises(UnknownReference):
        run(db, "SEARCH CONCEPT :q")


def test_a_question_is_only_text_whatever_it_holds(db: mycel.Graph) -> None:
    for asked in ('"', "a AND", "NEAR(", "aphid*", "body:aphid", "'; DROP TABLE text", "%", "_"):
        run(db, "SEARCH CONCEPT :q", q=asked)
        run(db, "SEARCH PROPOSITION :q", q=asked)
    assert names(db, 'SEARCH CONCEPT "aphid"') == ["Aphid"]


# Links.


def test_links_are_found_by_the_name_of_their_predicate(db: mycel.Graph) -> None:
    found = run(db, 'SEARCH PROPOSITION "repels"').result
    assert [each["predicate"] for each in found[:3]] == ["repels"] * 3
    assert [each["metadata"]["_score"] for each in found[:3]] == [1.0] * 3
    assert all(each["_type"] == "PropositionLink" for each in found)


def test_words_of_a_predicate_may_be_written_apart_and_in_other_forms(db: mycel.Graph) -> None:
    assert scores(db, 'SEARCH PROPOSITION "grows beside"') == [1.0]
    assert scores(db, 'SEARCH PROPOSITION "Grows_Beside"') == [1.0]
    assert "Lavender grows_beside Rosemary" in statements(db, 'SEARCH PROPOSITION "growing"')


def test_links_are_found_by_the_names_of_their_ends(db: mycel.Graph) -> None:
    assert set(statements(db, 'SEARCH PROPOSITION "rosemary"')) == {
        *("Lavender grows_beside Rosemary", "Rosemary repels Aphid")
    }


def test_links_are_found_by_given_names_aliases_and_parts_of_the_names_of_their_ends(
    db: mycel.Graph,
) -> None:
    with db.transaction() as tx:
        tx.define_predicate("owns")
        ada = tx.put_concept("Tool", "person://ada", {"name": "Augusta King"})
        engine = tx.put_concept("Tool", "engine://one", {"aliases": ["difference machine"]})
        part = tx.put_concept("Tool", "addingUnit")
        found = [tx.add_edge(ada, "owns", engine), tx.add_edge(engine, "owns", part)]
    expected = {
        "augusta": found[:1],
        "king owns machine": found[:1],
        "difference": found,
        "adding": found[1:],
        "addingunit": found[1:],
    }
    for question, wanted in expected.items():
        command = 'SEARCH PROPOSITION :question WITH TYPE "owns" LIMIT 9'
        first = links(db, command, question=question)[: len(wanted)]
        assert set(first) == set(wanted), question


def test_links_are_found_by_a_predicate_that_is_not_in_the_index_yet(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_predicate("pollinates")
        link = tx.add_edge(tx.put_concept("Tool", "bee"), "pollinates", tx.put_concept("Tool", "x"))
    with db.reading() as reader:  # Nothing is folded into the index first.
        assert text.pending(reader.connection)
        assert [hit.element.id for hit in find(reader, "pollinates", "PROPOSITION")] == [link]


def test_links_are_found_by_their_attributes(db: mycel.Graph) -> None:
    assert statements(db, 'SEARCH PROPOSITION "terrace"') == ["Rosemary repels Aphid"]


def test_a_sentence_finds_the_link_that_says_it_first(db: mycel.Graph) -> None:
    assert (
        statements(db, 'SEARCH PROPOSITION "rosemary repels aphid"')[0] == "Rosemary repels Aphid"
    )
    best = scores(db, 'SEARCH PROPOSITION "rosemary repels aphid"')[0]
    assert best == pytest.approx(0.8, abs=0.01)
    assert (
        statements(db, 'SEARCH PROPOSITION "what repels the aphid on the terrace"')[0]
        == "Rosemary repels Aphid"
    )


def test_a_predicate_narrows_the_search_for_links(db: mycel.Graph) -> None:
    assert statements(db, 'SEARCH PROPOSITION "rosemary" WITH TYPE "repels"') == [
        "Rosemary repels Aphid"
    ]
    assert links(db, 'SEARCH PROPOSITION "terrace" WITH TYPE "doubts"') == []
    assert len(links(db, 'SEARCH PROPOSITION "repels" WITH TYPE "repels"')) == 3


def test_links_about_links_are_found_by_their_other_end(db: mycel.Graph) -> None:
    assert statements(db, 'SEARCH PROPOSITION "薰衣草"') == [
        "薰衣草 Sage doubts Rosemary repels Aphid"
    ]
    assert statements(db, 'SEARCH PROPOSITION "doubts"') == [
        "薰衣草 Sage doubts Rosemary repels Aphid"
    ]


def test_the_right_link_is_found_among_many_of_one_predicate(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        ids = tx.put_concepts(mycel.ConceptRow("Plant", f"Weed {n}", {}, {}) for n in range(400))
        moth = tx.get_concept("Pest", "Moth")
        assert moth is not None
        tx.put_propositions(mycel.PropositionRow(each, "repels", moth.id, {}) for each in ids)
        mint = tx.put_concept("Plant", "Zebramint")
        wanted = tx.put_proposition(mint, "repels", moth)
    assert links(db, 'SEARCH PROPOSITION "zebramint repels moth"')[0] == wanted


# Both at once, as `Graph.search` needs it.


def test_concepts_and_links_can_be_found_together(db: mycel.Graph) -> None:
    with db._store.reading() as reader:
        found = [hit.element.id for hit in find(reader, "terrace rosemary")]
    assert any(each.endswith(":repels") for each in found)
    assert any(each.startswith("C:") for each in found)


# What finds nothing.


def test_a_search_without_results_suggests_close_names(db: mycel.Graph) -> None:
    for question, suggested in {
        'SEARCH CONCEPT "Aphyd"': "Nothing was found for 'Aphyd'. Did you mean 'Aphid'?",
        'SEARCH CONCEPT "aphyd bites"': "Nothing was found for 'aphyd'. Did you mean 'Aphid'?",
        'SEARCH CONCEPT "Aphyd" WITH TYPE "Pest"': "Nothing was found for 'Aphyd'. Did you mean"
        " 'Aphid'?",
        'SEARCH PROPOSITION "repalz"': "Nothing was found for 'repalz'. Did you mean 'repels'?",
    }.items():
        outcome = run(db, question)
        assert (outcome.result, outcome.warnings) == ([], (suggested,))
    assert run(db, 'SEARCH CONCEPT "Aphyd" WITH TYPE "Tool"').warnings == ()
    assert run(db, 'SEARCH CONCEPT "qqqq"').warnings == ()
    assert run(db, 'SEARCH CONCEPT "louse"').warnings == ()
    db.write(lambda tx: tx.put_concept("Tool", "Adze"))
    assert (
        run(db, 'SEARCH PROPOSITION "Adze"').warnings == ()
    )  # The name is right; it has no links.


def test_a_threshold_that_nothing_reaches_is_told_with_the_best_score(db: mycel.Graph) -> None:
    outcome = run(db, 'SEARCH CONCEPT "louse" THRESHOLD 0.9')
    assert outcome.result == []
    assert outcome.warnings == (
        "Nothing reaches the THRESHOLD 0.9; the best is 'Aphid' with 0.80.",
    )


# Names.


def write(db: mycel.Graph, *nodes: tuple[str, str], kind: str = "Tool") -> list[str]:
    """Concepts by name, each with a name for people; their ids."""
    with db.transaction() as tx:
        return [tx.put_concept(kind, name, {"name": given}) for name, given in nodes]


def found_first(db: mycel.Graph, asked: str) -> str:
    return names(db, "SEARCH CONCEPT :q LIMIT 50", q=asked)[0]


def test_a_name_brings_its_definition_before_members_tests_parts_and_stems(db: mycel.Graph) -> None:
    base = "concept://web"
    write(db, *((f"{base}/tests/t{n}.py/T{n}.test_basket", "test_basket") for n in range(80)))
    write(
        db,
        (f"{base}/tests/models.py/Basket", "Basket"),
        (f"{base}/src/views.py/View.basket", "basket"),
        (f"{base}/src/words.py/Baskets", "Baskets"),
        (f"{base}/src/fruit.py/FruitBasket", "FruitBasket"),
        (f"{base}/src/shop.py/Basket", "Basket"),
    )
    assert names(db, 'SEARCH CONCEPT "Basket" LIMIT 4') == [
        f"{base}/src/shop.py/Basket",
        f"{base}/src/views.py/View.basket",
        f"{base}/tests/models.py/Basket",
        f"{base}/src/words.py/Baskets",
    ]
    found = scores(db, 'SEARCH CONCEPT "Basket" LIMIT 90')
    assert found[0] == 1.0
    assert all(0 < score <= 1 for score in found)
    assert f"{base}/src/fruit.py/FruitBasket" in names(db, 'SEARCH CONCEPT "Basket" LIMIT 5')


def test_the_end_of_a_path_is_found_with_all_or_some_of_its_segments(db: mycel.Graph) -> None:
    base = "concept://web"
    write(
        db,
        (f"{base}/xml/__init__.py/dumps", "dumps"),
        (f"{base}/json/__init__.py/dumps", "dumps"),
        (f"{base}/urls/base.py/reverse", "reverse"),
        (f"{base}/lists/base.py/reverse", "reverse"),
        (f"{base}/db/query.py/QuerySet.filter", "filter"),
        (f"{base}/db/query.py/Other.filter", "filter"),
    )
    for asked, end in (
        ("json.dumps", "json/__init__.py/dumps"),
        ("json/__init__.py/dumps", "json/__init__.py/dumps"),
        ("urls.reverse", "urls/base.py/reverse"),
        ("web.urls.base.reverse", "urls/base.py/reverse"),
        ("QuerySet.filter", "db/query.py/QuerySet.filter"),
        ("query.QuerySet.filter", "db/query.py/QuerySet.filter"),
        (f"{base}/lists/base.py/reverse", "lists/base.py/reverse"),
    ):
        assert found_first(db, asked) == f"{base}/{end}", asked


def test_a_name_is_found_however_its_parts_are_joined(db: mycel.Graph) -> None:
    write(db, ("concept://web/a.py/QuerySet", "QuerySet"), ("concept://web/b.py/SetQuery", "x"))
    for asked in ("query set", "query_set", "querySet", "query-set", "QUERYSET"):
        assert found_first(db, asked) == "concept://web/a.py/QuerySet", asked
        assert scores(db, "SEARCH CONCEPT :q", q=asked)[0] > 0.9


def test_words_that_are_parts_of_a_name_come_before_their_stems(db: mycel.Graph) -> None:
    write(db, *((f"concept://web/a.py/Setting{n}", f"Settings{n}") for n in range(50)))
    with db.transaction() as tx:
        for n in range(50):
            tx.put_concept("Tool", f"settings {n}", {"note": "loads loading load settings"})
        tx.put_concept("Tool", "Loader", {"name": "loadSetting"})
    assert found_first(db, "load setting") == "Loader"


def test_of_namesakes_the_one_that_more_links_lead_to_comes_first(db: mycel.Graph) -> None:
    base = "concept://web"
    first, second, user = write(
        db,
        (f"{base}/a.py/Path", "Path"),
        (f"{base}/b.py/Path", "Path"),
        (f"{base}/c.py/main", "main"),
    )
    assert found_first(db, "Path") == f"{base}/a.py/Path"
    with db.transaction() as tx:
        tx.define_predicate("calls")
        tx.put_proposition(user, "calls", second)
    assert found_first(db, "Path") == f"{base}/b.py/Path"
    write(db, (f"{base}/d.py/path", "path"))
    assert found_first(db, "path") == f"{base}/d.py/path"
    assert first


def test_whoever_asks_about_tests_gets_them(db: mycel.Graph) -> None:
    base = "concept://web"
    with db.transaction() as tx:
        for path in ("src/a.py/Cart", "tests/test_a.py/check"):
            tx.put_concept("Tool", f"{base}/{path}", {"doc": "tests of the cart"})
    assert found_first(db, "cart") == f"{base}/src/a.py/Cart"
    assert scores(db, 'SEARCH CONCEPT "tests of the cart"')[0] > 0.75


def test_names_written_a_moment_ago_are_found_while_others_hold_the_pen(db: mycel.Graph) -> None:
    write(db, ("concept://web/a.py/QuerySet", "QuerySet"), ("concept://web/b.py/Query", "Query"))
    with db._store.reading() as reader:
        for asked in ("query set", "a.QuerySet", "QuerySet"):
            hit = find(reader, asked, "CONCEPT")[0]
            assert hit.element.to_dict()["name"] == "concept://web/a.py/QuerySet"
            assert hit.score > 0.9


# What every graph has.


def test_definitions_and_core_concepts_are_found_only_when_nothing_else_fits(
    db: mycel.Graph,
) -> None:
    def kinds(command: str) -> set[str]:
        return {each.get("type", "link") for each in run(db, command).result}

    core = {"$ConceptType", "$PropositionType", "Domain", "Person"}
    assert set() < kinds('SEARCH CONCEPT "domain"') <= core
    add(db, "Tool", "the domain of a mole")
    assert kinds('SEARCH CONCEPT "domain"') == {"Tool"}
    assert kinds('SEARCH CONCEPT "Domain" WITH TYPE "$ConceptType"') == {"$ConceptType"}
    assert names(db, 'SEARCH CONCEPT "CoreSchema" WITH TYPE "Domain"') == ["CoreSchema"]
    assert names(db, 'SEARCH CONCEPT "$self"')[0] == "$self"
    found = [each.name for each, _ in db.search("domain", element="CONCEPT", mode="keyword")]
    assert found == ["the domain of a mole"]
    found = [each.name for each, _ in db.search("domain", element="CONCEPT")]
    assert found[0] == "the domain of a mole"
    assert not {"Domain", "CoreSchema", "$self"} & set(found)
    assert db.search("CoreSchema", element="CONCEPT")[0][0].name == "CoreSchema"


@pytest.mark.parametrize("before", [1, candidates.LISTED_MAX])
def test_a_definition_after_a_search_stays_behind_what_fits(db: mycel.Graph, before: int) -> None:
    with db.transaction() as tx:
        for at in range(before):
            tx.define_type(f"Kind{at}")
    add(db, "Tool", "a zither")
    for name in ("Zither", "ZitherString"):
        assert names(db, 'SEARCH CONCEPT "zither"') == ["a zither"]
        with db.transaction() as tx:
            tx.define_type(name)
    assert names(db, 'SEARCH CONCEPT "zither"') == ["a zither"]


def test_links_among_core_concepts_are_found_only_when_nothing_else_fits() -> None:
    with NEW.opened() as db:
        assert len(links(db, 'SEARCH PROPOSITION "belongs to domain"')) == 10
        with db.transaction() as tx:
            tea = tx.put_concept("Insight", "Tea calms")
            domain = tx.get_concept("Domain", "Unsorted")
            assert domain is not None
            own = tx.put_proposition(tea, "belongs_to_domain", domain)
        assert links(db, 'SEARCH PROPOSITION "belongs to domain"') == [own]


def test_a_new_graph_has_nothing_but_core_concepts() -> None:
    with NEW.opened() as db, db.reading() as reader:
        every_concept = {
            number for (number,) in reader.connection.execute("SELECT id FROM concept")
        }
        assert lookup.core_concepts(reader) == every_concept


# Frequent words.


def test_words_that_are_everywhere_neither_hide_the_others_nor_the_names(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("RANKED_MAX", "SCANNED_MAX", "COUNTED_MAX"):
        monkeypatch.setattr(candidates, limit, 20)
    with db.transaction() as tx:
        tx.put_concept("Tool", "Everywhere lamp")
        tx.put_concept("Tool", "old one", {"note": "everywhere copper"})
        for n in range(100):
            tx.put_concept("Tool", f"thing {n}", {"note": "everywhere often"})
        tx.put_concept("Tool", "new one", {"note": "everywhere often copper"})
    assert set(names(db, 'SEARCH CONCEPT "everywhere often copper" LIMIT 2')) == {
        "new one",
        "old one",
    }
    assert names(db, 'SEARCH CONCEPT "everywhere"')[0] == "Everywhere lamp"
    assert len(names(db, 'SEARCH CONCEPT "everywhere often"')) == 10
    assert len(names(db, 'SEARCH CONCEPT "often" WITH TYPE "Tool" LIMIT 200')) == 101


def test_the_longest_words_of_a_very_long_question_are_looked_for(db: mycel.Graph) -> None:
    add(db, "Tool", "extraordinarily long handle")
    asked = " ".join([*(f"w{n}" for n in range(500)), "extraordinarily"])
    assert names(db, "SEARCH CONCEPT :q", q=asked) == ["extraordinarily long handle"]


def test_a_section_that_fits_is_among_the_first_three_notes() -> None:
    texts = (
        "The harbour crane lifts boats in winter.",
        "The harbour crane is painted every winter.",
        "The crane of the harbour rusts in winter.",
        "Winter is when the harbour crane rests.",
    )
    with NEW.opened() as db:
        with db.transaction() as tx:
            for name in ("Risk", "Section"):
                tx.define_type(name)
            for number, text in enumerate(texts):
                tx.put_concept("Risk", f"risk {number}", {"text": text})
            section = {"content": "Grease for the harbour crane, for winter.", "_bootstrap": {}}
            tx.put_concept("Section", "concept://port/docs/manual.md/grease", section)
            tx.put_concept(
                "Section", "concept://port/docs/manual.md/paint", section | {"content": "Paint."}
            )
        question = "harbour crane in winter"
        (section_score,) = [
            score for element, score in db.search(question, type="Section", element="CONCEPT")
        ]
        hits = db.search(question)
        types = [element.type for element, _ in hits]
        assert types == ["Risk", "Risk", "Section", "Risk", "Risk"]
        assert section_score < hits[2][1]
        assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True)
        assert [element.type for element, _ in db.search(question, limit=2)] == ["Risk", "Risk"]
        # What fits far less has no place of its own.
        question = "the harbour crane lifts boats, is painted, rusts or rests"
        assert "Section" not in [element.type for element, _ in db.search(question, limit=3)]
        by_words = db.search(question, mode="keyword")
        scores = [score for _, score in by_words]
        assert scores == sorted(scores, reverse=True)


def test_the_seat_of_a_section_goes_by_the_lead_of_the_best_note() -> None:
    with NEW.opened() as db:
        with db.transaction() as tx:
            for name in ("Risk", "Section"):
                tx.define_type(name)
            for number in range(4):
                tx.put_concept("Risk", f"risk {number}", {"text": "The harbour crane rusts."})
            section = {"content": "Grease for the harbour crane.", "_bootstrap": {}}
            tx.put_concept("Section", "concept://port/docs/manual.md/grease", section)
        with db._store.reading() as reader:
            hits = find(reader, "harbour crane")
    notes = [hit for hit in hits if not hit.is_section]
    (section_hit,) = (hit for hit in hits if hit.is_section)

    def places(*scores: float) -> list[int]:
        """The places of sections among four notes and a section with these scores."""
        scored = zip((*notes, section_hit), scores, strict=True)
        seated = with_seat([hit._replace(score=score) for hit, score in scored])
        return [place for place, hit in enumerate(seated) if hit.is_section]

    assert places(0.7, 0.66, 0.64, 0.5, 0.4) == [2]
    assert places(0.7, 0.4, 0.3, 0.28, 0.25) == [4]


def test_a_tag_answers_by_its_name_and_not_before_what_has_a_text() -> None:
    with NEW.opened() as db:
        with db.transaction() as tx:
            for name in ("Tag", "Section"):
                tx.define_type(name)
            tag = {"name": "sailing", "_bootstrap": {}}
            tx.put_concept("Tag", "concept://vault/tags/sailing", tag)
            section = {"content": "Reef when you first think of it.", "_bootstrap": {}}
            for topic in ("Sailing", "Piano", "Running"):
                text = section if topic == "Sailing" else section | {"content": "Slowly at first."}
                uri = f"concept://vault/{topic}.md/text"
                tx.put_concept("Section", uri, {"name": topic} | text)
        hits = db.search("when should I shorten sail")
        assert hits[0][0].name == "concept://vault/Sailing.md/text"
        assert [element.type for element, _ in db.search("sailing", type="Tag")] == ["Tag"]
        assert db.search("sailing", type="Tag")[0][1] >= 0.92


def test_changelogs_and_comments_of_modules_count_less_than_other_documents() -> None:
    section = {"content": "The gate opens at dawn for fishing boats.", "_bootstrap": {}}
    places = ("docs/gate.md/hours", "CHANGELOG.md/1-2", "src/gate.rs/module-doc")
    with NEW.opened() as db:
        with db.transaction() as tx:
            tx.define_type("Section")
            for place in reversed(places):
                tx.put_concept("Section", f"concept://port/{place}", section)
        for mode in ("hybrid", "keyword", "semantic"):
            hits = db.search("when do fishing boats pass the gate at dawn", mode=mode)
            assert next(element.name for element, _ in hits).endswith(places[0])
            assert hits[1][1] < 0.95 * hits[0][1]
        hits = db.search("since which version does the gate open at dawn")
        assert 0.95 * hits[0][1] < hits[1][1] < hits[0][1]


def test_a_single_letter_has_no_meaning() -> None:
    with NEW.opened() as db:
        with db.transaction() as tx:
            tx.define_type("Letter")
            for name in ("c", "b", "C 7"):
                tx.put_concept("Letter", name)
        assert db.search("cedar") == []
        assert [element.name for element, _ in db.search("c", limit=1)] == ["c"]
