from __future__ import annotations

from mycel.knowledge.code.relation_values import affected
from tests.unit.knowledge.code.given import (
    call_relations,
    extends_relations,
    facts,
    import_relations,
    resolve,
    resolved,
)


def test_a_plain_import_of_a_function_and_its_call_are_found() -> None:
    found = resolved({"x.py": "def f(): ...\n", "y.py": "from x import f\ndef g():\n    f()\n"})
    assert import_relations(found) == ["y.py -> x.py"]
    assert call_relations(found) == ["y.py:g -> x.py:f"]


PYTHON = {
    "src/pkg/__init__.py": "from pkg.core import Base as Base, make\n",
    "src/pkg/core.py": """
        import os.path
        import numpy as np
        class Base:
            def run(self): self.step()
            def step(self): ...
        def make(): return Base()
    """,
    "src/pkg/sub/__init__.py": "",
    "src/pkg/sub/leaf.py": """
        from ..core import Base
        from . import twig
        import pkg.core as c
        import pkg.sub.twig
        class Leaf(Base):
            def go(self):
                self.run(); super().step(); self.unknown(); twig.bud(); c.make()
                pkg.sub.twig.bud(); pkg.Base()
    """,
    "src/pkg/sub/twig.py": "def bud(): ...\ndef late():\n    from pkg import make\n    make()\n",
    "tests/test_leaf.py": "from pkg.sub.leaf import Leaf\nfrom pkg import make\nLeaf(); make()\n",
    "tests/test_core.py": "x = 1\n",
    "tools/json.py": "def loads(): ...\n",
    "src/pkg/reader.py": "import json\nfrom third.party import z\njson.loads()\n",
}


def test_python_packages_in_a_src_layout_are_resolved() -> None:
    found = resolved(PYTHON)
    assert import_relations(found) == [
        "src/pkg/__init__.py -> src/pkg/core.py",
        "src/pkg/sub/leaf.py -> src/pkg/core.py",
        "src/pkg/sub/leaf.py -> src/pkg/sub/twig.py",
        "src/pkg/sub/twig.py -> src/pkg/__init__.py",
        "tests/test_leaf.py -> src/pkg/sub/leaf.py",
        "tests/test_leaf.py -> src/pkg/__init__.py",
    ]
    assert call_relations(found) == [
        "src/pkg/core.py:Base.run -> src/pkg/core.py:Base.step",
        "src/pkg/core.py:make -> src/pkg/core.py:Base",
        "src/pkg/sub/leaf.py:Leaf.go -> src/pkg/core.py:Base.run",
        "src/pkg/sub/leaf.py:Leaf.go -> src/pkg/core.py:Base.step",
        "src/pkg/sub/leaf.py:Leaf.go -> src/pkg/sub/twig.py:bud",
        "src/pkg/sub/leaf.py:Leaf.go -> src/pkg/core.py:make",
        "src/pkg/sub/leaf.py:Leaf.go -> src/pkg/core.py:Base",
        "src/pkg/sub/twig.py:late -> src/pkg/core.py:make",
        "tests/test_leaf.py: -> src/pkg/sub/leaf.py:Leaf",
        "tests/test_leaf.py: -> src/pkg/core.py:make",
    ]
    assert extends_relations(found) == ["Leaf -> src/pkg/core.py:Base"]


def test_what_is_not_in_the_project_is_named_and_never_guessed() -> None:
    # There is a json.py, but in a folder that nothing here imports from.
    assert resolved(PYTHON).external == (
        ("src/pkg/core.py", "numpy"),
        ("src/pkg/core.py", "os"),
        ("src/pkg/reader.py", "json"),
        ("src/pkg/reader.py", "third"),
    )


def test_tests_are_found_by_imports_through_packages_and_by_name() -> None:
    assert resolved(PYTHON).tested_by == (
        ("src/pkg/__init__.py", "tests/test_leaf.py"),
        ("src/pkg/core.py", "tests/test_core.py"),
        ("src/pkg/core.py", "tests/test_leaf.py"),
        ("src/pkg/sub/leaf.py", "tests/test_leaf.py"),
    )


def test_a_name_that_fits_two_files_names_neither() -> None:
    found = resolved({"a/x.py": "", "b/x.py": "", "tests/test_x.py": ""})
    assert found.tested_by == ()


