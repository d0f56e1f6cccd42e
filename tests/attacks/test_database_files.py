"""Database files from somebody else, with objects that run when the file is read."""

import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import mycel
from mycel.errors import NotADatabase
from mycel.history.backups import restore
from mycel.store.file import layout
from mycel.store.index import passages, property_vectors
from mycel.store.log import marks, merges
from mycel.store.schema_objects import foreign_objects
from tests.adapters.warm import warm_command
from tests.cases import each_case

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"
OBJECTS = {
    "view concept": [
        "ALTER TABLE concept RENAME TO before",
        f"CREATE VIEW concept AS {ENDLESS.format('x AS id, x AS type, x AS name')}",
    ],
    "view tx": [
        "DROP VIEW head",
        "DROP TABLE tx",
        f"CREATE VIEW tx AS {ENDLESS.format('x AS seq, zeroblob(900000000) AS frontier')}",
    ],
    "view head": [
        "DROP VIEW head",
        f"CREATE VIEW head AS {ENDLESS.format('x AS seq, x AS time, x AS frontier')}",
    ],
    "view recall_mark": [f"CREATE VIEW recall_mark AS {ENDLESS.format('x AS id')}"],
    "trigger ours": ["CREATE TRIGGER ours AFTER INSERT ON concept BEGIN DELETE FROM journal; END"],
    "index slow": ["CREATE INDEX slow ON concept (length(replace(hex(zeroblob(9)), '0', name)))"],
    "index some": ["CREATE INDEX some ON concept (id) WHERE length(zeroblob(9)) > id"],
    "table more": ["CREATE TABLE more (a, b AS (hex(zeroblob(300000000))) VIRTUAL)"],
    "table recall_more": ["CREATE TABLE recall_more (a CHECK (length(zeroblob(900000000)) > a))"],
    "table words": ["CREATE VIRTUAL TABLE words USING fts5 (a)"],
    "table actor": ["DROP TABLE actor", "CREATE TABLE actor (id INTEGER PRIMARY KEY, name)"],
}
"""Objects that are not ours, each with the statements that put them into a file."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "graph.db"
    with mycel.open(path) as db:
        db.execute('UPSERT { CONCEPT { {type: "Person", name: "Ada"} } }')
        db.history.tag("first")
    return path


@pytest.fixture
def hostile(sound: Path, tmp_path: Path) -> dict[str, Path]:
    """A file for each of the objects."""
    files = {}
    for number, (name, statements) in enumerate(OBJECTS.items()):
        path = files[name] = Path(shutil.copy(sound, tmp_path / f"{number}.db"))
        with closing(apsw.Connection(str(path))) as connection:
            connection.config(apsw.SQLITE_DBCONFIG_LEGACY_ALTER_TABLE, 1)
            connection.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
            for statement in statements:
                connection.execute(statement)
    return files


def test_a_foreign_object_is_refused_by_its_name_before_anything_is_read(
    hostile: dict[str, Path], tmp_path: Path
) -> None:
    with each_case() as case:
        for name, path in hostile.items():
            with case(name):
                with pytest.raises(NotADatabase, match=f"has the {name}, which") as refused:
                    mycel.open(path)
                assert "remove it" in refused.value.hint
                with pytest.raises(NotADatabase, match=name):
                    mycel.open(path, readonly=True)
                with pytest.raises(NotADatabase, match=name):
                    restore(path, tmp_path / "restored.db")
    # Not one half-made file is left.
    assert [path.name for path in tmp_path.iterdir() if not path.stem.isdecimal()] == []


def test_every_command_refuses_such_a_file(hostile: dict[str, Path], tmp_path: Path) -> None:
    path = hostile["view concept"]
    commands = [
        ("verify",),
        ("doctor",),
        ("search", "Ada"),
        ("kip", "DESCRIBE PRIMER"),
        ("backup", tmp_path / "copy.db"),
        ("log",),
    ]
    with each_case() as case:
        for command in commands:
            with case(command[0]):
                words = [*warm_command("mycel"), *command, "--db", path]
                done = subprocess.run(words, capture_output=True, text=True, check=False)
                assert done.returncode == 1
                assert "the view concept" in done.stdout + done.stderr
                assert "Traceback" not in done.stderr


def test_a_table_of_another_program_is_left_alone_and_reported(sound: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(sound, tmp_path / "graph.db"))
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("CREATE TABLE _replica_lock (id INTEGER PRIMARY KEY, seq INTEGER)")
        connection.execute("ANALYZE")
        connection.execute("CREATE TABLE recall_model (name TEXT, other REAL)")
    with mycel.open(path) as db:
        report = db.verify()
        assert [(each.check, each.where, each.what) for each in report.problems] == [
            ("pages", "table _replica_lock", "is not part of a Mycel database")
        ]


def test_all_objects_that_mycel_makes_are_known() -> None:
    with closing(apsw.Connection(":memory:")) as connection:
        for statements in (
            layout.CREATE,
            marks.INDEX,
            merges.TABLES,
            passages.TABLES,
            property_vectors.TABLES,
        ):
            connection.execute(statements)
        assert foreign_objects(connection) == []
