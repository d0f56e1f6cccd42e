from __future__ import annotations

import pytest

from mycel.knowledge.code.source_facts import Import
from tests.cases import cases
from tests.unit.knowledge.code.given import calls, facts, symbols

JAVASCRIPT = """
    import D, {a as b, c} from './x';
    import * as ns from "y";
    import './side';
    const { q, r: s } = require('./z'); const z = require('z');
    export { b as default, c }; export * from './w'; export {k as l} from './u';
    export function foo(a, {b}, ...c) { a?.b(); import('./dyn'); D(); q(); ns.go(); c() }
    /**
     * Keeps it.
     * @param x what
     */
    export class A extends D { m() { this.q(); super.m(); } #p() {} static s = () => 1; }
    const f = async (x) => x, G = 1;
    module.exports = { f, G: h };
    function* gen() { f(); new A(); z() }
    const element = <A.Bar a={1}/>;
"""

TYPESCRIPT = """
    export interface I extends J, K<T> { m(): void }
    export type T = string;
    enum E { A }
    namespace N.M { export function f(): void {} }
    abstract class A<T> extends B<T> implements I, J {
      constructor(private x: Foo) { super() }
      abstract m(): void;
      private g = () => { f() }
    }
    import type { X } from './x';
    import fs = require("fs");
    export default class extends A {}
    function f(a: string, b?: number): void;
    new X(); fs.read();
"""

GO = """
    package a
    import (
      f "fmt"
      . "x/y"
      "z/v2"
      _ "side"
    )
    // T is
    // a thing.
    type T struct { *Base; mu sync.Mutex }
    type I interface { M(); J }
    func (t *T[K]) M(x int) (e error) { t.x(); a := 1; a(); z.F(); g(); f.Print(); x.y(); T{} }
    func New() *T { return nil }
    const Max = 2
"""

RUST = """
    use crate::a::{b, c as d, e::{self, *}};
    pub use self::x;
    mod foo;
    /// Holds it.
    #[derive(A)]
    pub struct S<T> { a: T }
    impl<T> Tr for S<T> { pub fn new(x: i32) -> Self { let y = 2; foo::bar::<T>(1); self.q();
      Self::z(); v.w(); mac!(x); y(); S { a: 1 } } }
    pub trait Tr: Base + Other { fn q(&self); }
    mod inner { pub fn z() {} }
"""

JAVA = """
    package a.b;
    import static a.b.C.m;
    import x.y.*;
    import q.R;
    /** Does it. Well. */
    public class A<T> extends B<T> implements I, p.J {
      A(int x) { this.f(); new Foo<T>(); Q.z(); g(); v.y().z(); }
      @Override public void m(int a) { a(); }
      private enum E { X }
      record P(int a) {}
    }
    interface K extends L, M { void q(); }
"""

C = """
    #include "a.h"
    #include <stdio.h>
    #define M(x) x
    typedef struct foo { int a; } foo_t;
    /* Counts. */
    static int *f(int a, char *b) { g(a); b->x(1); int c = 2; c(); return 0; }
    int proto(int);
"""

CPP = """
    namespace a::b {
    /// Holds it.
    template<class T>
    class Foo : public Bar<T>, private ns::Q {
     public:
      Foo(int x);
      virtual void m() const { this->n(); n(); }
      int n();
    };
    }
    void a::b::Foo<int>::n() { ns::f(); std::make_unique<Foo>(); new Foo(1); }
    enum class E { A };
"""


@cases(
    ("path", "source", "expected"),
    [
        (
            "a.jsx",
            JAVASCRIPT,
            (
                "function foo, class A, method A.m, method A.#p, method A.s, function f, "
                "constant G, function gen, constant element"
            ),
        ),
        (
            "a.ts",
            TYPESCRIPT,
            (
                "interface I, method I.m, type T, enum E, namespace N.M, function N.M.f, class A, "
                "method A.constructor, method A.m, method A.g, class default, function f"
            ),
        ),
        (
            "a.go",
            GO,
            "struct T, interface I, method I.M, method T.M, function New, constant Max",
        ),
        (
            "a.rs",
            RUST,
            "struct S, method S.new, trait Tr, method Tr.q, module inner, function inner.z",
        ),
        (
            "A.java",
            JAVA,
            "class A, constructor A.A, method A.m, enum A.E, record A.P, interface K, method K.q",
        ),
        ("a.c", C, "macro M, type foo_t, struct foo, function f, prototype proto"),
        (
            "a.cpp",
            CPP,
            (
                "namespace a.b, class a.b.Foo, method a.b.Foo.Foo, method a.b.Foo.m, "
                "method a.b.Foo.n, enum E"
            ),
        ),
    ],
)
def test_definitions_have_kinds_and_qualified_names(path: str, source: str, expected: str) -> None:
    assert ", ".join(symbols(facts(path, source))) == expected


