from __future__ import annotations

from tests.unit.knowledge.code.given import call_relations, facts, may_call_relations, resolved


def uses(files: dict[str, str]) -> list[str]:
    found = resolved(files).uses
    return sorted(
        f"{e.source.path}:{e.source.qualified} -> {e.target.path}:{e.target.qualified}"
        for e in found
    )


RUST = {
    "Cargo.toml": '[package]\nname = "a"\n',
    "src/lib.rs": """
        pub mod error;
        pub mod store;
        pub use error::DbError;
    """,
    "src/error.rs": """
        pub const LIMIT: usize = 8;
        pub enum DbError { OutcomeUnknown { id: u64 }, Gone }
        pub fn db_error(error: u8) -> DbError { DbError::Gone }
        impl DbError {
            fn is_gone(&self) -> bool { matches!(self, Self::Gone) }
        }
        pub const LATER: usize = 0;
    """,
    "src/store.rs": """
        use crate::error::{db_error, DbError, LIMIT};
        pub struct Store { last: Option<DbError> }
        fn check(x: u8) -> Result<(), DbError> { Ok(()) }
        fn open(x: u8) -> Result<u8, DbError> {
            // LATER "LIMIT"
            read(x).map_err(db_error)?;
            for _ in 0..LIMIT {}
            Err(DbError::OutcomeUnknown { id: 1 })
        }
        fn tests(store: Store) {
            assert!(check(1).is_ok());
            let text = "LIMIT";
            let LIMIT = 1;
            println!("{}", LIMIT);
        }
    """,
}


def test_values_constants_types_variants_and_reexports_of_rust_are_uses() -> None:
    assert uses(RUST) == [
        "src/error.rs:DbError.is_gone -> src/error.rs:DbError.Gone",
        "src/error.rs:db_error -> src/error.rs:DbError",
        "src/error.rs:db_error -> src/error.rs:DbError.Gone",
        "src/lib.rs: -> src/error.rs:DbError",
        "src/store.rs:Store -> src/error.rs:DbError",
        "src/store.rs:check -> src/error.rs:DbError",
        "src/store.rs:open -> src/error.rs:DbError",
        "src/store.rs:open -> src/error.rs:LIMIT",
        "src/store.rs:open -> src/error.rs:db_error",
        "src/store.rs:tests -> src/store.rs:Store",
    ]


def test_calls_inside_macros_are_calls() -> None:
    found = resolved(RUST)
    assert "src/store.rs:tests -> src/store.rs:check" in call_relations(found)
    assert may_call_relations(found) == []


def test_a_pattern_that_takes_a_variant_apart_refers_to_it() -> None:
    found = resolved(
        {
            "Cargo.toml": '[package]\nname = "a"\n',
            "src/lib.rs": """
                pub enum Item { Recipe(u8), Alias(u8) }
                pub enum Kind { Recipe(u8) }
                impl Item {
                    fn size(&self) -> u8 {
                        match self { Self::Recipe(n) => *n, Item::Alias(n) => *n }
                    }
                }
                fn show(kind: Kind) { if let Kind::Recipe(_) = kind {} }
            """,
        }
    )
    assert sorted(call_relations(found)) == [
        "src/lib.rs:Item.size -> src/lib.rs:Item.Alias",
        "src/lib.rs:Item.size -> src/lib.rs:Item.Recipe",
        "src/lib.rs:show -> src/lib.rs:Kind.Recipe",
    ]


PYTHON = {
    "shop/__init__.py": "from shop.cart import Cart\n",
    "shop/cart.py": """
        LIMIT = 8

        class Cart:
            def add(self, item): ...
            def adder(self): return map(self.add, [])

        def check(item): ...
    """,
    "shop/main.py": '''
        from shop import cart
        from shop.cart import Cart, LIMIT, check

        def sell(items: list[Cart], check=1) -> int:
            """LIMIT and Cart."""
            return print(f"{LIMIT:>3}", end=check)

        def every(items):
            sell(items, check=2)
            return sorted(items, key=check), cart.LIMIT, Cart.add(1, 2)  # LIMIT
    ''',
}


