"""`mycel retention`: rules are set for types, predicates and elements, and shown."""

import pytest

from tests.adapters.cli.conftest import Run

RULE = "archive 90d after updated unless linked"


@pytest.mark.usefixtures("graph")
def test_rules_are_set_shown_and_refused(run: Run) -> None:
    assert "No type and no element has a rule." in run("retention").stderr
    tried = run("retention", "purge 0d after created", "--type", "Drug", "--dry-run", "--json")
    assert tried.object["due"] > 0
    one = run("retention", "delete 0d after created", "Drug:Aspirin", "--dry-run").stdout
    assert one == "1 element would be due at once.\n"
    assert "No type and no element has a rule." in run("retention").stderr
    assert run("retention", RULE, "--type", "Drug").stdout == f"Retention of Drug: {RULE}.\n"
    assert run("retention", RULE, "--type", "Drug").stdout == "Nothing changed.\n"
    done = run("retention", "delete 2y after created", "--predicate", "treats", "--json").object
    assert done == {"target": "treats", "rule": "delete 2y after created", "changed": True}
    assert run("retention", "never", "Drug:Aspirin").status == 0
    shown = [
        (rule["kind"], rule["target"], rule["words"]) for rule in run("retention", "--json").objects
    ]
    assert shown == [
        ("type", "Drug", RULE),
        ("predicate", "treats", "delete 2y after created"),
        ("element", "C:42", "never"),
    ]
    assert "Drug:Aspirin" in run("retention").stdout
    assert run("concept", "get", "$ConceptType", "Drug", "--json").object["attributes"][
        "retention"
    ] == {"after": "90d", "from": "updated", "then": "archive", "keep_if": ["linked"]}
    for words, part in {
        ("archive", "--type", "Drug"): "archive 90d after updated unless linked",
        (RULE,): "one target",
        (RULE, "C:42", "--type", "Drug"): "one target",
        ("--type", "Drug"): "rule first",
        (RULE, "--type", "Nothing"): "Nothing",
    }.items():
        refused = run("retention", *words)
        assert refused.status == 2
        assert part in refused.stderr
