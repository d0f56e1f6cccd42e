from __future__ import annotations

from mycel.knowledge.code.source_facts import Import
from tests.cases import cases
from tests.unit.knowledge.code.given import call_relations, calls, facts, resolved, symbols

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


def test_a_variable_of_a_module_that_holds_more_than_a_literal_is_a_definition() -> None:
    source = """
        path = partial(_path, Conf=RoutePattern)
        settings: Settings = LazySettings()
        double = lambda x: 2 * x
        randint = _inst.randint
        Pair = tuple[int, int]
        here = there
        lower, other = f(), g()
        names = ["a"]
        text = ""
        declared: int
        _private = f()
        __all__ = f()
        for each in names:
            inner = f(each)
        def build():
            local = f()
    """
    found = facts("a.py", source)
    variables = ("path", "settings", "double", "randint", "Pair", "here")
    assert symbols(found) == [*(f"variable {each}" for each in variables), "function build"]
    assert found.symbols[0].signature == "path = partial(_path, Conf=RoutePattern)"
    # Others call it as they call a function.
    files = {"conf.py": "path = partial(f)", "urls.py": "from conf import path\npath(1)"}
    assert call_relations(resolved(files)) == ["urls.py: -> conf.py:path"]


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
        Import("a.b", alias="c"),
        Import("d.e", alias="d.e"),
        Import("", (("x", "x"),), level=2),
        Import("y", (("f", "g"), ("h", "h")), level=1),
        Import("late", (("z", "z"),), scope="A.m"),
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
            c(4)) + f"{r.in_braces(5)}" + f'' .join(r.d)
    def two():
        type X = r
        class Inner(f("x")):
            async def three(self):
                super().three(); self.four(); self.a.b(); super ().three(); import late
        for near in h(r.e ()): near()
        if (r := f(r)): r()
        print(f)
        print (one(1), two)
        undef = one; définition = one (2)
    type(f)(1)
    class Last: n = one(); import_ = type = two()
'''


STRINGS = r'''
    from m import f, g, h
    A = "\"def no(): f()" 'it' r'\'' ; B = """
    def no(): import no "" f()
    """  # def no(): 'f()
    class C (f(1), m.D [int], k=g,): x = 1
    def one(a=(f, {1: 2}), b: "g()" = f"{g(1)!r:>{g(2)}} {{f()}} {h('f()')}") -> C[1:2]: return 1
    def two(
    a, b): # It goes on.
        """\"Two.

        More."""
        g(
    a, """
    not the end
    """)
        h  (1)
        if "f"in a and a[f (2): 3]: pass
        # Still in it.

    # Not in it.
    E = [
    F(1),
    ]; G = 2
    type H[T] = f(3)
    type(f).x(f())
    x = 1.
    g(4)
    try: from .  import (h as k, # k
        n)
    except (f, g()): import o; h(5)
'''


def test_odd_layouts_are_read() -> None:
    for line_end in ("\n", "\r\n"):
        found = facts("a.py", TRICKY.replace("\n", line_end))
        names = ["A", "C_2", "one", "two", "two.X", "two.Inner", "two.Inner.three", "Last"]
        assert [symbol.qualified for symbol in found.symbols] == names
        assert set(calls(found)) >= {
            "- -> f",
            "one -> r.b",
            "one -> r.c",
            "one -> r.in_braces",
            "two.Inner -> f",
            "two -> h",
            "two.Inner.three -> super.three",
            "two.Inner.three -> self.four",
            "two -> one",
        }
        assert not any("no" in name for call in found.calls for name in call.callee)


def test_texts_are_no_code() -> None:
    found = facts("a.py", STRINGS)
    assert [symbol.qualified for symbol in found.symbols] == [
        "A",
        "B",
        "C",
        "one",
        "two",
        "E",
        "G",
        "H",
    ]
    assert set(calls(found)) == {
        "- -> f",
        "one -> g",
        "one -> h",
        "two -> g",
        "two -> h",
        "two -> f",
        "- -> g",
        "- -> h",
        "- -> ?.x",
    }


def test_calls_that_a_query_overlooks_are_found() -> None:
    source = """
        from m import f, r
        def g(x): return [*f()]
        def h(): return (r.
            # A comment in between.
            c())
    """
    assert calls(facts("a.py", source)) == ["g -> f", "h -> r.c"]


@cases(
    "piece",
    ["f\n(1),", "A: 1,\n", "1.\nf(1),\n", "x\n.f(1),", "f'{f(1)}',\n", "[\na],", "''\n", "a;A=1;"],
)
def test_odd_text_without_end_takes_no_time(piece: str) -> None:
    source = "def f():\n    return (" + piece * 700 + ")\nB = 1; import a\n"
    assert facts("a.py", source).symbols[0].name == "f"