def test_a_method_of_a_class_with_an_unknown_base_before_it_is_left_out() -> None:
    found = resolved(
        {
            "a.py": """
            from elsewhere import Other
            class Known:
                def m(self): ...
            class A(Other, Known):
                def n(self): self.m()
            class B(Known, Other):
                def n(self): self.m()
            """
        }
    )
    assert call_relations(found) == ["a.py:B.n -> a.py:Known.m"]


def test_cycles_of_imports_and_bases_end() -> None:
    found = resolved(
        {
            "a.py": "from b import A, *\nclass B(A):\n    def m(self): self.x()\nq()\n",
            "b.py": "from a import B, *\nclass A(B):\n    def n(self): self.x()\nq()\n",
            "O.java": "class O extends O.P { void m() { n(); } }\n",
        }
    )
    assert call_relations(found) == []
    assert extends_relations(found) == ["B -> b.py:A", "A -> a.py:B"]


def test_javascript_modules_are_resolved() -> None:
    found = resolved(
        {
            "src/a.ts": """
                import make, { f as g } from './lib';
                import * as u from './util.js';
                import { deep } from '@/deep/x';
                import React from 'react';
                import x from '@scope/pkg/inner';
                export function run() { make(); g(); u.help(); deep(); React.use(); }
            """,
            "src/lib/index.ts": "export { f } from './f';\nexport default function make() {}\n",
            "src/lib/f.ts": "export const f = () => helper();\nfunction helper() {}\n",
            "src/util.ts": "export * from './more';\n",
            "src/more.ts": "export function help() {}\n",
            "src/deep/x.tsx": "export function deep() {}\n",
            "tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
            "src/a.test.ts": "import { run } from './a';\nrun();\n",
            "old.js": "const { f } = require('./src/lib/f'), c = require('./c');\nf(); c();\n",
            "c.js": "function only() {}\nmodule.exports = only;\n",
        }
    )
    assert import_relations(found) == [
        "old.js -> src/lib/f.ts",
        "old.js -> c.js",
        "src/a.test.ts -> src/a.ts",
        "src/a.ts -> src/lib/index.ts",
        "src/a.ts -> src/util.ts",
        "src/a.ts -> src/deep/x.tsx",
        "src/lib/index.ts -> src/lib/f.ts",
        "src/util.ts -> src/more.ts",
    ]
    assert call_relations(found) == [
        "old.js: -> src/lib/f.ts:f",
        "old.js: -> c.js:only",
        "src/a.test.ts: -> src/a.ts:run",
        "src/a.ts:run -> src/lib/index.ts:make",
        "src/a.ts:run -> src/lib/f.ts:f",
        "src/a.ts:run -> src/more.ts:help",
        "src/a.ts:run -> src/deep/x.tsx:deep",
        "src/lib/f.ts:f -> src/lib/f.ts:helper",
    ]
    assert found.external == (("src/a.ts", "@scope/pkg"), ("src/a.ts", "react"))
    assert found.tested_by == (("src/a.ts", "src/a.test.ts"),)


def test_go_packages_are_folders_of_the_module() -> None:
    found = resolved(
        {
            "go.mod": "module example.org/m\n",
            "main.go": """
                package main
                import ("fmt"; s "example.org/m/store")
                func main() { st := s.Open(); fmt.Println(st); help() }
            """,
            "help.go": "package main\nfunc help() {}\n",
            "store/store.go": """
                package store
                type Base struct {}
                func (b *Base) Close() {}
                type Store struct { Base }
                func Open() *Store { return &Store{} }
            """,
            "store/more.go": "package store\nfunc (s *Store) Run() { s.Close(); s.Walk(); Open() }",
            "store/walk.go": "package store\nfunc (s *Store) Walk() {}\n",
            "store/store_test.go": "package store\nfunc TestOpen() { Open() }\n",
        }
    )
    assert import_relations(found) == [
        "main.go -> store/store.go",
    ]
    assert call_relations(found) == [
        "main.go:main -> store/store.go:Open",
        "main.go:main -> help.go:help",
        "store/more.go:Store.Run -> store/store.go:Base.Close",
        "store/more.go:Store.Run -> store/walk.go:Store.Walk",
        "store/more.go:Store.Run -> store/store.go:Open",
        "store/store.go:Open -> store/store.go:Store",
        "store/store_test.go:TestOpen -> store/store.go:Open",
    ]
    assert found.external == (("main.go", "fmt"),)
    assert found.tested_by == (("store/store.go", "store/store_test.go"),)


