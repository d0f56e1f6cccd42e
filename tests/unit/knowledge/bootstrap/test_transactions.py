"""Runs that are split into several transactions."""

import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycel
from mycel.knowledge.bootstrap import bootstrap, graph_writer, ownership, run
from tests.unit.knowledge.bootstrap.conftest import Write, state

NAMES = ("a", "b", "c", "d")

functions = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), st.booleans()), max_size=4
)
projects = st.dictionaries(
    st.sampled_from(["a.py", "b.py", "c.py", "x/a.py", "x/b.py", "x/y/c.py", "n.txt"]),
    functions,
    max_size=7,
)
splits = st.tuples(st.integers(0, 30), st.integers(1, 12))
"""How many rows a transaction and a group of rows have."""


def lay_out(root: Path, project: dict[str, list[tuple[str, str, bool]]], moment: int) -> None:
    """Make the files of a folder those of a project, at a time."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for path, made in project.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = ["from a import *", "from b import *"]
        for name, called, in_class in made:
            indent = "    " if in_class else ""
            lines += [f"class K{name}:"] if in_class else []
            lines += [f"{indent}def {name}():", f"{indent}    return {called}()"]
        file.write_text("\n".join(lines))
        os.utime(file, (moment, moment))


@given(projects, projects, splits, splits)
@settings(max_examples=settings.default.max_examples // 5)
def test_any_split_into_transactions_gives_the_graph_of_one(
    before: dict[str, list[tuple[str, str, bool]]],
    after: dict[str, list[tuple[str, str, bool]]],
    first: tuple[int, int],
    second: tuple[int, int],
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        mycel.open(core_capsules=False) as db,
        mycel.open(core_capsules=False) as whole,
    ):
        root = Path(folder, "shop")
        split = mycel.Knowledge(db, workspace="shop", root=root)
        plain = mycel.Knowledge(whole, workspace="shop", root=root)
        for moment, project, (rows, group) in ((1, before, first), (2, after, second)):
            lay_out(root, project, moment)
            with (
                mock.patch.object(graph_writer, "ROWS_IN_TRANSACTION", rows),
                mock.patch.object(graph_writer, "_GROUP_ROWS", group),
            ):
                summary = bootstrap(split)
            assert summary.relations_added == bootstrap(plain).relations_added
            assert state(split) == state(plain)
            assert bootstrap(split).is_nothing


def test_a_first_run_of_many_transactions_keeps_every_relation(
    shop: mycel.Knowledge, root: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        lines = (f"def f{at}(): return f{at + 1}()" for at in range(20))
        write(f"many{number}.py", "\n".join(lines))
    monkeypatch.setattr(graph_writer, "ROWS_IN_TRANSACTION", 50)
    monkeypatch.setattr(graph_writer, "_GROUP_ROWS", 10)
    summary = bootstrap(shop)
    assert summary.relations_removed == 0
    assert relations(shop) == {"contains": 8, "defines": 160, "calls": 8 * 19}


def test_a_graph_that_lost_its_definitions_is_repaired(
    shop: mycel.Knowledge, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as former:
        former.setattr(run, "VERSION", 101)  # The last one that lost them.
        bootstrap(shop)
    whole = relations(shop)
    result = shop.db.execute('FIND(?l.id) WHERE { ?l (?a, "defines", ?b) }')
    with shop.db.transaction() as tx:
        for (link,) in result.rows:
            tx.retire(link, reason=ownership.GONE)
    assert relations(shop)["defines"] == 0
    bootstrap(shop)
    assert relations(shop) == whole
    assert bootstrap(shop).is_nothing


def relations(shop: mycel.Knowledge) -> Counter[str]:
    """The number of relations of each type."""
    _, found = state(shop)
    return Counter(row[1] for row in found)
