"""`mycel log`, `tag`, `diff`, `rollback` and `revert`."""

from pathlib import Path

import pytest

from tests.adapters.cli.conftest import Run


@pytest.fixture(autouse=True)
def graph(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph with one drug."""
    monkeypatch.setenv("MYCEL_DB", str(tmp_path / "graph.db"))
    for words in (["init", "--bare"], ["define", "type", "Drug"], ["concept", "put", "Drug"]):
        done = run(*words, *(["Aspirin"] if words[0] == "concept" else []))
        assert done.status == 0, done.stderr


def test_states_are_compared_and_led_back_to(run: Run) -> None:
    run("tag", "start", "-m", "Before everything")
    text = '{"text": "one\\ntwo", "dose_mg": 7}'
    run("concept", "put", "Drug", "Aspirin", "--attributes", text, "-m", "Half a dose")
    run("concept", "put", "Drug", "Ibu")
    assert run("tag").lines[1].startswith("start")
    shown = run("diff", "start")
    assert '~ Drug "Aspirin"' in shown.lines
    assert '+ Drug "Ibu"' in shown.lines
    assert "    + attributes.dose_mg: 7" in shown.lines
    assert run("diff", "start", "--path", "kip:Drug/Ibu").lines == ['+ Drug "Ibu"']
    (wire,) = run("diff", "start", "--json").objects
    assert (wire["added"], wire["changed"]) == (1, 1)
    assert run("diff", "start", "--stat").lines[-1] == "1 added, 1 changed"
    (half,) = run("log", "--text", "half", "--type", "Drug", "--json").objects
    assert half["message"] == "Half a dose"
    would = run("rollback", "start", "--dry-run").lines
    assert '- Drug "Ibu"' in would
    run("revert", half["commit"])
    assert run("diff", "start", "--stat").lines[-1] == "1 added"
    (done,) = run("rollback", "start", "--yes", "--json").objects
    assert (done["removed"], done["commit"] is None) == (1, False)
    assert run("diff", "start").lines == []
    assert run("rollback", "start", "--yes").lines == ["Nothing had to change."]
    run("tag", "start", "--delete")
    assert run("tag").lines == []


def test_a_moment_that_is_none_is_refused_with_the_tags_there_are(run: Run) -> None:
    run("tag", "start")
    refused = run("diff", "begin")
    assert "no tag or commit either" in refused.stderr
    assert "The tags are start." in refused.stderr
    assert refused.status == 2