def test_rust_modules_form_a_tree() -> None:
    found = resolved(
        {
            "Cargo.toml": '[package]\nname = "my-crate"\n',
            "src/lib.rs": "pub mod a;\nmod b;\npub use b::deep::dig;\npub fn top() { a::one(); }\n",
            "src/a.rs": """
                use crate::b::deep::{self, dig};
                use super::top;
                use std::fmt;
                pub struct S;
                impl S { pub fn new() -> S { S::make() } fn make() -> S { dig(); top(); S } }
                pub fn one() { deep::dig(); let s = S::new(); crate::b::two(); }
                mod tests { use super::*; fn t() { one(); } }
            """,
            "src/b/mod.rs": "pub mod deep;\npub fn two() {}\n",
            "src/b/deep.rs": "pub fn dig() {}\n",
            "tests/it.rs": "use my_crate::a::S;\nuse my_crate::dig;\nfn t() { S::new(); dig(); }\n",
        }
    )
    assert import_relations(found) == [
        "src/a.rs -> src/b/deep.rs",
        "src/a.rs -> src/lib.rs",
        "src/b/mod.rs -> src/b/deep.rs",
        "src/lib.rs -> src/a.rs",
        "src/lib.rs -> src/b/mod.rs",
        "src/lib.rs -> src/b/deep.rs",
        "tests/it.rs -> src/a.rs",
        "tests/it.rs -> src/lib.rs",
    ]
    assert call_relations(found) == [
        "src/a.rs:S.new -> src/a.rs:S.make",
        "src/a.rs:S.make -> src/b/deep.rs:dig",
        "src/a.rs:S.make -> src/lib.rs:top",
        "src/a.rs:one -> src/b/deep.rs:dig",
        "src/a.rs:one -> src/a.rs:S.new",
        "src/a.rs:one -> src/b/mod.rs:two",
        "src/a.rs:tests.t -> src/a.rs:one",
        "src/lib.rs:top -> src/a.rs:one",
        "tests/it.rs:t -> src/a.rs:S.new",
        "tests/it.rs:t -> src/b/deep.rs:dig",
    ]
    assert found.external == (("src/a.rs", "std"),)


def test_callers_reach_a_crate_through_one_that_exports_it_under_another_name() -> None:
    def manifest(name: str) -> str:
        return f'[package]\nname = "{name}"\n'

    found = resolved(
        {
            "grep/Cargo.toml": manifest("grep"),
            "grep/src/lib.rs": "pub extern crate grep_read as read;\npub use grep_fit as fit;\n",
            "read/Cargo.toml": manifest("grep-read"),
            "read/src/lib.rs": "pub struct R;\nimpl R { pub fn new() -> R { R } }\n",
            "fit/Cargo.toml": manifest("grep-fit"),
            "fit/src/lib.rs": "pub fn fits() {}\n",
            "core/Cargo.toml": manifest("core"),
            "core/src/main.rs": "use grep::read::R;\nuse grep::fit;\n"
            "fn main() { R::new(); fit::fits(); grep::fit::fits(); }\n",
        }
    )
    assert call_relations(found) == [
        "core/src/main.rs:main -> read/src/lib.rs:R.new",
        "core/src/main.rs:main -> fit/src/lib.rs:fits",
    ]


def test_java_classes_are_found_by_package() -> None:
    found = resolved(
        {
            "src/main/java/a/b/Base.java": """
                package a.b;
                public class Base { protected void help() {} static void util() {} }
            """,
            "src/main/java/a/b/Near.java": """
                package a.b;
                class Near extends Base { void go() { help(); Base.util(); new Far(); run(); }
                  void run() {} }
            """,
            "src/main/java/a/c/Far.java": """
                package a.c;
                import a.b.Base;
                import java.util.List;
                import static a.b.Base.util;
                public class Far extends Base { void go() { this.help(); super.help(); util();
                  new Base(); } }
            """,
            "src/test/java/a/b/NearTest.java": "package a.b;\nclass NearTest { Near n; }\n",
        }
    )
    base, near, far = (f"src/main/java/a/{p}.java" for p in ("b/Base", "b/Near", "c/Far"))
    assert import_relations(found) == [f"{far} -> {base}"]
    assert call_relations(found) == [
        f"{near}:Near.go -> {base}:Base.help",
        f"{near}:Near.go -> {base}:Base.util",
        f"{near}:Near.go -> {near}:Near.run",
        f"{far}:Far.go -> {base}:Base.help",
        f"{far}:Far.go -> {base}:Base.util",
        f"{far}:Far.go -> {base}:Base",
    ]
    assert extends_relations(found) == [f"Near -> {base}:Base", f"Far -> {base}:Base"]
    assert found.external == ((far, "java.util"),)
    assert found.tested_by == ((near, "src/test/java/a/b/NearTest.java"),)


