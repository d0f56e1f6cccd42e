"""The rules about the tree that no linter knows: what may import what, and how it is laid out."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import grimp
import pytest
from importlinter.cli import lint_imports

import mycel
from mycel.store.file import layout
from tests.cases import cases
from tests.source_tree import MODULES, PACKAGE, ROOT, nodes, parse

LINES_MAX = 800

# These turn values into values: they do no I/O, read no clock and draw no random numbers.
# `errors` and `syntax` are among them because the others are built on them.
PURE = {"errors", "ir", "kip", "merkle", "model", "plan", "schema", "sql", "syntax", "text"}
IMPURE_MODULES = {
    "apsw",
    "asyncio",
    "glob",
    "http",
    "importlib.resources",
    "logging",
    "multiprocessing",
    "os",
    "pathlib",
    "random",
    "secrets",
    "select",
    "selectors",
    "shutil",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "time",
    "urllib.request",
}
IMPURE_CALLS = {
    "date.today",
    "datetime.now",
    "datetime.today",
    "datetime.utcnow",
    "input",
    "open",
    "print",
    "uuid.uuid1",
    "uuid.uuid4",
    "uuid1",
    "uuid4",
}


# Slow to import and not needed to open a database: loaded by what uses them.
LATE_MODULES = {
    "asyncio",
    "click",
    "http.server",
    "mcp",
    "numpy",
    "pandas",
    "prompt_toolkit",
    "pyarrow",
    "re2",
    "rich",
    "starlette",
    "uvicorn",
}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def child_names(package: Path) -> set[str]:
    """The modules and packages directly inside `package`, as import names."""
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    return modules | {path.parent.name for path in package.glob("*/__init__.py")}


def imported_modules(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every module an import may load: `from a import b` gives both `a` and `a.b`."""
    for node in nodes(tree)[ast.Import]:
        for alias in node.names:
            yield node.lineno, alias.name
    for node in nodes(tree)[ast.ImportFrom]:
        if node.module and not node.level:
            yield node.lineno, node.module
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def impurities_in(tree: ast.Module) -> Iterator[str]:
    for line, module in imported_modules(tree):
        parts = module.split(".")
        prefixes = {".".join(parts[: n + 1]) for n in range(len(parts))}
        if prefixes & IMPURE_MODULES:
            yield f"line {line} imports {module}"
    for node in nodes(tree)[ast.Call]:
        if isinstance(node.func, ast.Name | ast.Attribute):
            name = ast.unparse(node.func)
            if name.removeprefix("datetime.") in IMPURE_CALLS or name in IMPURE_CALLS:
                yield f"line {node.lineno} calls {name}"


def pure_modules() -> list[Path]:
    return [path for path in MODULES if path.relative_to(PACKAGE).parts[0].split(".")[0] in PURE]


def test_every_layer_imports_only_from_the_layers_below_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # It would turn off every logger of this process, and other tests read what is logged.
    monkeypatch.setattr("logging.config.dictConfig", lambda _: None)
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert status == 0, capsys.readouterr().out


def test_every_module_under_the_package_is_placed_in_the_layer_contract() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in config["tool"]["importlinter"]["contracts"]:
        (container,) = contract["containers"]
        layers = [name for layer in contract["layers"] for name in layer.split("|")]
        children = child_names(PACKAGE.parent.joinpath(*container.split(".")))
        missing = children - {name.strip().strip("()") for name in layers}
        assert not missing, f"place in pyproject.toml, [[tool.importlinter.contracts]]: {missing}"


def test_below_the_command_line_only_the_version_is_imported_from_the_package_root() -> None:
    allowed = {*child_names(PACKAGE), "__version__"}
    for path in MODULES:
        if path.is_relative_to(PACKAGE / "cli"):
            continue
        tree = nodes(parse(path))
        assert not [a for node in tree[ast.Import] for a in node.names if a.name == "mycel"], path
        names = {
            name.name
            for node in tree[ast.ImportFrom]
            if node.module == "mycel"
            for name in node.names
        }
        assert names <= allowed, path


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("mycel")
    below = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    left = dict(below)
    while free := [name for name, imported in left.items() if not imported & left.keys()]:
        for name in free:
            del left[name]
    # What imports into a circle without being part of it goes too.
    while above := [name for name in left if not any(name in below[each] for each in left)]:
        for name in above:
            del left[name]
    assert sorted(left) == []


@cases("path", pure_modules())
def test_pure_layers_do_no_io_and_read_no_clock(path: Path) -> None:
    assert list(impurities_in(parse(path))) == []


