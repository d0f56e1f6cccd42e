"""`mycel tend`: a person decides what upkeep asks about."""

from pathlib import Path

import pytest

import mycel
from tests.adapters.cli.conftest import Run


def put_pair(run: Run) -> None:
    for name in ("Acme", "ACME!"):
        assert run("concept", "put", "Drug", name).status == 0
    assert run("sleep").status == 0


@pytest.mark.usefixtures("graph")
def test_a_bare_graph_has_cycles_and_no_tasks(run: Run) -> None:
    put_pair(run)
    assert run("tend").stdout == "No task waits.\n"


def test_tasks_are_shown_and_decided(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mycel.open(tmp_path / "tended.db") as db:
        db.write(lambda tx: tx.define_type("Drug"))
    monkeypatch.setenv("MYCEL_DB", str(tmp_path / "tended.db"))
    assert run("tend").stdout == "No task waits.\n"
    put_pair(run)
    shown = run("tend").stdout
    assert "A Drug 'Acme'" in shown
    assert "1 waiting." in shown
    task = run("tend", "--json").object["next"]["task"]
    assert "keep" in run("tend", task, "merge").stderr
    assert "A Drug 'Acme'" in run("tend", task).stdout
    run("tend", task, "later", "--reason", "ask Ana")
    assert "No task waits now. 1 task waits until 20" in run("tend").stdout
    assert "Postponed until 20" in run("tend", task).stdout
    assert run("tend", task, "summarise").status != 0
    done = run("tend", task, "merge", "--keep", "A", "--reason", "one firm").stdout
    assert "merged 'ACME!' into Drug 'Acme': one firm." in done
    assert done.endswith("No task waits.\n")
    assert "Decided: merged 'ACME!'" in run("tend", task).stdout
    assert run("log", "--json").objects[0]["message"] == "merge: one firm"
    assert run("tend", task, "later").status != 0
