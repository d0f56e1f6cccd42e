"""The primer and the domains: what a model reads first, within its budget."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import orjson
import pytest

import mycel
from mycel.engine import primer as primers
from mycel.engine.primer import IDENTITY_BYTES_MAX, NO_DOMAIN, PRIMER_BYTES_MAX
from mycel.kip import parse
from mycel.store.database import Store
from mycel.store.query import summary
from tests.unit.engine.meta import PLANTED, run


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    with PLANTED.opened() as db:
        yield db


@pytest.fixture
def bare() -> Iterator[mycel.Graph]:
    """A graph that nobody has told anything, not even what a domain is."""
    with mycel.Graph(Store(":memory:")) as db:
        yield db


def primer(db: mycel.Graph) -> dict[str, Any]:
    result: dict[str, Any] = run(db, "DESCRIBE PRIMER").result
    return result


def entry(told: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [each for each in told["domain_map"] if each["name"] == name]
    return found


# Identity.


def test_identity_is_what_self_says_about_itself(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.put_concept(
            "Person",
            "$self",
            {"core_mission": "Keep the garden", "capabilities": ["weeding"], "growth_log": ["x"]},
        )
    identity = primer(db)["identity"]
    assert (identity["type"], identity["name"]) == ("Person", "$self")
    assert identity["attributes"]["core_mission"] == "Keep the garden"
    assert identity["attributes"]["capabilities"] == ["weeding"]
    assert identity["attributes"]["core_directives"]
    assert "growth_log" not in identity["attributes"]


def test_a_long_identity_is_cut_to_its_share_of_the_budget(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.put_concept(
            "Person",
            "$self",
            {
                "persona": "p" * 50_000,
                "core_mission": "Short and first",
                "strengths": [f"strength {n} " + "s" * 500 for n in range(100)],
                **{f"other_{n}": "o" * 400 for n in range(100)},
            },
        )
    told = primer(db)
    attributes = told["identity"]["attributes"]
    assert attributes["core_mission"] == "Short and first"
    assert attributes["persona"].endswith("…")
    assert attributes["strengths"][-1] == "… and 92 more"
    assert len(orjson.dumps(attributes)) <= IDENTITY_BYTES_MAX
    assert len(orjson.dumps(told)) <= PRIMER_BYTES_MAX


def test_a_graph_without_self_says_that_nobody_is_known(bare: mycel.Graph) -> None:
    identity = primer(bare)["identity"]
    assert identity["name"] is None
    assert "$self" in identity["note"]


# The map.


def test_a_domain_has_the_types_that_are_defined_in_it_and_those_of_its_members(
    db: mycel.Graph,
) -> None:
    found = entry(primer(db), "Gardening")
    assert found["description"] == "Plants, soil and what grows in it"
    assert found["key_concept_types"] == ["Plant", "Pest"]
    assert found["key_proposition_types"] == ["repels"]
    assert found["key_concepts"] == [{"type": "Pest", "name": "Aphid"}]
    assert found["members"] == 3


def test_types_that_no_domain_claims_stand_together_under_a_name_that_no_domain_has(
    db: mycel.Graph,
) -> None:
    told = primer(db)
    found = entry(told, NO_DOMAIN)
    assert found["key_concept_types"] == ["Tool"]
    assert set(found["key_proposition_types"]) == {"grows_beside", "descends_from", "doubts"}
    assert told["total_domains"] == len(told["domain_map"]) - 1


def test_when_every_type_is_claimed_there_is_no_such_entry(db: mycel.Graph) -> None:
    unclaimed = entry(primer(db), NO_DOMAIN)
    with db.transaction() as tx:
        domain = tx.get_concept("Domain", "Gardening")
        assert domain is not None
        names = [("$ConceptType", each) for each in unclaimed["key_concept_types"]]
        names += [("$PropositionType", each) for each in unclaimed["key_proposition_types"]]
        for type_name, name in names:
            definition = tx.get_concept(type_name, name)
            assert definition is not None
            tx.put_proposition(definition, "belongs_to_domain", domain)
    assert NO_DOMAIN not in {each["name"] for each in primer(db)["domain_map"]}


def test_domains_with_the_most_members_come_first(db: mycel.Graph) -> None:
    members = [each.get("members", -1) for each in primer(db)["domain_map"]]
    assert members == sorted(members, reverse=True)


def test_types_and_predicates_are_told_with_sizes_ends_and_meaning(db: mycel.Graph) -> None:
    told = primer(db)
    assert {"name": "Plant", "instances": 3, "description": "Something that grows"} in told[
        "concept_types"
    ]
    predicates = {each["name"]: each for each in told["proposition_types"]}
    assert predicates["repels"] == {
        "name": "repels",
        "links": 3,
        "from": ["Plant"],
        "to": ["Pest"],
        "description": "Keeps away",
    }
    assert predicates["grows_beside"]["is_symmetric"] is True
    assert predicates["descends_from"] == {
        "name": "descends_from",
        "links": 0,
        "is_transitive": True,
    }


def test_totals_agree_with_the_graph(db: mycel.Graph) -> None:
    with db._store.reading() as reader:
        concepts, links = summary.totals(reader)
    told = primer(db)["nexus"]
    assert (told["concepts"], told["links"]) == (concepts, links)
    assert told["concept_types"] == len(run(db, "DESCRIBE CONCEPT TYPES").result)
    assert told["proposition_types"] == len(run(db, "DESCRIBE PROPOSITION TYPES").result)


def test_a_graph_without_domains_still_has_a_primer(bare: mycel.Graph) -> None:
    with bare.transaction() as tx:
        tx.define_type("Star")
        tx.put_concept("Star", "Vega")
    told = primer(bare)
    assert told["total_domains"] == 0
    assert [each["name"] for each in told["domain_map"]] == [NO_DOMAIN]
    assert told["domain_map"][0]["key_concept_types"] == ["Star"]


# How to ask.


def test_every_example_is_a_command_and_speaks_of_types_of_this_graph(db: mycel.Graph) -> None:
    examples = primer(db)["how_to"]["examples"]
    for example in examples:
        parse(example)
    assert any('"Plant"' in each and each.startswith("FIND") for each in examples)
    assert any('"repels"' in each for each in examples)
    assert any(each.startswith("UPSERT") and '"Plant"' in each for each in examples)


def test_examples_of_a_graph_without_content_are_commands_too(bare: mycel.Graph) -> None:
    examples = primer(bare)["how_to"]["examples"]
    assert examples
    for example in examples:
        parse(example)


# Large graphs.


def test_a_graph_with_more_than_fits_is_summarised_and_says_what_was_left_out(
    db: mycel.Graph,
) -> None:
    with db.transaction() as tx:
        for at in range(120):
            domain = tx.put_concept("Domain", f"Field {at}", {"description": "d" * 400})
            for kind in range(3):
                definition = tx.define_type(f"Kind{kind}Of{at}", {"description": "t" * 400})
                tx.put_proposition(definition, "belongs_to_domain", domain)
            predicate = tx.define_predicate(f"rel_{at}", {"description": "p" * 400})
            tx.put_proposition(predicate, "belongs_to_domain", domain)
    told = primer(db)
    assert len(orjson.dumps(told)) <= PRIMER_BYTES_MAX
    assert told["total_domains"] == 125
    named = [each for each in told["domain_map"] if each["name"] != NO_DOMAIN]
    assert len(named) + told["more_domains"] == 125
    types = told["concept_types"]
    assert len(types) + told["more_concept_types"] == told["nexus"]["concept_types"] - 2
    predicates = told["proposition_types"]
    assert len(predicates) + told["more_proposition_types"] == told["nexus"]["proposition_types"]


def test_the_least_detail_fits_even_where_every_name_is_as_long_as_can_be(
    db: mycel.Graph,
) -> None:
    with db.transaction() as tx:
        tx.put_concept("Person", "$self", {f"trait_{n}": "界" * 200 for n in range(50)})
        for at in range(30):
            domain = tx.put_concept("Domain", f"{at}" + "界" * 1200, {"description": "界" * 900})
            for kind in range(5):
                name = f"T{at}_{kind}_" + "x" * 240
                definition = tx.define_type(name, {"description": "界" * 900})
                tx.put_proposition(definition, "belongs_to_domain", domain)
                ends = {"subject_types": [name] * 9, "object_types": [name] * 9}
                predicate = f"p{at}_{kind}_" + "y" * 240
                tx.put_proposition(
                    tx.define_predicate(predicate, ends), "belongs_to_domain", domain
                )
                concepts = [tx.put_concept(name, f"{side}" + "界" * 1200) for side in range(2)]
                tx.put_proposition(concepts[0], predicate, concepts[1])
                tx.put_proposition(concepts[0], "belongs_to_domain", domain)
    assert len(orjson.dumps(primer(db))) <= PRIMER_BYTES_MAX


def test_counts_of_a_large_graph_are_estimates_and_say_so(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.transaction() as tx:
        rows = (mycel.ConceptRow("Tool", f"Tool {n}", {}, {}) for n in range(900))
        ids = tx.put_concepts(rows)
        tx.put_propositions(
            mycel.PropositionRow(one, "grows_beside", other, {}) for one, other in pairwise(ids)
        )
    monkeypatch.setattr(summary, "COUNTED_ROWS_MAX", 200)
    monkeypatch.setattr(summary, "SAMPLE_ROWS", 300)
    told = primer(db)
    tools = next(each for each in told["concept_types"] if each["name"] == "Tool")
    assert tools["about_instances"] == pytest.approx(900, rel=0.1)
    plants = next(each for each in told["concept_types"] if each["name"] == "Plant")
    assert plants["instances"] == 3
    beside = next(each for each in told["proposition_types"] if each["name"] == "grows_beside")
    assert beside["about_links"] == pytest.approx(900, rel=0.1)
    for end in ("from", "to"):  # The sample may hold one of the few links of plants.
        assert beside[end] in (["Tool"], ["Tool", "Plant"])


# Domains.


def test_domains_are_summarised_by_name(db: mycel.Graph) -> None:
    told = run(db, "DESCRIBE DOMAINS").result
    names = [each["name"] for each in told]
    assert names == sorted(names)
    garden_ = told[names.index("Gardening")]
    assert garden_["description"] == "Plants, soil and what grows in it"
    assert garden_["members"] == 3
    assert garden_["concept_types"] == ["Plant", "Pest"]
    assert garden_["proposition_types"] == ["repels"]
    assert db.get(garden_["id"]).to_dict()["name"] == "Gardening"


def test_more_domains_than_are_listed_are_announced(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(primers, "DOMAINS_LISTED_MAX", 2)
    told = run(db, "DESCRIBE DOMAINS")
    assert [each["name"] for each in told.result] == ["CoreSchema", "Gardening"]
    assert told.warnings == ("3 smaller domains are left out; FIND returns all.",)


def test_members_beyond_the_bound_are_told_as_a_minimum(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary, "DEGREE_MAX", 2)
    told = run(db, "DESCRIBE DOMAINS").result
    (garden_,) = [each for each in told if each["name"] == "Gardening"]
    assert garden_["members_at_least"] == 2
    assert "members" not in garden_


def test_a_graph_without_domains_lists_none(bare: mycel.Graph) -> None:
    assert run(bare, "DESCRIBE DOMAINS").result == []