def test_values_types_and_constants_of_python_are_uses() -> None:
    assert uses(PYTHON) == [
        "shop/__init__.py: -> shop/cart.py:Cart",
        "shop/cart.py:Cart.adder -> shop/cart.py:Cart.add",
        "shop/main.py:every -> shop/cart.py:Cart",
        "shop/main.py:every -> shop/cart.py:LIMIT",
        "shop/main.py:every -> shop/cart.py:check",
        "shop/main.py:sell -> shop/cart.py:Cart",
        "shop/main.py:sell -> shop/cart.py:LIMIT",
    ]


def test_values_and_types_of_other_languages_are_uses() -> None:
    assert uses(
        {
            "a.ts": "export const LIMIT = 1\nexport type Item = 1\nexport function check() {}\n",
            "b.ts": "import { LIMIT, Item, check } from './a'\n"
            "export function use(x: Item) { return [x].filter(check).slice(LIMIT) }\n"
            "// LIMIT\nconst o = { check: 1, text: 'LIMIT' }\n",
        }
    ) == ["b.ts:use -> a.ts:Item", "b.ts:use -> a.ts:LIMIT", "b.ts:use -> a.ts:check"]
    assert uses(
        {
            "go.mod": "module a\n",
            "a.go": "package a\n\nconst Limit = 1\n\nfunc handle() {}\n",
            "b.go": 'package a\n\nfunc use() { on("handle", handle, Limit) }\n',
        }
    ) == ["b.go:use -> a.go:Limit", "b.go:use -> a.go:handle"]


def test_super_of_rust_is_the_module_around() -> None:
    files = {
        "Cargo.toml": '[package]\nname = "a"\n',
        "src/main.rs": "mod doc;\nfn top() {}\n",
        "src/doc/mod.rs": "mod help;\nfn render() {}\n",
        "src/doc/help.rs": """
            struct Page;
            fn plain() { super::render(); super::super::top(); super::missing(); }
            impl Page { fn render(&self) { super::render(); } }
            mod tests {
                fn check() { super::plain(); super::super::render(); deeper::own(); }
                mod deeper { fn own() { super::check(); super::super::plain(); } }
            }
        """,
    }
    relations = {
        (e.source.qualified, e.target.path, e.target.qualified) for e in resolved(files).calls
    }
    mod, help_rs = "src/doc/mod.rs", "src/doc/help.rs"
    assert relations == {
        ("plain", mod, "render"),
        ("plain", "src/main.rs", "top"),
        ("Page.render", mod, "render"),
        ("tests.check", help_rs, "plain"),
        ("tests.check", mod, "render"),
        ("tests.check", help_rs, "tests.deeper.own"),
        ("tests.deeper.own", help_rs, "tests.check"),
        ("tests.deeper.own", help_rs, "plain"),
    }


def test_the_only_macro_of_a_name_is_called_without_an_import() -> None:
    macro = "#[macro_export]\nmacro_rules! NAME { ($a:expr) => { $a } }\n"
    files = {
        "Cargo.toml": '[package]\nname = "a"\n',
        "src/messages.rs": macro.replace("NAME", "warn_about") + macro.replace("NAME", "twice"),
        "src/other.rs": macro.replace("NAME", "twice"),
        "src/main.rs": 'mod other;\nfn run() { warn_about!(1); twice!(2); println!(""); }\n',
    }
    relations = [
        (e.source.qualified, e.target.path, e.target.qualified) for e in resolved(files).calls
    ]
    assert relations == [("run", "src/messages.rs", "warn_about")]


def test_types_that_macros_define_are_in_the_order_of_the_text() -> None:
    names = [f"Kind{number}" for number in range(60)]
    source = "".join(f"define! {{ pub struct {name} }}\n" for name in names)
    assert [symbol.name for symbol in facts("src/kinds.rs", source).symbols] == names
