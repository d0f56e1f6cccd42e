from __future__ import annotations

import pytest

from mycel.knowledge.code import Import
from mycel.knowledge.code.python import Python
from tests.unit.knowledge.code.given import calls, facts, symbols

SOURCE = '''
    import a.b as c, d.e
    from .. import x
    from .y import (f as g,  # why
        h)

    LIMIT: int = 3
    lower = 4

    class A(B, m.C[int], metaclass=M):
        """First line
        and second.

        Third."""

        def m(self, f):
            g(); self.q(); super().m(); f(); h(1)
            from late import z
            z()
            def inner(): return g()

        async def _k(self):
            c.foo.bar(); d.e.q(); print(1)

    def t(x: int = 3, *, y,  # a comment
          z) -> "q":
        "One."
'''


def test_definitions_have_qualified_names() -> None:
    assert symbols(facts("a.py", SOURCE)) == [
        "constant LIMIT",
        "class A",
        "method A.m",
        "function A.m.inner",
        "method A._k",
        "function t",
    ]


def test_a_symbol_says_where_it_is_and_what_it_looks_like() -> None:
    found = {symbol.qualified: symbol for symbol in facts("a.py", SOURCE).symbols}
    assert (found["A"].line, found["A"].end_line) == (9, 22)
    assert found["A"].signature == "class A(B, m.C[int], metaclass=M)"
    assert found["A"].doc == "First line and second."
    assert found["A"].bases == ("B", "m.C")
    assert found["A"].exported
    assert not found["A._k"].exported
    assert found["A._k"].signature == "async def _k(self)"
    assert found["t"].signature == 'def t(x: int = 3, *, y, z) -> "q"'
    assert found["t"].doc == "One."


def test_imports_keep_aliases_levels_and_the_function_they_are_in() -> None:
    assert facts("a.py", SOURCE).imports == (
        Import("a.b", line=1, alias="c"),
        Import("d.e", line=1, alias="d.e"),
        Import("", (("x", "x"),), line=2, level=2),
        Import("y", (("f", "g"), ("h", "h")), line=3, level=1),
        Import("late", (("z", "z"),), line=17, scope="A.m"),
    )


def test_calls_are_those_of_names_that_mean_something_here() -> None:
    # Not `f`, a parameter, and not `print`, about which nothing can be said.
    assert calls(facts("a.py", SOURCE)) == [
        "A.m -> g",
        "A.m -> self.q",
        "A.m -> super.m",
        "A.m -> h",
        "A.m -> z",
        "A.m.inner -> g",
        "A._k -> c.foo.bar",
        "A._k -> d.e.q",
    ]


def test_local_variables_hide_imported_names_only_where_they_are() -> None:
    found = facts(
        "a.py",
        """
        from m import f, g, h, k
        def one():
            f = 1
            f()
            g()
        def two(x=f, *, key=g):
            f(); g()
        def three():
            for h in range(3): h()
            with k() as k2: k2()
            return map(k, [])
        """,
    )
    assert calls(found) == ["one -> g", "two -> f", "two -> g", "three -> k"]


def test_star_imports_keep_all_bare_calls() -> None:
    assert calls(facts("a.py", "from m import *\nf()\n")) == ["- -> f"]


def test_the_first_of_several_definitions_stands_for_all() -> None:
    found = facts("a.py", "if x:\n    def f(): ...\nelse:\n    def f(a): ...\n")
    assert [(s.qualified, s.line) for s in found.symbols] == [("f", 2)]


def test_line_ends_and_byte_order_marks_make_no_difference() -> None:
    plain = facts("a.py", SOURCE)
    text = SOURCE.replace("\n", "\r\n")
    assert symbols(facts("a.py", text)) == symbols(plain)
    assert facts("a.py", "\ufeffdef f():\n    '''D.'''\n").symbols[0].doc == "D."


TRICKY = r'''
    from .import near  # import
    from m import (f,  # import of f, def
        g as h)
    import o, p.q as r; from s import *
    A = B = 1; C_2: int; D, E = 1, 2
      # a comment on class
    x = \
    F = 2
    if x: G = 3
    @f(1)
    async  def one(f2, *h, k=f):  # def
        # See def
        f()
        # A sentence.
        f . a (1); r.b
        (r.c)()
        """ f(in_text) def no(): import no """
        lambda f: f(2)
        return (r
            .b(3) + r.
            # A comment in between.
            c(4)) + f"{r.in_braces(5)}" + f'' .join(r.d)
    def two():
        type X = r
        class Inner(f("x")):
            async def three(self):
                super().three(); self.four(); self.a.b(); super ().three(); import late
        for near in h(r.e ()): near()
        match f(1):
            case f(y): pass
        if (r := f(r)): r()
        print(f)
        print (one(1), two)
        undef = one; définition = one (2)
    type(f)(1)
    class Last: n = one(); import_ = type = two()
'''


def test_what_the_text_points_to_is_what_a_query_over_the_tree_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_star = TRICKY.replace("from s import *", "from s import t")
    looked_for = [facts("a.py", source) for source in (TRICKY, without_star, SOURCE)]
    monkeypatch.setattr(Python, "look", lambda *_: None)
    assert looked_for == [facts("a.py", source) for source in (TRICKY, without_star, SOURCE)]
    assert "two -> h" in calls(looked_for[1])
