"""Calls of methods: on objects whose class is written somewhere, and on others."""

from __future__ import annotations

import pytest

from mycel.knowledge.code.receivers import CANDIDATES_MAX
from tests.unit.knowledge.code.given import call_relations, may_call_relations, resolved

PYTHON = """
    class Base:
        def inst(self): pass
    class Other(Base):
        def make(self) -> "Other": return self
    def build() -> Other: ...
"""
JAVA = (
    "package p; class Other { static void stat() {} void inst() {} Other make() { return this; } }"
)
GO = """
    package a
    type Other struct {}
    func (o *Other) inst() {}
    func build() (*Other, error) { return nil, nil }
"""
RUST = """
    pub struct Other;
    impl Other {
        pub fn new() -> Self { Other }
        pub fn open() -> Result<Other, Error> { Ok(Other) }
        pub fn inst(&self) {}
    }
"""
CPP = "class Other { public: void inst() {} };"
TYPESCRIPT = """
    export class Other { inst(): void {} make(): Other { return this } }
    export function build(): Promise<Other> { return null }
"""


def found_in(files: dict[str, str], target: str) -> str:
    """How the caller `f`, `K.f` or `A.f` is related to a method: "calls", "may_call" or ""."""
    found = resolved(files)
    calls, possible_calls = call_relations(found), may_call_relations(found)
    for relation, pairs in (("calls", calls), ("may_call", possible_calls)):
        for pair in pairs:
            source, _, end = pair.partition(" -> ")
            if source.endswith((":f", ".f")) and end.endswith(target):
                return relation
    return ""


def test_the_class_of_an_object_in_python_is_taken_from_what_is_written() -> None:
    top = "from a import Other, build\nimport ext\n"
    for body, relation in (
        ("def f(): p = Other(); p.inst()", "calls"),
        ("def f(p: Other): p.inst()", "calls"),
        ("def f(p: 'Other | None' = None): p.inst()", "calls"),
        ("def f(): return Other().inst()", "calls"),
        ("def f(): return build().inst()", "calls"),
        ("def f(): p = Other(); q = p.make(); q.inst()", "calls"),
        ("def f(): return Other().make().inst()", "calls"),
        ("shop = Other()\ndef f(): shop.inst()", "calls"),
        ("SHOP = Other()\ndef f(): SHOP.inst()", "calls"),
        ("class K:\n  def __init__(self): self.x = Other()\n  def f(self): self.x.inst()", "calls"),
        (
            "class K:\n  def __init__(self, o: Other): self.x = o\n  def f(self): self.x.inst()",
            "calls",
        ),
        ("class K:\n  x: Other\n  def f(self): self.x.inst()", "calls"),
        ("class K(Other):\n  def f(self): self.inst()", "calls"),
        ("def f(): return build().make().inst()", "calls"),
        ("def f(p): p.inst()", "may_call"),
        ("def f(p): p.x.inst()", "may_call"),
        ("def f(p): p = Other(); p = p.x; p.inst()", "may_call"),
        ("def f(): Other.x.inst()", "may_call"),
        ("class K:\n  def f(self): self.inst()", "may_call"),
        ("class K:\n  def f(self): self.x.inst()", "may_call"),
        ("def f(): ext.inst()", ""),
        ("def f(): p = ext.Thing(); p.inst()", ""),
        ("def f(p: dict): p.inst()", ""),
        ("def f(): p = []; p.inst(); ''.inst()", ""),
        ("NAMES = []\ndef f(): NAMES.inst()", ""),
        ("def f(inst): inst()", ""),
    ):
        assert found_in({"a.py": PYTHON, "b.py": top + body}, "Base.inst") == relation, body


def test_the_class_of_an_object_in_java_is_taken_from_what_is_written() -> None:
    for body, relation in (
        ("void f() { Other p = new Other(); p.inst(); }", "calls"),
        ("void f() { var p = new Other(); p.inst(); }", "calls"),
        ("void f(Other p) { p.inst(); }", "calls"),
        ("void f(Other p) { p.make().inst(); }", "may_call"),
        ("Other p; void f() { p.inst(); }", "calls"),
        ("Other p; void f() { this.p.inst(); }", "calls"),
        ("Other g() { return null; } void f() { g().inst(); }", "calls"),
        ("void f(Object p) { p.inst(); }", "may_call"),
        ("void f() { inst(); }", "may_call"),
        ("void f(String p) { p.inst(); }", ""),
    ):
        source = f"package p; import ext.Base; class A extends Base {{ {body} }}"
        files = {"p/A.java": source, "p/Other.java": JAVA}
        assert found_in(files, "Other.inst") == relation, body


def test_a_supertype_outside_the_project_hides_no_calls_through_other_classes() -> None:
    source = "package p; import ext.Base; class A extends Base { void f() { Other.stat(); } }"
    files = {"p/A.java": source, "p/Other.java": JAVA}
    assert found_in(files, "Other.stat") == "calls"