@cases(
    ("path", "source", "expected"),
    [
        (
            "a.jsx",
            JAVASCRIPT,
            # `c` is a parameter of foo.
            (
                "foo -> ?.b, foo -> D, foo -> q, foo -> ns.go, A.m -> self.q, A.m -> super.m, "
                "gen -> f, "
                "gen -> A, gen -> z, - -> A.Bar"
            ),
        ),
        ("a.ts", TYPESCRIPT, "A.g -> f, - -> X, - -> fs.read"),
        (
            "a.go",
            GO,
            "T.M -> self.x, T.M -> z.F, T.M -> g, T.M -> f.Print, T.M -> int().y, T.M -> T",
        ),
        (
            "a.rs",
            RUST,
            (
                "S.new -> foo.bar, S.new -> self.q, S.new -> self.z, S.new -> self.v.w, "
                "S.new -> mac, S.new -> S"
            ),
        ),
        (
            "A.java",
            JAVA,
            "A.A -> self.f, A.A -> Foo, A.A -> Q.z, A.A -> g, A.A -> self.v.y, A.A -> ?.z",
        ),
        ("a.c", C, "f -> g, f -> char().x"),
        (
            "a.cpp",
            CPP,
            (
                "a.b.Foo.m -> self.n, a.b.Foo.m -> n, a.b.Foo.n -> ns.f, "
                "a.b.Foo.n -> std.make_unique, a.b.Foo.n -> Foo"
            ),
        ),
    ],
)
def test_calls_have_their_caller(path: str, source: str, expected: str) -> None:
    assert ", ".join(calls(facts(path, source))) == expected


@cases(
    ("path", "source", "name", "doc", "bases"),
    [
        ("a.jsx", JAVASCRIPT, "A", "Keeps it.", ("D",)),
        ("a.ts", TYPESCRIPT, "A", "", ("B", "I", "J")),
        ("a.ts", TYPESCRIPT, "I", "", ("J", "K")),
        ("a.go", GO, "T", "T is a thing.", ("Base",)),
        ("a.go", GO, "I", "", ("J",)),
        ("a.rs", RUST, "S", "Holds it.", ("Tr",)),
        ("a.rs", RUST, "Tr", "", ("Base", "Other")),
        ("A.java", JAVA, "A", "Does it. Well.", ("B", "I", "p.J")),
        ("A.java", JAVA, "K", "", ("L", "M")),
        ("a.c", C, "f", "Counts.", ()),
        ("a.cpp", CPP, "a.b.Foo", "Holds it.", ("Bar", "ns.Q")),
    ],
)
def test_documentation_and_bases_are_read(
    path: str, source: str, name: str, doc: str, bases: tuple[str, ...]
) -> None:
    symbol = next(s for s in facts(path, source).symbols if s.qualified == name)
    assert (symbol.doc, symbol.bases) == (doc, bases)


def test_javascript_imports_in_all_their_forms() -> None:
    assert facts("a.jsx", JAVASCRIPT).imports == (
        Import("./x", (("default", "D"), ("a", "b"), ("c", "c"))),
        Import("y", alias="ns"),
        Import("./side"),
        Import("./z", (("q", "q"), ("r", "s")), form="require"),
        Import("z", (("default", "z"),), alias="z", form="require"),
        Import("./w", (("*", "*"),), form="reexport"),
        Import("./u", (("k", "l"),), form="reexport"),
        Import("./dyn", scope="foo", form="require"),
    )


