"""Deadlines: what would take minutes is stopped, leaves nothing behind, and harms nothing later.

No test looks at a clock. Each question here would take minutes or years, so that it comes back at
all says that it was stopped. With a timeout of zero, all that takes SQLite more than a moment is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from mycel.errors import ExecutionTimeout
from tests.unit.engine.town import counted_plannings
from tests.unit.store.given import assert_sound

COUNT = 400
CROSS = " ".join(f'?{name} {{type: "Town"}}' for name in "abcdefgh")
"""As many solutions as the eighth power of the number of towns."""
NEVER = "FILTER(?a.name == ?b.id || ?c.name == ?d.id || ?e.name == ?f.id || ?g.name == ?h.id)"
"""True of none of them, and to be told of each."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("deadlines") / "graph.db"
    with mycel.open(path, durability="off") as db, db.transaction() as tx:
        tx.define_type("Town")
        tx.define_predicate("feeds")
        tx.define_predicate("near", {"is_symmetric": True})
        ids = [tx.put_concept("Town", f"t{n}", {"text": "ab" * 2_000}) for n in range(COUNT)]
        for n, town in enumerate(ids):
            for step in range(1, 30):
                tx.add_edge(town, "feeds", ids[(n + step * 7) % COUNT])
            tx.add_edge(town, "near", ids[(n + 1) % COUNT])
    return path


@pytest.fixture
def hurried(path: Path) -> Iterator[mycel.Graph]:
    """A graph on which every command has a twentieth of a second."""
    with mycel.open(path, timeout_s=0.05) as db:
        yield db


READING = [
    f"FIND(COUNT(?a)) WHERE {{ {CROSS} }}",
    f"FIND(?a.name, ?h.name) WHERE {{ {CROSS} }} ORDER BY ?h.name LIMIT 3",
    f"FIND(?a.name) AS OF :then WHERE {{ {CROSS} FILTER(?a.name != ?h.name) }}",
    f"FIND(?z.name) WHERE {{ ?z {{name: :name}} NOT {{ {CROSS} {NEVER} }} }}",
    f"FIND(?a.name) WHERE {{ OPTIONAL {{ {CROSS} {NEVER} }} }}",
    'FIND(?a.name, ?b.name) WHERE { (?a, "feeds"{60000}, ?b) }',
    'FIND(?l) WHERE { ?l (?a, "feeds"{60000}, ?b) }',
    'FIND(?a.name, ?b.name) WHERE { (?a, "near"{60000}, ?b) }',
    f"FIND(?a) WHERE {{ {CROSS} FILTER(REGEX(?a.attributes.text, ?b.name) || ?c.name == ?d.id) }}",
    f"EXPORT ?a WHERE {{ {CROSS} }}",
    f"EXPLAIN ANALYZE FIND(COUNT(?a)) WHERE {{ {CROSS} }}",
]
WRITING = [
    f"UPDATE ?a SET ATTRIBUTES {{ x: 1 }} WHERE {{ {CROSS} }}",
    f'DELETE ATTRIBUTES {{"text"}} FROM ?a WHERE {{ {CROSS} {NEVER} }}',
    f'DELETE METADATA {{"text"}} FROM ?a WHERE {{ {CROSS} {NEVER} }}',
    f"DELETE CONCEPT ?a DETACH WHERE {{ {CROSS} }}",
    f'DELETE PROPOSITIONS ?l WHERE {{ ?l (?a, "feeds", ?x) {CROSS} }}',
    f"MERGE CONCEPT ?a INTO ?b WHERE {{ {CROSS} {NEVER} }}",
]


def test_a_question_that_was_stopped_is_planned_anew(hurried: mycel.Graph) -> None:
    """Its plan may have been made when the graph was small."""
    with counted_plannings() as made:
        for _ in range(2):
            with pytest.raises(ExecutionTimeout):
                hurried.execute(READING[0])
    assert len(made) == 2


@pytest.mark.parametrize("command", READING)
def test_a_question_that_would_take_minutes_is_stopped(hurried: mycel.Graph, command: str) -> None:
    then = hurried.snapshot().entries
    with hurried._store.reading() as reader:
        assert reader.deadline > 1e300
    with pytest.raises(ExecutionTimeout) as caught:
        hurried.execute(command, then=then, name="t0")
    assert caught.value.code == "KIP_4001"


def test_a_question_is_stopped_through_a_handle_for_reading_only_too(path: Path) -> None:
    with mycel.open(path, readonly=True, timeout_s=0.05) as db, pytest.raises(ExecutionTimeout):
        db.execute(READING[0])


@pytest.mark.parametrize("command", WRITING)
def test_a_change_that_would_take_minutes_to_find_its_targets_changes_nothing(
    hurried: mycel.Graph, command: str
) -> None:
    before = hurried.snapshot()
    with pytest.raises(ExecutionTimeout) as caught:
        hurried.execute(command)
    assert caught.value.code == "KIP_4001"
    assert hurried.snapshot() == before