@cases(
    "source",
    [
        "import time",
        "import os.path",
        "from os import path",
        "from importlib import resources",
        "from urllib.request import urlopen",
        "def f():\n    import random",
        "import datetime\ndatetime.datetime.now(tz)",
        "from datetime import datetime\ndatetime.now(tz)",
        "open('x')",
    ],
)
def test_the_purity_check_notices_impure_code(source: str) -> None:
    assert list(impurities_in(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    ["from datetime import datetime, UTC", "import uuid", "import hashlib", "store.open()"],
)
def test_the_purity_check_lets_types_and_pure_modules_pass(source: str) -> None:
    assert not list(impurities_in(ast.parse(source)))


# SQL, connections and the ledger of a transaction: the store's own business. `sql` writes texts and
# runs none; `testing` puts disks that fail under SQLite.
STORAGE_ATTRIBUTES = {"connection", "ledger"}
TABLES = "|".join(
    re.findall(r"CREATE (?:VIRTUAL )?(?:TABLE|VIEW) (?:IF NOT EXISTS )?(\w+)", layout.CREATE)
)
SQL_TEXT = re.compile(
    r"^\s*(?:PRAGMA \w|CREATE (?:TABLE|INDEX|VIEW|VIRTUAL)|DROP TABLE)"
    r"|\bSELECT\b.*\bFROM\s+\{"
    r"|\b(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\b.*\b(?:FROM|INTO|JOIN|UPDATE)\s+"
    rf"(?:{TABLES})(?:_past)?\b",
    re.DOTALL,
)


def texts_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts of a module; what an f-string puts in is written as {}."""
    for node in nodes(tree)[ast.JoinedStr]:
        parts = (each.value if isinstance(each, ast.Constant) else "{}" for each in node.values)
        yield node.lineno, "".join(map(str, parts))
    for node in nodes(tree)[ast.Constant]:
        if isinstance(node.value, str):
            yield node.lineno, node.value


def storage_in(tree: ast.Module) -> Iterator[str]:
    """Uses of SQLite, of connections and of SQL."""
    for line, name in imported_modules(tree):
        if name.split(".")[0] in ("apsw", "sqlite3"):
            yield f"{line}: import {name}"
    for node in nodes(tree)[ast.Attribute]:
        if node.attr in STORAGE_ATTRIBUTES:
            yield f"{node.lineno}: .{node.attr}"
    for line, text in texts_in(tree):
        if SQL_TEXT.search(text):
            yield f"{line}: {text[:60]!r}"


def test_sql_and_connections_stay_in_the_store() -> None:
    outside = [
        path
        for path in MODULES
        if path.relative_to(PACKAGE).parts[0] not in ("store", "sql", "testing")
    ]
    found = [f"{relative(path)}:{use}" for path in outside for use in storage_in(parse(path))]
    assert found == []


def test_the_check_for_sql_notices_every_way_to_reach_the_tables() -> None:
    for source in (
        "import apsw",
        "from apsw import Connection",
        "reader.connection.changes()",
        "tx.ledger.head",
        "query = 'SELECT 1 FROM concept'",
        "query = f'SELECT {columns} FROM {table} WHERE id = ?'",
        "query = 'DELETE FROM proposition_past WHERE id = ?'",
        "query = 'INSERT INTO journal VALUES (?)'",
        "query = 'WITH a AS (SELECT 1) SELECT * FROM a JOIN tx ON 1'",
        "query = 'PRAGMA user_version'",
    ):
        assert list(storage_in(ast.parse(source))), source


def test_the_check_for_sql_lets_kip_and_prose_pass() -> None:
    for source in (
        'text = \'DELETE ATTRIBUTES {"a"} FROM ?concept WHERE { ?concept {type: "T"} }\'',
        "text = 'UPDATE ?x SET ATTRIBUTES { a: 1 }'",
        "text = 'FIND(?x) WHERE { ?x {type: \"T\"} }'",
        "text = 'WITH METADATA'",
        "text = 'Select a concept from the list.'",
    ):
        assert not list(storage_in(ast.parse(source))), source


def test_nothing_above_the_store_knows_postgresql() -> None:
    """It asks `store.opening` for the graph at a place."""
    server = "mycel.store.backend.postgres"
    found = [
        f"{relative(path)}:{line}: {name}"
        for path in MODULES
        if path.relative_to(PACKAGE).parts[:2] != ("store", "backend")
        and path.relative_to(PACKAGE).as_posix() != "store/opening.py"
        for line, name in imported_modules(parse(path))
        if name == server or name.startswith((f"{server}.", "psycopg"))
    ]
    assert found == []


SQLITE_WORDS = (
    r"json_(?:each|extract|type|quote|array|group_array)\b|->>|\bunlikely\("
    r"|\bstrftime\(|\btypeof\(|\bLIMIT -1\b"
)
BACKEND_WORDS = rf"{SQLITE_WORDS}|\bmycel_\w+\(|\bCROSS JOIN\b|\bMATERIALIZED\b"
"""These, and functions and hints that every backend provides: `portable` has them."""


def test_what_only_sqlite_spells_so_stands_in_one_module() -> None:
    """A compiler for another database is then one more module like it."""
    dialects = ("sqlite.py", "postgres.py")
    others = [path for path in (PACKAGE / "sql").glob("*.py") if path.name not in dialects]
    found = []
    for path in others:
        words = re.compile(SQLITE_WORDS if path.name == "portable.py" else BACKEND_WORDS)
        tree = parse(path)
        prose = {
            ast.get_docstring(node, clean=False)
            for kind in (ast.Module, ast.ClassDef, ast.FunctionDef)
            for node in nodes(tree)[kind]
        }
        found += [
            f"{relative(path)}:{line}: {text[:60]!r}"
            for line, text in texts_in(tree)
            if text not in prose and words.search(text)
        ]
    assert found == []
    dialect = (PACKAGE / "sql" / "sqlite.py").read_text(encoding="utf-8")
    assert re.search(SQLITE_WORDS, dialect)


def test_what_both_dialects_spell_alike_stands_in_neither() -> None:
    """It is in `portable`."""

    def spelled(dialect: str) -> dict[str, str]:
        names = {}
        for node in parse(PACKAGE / "sql" / dialect).body:
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                names[node.name] = "\n".join(map(ast.dump, body))
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                names[ast.unparse(node.target)] = ast.dump(node.value)
        return names

    one, other = spelled("sqlite.py"), spelled("postgres.py")
    assert [name for name in one if one[name] == other.get(name)] == []
    assert len(one) > 20


def test_every_package_docstring_names_its_modules() -> None:
    silent = []
    for init in sorted(PACKAGE.rglob("__init__.py")):
        docstring = ast.get_docstring(parse(init)) or ""
        # The root speaks to users of the package, not to readers of the tree.
        names = set() if init.parent == PACKAGE else child_names(init.parent)
        unnamed = {name for name in names if not re.search(rf"\b{re.escape(name)}\b", docstring)}
        if not docstring or unnamed:
            silent.append(f"{relative(init)}: {sorted(unnamed) or 'no docstring'}")
    assert silent == []


def test_no_module_has_outgrown_its_subject() -> None:
    lengths = {relative(path): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {path: n for path, n in lengths.items() if n > LINES_MAX} == {}


def test_no_folder_or_module_is_named_for_having_no_subject() -> None:
    paths = [path for top in ("src", "tests") for path in (ROOT / top).rglob("*")]
    assert [relative(p) for p in paths if p.stem in {"utils", "util", "common"}] == []


def test_invariants_raise_errors_and_not_bare_asserts() -> None:
    found = [
        f"{relative(path)}:{node.lineno}"
        for path in MODULES
        for node in nodes(parse(path))[ast.Assert]
    ]
    assert found == []


def test_only_public_modules_of_libraries_are_imported() -> None:
    private = [
        f"{relative(path)}:{line}: {name}"
        for path in MODULES
        for line, name in imported_modules(parse(path))
        if re.search(r"\._[a-z]", name)
    ]
    assert private == []


def test_every_folder_of_python_is_a_package() -> None:
    folders = {
        folder
        for top in (PACKAGE, ROOT / "tests")
        for path in top.rglob("*.py")
        for folder in path.parents
        if folder.is_relative_to(top)
    }
    assert [relative(f) for f in sorted(folders) if not (f / "__init__.py").exists()] == []


def test_the_map_of_the_tests_lists_every_module_that_tests_share() -> None:
    tests = ROOT / "tests"
    text = (tests / "README.md").read_text()
    listed = set(re.findall(r"`([\w/]+\.py)`", text))
    helpers = {
        path.relative_to(tests).as_posix()
        for path in tests.rglob("*.py")
        if not path.name.startswith(("test_", "__init__")) and "reference" not in path.parts
    }
    assert listed == helpers
    assert "`reference/`" in text


def test_importing_the_package_loads_nothing_that_is_meant_to_load_late() -> None:
    code = "import sys, mycel; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert set(done.stdout.split()) & LATE_MODULES == set()


def test_a_first_answer_loads_neither_guards_nor_schemas_nor_other_statements(
    tmp_path: Path,
) -> None:
    path = tmp_path / "graph.db"
    mycel.open(path, durability="off").close()
    code = (
        "import sys, mycel\n"
        "with mycel.open(sys.argv[1], create=False) as db:\n"
        "    db.execute('FIND(?a.name) WHERE { ?a {type: \"Domain\"} }').value\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True, cwd=ROOT
    )
    late = {
        *(
            f"mycel.engine.{name}"
            for name in ("definition_guard", "schema_guard", "upsert", "describe")
        ),
        *("mycel.schema.model", "mycel.schema.steps", "mycel.store.check.verify"),
        *("logging", "tempfile"),
    }
    assert all(find_spec(name) is not None for name in late), "a module was renamed or removed"
    assert set(done.stdout.split()) & (late | LATE_MODULES) == set()


def test_a_server_is_ready_without_the_sdk_of_mcp(tmp_path: Path) -> None:
    code = (
        "import sys, mycel\n"
        "from pathlib import Path\n"
        "from mycel.cli.commands.serving import graph_application\n"
        "from mycel.api.open_branches import OpenBranches\n"
        "from mycel.http.policy import Policy\n"
        "import mycel.http.server\n"
        "given = 'shop', Path(), None\n"
        "with mycel.open(sys.argv[1]) as db:\n"
        "    branches = OpenBranches(db)\n"
        "    graph_application(db, branches, Policy(), *given, sampling=False, opens_page=False)\n"
        "    branches.close()\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "graph.db"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert set(done.stdout.split()) & {"mcp", "mycel.mcp.web", "pydantic", "numpy"} == set()


def test_no_group_is_repeated_possessively() -> None:
    """Before 3.11.5, Python's `(...)*+` keeps what its last try took although that failed.

    Debian 12 has such a Python. `(?>(...)*)` means the same everywhere. What repeats one character,
    `(?s:.)*+`, is not concerned.
    """
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in (ROOT / "src").rglob("*.py")
        for line in path.read_text().splitlines()
        if re.search(r"(?<!\(\?s:\.)\)(?:[*+?]|\{[\d,%d]*\})\+", line) and not line.startswith("#")
    ]
    assert found == []


QUESTION_WORDS = re.compile(
    r"(?:What|Whether|Which|Where|How|Why|Who|Whoever|So (?:many|few|much))\b"
)


def test_docstrings_name_the_thing_first() -> None:
    questions = [
        f"{relative(path)}:{text.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for text in nodes(parse(path))[ast.Expr]
        if isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
        and QUESTION_WORDS.match(text.value.value.strip())
    ]
    assert questions == []


_LIBRARY = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[2].split():
            raise ModuleNotFoundError(f"{name} is no part of the library")

sys.meta_path.insert(0, Absent())
import mycel

with mycel.open(sys.argv[1]) as db:
    with db.transaction() as tx:
        tx.define_type("Drug")
        tx.define_predicate("near")
        one, two = (tx.put_concept("Drug", name, {"note": "white"}) for name in "ab")
        tx.add_edge(one, "near", two)
    assert db.execute('FIND(?d.name) WHERE { ?d {type: "Drug"} }').rows == [("a",), ("b",)]
    assert db.search("white")
    assert len(db.traverse(one)) == 2
    db.schema.apply("node Plant { name: String @key }", allow_removals=True)
    db.branches.create("draft")
    assert db.merge("draft").status == "up_to_date"
    knowledge = mycel.Knowledge(db, workspace="shop")
    knowledge.add("login", content="Users log in.")
    assert knowledge.get("login").content == "Users log in."
    assert db.verify(replay=True).ok
"""


def test_the_library_runs_on_the_five_packages_that_are_named_for_it(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split("[<>=]", each)[0] for each in project["dependencies"]}
    library = {"apsw", "cbor2", "google-re2", "numpy", "orjson"}
    assert library < needed
    absent = {"click", "pydantic", "rich", "yaml"} | {
        name.replace("-", "_") for name in needed - library
    }
    done = subprocess.run(
        [sys.executable, "-c", _LIBRARY, str(tmp_path / "graph.db"), " ".join(absent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
