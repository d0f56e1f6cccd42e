"""The uses of symbols, line by line: certain ones, possible ones, and mentions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

import pytest

import mycel
from mycel.knowledge import name_mentions
from mycel.knowledge.bootstrap import bootstrap
from mycel.knowledge.references import FileLines, References

RUST = {
    "Cargo.toml": '[package]\nname = "a"\n',
    "src/lib.rs": """
        pub mod error;
        pub mod store;
        pub mod server;
        pub use error::Status;
    """,
    "src/error.rs": """
        macro_rules! codes {
            ($( $variant:ident ),+) => {
                pub enum ErrorCode { $( $variant, )+ }
            };
        }
        codes! { Gone, OutcomeUnknown }
        impl ErrorCode {
            pub fn retry(&self) -> bool {
                use ErrorCode::*;
                matches!(self, OutcomeUnknown)
            }
        }
        pub enum Status { Ok, OutcomeUnknown }
    """,
    "src/store.rs": """
        pub struct Log;
        pub struct Table;
        impl Log {
            pub fn flush(&self) {}
        }
        impl Table {
            /// A flush of the table.
            pub fn flush(&self) {}
            pub fn save(table: &Table) { table.flush(); }
            pub fn save_all(tables: Vec<(u8, Vec<Table>)>) {
                for (_, some) in tables { some.iter().for_each(|each| each.flush()); }
            }
        }
    """,
    "src/server.rs": """
        use crate::error::{ErrorCode, Status};
        use crate::store::{Log, Table as Rows};
        #[arg(env = "FLUSH_INTERVAL_SECS")]
        fn answer(status: Status) -> u8 {
            if status == Status::OutcomeUnknown { return 1; }
            match code(status) {
                OutcomeUnknown => 2,
                ErrorCode::OutcomeUnknown => 3,
            }
        }
        fn write_log(log: &Log) { log.flush(); }
        fn rows() -> Option<Rows> {
            None
        }
    """,
    "README.md": "# A\n\nSet `FLUSH_INTERVAL_SECS`.\n",
}


@pytest.fixture
def knowledge(tmp_path: Path, db: mycel.Graph) -> mycel.Knowledge:
    for path, text in RUST.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    knowledge = mycel.Knowledge(db, workspace="a", root=tmp_path)
    bootstrap(knowledge)
    return knowledge


def certain(found: References, relations: Iterable[str] = ("calls", "uses")) -> list[str]:
    return [
        f"{user.uri.partition('a/src/')[2]}:{line.number}"
        for each in found.symbols
        for user in each.users
        if user.relation in relations
        for line in user.lines
    ]


def numbers(files: Iterable[FileLines]) -> list[str]:
    return [
        f"{each.uri.removeprefix('file://a/')}:{line.number}"
        for each in files
        for line in each.lines
    ]


def test_a_variant_of_one_enum_is_told_from_that_of_another(knowledge: mycel.Knowledge) -> None:
    found = knowledge.references("OutcomeUnknown")
    assert [each.symbol.uri for each in found.symbols] == [
        "concept://a/src/error.rs/Status.OutcomeUnknown"
    ]
    assert certain(found) == ["server.rs/answer:5"]
    # In the same function, a bare name and the variant of another enum are not certain.
    assert sorted(numbers(found.possible)) == [
        "src/error.rs:10", "src/error.rs:6", "src/server.rs:7", "src/server.rs:8",
    ]  # fmt: skip
    assert not found.mentions


def test_an_enum_that_a_macro_makes_is_a_symbol_with_uses(knowledge: mycel.Knowledge) -> None:
    found = knowledge.references("ErrorCode")
    (only,) = found.symbols
    assert (only.symbol.uri, only.symbol.properties["kind"]) == (
        "concept://a/src/error.rs/ErrorCode",
        "enum",
    )
    assert certain(found) == [
        "error.rs/ErrorCode.retry:9",
        "server.rs/answer:8",
        "error.rs:7",
        "server.rs:1",
    ]
    assert not found.possible
    qualified = knowledge.references("ErrorCode.OutcomeUnknown")
    assert not qualified.symbols
    assert "src/server.rs:8" in numbers(qualified.possible)


def test_calls_on_unknown_objects_are_possible_uses(knowledge: mycel.Knowledge) -> None:
    found = knowledge.references("Table.flush")
    assert certain(found) == ["store.rs/Table.save:9"]
    assert certain(found, ["may_call"]) == ["store.rs/Table.save_all:11"]
    # The only call in a function that certainly calls another method of the name is that one.
    assert numbers(found.others) == ["src/server.rs:11", "src/store.rs:4"]
    assert numbers(found.mentions) == ["src/store.rs:7"]
    assert found.namesakes == ("concept://a/src/store.rs/Log.flush",)
    both = knowledge.references("flush")
    assert len(both.symbols) == 2
    assert not both.others
    assert not both.namesakes
    assert {"server.rs/write_log:11", "store.rs/Table.save:9"} <= {*certain(both)}


def test_calls_of_a_class_are_uses_of_its_constructor(
    tmp_path: Path, knowledge: mycel.Knowledge
) -> None:
    text = "class Cart:\n    def __init__(self): ...\n\n\ndef make():\n    return Cart()\n"
    (tmp_path / "cart.py").write_text(text, encoding="utf-8")
    bootstrap(knowledge)
    found = knowledge.references("Cart.__init__")
    assert [each.symbol.name for each in found.symbols] == ["__init__", "Cart"]
    users = [(user.uri, user.relation) for user in found.symbols[1].users]
    assert users == [("concept://a/cart.py/make", "calls")]


def test_names_that_imports_give_are_followed(knowledge: mycel.Knowledge) -> None:
    assert {"server.rs/rows:12", "server.rs:2"} <= {*certain(knowledge.references("Table"))}


def test_a_name_without_a_symbol_is_searched_for_in_the_files(knowledge: mycel.Knowledge) -> None:
    found = knowledge.references("FLUSH_INTERVAL_SECS")
    assert (found.symbols, found.possible) == ((), ())
    assert sorted(numbers(found.mentions)) == ["README.md:3", "src/server.rs:3"]
    assert (found.searched, found.unread) == (6, 0)


def test_a_search_for_such_a_name_begins_with_texts_that_have_it(
    knowledge: mycel.Knowledge,
) -> None:
    hits = knowledge.search("FLUSH_INTERVAL_SECS")
    assert hits[0].uri == "concept://a/README.md/a"
    # The name of code still comes first.
    assert knowledge.search("write_log")[0].uri == "concept://a/src/server.rs/write_log"


def test_files_that_are_not_here_or_not_searched_are_said(
    knowledge: mycel.Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = mycel.Knowledge(knowledge.db, workspace="a").references("Table.flush")
    assert not without.is_readable
    assert [user.uri for user in without.symbols[0].users] == [
        "concept://a/src/store.rs/Table.save", "concept://a/src/store.rs/Table.save_all",
    ]  # fmt: skip
    monkeypatch.setattr(name_mentions, "SECONDS_MAX", -1)
    unread = knowledge.references("Table.flush")
    assert (unread.searched, unread.unread, unread.possible) == (6, 6, ())


def test_a_name_that_ends_with_a_separator_is_the_name_before_it(
    knowledge: mycel.Knowledge,
) -> None:
    for name in ("FLUSH_INTERVAL_SECS::", "FLUSH_INTERVAL_SECS.", "FLUSH_INTERVAL_SECS#"):
        found = knowledge.references(name)
        assert sorted(numbers(found.mentions)) == ["README.md:3", "src/server.rs:3"]
    assert name_mentions.find_words(b"# a text", [""]) == []


def test_files_that_are_large_or_gone_are_counted_as_unread(
    knowledge: mycel.Knowledge, tmp_path: Path
) -> None:
    text = "FLUSH_INTERVAL_SECS\n" + "x\n" * name_mentions.FILE_BYTES_MAX
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    (tmp_path / "src/lib.rs").unlink()
    found = knowledge.references("FLUSH_INTERVAL_SECS")
    assert numbers(found.mentions) == ["src/server.rs:3"]
    assert (found.searched, found.unread) == (6, 2)


def test_callers_behind_a_reexport_under_another_name_have_lines(
    root: Path, shop: mycel.Knowledge
) -> None:
    (root / "deals").mkdir()
    (root / "deals/prices.py").write_text("def price(item):\n    return item\n")
    (root / "deals/__init__.py").write_text("from deals.prices import price as cost\n")
    (root / "sale.py").write_text(
        "from deals import cost\n\n\ndef sell(item):\n    # No cost here.\n    return cost(item)\n"
    )
    (root / "gift.py").write_text(
        "from deals import cost as c\n\n\ndef give(item):\n    item = 0\n    return c(item)\n"
    )
    bootstrap(shop)
    (found,) = shop.references("price").symbols
    lines = {
        user.uri.removeprefix("concept://shop/"): [(line.number, line.text) for line in user.lines]
        for user in found.users
        if user.uri.startswith("concept://")
    }
    assert lines == {
        "gift.py/give": [(6, "    return c(item)")],
        "sale.py/sell": [(6, "    return cost(item)")],
    }


def test_lock_files_are_not_searched_for_uses(root: Path, shop: mycel.Knowledge) -> None:
    (root / "io.py").write_text("def price(item):\n    return item\n")
    for name in ("Cargo.lock", "package-lock.json", "pnpm-lock.yaml", "notes.txt"):
        (root / name).write_text("price 1.0\n")
    bootstrap(shop)
    found = shop.references("price")
    assert [each.uri for each in found.mentions] == ["file://shop/notes.txt"]