def test_c_calls_lead_to_the_definition_behind_the_header() -> None:
    found = resolved(
        {
            "include/lib/a.h": "int add(int, int);\nint lonely(void);\n",
            "src/a.c": '#include "lib/a.h"\nint add(int x, int y) { return x + y; }\n',
            "src/main.c": '#include <stdio.h>\n#include "lib/a.h"\n'
            "static int own(void) { return 1; }\n"
            "int main(void) { printf(0); lonely(); own(); return add(1, 2); }\n",
        }
    )
    assert import_relations(found) == [
        "src/a.c -> include/lib/a.h",
        "src/main.c -> include/lib/a.h",
    ]
    assert call_relations(found) == [
        "src/main.c:main -> include/lib/a.h:lonely",
        "src/main.c:main -> src/main.c:own",
        "src/main.c:main -> src/a.c:add",
    ]
    assert found.external == (("src/main.c", "stdio.h"),)


def test_cpp_names_are_looked_up_through_namespaces_and_bases() -> None:
    found = resolved(
        {
            "base.hpp": "namespace n { class Base { public: void help(); }; void free_one(); }\n",
            "d.hpp": '#include "base.hpp"\nnamespace n { class D : public Base { void go(); }; }\n',
            "d.cpp": '#include "d.hpp"\nnamespace n {\n'
            "void D::go() { help(); this->help(); free_one(); n::free_one(); d = new D(); }\n}\n",
            "base.cpp": '#include "base.hpp"\nvoid n::Base::help() {}\n',
        }
    )
    assert call_relations(found) == [
        "d.cpp:n.D.go -> base.cpp:n.Base.help",
        "d.cpp:n.D.go -> base.hpp:n.free_one",
        "d.cpp:n.D.go -> d.hpp:n.D",
    ]
    assert extends_relations(found) == ["n.D -> base.hpp:n.Base"]


def test_links_of_documents_lead_to_files_and_folders_of_the_project() -> None:
    found = resolve(
        {
            "docs/a.md": facts(
                "docs/a.md",
                "[b](b.md#top) [s](../src/) [i](/logo%20x.png) [w](https://w.org) [n](c.md) [#](#)",
            ),
            "docs/b.md": facts("docs/b.md", "text"),
        },
        paths=["src/x.py", "logo x.png"],
    )
    assert found.files["docs/a.md"].links == ("docs/b.md", "src", "logo x.png")
    assert found.files["docs/a.md"].external_links == ("https://w.org",)


def test_a_change_inside_a_function_affects_only_its_own_file() -> None:
    before = {path: facts(path, source) for path, source in PYTHON.items()}
    after = {
        **before,
        "src/pkg/core.py": facts("src/pkg/core.py", PYTHON["src/pkg/core.py"] + "\n"),
    }
    assert affected(before, after, ["src/pkg/core.py"]) == {"src/pkg/core.py"}


def test_a_change_that_others_can_see_affects_the_files_of_its_language() -> None:
    before = {path: facts(path, source) for path, source in PYTHON.items()}
    before["a.md"], before["a.go"] = facts("a.md", "[x](y.py)"), facts("a.go", "package a\n")
    before["named.md"] = facts("named.md", "Calls `other()`.")
    after = {**before, "src/pkg/core.py": facts("src/pkg/core.py", "def other(): ...\n")}
    assert affected(before, after, ["src/pkg/core.py"]) == set(PYTHON) | {"named.md"}
    gone = {path: found for path, found in before.items() if path != "src/pkg/core.py"}
    assert affected(before, gone, ["src/pkg/core.py"]) == (set(PYTHON) | {"a.md", "named.md"}) - {
        "src/pkg/core.py"
    }
