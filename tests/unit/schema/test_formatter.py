"""The one canonical way to write a schema."""

from mycel.schema import format, load, parse  # noqa: A004  The verb of the stage.
from tests.cases import cases

CANONICAL = """\
interface Named {
  name: String @unique @description("Her \\"name\\"")
}

node Person @description("Größe") @open implements Named, Aged {
  status: enum(open, a-b)? @default(open)
  tags: [String]?
  v: Vector(3) @embed(name) @weight(-0.5)
  @key(name)
  code: I64
  @range(code, -5..)
  @range(code, ..1.5)
  @check(name, "^\\\\d+$")
}

node Empty {}

edge Knows: Person -> Person @card(1..*) @open {
  since: Date
  @unique(src, dst)
}

edge Likes: Person -> Empty
"""


def test_a_canonical_text_stays_as_it_is() -> None:
    assert format(parse(CANONICAL)) == CANONICAL


def test_white_space_and_comments_are_lost() -> None:
    text = "/* a */ node P{a:String@key // b\n}edge E:P->P{}"
    assert format(parse(text)) == "node P {\n  a: String @key\n}\n\nedge E: P -> P\n"


def test_an_empty_schema_is_an_empty_text() -> None:
    assert format(parse("// nothing")) == load("").format() == ""


@cases(
    ("written", "canonical"),
    [
        ("node P { a: I32 @key(a) }", "node P {\n  a: I32 @key\n}\n"),
        ("node P { a: enum(b, a) @default(b) }", 'node P {\n  a: enum(a, b) @default("b")\n}\n'),
        ('node P { a: I32 @default("5") }', "node P {\n  a: I32 @default(5)\n}\n"),
        ('node P { a: I32 @default(" 5") }', 'node P {\n  a: I32 @default(" 5")\n}\n'),
        ("node P { a: Bool @default(true) }", "node P {\n  a: Bool @default(true)\n}\n"),
        (
            "node P { t: [String] @merge( set ) }",
            'node P {\n  t: [String] @merge("set")\n}\n',
        ),
        (
            'node P { v: Vector(3) @embed("t") t: String }',
            "node P {\n  v: Vector(3) @embed(t)\n  t: String\n}\n",
        ),
        (
            'node P { v: Vector(3) @embed("t" , model = "a/b") t: String }',
            'node P {\n  v: Vector(3) @embed(t, model="a/b")\n  t: String\n}\n',
        ),
        (
            'node P @rename_from("Q") { a: I32 @rename_from(b) @note }',
            'node P @rename_from("Q") {\n  a: I32 @note @rename_from("b")\n}\n',
        ),
        ("node P {} edge E: P -> P @card(0..*)", "node P {}\n\nedge E: P -> P\n"),
        (
            "node P {} edge E: P -> P { @index(src) }",
            "node P {}\n\nedge E: P -> P {\n  @index(src)\n}\n",
        ),
    ],
)
def test_a_catalog_is_written_in_one_way(written: str, canonical: str) -> None:
    catalog = load(written)
    assert catalog.format() == canonical
    assert load(canonical).ir() == catalog.ir()


def test_what_interfaces_bring_along_is_not_written_again() -> None:
    catalog = load(
        "interface I { a: I32 @index b: I32 } node P implements I { c: I32 @unique(b) @key(c, a) }"
    )
    assert catalog.format() == (
        "interface I {\n  a: I32 @index\n  b: I32\n}\n\n"
        "node P implements I {\n  c: I32\n  @unique(b)\n  @key(c, a)\n}\n"
    )
    assert load(catalog.format()) == catalog