def test_javascript_exports_are_pairs_of_outside_and_inside() -> None:
    assert facts("a.jsx", JAVASCRIPT).exports == (
        ("default", "b"), ("c", "c"), ("f", "f"), ("G", "h")
    )  # fmt: skip
    assert facts("a.ts", TYPESCRIPT).exports == (("default", "default"),)


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        (
            "a.go",
            GO,
            [("fmt", (), "f"), ("x/y", (("*", "*"),), ""), ("z/v2", (), "z"), ("side", (), "")],
        ),
        (
            "a.rs",
            RUST,
            [
                ("crate::a", (("b", "b"),), ""),
                ("crate::a", (("c", "d"),), ""),
                ("crate::a", (("e", "e"),), ""),
                ("crate::a::e", (("*", "*"),), ""),
                ("self", (("x", "x"),), ""),
                ("foo", (), "foo"),
            ],
        ),
        (
            "A.java",
            JAVA,
            [("a.b.C", (("m", "m"),), ""), ("x.y", (("*", "*"),), ""), ("q", (("R", "R"),), "")],
        ),
        ("a.c", C, [("a.h", (("*", "*"),), ""), ("stdio.h", (("*", "*"),), "")]),
    ],
)
def test_imports_of_other_languages(path: str, source: str, expected: object) -> None:
    assert [(i.module, i.names, i.alias) for i in facts(path, source).imports] == expected


@cases(
    ("path", "source", "expected"),
    [
        ("a.jsx", JAVASCRIPT, {"foo", "A", "A.m", "A.s", "f"}),
        ("a.go", GO, {"T", "I", "I.M", "T.M", "New", "Max"}),
        ("a.rs", RUST, {"S", "S.new", "Tr", "Tr.q"}),
        ("A.java", JAVA, {"A", "A.A", "A.m", "A.P", "K", "K.q"}),
        ("a.c", C, {"M", "foo_t", "foo", "proto"}),
    ],
)
def test_what_others_may_use_is_exported(path: str, source: str, expected: set[str]) -> None:
    assert {s.qualified for s in facts(path, source).symbols if s.exported} == expected


def test_packages_are_named() -> None:
    assert facts("a.go", GO).package == "a"
    assert facts("A.java", JAVA).package == "a.b"
    assert facts("go.mod", "module example.org/m\n\ngo 1.22\n").package == "example.org/m"
    assert facts("Cargo.toml", '[package]\nname = "my-crate"\n').package == "my-crate"


def test_a_tsconfig_may_have_comments_and_trailing_commas() -> None:
    found = facts(
        "tsconfig.json",
        """
        { // where things are
          "compilerOptions": { "baseUrl": ".", "paths": {"@/*": ["src/*"], "b": ["x", "y"]}, }
        }
        """,
    )
    assert found.settings == (("baseUrl", "."), ("paths:@/*", "src/*"))


def test_functions_of_commonjs_are_definitions_and_exports() -> None:
    found = facts(
        "a.js",
        """
        exports.one = function () {}
        module.exports.two = class Two { m() {} }
        res.send = function send(body) {}
        Shop.prototype.sell = async () => {}
        Shop.prototype = { buy: function () {}, price: 1 }
        exports = module.exports = create
        function create() { this.later = function () {}; other({ quiet: () => 1 }) }
        """,
    )
    assert symbols(found) == [
        "function one",
        "class two",
        "method two.m",
        "method res.send",
        "method Shop.sell",
        "method Shop.buy",
        "function create",
        "function create.later",
    ]
    assert found.exports == (("one", "one"), ("two", "two"), ("default", "create"))
    found = facts("a.js", "var app = exports = module.exports = {};\napp.use = function () {}\n")
    assert found.exports == (("default", "app"),)
    found = facts("a.js", "module.exports = {a, b: c, d() {}, e: function () {}, f: 1}\n")
    assert found.exports == (("a", "a"), ("b", "c"), ("d", "d"), ("e", "e"))


def test_requires_of_commonjs_bind_members_and_pass_modules_on() -> None:
    found = facts(
        "a.js",
        """
        const m = require('./u').m, {a: b, c} = require('./v')
        module.exports = require('./w')
        exports.x = require('./y').z
        function f() { require('./t').go(); require('./s')() }
        """,
    )
    assert [(i.module, i.names, i.form) for i in found.imports] == [
        ("./u", (("m", "m"),), "require"),
        ("./v", (("a", "b"), ("c", "c")), "require"),
        ("./w", (("default", "default"), ("*", "*")), "reexport"),
        ("./y", (("z", "x"),), "reexport"),
        ("./t", (("default", "require(./t)"),), "require"),
        ("./s", (("default", "require(./s)"),), "require"),
    ]
