"""Files and folders with another path keep their nodes, and all that others said about them."""

from pathlib import Path
from random import Random

import mycel
from mycel.knowledge.bootstrap import bootstrap
from mycel.knowledge.bootstrap.renamed_files import (
    FileContent,
    find_renamed_files,
    find_renamed_folders,
)
from tests.prepared import NEW
from tests.unit.knowledge.bootstrap.conftest import Write, state

GUIDE = (
    "# Guide\n\nOf [carts](../src/shop/cart.py).\n\n## Install\n\nUse pip, or wait for a while.\n"
)
NOTE = "concept://shop/notes/one"


def move(root: Path, old: str, path: str, text: str | None = None) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / old).rename(root / path)
    if text is not None:
        (root / path).write_text(text)


def test_notes_follow_a_file_its_symbols_its_sections_and_its_folder(
    shop: mycel.Knowledge, project: Path, write: Write
) -> None:
    write("docs/guide.md", GUIDE)
    bootstrap(shop, authors=False)
    cited = {
        "src/shop/cart.py": "lib/store/basket.py",
        "src/shop/cart.py/Cart.add": "lib/store/basket.py/Cart.add",
        "docs/guide.md/install": "docs/manual.md/install",
        "src/shop": "lib/store",
    }
    before = {path: shop.get(path).id for path in cited}
    for path in cited:
        shop.link(NOTE, "about", shop.get(path).uri)
    # The file has other content too; its symbols tell what it was.
    text = (project / "src/shop/cart.py").read_text() + "\n\ndef count():\n    return 1\n"
    move(project, "src/shop", "lib/store")
    move(project, "lib/store/cart.py", "lib/store/basket.py", text)
    move(project, "docs/guide.md", "docs/manual.md")
    summary = bootstrap(shop, authors=False)
    # An empty `__init__.py` is like any other.
    assert (summary.renamed, summary.added, summary.removed, summary.kept) == (3, 1, 1, 0)
    for path, to in cited.items():
        assert shop.get(to).id == before[path], to
        relations = shop.relations(shop.get(to).uri, relation_types=["about"])
        assert [relation.source for relation in relations] == [NOTE]
    assert shop.db.verify().ok
    assert bootstrap(shop, authors=False).is_nothing


def test_after_renames_the_graph_is_that_of_a_first_run(
    shop: mycel.Knowledge, project: Path, write: Write, seed: int
) -> None:
    for number in range(6):
        names = "\n".join(f"def f{number}_{at}():\n    return {at}\n" for at in range(4))
        write(f"src/part{number}/code.py", names)
        write(f"docs/page{number}.md", GUIDE.replace("while", f"while {number}"))
    bootstrap(shop, authors=False)
    random = Random(seed)
    for step in range(4):
        files = sorted(path for path in project.rglob("*.*") if ".git" not in path.parts)
        for file in random.sample(files, 4):
            old = file.relative_to(project).as_posix()
            folder = random.choice(["src", "lib/new", "docs", f"part{step}"])
            extra = file.read_text() + "\n" if random.random() < 0.5 else None
            move(project, old, f"{folder}/{step}_{file.name}", extra)
        summary = bootstrap(shop, authors=False)
        assert summary.renamed > 0
    assert shop.db.verify(replay=True).ok
    with NEW.opened() as db:
        fresh = mycel.Knowledge(db, workspace=shop.workspace, root=project)
        bootstrap(fresh, authors=False)
        for rows, fresh_rows in zip(state(shop), state(fresh), strict=True):
            assert set(rows) - set(fresh_rows) == set(fresh_rows) - set(rows) == set()


def test_a_place_that_is_taken_makes_a_rename_a_removal(
    shop: mycel.Knowledge, project: Path
) -> None:
    bootstrap(shop, authors=False)
    shop.add("file://shop/src/shop/taken.py", properties={"mine": True})
    move(project, "src/shop/cart.py", "src/shop/taken.py")
    summary = bootstrap(shop, authors=False)
    assert (summary.renamed, summary.added, summary.removed) == (0, 1, 1)
    assert shop.get("src/shop/taken.py").properties["mine"] is True


def test_files_are_recognised_by_content_then_by_names_and_never_by_little() -> None:
    def content(hash_: int, names: str = "", size: int = 99) -> FileContent:
        return FileContent(size, hash_, frozenset(names))

    rows = [
        ({"a": content(1)}, {"b": content(1)}, {"a": "b"}),
        ({"a": content(1)}, {"b": content(2)}, {}),
        ({"a": content(1, size=3)}, {"b": content(1, size=3)}, {}),
        ({"x/a": content(1)}, {"y/b": content(1), "z/a": content(1)}, {"x/a": "z/a"}),
        ({"a": content(1, "klmn")}, {"b": content(2, "klm")}, {"a": "b"}),
        ({"a": content(1, "klmn")}, {"b": content(2, "kl")}, {}),
        ({"a": content(1, "klm")}, {"b": content(2, "klm"), "c": content(3, "klm")}, {}),
        ({"x/a": content(1, "klm")}, {"b": content(2, "klm"), "y/a": content(3, "klm")},
         {"x/a": "y/a"}),
    ]  # fmt: skip
    for gone, new, renamed in rows:
        assert find_renamed_files(gone, new) == renamed, (gone, new)


def test_a_folder_follows_most_of_its_files() -> None:
    renamed = {"a/b/one": "c/b/one", "a/b/two": "c/b/two", "a/three": "d/three"}
    folders = find_renamed_folders(renamed, {"a", "a/b"}, {"c", "c/b", "d"})
    assert folders == {"a": "c", "a/b": "c/b"}
    assert find_renamed_folders(renamed, {"a/b"}, {"c"}) == {}
