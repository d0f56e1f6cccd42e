"""What every command does, as text and as JSON."""

import json
from datetime import datetime
from pathlib import Path

import pytest

import mycel
from mycel.model.times import to_datetime
from mycel.search.index import passage_index
from mycel.store.database import Store
from tests.adapters.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("graph")


def test_the_steps_from_nothing_to_an_edge_work_one_after_the_other(
    run: Run, tmp_path: Path
) -> None:
    db = ("--db", tmp_path / "new.db")
    assert run(*db, "init").stdout == f"Created {tmp_path / 'new.db'}\n"
    assert run(*db, "init").stdout.startswith("The database exists already")
    assert run(*db, "define", "type", "Fungus", "--description", "Not a plant").status == 0
    assert run(*db, "define", "type", "Tree").status == 0
    assert run(*db, "define", "predicate", "joins").status == 0
    assert run(*db, "concept", "put", "Fungus", "Penny bun").status == 0
    assert run(*db, "concept", "put", "Tree", "Oak: the old one").status == 0
    added = run(*db, "edge", "add", "Fungus:Penny bun", "joins", "Tree:Oak: the old one")
    edge = run(*db, "edge", "out", "Fungus:Penny bun", "--json").object["id"]
    assert added.stdout == f"Added {edge}.\n"


def test_defining_twice_changes_nothing(run: Run) -> None:
    first = run("define", "type", "Dose", "--json").object
    again = run("define", "type", "Dose", "--json").object
    assert first["changed"] is True
    assert again == {"id": first["id"], "type": "Dose", "changed": False}
    assert run("define", "predicate", "treats").stdout == (
        "The predicate treats is defined already.\n"
    )


def test_a_concept_is_created_then_merged_into_then_left_alone(run: Run) -> None:
    put = ("concept", "put", "Drug", "Codeine", "--attributes")
    created = run(*put, '{"a": 1}', "--metadata", '{"source": "me"}', "--json").object
    assert (created["created"], created["changed"]) == (True, True)
    merged = run(*put, '{"b": 2}', "--json").object
    assert merged == {"id": created["id"], "created": False, "changed": True}
    assert run(*put, '{"b": 2}', "--json").object["changed"] is False
    shown = run("concept", "get", "Drug", "Codeine", "--json").object
    assert shown["attributes"] == {"a": 1, "b": 2}
    assert shown["metadata"]["source"] == "me"