@pytest.mark.parametrize(
    ("path", "given", "cases"),
    [
        (
            "b.go",
            GO,
            {
                "func f(p *Other) { p.inst() }": "calls",
                "func f() { p := &Other{}; p.inst() }": "calls",
                "func f() { p, _ := build(); p.inst() }": "calls",
                "func f() { var p Other; p.inst() }": "calls",
                "type K struct { o *Other }\nfunc (k *K) f() { k.o.inst() }": "calls",
                "func f(p any) { p.inst() }": "may_call",
                "func f(p string) { p.inst() }": "",
            },
        ),
        (
            "src/b.rs",
            RUST,
            {
                "use crate::Other;\nfn f(p: &Other) { p.inst() }": "calls",
                "use crate::Other;\nfn f() { let p = Other::new(); p.inst() }": "calls",
                "use crate::Other;\nfn f() { let p = Other::open()?; p.inst() }": "calls",
                "use crate::Other;\nfn f() { Other::new().inst() }": "calls",
                "use crate::Other;\nstruct K { o: Box<Other> }\n"
                "impl K { fn f(&self) { self.o.inst() } }": "calls",
                "fn f(p: T) { p.inst() }": "may_call",
                "fn f(p: &str) { p.inst() }": "",
            },
        ),
        (
            "b.cpp",
            CPP,
            {
                "void f(Other* p) { p->inst(); }": "calls",
                "void f(const Other& p) { p.inst(); }": "calls",
                "void f() { Other p; p.inst(); }": "calls",
                "void f() { auto p = new Other(); p->inst(); }": "calls",
                "void f(std::unique_ptr<Other> p) { p->inst(); }": "calls",
                "class K { Other o; void f() { o.inst(); } };": "calls",
                "void f(T p) { p.inst(); }": "may_call",
                "void f(int p) { p.inst(); }": "",
            },
        ),
        (
            "b.ts",
            TYPESCRIPT,
            {
                "function f(p: Other) { p.inst() }": "calls",
                "function f(p: Other | null) { p.inst() }": "calls",
                "function f() { const p = new Other(); p.inst() }": "calls",
                "const p = new Other(); function f() { p.inst() }": "calls",
                "async function f() { (await build()).inst() }": "calls",
                "class K { private o: Other; f() { this.o.inst() } }": "calls",
                "class K { constructor(private o: Other) {} f() { this.o.inst() } }": "calls",
                "class K { constructor(o: Other) { this.o = o } f() { this.o.inst() } }": "calls",
                "function f(p: any) { p.inst() }": "may_call",
                "function f(p: string) { p.inst() }": "",
                "function f() { [].inst() }": "",
            },
        ),
    ],
)
def test_the_class_of_an_object_is_taken_from_what_is_written(
    path: str, given: str, cases: dict[str, str]
) -> None:
    where = {"b.go": "a.go", "src/b.rs": "src/lib.rs", "b.cpp": "a.hpp", "b.ts": "a.ts"}[path]
    top = {
        "b.go": "package a\n",
        "src/b.rs": "",
        "b.cpp": '#include "a.hpp"\n',
        "b.ts": "import {Other, build} from './a'\n",
    }[path]
    for body, relation in cases.items():
        files = {where: given, path: top + body, "go.mod": "module m\n"}
        assert found_in(files, "Other.inst") == relation, body


def test_modules_of_commonjs_are_followed() -> None:
    files = {
        "u.js": "exports.m = function () {}\nmodule.exports.n = () => 1\n",
        "app.js": "var app = exports = module.exports = {};\n"
        "app.init = function init() { this.use() }\napp.use = function use() {}\n",
        "index.js": "module.exports = require('./u')\n",
        "parts.js": "exports.u = require('./u')\nexports.k = require('./u').m\n",
        "res.js": "res.send = function send() {}\nR.prototype.end = function () {}\n",
    }
    for body, target, relation in (
        ("const u = require('./u'); function f() { u.m() }", "u.js:m", "calls"),
        ("const u = require('./index'); function f() { u.m() }", "u.js:m", "calls"),
        ("const m = require('./u').m; function f() { m() }", "u.js:m", "calls"),
        ("function f() { require('./u').n() }", "u.js:n", "calls"),
        ("const p = require('./parts'); function f() { p.u.n() }", "u.js:n", "calls"),
        ("const p = require('./parts'); function f() { p.k() }", "u.js:m", "calls"),
        ("const app = require('./app'); function f() { app.use() }", "app.js:app.use", "calls"),
        ("function f(req, res) { res.send() }", "res.js:res.send", "may_call"),
        ("function f(r) { r.end() }", "res.js:R.end", "may_call"),
    ):
        assert found_in(files | {"b.js": body}, target) == relation, body
    relations = call_relations(resolved(files))
    assert "app.js:app.init -> app.js:app.use" in relations


def test_a_method_that_only_subclasses_have_may_be_called() -> None:
    source = "class A:\n  def f(self): self.hook()\nclass B(A):\n  def hook(self): pass\n"
    assert found_in({"a.py": source}, "B.hook") == "may_call"


def test_a_name_that_many_methods_have_leads_to_none_of_them() -> None:
    for number, relation in ((CANDIDATES_MAX, "may_call"), (CANDIDATES_MAX + 1, "")):
        classes = "".join(f"class C{n}:\n  def m(self): pass\n" for n in range(number))
        assert found_in({"a.py": classes + "def f(x): x.m()\n"}, "C0.m") == relation


def test_methods_of_tests_are_candidates_for_tests_alone() -> None:
    helper = "class Fake:\n  def m(self): pass\n"
    files = {"tests/test_a.py": helper, "a.py": "def f(x): x.m()\n"}
    assert found_in(files, "Fake.m") == ""
    files = {"tests/test_a.py": helper + "def f(x): x.m()\n"}
    assert found_in(files, "Fake.m") == "may_call"


def test_what_is_known_for_certain_is_not_said_again_as_possible() -> None:
    source = "class A:\n  def m(self): pass\ndef f(x, y: A): x.m(); y.m()\n"
    found = resolved({"a.py": source})
    assert call_relations(found) == ["a.py:f -> a.py:A.m"]
    assert may_call_relations(found) == []