def test_a_write_that_would_take_long_is_stopped_and_a_capsule_is_not(tmp_path: Path) -> None:
    """A few kilobytes of text name one large parameter hundreds of times."""
    blocks = [
        f'CONCEPT {{ {{type: "Domain", name: "d{n}"}} SET ATTRIBUTES {{ all: :all }} }}'
        for n in range(1_000)
    ]
    large = list(range(50_000))
    with mycel.open(tmp_path / "graph.db", timeout_s=0.5) as db:
        before = db.snapshot()
        for dry_run in (False, True):
            with pytest.raises(ExecutionTimeout, match="nothing was written") as caught:
                db.execute(f"UPSERT {{ {' '.join(blocks)} }}", all=large, dry_run=dry_run)
            assert "timeout_s" in caught.value.hint
            assert db.snapshot() == before
        db.apply_capsule(f"UPSERT {{ {' '.join(blocks[:3])} }}", {"all": large})
        assert_sound(db)


def test_writing_goes_on_after_a_change_was_stopped(tmp_path: Path) -> None:
    with mycel.open(tmp_path / "graph.db", timeout_s=0.05) as db:
        with db.transaction() as tx:
            tx.define_type("Town")
            for n in range(100):
                tx.put_concept("Town", f"t{n}")
        for n in range(3):
            with pytest.raises(ExecutionTimeout):
                db.execute(WRITING[0])
            db.execute('UPSERT { CONCEPT { {type: "Town", name: :name} } }', name=f"new {n}")
        found = db.execute('FIND(COUNT(?t)) WHERE { ?t {type: "Town"} }').value
        assert found == 103
        assert_sound(db)


@pytest.mark.parametrize(
    "command",
    [
        'FIND(?a) WHERE { ?a {type: "Town"} }',
        'FIND(?a.name) WHERE { (?a, "feeds", ?b) } ORDER BY ?a.attributes.text LIMIT 1',
        'EXPORT ?a WHERE { ?a {type: "Town"} }',
        "DESCRIBE PRIMER",
        'UPDATE ?a SET ATTRIBUTES { x: 1 } WHERE { ?a {type: "Town"} ?b {type: "Town"} }',
    ],
)
def test_a_command_without_any_time_is_stopped(path: Path, command: str) -> None:
    with mycel.open(path, timeout_s=0.0) as db:
        before = db.snapshot()
        with pytest.raises(ExecutionTimeout):
            db.execute(command)
        assert db.snapshot() == before


def test_a_command_that_takes_a_moment_needs_no_time(path: Path) -> None:
    with mycel.open(path, timeout_s=0.0) as db:
        assert db.execute('FIND(?a.name) WHERE { ?a {type: "Town", name: "t7"} }').value == ["t7"]


def test_a_deadline_ends_with_its_command(path: Path) -> None:
    """What uses the connection next is not a command, and has no deadline of its own."""
    with mycel.open(path, timeout_s=0.0) as db:
        with pytest.raises(ExecutionTimeout):
            db.execute('FIND(?a) WHERE { ?a {type: "Town"} }')
        assert len(db._store._idle) >= 1
        with db._store.reading() as reader:
            rows = reader.connection.execute(
                "SELECT count(*) FROM concept a, concept b WHERE a.type = b.type"
            ).fetchall()
            assert rows[0][0] >= COUNT * COUNT  # type: ignore[operator]
        first = db.get_concept("Town", "t0")
        assert first is not None
        assert len(list(db.edges_out(first))) == 30
        assert db.verify().problems == ()


def test_a_deadline_of_a_write_ends_with_its_command(tmp_path: Path) -> None:
    """The writer's connection then does what would exceed any deadline."""
    with mycel.open(tmp_path / "graph.db", timeout_s=0.0) as db:
        with db.transaction() as tx:
            tx.define_type("Town")
            for n in range(300):
                tx.put_concept("Town", f"t{n}")
        with pytest.raises(ExecutionTimeout):
            db.execute(WRITING[0])
        with db.transaction() as tx:
            for n in range(3_000):
                tx.put_concept("Town", f"new {n}")
        assert db.execute('FIND(?t.name) WHERE { ?t {type: "Town", name: "new 9"} }').value
        assert_sound(db)


def test_readers_are_given_back_by_commands_that_were_stopped(path: Path) -> None:
    with mycel.open(path, timeout_s=0.0) as db:
        for _ in range(30):
            with pytest.raises(ExecutionTimeout):
                db.execute('FIND(?a) WHERE { ?a {type: "Town"} }')
        assert len(db._store._idle) <= 2
        assert not any(reader.connection.in_transaction for reader in db._store._idle)


def test_a_page_of_the_past_that_was_stopped_leaves_no_transaction_open(path: Path) -> None:
    command = 'FIND(?a) AS OF :then WHERE { ?a {type: "Town"} }'
    with mycel.open(path, timeout_s=0.0) as db:
        for _ in range(3):
            with pytest.raises(ExecutionTimeout):
                db.execute(command, then=db.snapshot().entries)
            assert not any(reader.connection.in_transaction for reader in db._store._idle)