def test_json_can_come_from_a_file_or_from_standard_input(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "attributes.json"
    file.write_text('{"text": "läuft"}', encoding="utf-8")
    run("concept", "put", "Drug", "FromFile", "--attributes", f"@{file}")
    run("concept", "put", "Drug", "FromInput", "--attributes", "@-", input='{"n": 1}')
    assert run("concept", "get", "Drug:FromFile", "--json").object["attributes"] == {
        "text": "läuft"
    }
    assert run("concept", "get", "Drug:FromInput", "--json").object["attributes"] == {"n": 1}


@pytest.mark.parametrize("words", [("Drug", "Aspirin"), ("Drug:Aspirin",), ("C:42",)])
def test_a_concept_is_found_by_type_and_name_or_by_id(run: Run, words: tuple[str, ...]) -> None:
    assert run("concept", "get", *words, "--json").object["name"] == "Aspirin"
    shown = run("concept", "get", *words).stdout
    assert '{"dose_mg":500}' in shown
    assert "by ada" in shown


def test_retiring_takes_the_edges_along_and_leaves_history(run: Run) -> None:
    gone = run("concept", "retire", "Drug", "Aspirin", "--reason", "recalled", "--json").object
    assert (gone["concepts"], gone["edges"]) == (1, 2)
    assert run("concept", "get", "Drug", "Aspirin").status == 1
    last = run("history", gone["id"], "--json").objects[-1]
    assert (last["kind"], last["reason"]) == ("retire_concept", "recalled")


def test_adding_an_edge_that_is_there_changes_nothing_and_says_so(run: Run) -> None:
    again = run("edge", "add", "Drug:Aspirin", "treats", "Symptom:Headache", "--weight", "0.1")
    assert again.stdout == "P:1:treats is there already; its weight and data stay.\n"
    edge = run("edge", "get", "P:1:treats", "--json").object
    assert (edge["weight"], edge["attributes"]) == (0.9, {"since": 1899})


def test_an_edge_is_removed_shown_as_removed_and_revived(run: Run) -> None:
    edge = ("Drug:Aspirin", "treats", "Symptom:Headache")
    assert run("edge", "remove", *edge, "--reason", "wrong", "--json").object == {"removed": True}
    assert run("edge", "remove", *edge, "--json").object == {"removed": False}
    shown = run("edge", "get", *edge, "--json").object
    assert shown["tombstone"]["reason"] == "wrong"
    assert "wrong" in run("edge", "get", *edge).stdout
    assert run("edge", "get", "P:1:treats").status == 1
    assert run("edge", "add", *edge, "--json").object == {"id": "P:1:treats", "added": True}


def test_edges_are_listed_both_ways_with_names_and_filters(run: Run) -> None:
    out = run("edge", "out", "Drug:Aspirin")
    assert [line.split()[0] for line in out.lines] == ["id", "P:1:treats", "P:3:treats"]
    assert "C:46 Symptom:Headache" in out.stdout
    into = run("edge", "in", "Symptom:Headache", "--json").objects
    assert [edge["predicate"] for edge in into] == ["related_to", "treats", "treats"]
    assert into[0]["created_by"] == "ada"
    one = run("edge", "in", "Symptom:Headache", "--type", "related_to", "--json").objects
    assert [edge["id"] for edge in one] == ["P:7:related_to"]


def test_an_edge_whose_end_is_gone_is_still_shown(run: Run) -> None:
    run("concept", "retire", "Symptom:Fever")
    shown = run("edge", "out", "Drug:Aspirin", "--tombstoned")
    assert "C:48   " in shown.stdout
    assert "Symptom:Fever" not in shown.stdout


def test_removed_edges_are_listed_only_when_asked_for(run: Run) -> None:
    run("edge", "remove", "Drug:Aspirin", "treats", "Symptom:Fever")
    listing = ("edge", "out", "Drug:Aspirin", "--json")
    assert len(run(*listing).objects) == 1
    assert len(run(*listing, "--tombstoned").objects) == 2
    assert "removed" in run("edge", "out", "Drug:Aspirin", "--tombstoned").lines[0]


def test_a_limit_cuts_a_list_and_says_that_there_is_more(run: Run) -> None:
    cut = run("edge", "out", "Drug:Aspirin", "--limit", "1")
    assert len(cut.lines) == 2
    assert "--limit" in cut.stderr
    as_json = run("edge", "out", "Drug:Aspirin", "--limit", "1", "--json")
    assert len(as_json.objects) == 1
    assert json.loads(as_json.stderr).keys() == {"note"}
    assert run("edge", "out", "Drug:Aspirin", "--limit", "2").stderr == ""


def test_find_walks_by_hops_direction_predicate_and_type(run: Run) -> None:
    near = run("find", "Drug:Aspirin", "--json").objects
    assert [(each["name"], each["hops"]) for each in near] == [("Headache", 1), ("Fever", 1)]
    far = run("find", "Drug:Aspirin", "--hops", "2", "--direction", "both", "--json").objects
    assert ("Ibuprofen", 2) in [(each["name"], each["hops"]) for each in far]
    only = ("--min-hops", "2", "--type", "Drug", "--follow", "treats", "--form", "full")
    found = run("find", "Drug:Aspirin", "--hops", "2", "--direction", "both", *only)
    assert [line.split()[0] for line in found.lines] == ["id", "C:44"]
    assert "note: with food" in found.stdout
    assert "raise --limit" in run("find", "Drug:Aspirin", "--limit", "1").stderr
    assert run("find", "Symptom:Headache").stderr == "Nothing can be reached that way.\n"


def test_find_crosses_removed_edges_only_when_asked_to(run: Run) -> None:
    run("edge", "remove", "Drug:Aspirin", "treats", "Symptom:Fever")
    assert len(run("find", "Drug:Aspirin", "--json").objects) == 1
    assert len(run("find", "Drug:Aspirin", "--tombstoned", "--json").objects) == 2


def test_the_past_is_seen_by_number_and_by_time(run: Run) -> None:
    entries = run("log", "--json").objects
    before_edges = next(each for each in entries if each["message"] == "concepts")
    for moment in (str(before_edges["seq"]), before_edges["time"]):
        as_of = ("--as-of", moment)
        assert run("edge", "out", "Drug:Aspirin", *as_of, "--json").objects == []
        assert run("edge", "in", "Symptom:Fever", *as_of).stderr == "No edges.\n"
        assert run("find", "Drug:Aspirin", *as_of, "--json").objects == []
        assert run("edge", "get", "C:42", "treats", "C:46", *as_of).status == 1
        assert run("concept", "get", "Drug", "Aspirin", *as_of).status == 0
    assert run("concept", "get", "Drug", "Aspirin", "--as-of", "18").status == 1


def test_an_older_moment_shows_an_edge_as_it_was(run: Run, graph: Path) -> None:
    with mycel.open(graph) as db:
        before = db.snapshot().entries
        with db.transaction() as tx:
            tx.update("P:1:treats", weight=0.25)
    edge = ("edge", "get", "P:1:treats", "--json")
    assert run(*edge).object["weight"] == 0.25
    assert run(*edge, "--as-of", str(before)).object["weight"] == 0.9


def test_the_log_is_paged_from_new_to_old(run: Run) -> None:
    first = run("log", "--limit", "2", "--json")
    last_seq = first.objects[-1]["seq"]
    assert f"--before {last_seq}" in first.stderr
    rest = run("log", "--before", str(last_seq), "--json")
    assert rest.stderr == ""
    messages = [entry["message"] for entry in first.objects + rest.objects]
    assert messages[-3:] == ["concepts", "types", "create the graph"]
    assert run("log", "--limit", "1").lines[0].split() == [
        "commit",
        "time",
        "actor",
        "changes",
        "message",
    ]


def test_history_lists_versions_oldest_first(run: Run) -> None:
    run("concept", "put", "Drug", "Aspirin", "--attributes", '{"dose_mg": 100}', "--actor", "bob")
    first, second = run("history", "Drug:Aspirin", "--json").objects
    assert (first["actor"], second["actor"]) == ("ada", "bob")
    assert '{"dose_mg":100}' in run("history", "Drug:Aspirin").lines[-1]
    # Removed ones have a history too, so the hint does not lead back here.
    for command in ("history", "prove"):
        assert "mycel history" not in run(command, "Drug:Nothing").stderr
    assert "mycel history" in run("concept", "get", "Drug", "Nothing").stderr


def test_a_snapshot_shows_every_root_of_now_and_of_then(run: Run) -> None:
    now = run("snapshot", "--json").object
    shown = run("snapshot")
    assert now["overall_root"] in shown.stdout
    time = next(line.split()[1] for line in shown.lines if line.startswith("time "))
    assert datetime.fromisoformat(time) == to_datetime(now["time_us"])
    run("define", "type", "Dose")
    assert run("snapshot", "--json").object["overall_root"] != now["overall_root"]
    then = run("snapshot", "--as-of", str(now["entries"]), "--json").object
    assert then["overall_root"] == now["overall_root"]


def test_search_finds_words_that_were_just_written(run: Run) -> None:
    run("concept", "put", "Drug", "Codeine", "--attributes", '{"note": "against coughing"}')
    best = run("search", "cough", "--json").objects[0]
    assert best["name"] == "Codeine"
    assert best["score"] > 0
    assert "Ibuprofen" in run("search", "food", "--limit", "1").stdout
    assert run("search", "zebra").stderr == "Nothing was found.\n"
    note = {"note": "Sold in every town. " * 40 + "Never with otter milk. " + "Keep it cool. " * 40}
    run("concept", "put", "Drug", "Syrup", "--attributes", json.dumps(note))
    assert "Syrup: Never with otter milk." in run("search", "otter").stdout


def test_search_has_filters(run: Run) -> None:
    note = '{"note": "against coughing"}'
    for name in ("Codeine", "Honey"):
        run("concept", "put", "Drug", name, "--attributes", note, "--metadata", '{"by": "Ada"}')
    run("concept", "put", "Drug", "Thyme", "--attributes", note)

    def found(*options: str) -> list[str]:
        return sorted(each["name"] for each in run("search", "cough", "--json", *options).objects)

    assert found() == ["Codeine", "Honey", "Thyme"]
    assert found("--metadata", '{"by": "Ada"}', "--type", "Drug") == ["Codeine", "Honey"]
    assert found("--path", "kip:Drug/Thyme", "--element", "concept") == ["Thyme"]
    assert found("--since", "2001-01-01", "--until", "2001-01-02") == []
    assert found("--by", "nobody") == []
    assert run("search", "cough", "--near", "Drug:Honey", "--json").objects[0]["name"] == "Honey"
    assert "is not a time" in run("search", "cough", "--since", "soon").stderr
    assert run("search", "cough", "--near", "Drug:Nothing").status == 1
    assert run("search", "cough", "--until", "2001-01-01").stderr.count("not the filters") == 1


def test_a_search_by_meaning_waits_until_all_is_derived_since_its_process_ends_then(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_index, "DERIVED_AT_ONCE_MAX", 0)
    for command in (("search", "aspirin"), ("kip", 'SEARCH CONCEPT "aspirin"')):
        found = run(*command)
        assert found.stderr == ""
        assert "Aspirin" in found.stdout


def test_search_finds_edges_by_the_text_they_carry(run: Run) -> None:
    run("edge", "add", "Drug:Ibuprofen", "treats", "Symptom:Fever", "--data", '{"by": "enzyme"}')
    found = run("search", "enzyme")
    assert found.lines[1].startswith("P:9:treats")


def test_purging_forgets_for_good_when_confirmed(run: Run, graph: Path) -> None:
    purged = run("purge", "Drug:Aspirin", "--reason", "asked to", "--yes", "--json").object
    assert (purged["concepts"], purged["propositions"]) == (1, 2)
    versions = run("history", purged["id"], "--json").objects
    assert [version["kind"] for version in versions] == ["purge"]
    assert run("verify", "--replay").status == 0
    assert b"Aspirin" not in graph.read_bytes()
    text = run("purge", "Drug:Ibuprofen", "--reason", "asked to", "--yes").stdout
    assert text == "Purged C:44: 1 concept, 1 edge, 2 journal entries.\n"


def test_traces_that_could_not_be_removed_are_mentioned(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "scrub", lambda _: False)
    done = run("purge", "Drug:Aspirin", "--reason", "asked to", "--yes")
    assert done.status == 0
    assert "traces" in done.stderr


def test_the_past_is_counted_and_forgotten(run: Run, graph: Path) -> None:
    run("concept", "put", "Drug", "Aspirin", "--attributes", '{"note": "qvwzkoldvalu"}')
    run("concept", "put", "Drug", "Aspirin", "--attributes", '{"note": "new"}')
    run("concept", "retire", "Drug", "Ibuprofen", "--reason", "wrong")
    seq = str(run("log", "--limit", "1", "--json").objects[0]["seq"])
    assert b"qvwzkoldvalu" in graph.read_bytes()
    counted = run("scrub", "--before", seq, "--dry-run")
    assert counted.stdout.startswith("Would forget 1 removed concept, ")
    for missing in (("--reason", "law"), ("--yes",)):
        assert run("scrub", "--before", seq, *missing).status == 2
    done = run("scrub", "--before", seq, "--reason", "law", "--yes", "--json").object
    assert (done["until"], done["concepts"], done["scrubbed"]) == (int(seq), 1, True)
    assert b"qvwzkoldvalu" not in graph.read_bytes()
    assert run("verify", "--replay").status == 0
    assert run("scrub").stdout == "The file was rewritten.\n"
    assert "was scrubbed" in run("concept", "get", "Drug", "Aspirin", "--as-of", "5").stderr


def test_purging_without_a_terminal_needs_a_plain_yes(run: Run) -> None:
    refused = run("purge", "Drug:Aspirin", "--reason", "asked to", input="y\n")
    assert refused.status == 2
    assert "--yes" in refused.stderr
    assert run("concept", "get", "Drug", "Aspirin").status == 0


def test_the_actor_is_the_one_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def last_actor() -> str:
        return str(run("log", "--limit", "1", "--json").objects[0]["actor"])

    run("define", "type", "One", "--actor", "bob")
    assert last_actor() == "bob"
    monkeypatch.setenv("MYCEL_ACTOR", "eve")
    run("define", "type", "Two")
    assert last_actor() == "eve"
    run("--actor", "bob", "define", "type", "Three")
    assert last_actor() == "bob"


def test_what_looks_like_an_id_is_one_and_the_first_colon_splits_a_name(run: Run) -> None:
    run("define", "type", "C")
    run("concept", "put", "C", "42")
    run("concept", "put", "C", "page:https://example.org/a:b")
    assert run("concept", "get", "C:42", "--json").object["name"] == "Aspirin"
    found = run("concept", "get", "C:page:https://example.org/a:b", "--json").object
    assert found["name"] == "page:https://example.org/a:b"


def test_control_characters_of_others_do_not_reach_the_reader_raw(run: Run) -> None:
    name = "a\x1b[31mb\x9bc\u202ed [bold]e[/bold]"
    run("concept", "put", "Drug", name)
    shown = run("search", "bold").stdout
    assert "a\\x1b[31mb\\x9bc\\u202ed [bold]e[/bold]" in shown
    assert not set(shown) & {"\x1b", "\x9b", "\u202e"}
    assert run("concept", "get", "Drug", name, "--json").object["name"] == name


def test_other_scripts_are_shown_as_they_are(run: Run) -> None:
    run("concept", "put", "Drug", "阿司匹林")
    assert "阿司匹林" in run("concept", "get", "Drug", "阿司匹林").stdout
    assert "阿司匹林" in run("concept", "get", "Drug", "阿司匹林", "--json").stdout
