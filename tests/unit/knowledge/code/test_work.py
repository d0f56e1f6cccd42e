"""Resolving takes work in proportion to the size of a project, whatever its files say.

Work is counted in instructions of the interpreter: it is the same in every run.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import click
import pytest

from mycel.knowledge.code import name_resolution
from mycel.knowledge.code.project_relations import NAMES_NOTE
from mycel.knowledge.code.source_facts import FileFacts
from tests.cases import cases
from tests.unit.knowledge.code.given import facts, resolve, resolved

Sources = dict[str, str]


def instructions(function: Callable[[], object]) -> int:
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


def read(files: Sources) -> dict[str, FileFacts]:
    return {path: facts(path, source) for path, source in files.items()}


def package_of_java(n: int) -> Sources:
    text = "package p;\nclass A{0} {{ void a() {{ b{0}(); new C{0}(); }} }}\n"
    return {f"A{each}.java": text.format(each) for each in range(n)}


def star_of_a_java_package(n: int) -> Sources:
    users = {
        f"u/U{each}.java": f"package u{each};\nimport p.*;\nclass U {{ void a() {{ new X(); }} }}\n"
        for each in range(n)
    }
    return package_of_java(n) | users


def package_of_go(n: int) -> Sources:
    text = "package p\nfunc a{0}() {{ b{0}() }}\nfunc (t T{0}) m() {{ t.x() }}\n"
    return {f"a{each}.go": text.format(each) for each in range(n)}


def modules_of_go(n: int) -> Sources:
    manifests = {f"m{each}/go.mod": f"module x.org/m{each}\n" for each in range(n)}
    code = "".join(f'import "x.org/y{each}"\n' for each in range(n))
    return manifests | {"a.go": f"package a\n{code}"}


def imports_of_a_go_package(n: int) -> Sources:
    code = "".join(f'import a{each} "x.org/p"\n' for each in range(n))
    calls = "".join(f"a{each}.B()\n" for each in range(n))
    package = {f"p/p{each}.go": f"package p\nfunc B{each}() {{}}\n" for each in range(n)}
    users = {"go.mod": "module x.org\n", "u.go": f"package u\n{code}\nfunc f() {{ {calls} }}\n"}
    return package | users


def headers_of_c(n: int) -> Sources:
    includes = "".join(f'#include "h{each}.h"\n' for each in range(n))
    calls = "".join(f"g{each}();\n" for each in range(n))
    headers = {f"h{each}.h": f"void h{each}(void);\n" for each in range(n)}
    return headers | {"a.c": f"{includes}void f(void) {{ {calls} }}\n"}


def definitions_of_c(n: int) -> Sources:
    files = {f"a{each}.c": '#include "h.h"\nvoid f(void) {}\n' for each in range(n)}
    callers = "".join(f"void c{each}(void) {{ f(); }}\n" for each in range(n))
    return files | {"h.h": "void f(void);\n", "b.c": f'#include "h.h"\n{callers}'}


def exports_of_javascript(n: int) -> Sources:
    exports = "".join(f"export {{ a as a{each} }}\n" for each in range(n))
    calls = "".join(f"m.b{each}()\n" for each in range(n))
    return {"m.js": exports, "u.js": f'import * as m from "./m.js"\n{calls}'}


def uses_of_rust(n: int) -> Sources:
    names = "".join(f"fn f{each}() {{}}\n" for each in range(n))
    return {"src/lib.rs": "".join(f"use a{each}::b;\n" for each in range(n)) + names}


def methods_of_rust(n: int) -> Sources:
    types = {f"c{each}/src/lib.rs": "struct T;\nfn f() { T::m() }\n" for each in range(n)}
    return types | {f"c{each}/src/t.rs": "impl T { fn m() {} }\n" for each in range(n)}


def chain_of_classes(n: int) -> Sources:
    text = "class A{1}(A{0}):\n    def m{1}(self):\n        self.f.g()\n        self.h()\n"
    return {"a.py": "class A0: ...\n" + "".join(text.format(e, e + 1) for e in range(n))}


def roots_of_python(n: int) -> Sources:
    packages = {f"r{each}/p{each}/__init__.py": "" for each in range(n)}
    return packages | {"a.py": "".join(f"import q{each}\n" for each in range(n))}


def star_imports(n: int) -> Sources:
    stars = "".join(f"from n{each} import *\n" for each in range(n))
    calls = "".join(f"f{each}()\n" for each in range(n))
    return {f"n{each}.py": "" for each in range(n)} | {"a.py": stars + calls}


def same_stems(n: int) -> Sources:
    sources = {f"s{each}/a.py": "def f(): ...\n" for each in range(n)}
    return sources | {f"t{each}/test_a.py": "def test(): ...\n" for each in range(n)}


@cases(
    "files",
    [
        package_of_java,
        star_of_a_java_package,
        package_of_go,
        modules_of_go,
        imports_of_a_go_package,
        headers_of_c,
        definitions_of_c,
        exports_of_javascript,
        uses_of_rust,
        methods_of_rust,
        chain_of_classes,
        roots_of_python,
        star_imports,
        same_stems,
    ],
)
def test_twice_the_files_take_twice_the_work(files: Callable[[int], Sources]) -> None:
    # Up to a bound on the number of bases, the work for a chain of classes is the square.
    n = 150 if files is chain_of_classes else 25
    few, many = read(files(n)), read(files(2 * n))
    ratio = instructions(lambda: resolve(many)) / instructions(lambda: resolve(few))
    assert ratio < 2.6


@pytest.mark.parametrize("package", [click, asyncio])
def test_an_ordinary_project_does_not_feel_the_bounds(
    package: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(str(package.__file__)).parent
    files = read({f"{folder.name}/{p.name}": p.read_text() for p in sorted(folder.glob("*.py"))})
    found = resolve(files)
    assert len(found.calls) > 300
    assert not any(each.note for each in found.files.values())
    for bound in ("FILE_LOOKUPS_MAX", "LOOKUPS_PER_NAME", "BASES_MAX"):
        monkeypatch.setattr(name_resolution, bound, 1_000_000)
    assert resolve(files) == found


def test_modules_of_a_package_that_stars_all_of_them_find_each_other() -> None:
    modules = [f"m{each}" for each in range(14)]
    text = "from . import base\nfrom . import m0\nclass A{0}(base.Base):\n    pass\n"
    package = {f"p/{name}.py": text.format(name) for name in modules}
    stars = "".join(f"from .{name} import *\n" for name in ("base", *modules))
    found = resolved(package | {"p/__init__.py": stars, "p/base.py": "class Base: ...\n"})
    assert len(found.extends) == 14


def stars_of_all(n: int) -> Sources:
    stars = "".join(f"from f{each} import *\n" for each in range(n))
    calls = "".join(f"    g{each}()\n" for each in range(n))
    return {f"f{each}.py": f"{stars}def g{each}():\n{calls}" for each in range(n)}


def test_star_imports_of_everything_by_everything_take_bounded_work_and_a_note_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noted = resolved(stars_of_all(40) | {"other.py": "def f():\n    f2()\n\ndef f2(): ...\n"})
    assert noted.files["f0.py"].note == NAMES_NOTE
    assert noted.files["other.py"].note == ""
    assert len(noted.files["other.py"].calls) == 1
    # With a smaller bound, because counting takes long. Without one, it would be four times this.
    monkeypatch.setattr(name_resolution, "FILE_LOOKUPS_MAX", 500)
    files = read(stars_of_all(16))
    assert instructions(lambda: resolve(files)) / len(files) < 200_000
