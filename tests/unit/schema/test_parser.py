"""From text to tree, and what is said about a text that is none."""

import pytest

from mycel.errors import SchemaError
from mycel.model.limits import IDENTIFIER_BYTES_MAX
from mycel.schema import ast, load, parse
from mycel.schema.model import PropertyType
from tests.cases import cases
from tests.unit.schema.refusals import refusal


def name(text: str) -> ast.Name:
    return ast.Name(text)


def declared(text: str) -> ast.Declaration:
    (found,) = parse(text).declarations
    return found


def member(text: str) -> ast.Member:
    found = declared(f"node P {{ {text} }}")
    assert isinstance(found, ast.NodeDeclaration)
    (only,) = found.members
    return only


# What is read.


@cases("text", ["", " \n", "// nothing\n", "/* nothing */", "\ufeff"])
def test_an_empty_text_is_an_empty_schema(text: str) -> None:
    assert parse(text) == ast.SchemaDocument()


def test_an_interface_has_properties() -> None:
    assert declared("interface Named { name: String }") == ast.InterfaceDeclaration(
        name("Named"), (), (ast.PropertyDeclaration(name("name"), PropertyType("String")),)
    )


def test_an_interface_has_annotations_before_its_body() -> None:
    assert declared('interface Named @description("x") @custom(1) { }') == ast.InterfaceDeclaration(
        name("Named"),
        (
            ast.AnnotationDeclaration("description", ast.AnnotationValue("x", True)),
            ast.AnnotationDeclaration("custom", ast.AnnotationValue("1", False)),
        ),
    )


def test_a_range_reaches_all_of_64_bits_signed_or_not() -> None:
    assert member("@range(a, -9223372036854775808..18446744073709551615)") == ast.RangeDeclaration(
        name("a"), -(1 << 63), (1 << 64) - 1
    )


def test_a_node_has_annotations_then_interfaces_then_a_body() -> None:
    assert declared('node P @description("x") @open implements A, B { }') == ast.NodeDeclaration(
        name("P"),
        (
            ast.AnnotationDeclaration("description", ast.AnnotationValue("x", True)),
            ast.AnnotationDeclaration("open"),
        ),
        (name("A"), name("B")),
    )


def test_an_edge_has_ends_a_cardinality_annotations_and_perhaps_a_body() -> None:
    ends = name("E"), name("A"), name("B")
    assert declared("edge E: A -> B") == ast.EdgeDeclaration(*ends)
    assert declared("edge E:A->B{}") == ast.EdgeDeclaration(*ends)
    assert declared(
        "edge E: A -> B @card(1..2) @open { @unique(src, dst) }"
    ) == ast.EdgeDeclaration(
        *ends,
        ast.Card(1, 2),
        (ast.AnnotationDeclaration("open"),),
        (ast.Columns("unique", (name("src"), name("dst"))),),
    )


@pytest.mark.parametrize(
    ("text", "card"),
    [
        ("0..1", ast.Card(0, 1)),
        ("1..*", ast.Card(1, None)),
        ("1..", ast.Card(1, None)),
        ("2 .. 5", ast.Card(2, 5)),
    ],
)
def test_a_cardinality_may_have_no_maximum(text: str, card: ast.Card) -> None:
    assert declared(f"edge E: A -> B @card({text})") == ast.EdgeDeclaration(
        name("E"), name("A"), name("B"), card
    )


@cases(
    ("text", "type_"),
    [
        *((each, PropertyType(each)) for each in ("String", "Blob", "Bool", "Date", "DateTime")),
        *((each, PropertyType(each)) for each in ("I32", "I64", "U32", "U64", "F32", "F64")),
        ("I32?", PropertyType("I32", is_nullable=True)),
        ("[I32]", PropertyType("I32", is_list=True)),
        ("[ String ] ?", PropertyType("String", is_list=True, is_nullable=True)),
        ("Vector(3)", PropertyType("Vector", dimension=3)),
        ("Vector(2147483647)?", PropertyType("Vector", is_nullable=True, dimension=2147483647)),
        ("enum(b, a-b, 3d, X)", PropertyType("String", enum_values=("b", "a-b", "3d", "X"))),
        ("enum(-)?", PropertyType("String", is_nullable=True, enum_values=("-",))),
    ],
)
def test_every_type_of_values_is_read(text: str, type_: PropertyType) -> None:
    assert member(f"x: {text}") == ast.PropertyDeclaration(name("x"), type_)


@cases(
    ("text", "annotation"),
    [
        ("@note", ast.AnnotationDeclaration("note")),
        ("@ note ( 5 )", ast.AnnotationDeclaration("note", ast.AnnotationValue("5", False))),
        (
            "@note(-0.5e-3)",
            ast.AnnotationDeclaration("note", ast.AnnotationValue("-0.5e-3", False)),
        ),
        ("@note(true)", ast.AnnotationDeclaration("note", ast.AnnotationValue("true", False))),
        ("@note(word)", ast.AnnotationDeclaration("note", ast.AnnotationValue("word", False))),
        ('@note("")', ast.AnnotationDeclaration("note", ast.AnnotationValue("", True))),
        (
            r'@note("a\"\u00e9\n\\")',
            ast.AnnotationDeclaration("note", ast.AnnotationValue('a"é\n\\', True)),
        ),
        (
            r'@note("\ud83d\ude00")',
            ast.AnnotationDeclaration("note", ast.AnnotationValue("😀", True)),
        ),
        (
            '@note("// no /* comment")',
            ast.AnnotationDeclaration("note", ast.AnnotationValue("// no /* comment", True)),
        ),
        ("@key", ast.AnnotationDeclaration("key")),
    ],
)
def test_annotations_stand_behind_the_type_of_a_property(
    text: str, annotation: ast.AnnotationDeclaration
) -> None:
    assert member(f"x: String {text}") == ast.PropertyDeclaration(
        name("x"), PropertyType("String"), (annotation,)
    )


@cases(
    ("text", "constraint"),
    [
        ("@key(a)", ast.Columns("key", (name("a"),))),
        ("@unique(a, b)", ast.Columns("unique", (name("a"), name("b")))),
        ("@index ( a )", ast.Columns("index", (name("a"),))),
        ("@range(a, 0..100)", ast.RangeDeclaration(name("a"), 0, 100)),
        ("@range(a, 0..)", ast.RangeDeclaration(name("a"), 0, None)),
        ("@range(a, ..100)", ast.RangeDeclaration(name("a"), None, 100)),
        ("@range(a, -1.5..-1)", ast.RangeDeclaration(name("a"), -1.5, -1)),
        ("@range(a, 1e3 .. 1e+5)", ast.RangeDeclaration(name("a"), 1000.0, 100000.0)),
        (
            r'@check(a, "^\\d+$")',
            ast.CheckDeclaration(name("a"), ast.AnnotationValue(r"^\d+$", True)),
        ),
    ],
)
def test_constraints_stand_in_a_body(text: str, constraint: ast.Member) -> None:
    assert member(text) == constraint


def test_a_constraint_with_arguments_belongs_to_the_body_even_behind_a_property() -> None:
    found = declared("node P { a: String @index @key(a) b: I32 @range(b, 0..1) }")
    assert isinstance(found, ast.NodeDeclaration)
    assert [type(each).__name__ for each in found.members] == [
        "PropertyDeclaration",
        "Columns",
        "PropertyDeclaration",
        "RangeDeclaration",
    ]


def test_keywords_are_not_reserved() -> None:
    text = "node P { node: I32 edge: I32 interface: I32 implements: I32 enum: I32 key: I32 }"
    found = declared(text)
    assert isinstance(found, ast.NodeDeclaration)
    assert len(found.members) == 6


def test_names_may_be_long_but_not_too_long() -> None:
    longest = "x" * IDENTIFIER_BYTES_MAX
    assert member(f"{longest}: I32")
    assert "longer than 255" in refusal(f"node P {{ ‹{longest}x›: I32 }}").message
    capital = "X" * IDENTIFIER_BYTES_MAX
    assert declared(f"node {capital} {{}}")
    assert "longer than 255" in refusal(f"node ‹{capital}X› {{}}").message
    assert "longer than 255" in refusal(f"node P {{ a: enum(‹{longest}x›) }}").message


# What is refused: the place, what is wrong, and what would be right.

REFUSED = [
    # Declarations.
    ("‹type› Person { }", "found `type`", "Write `node`"),
    ("‹relationship› Knows: A -> B", "found `relationship`", "Write `edge`"),
    ("‹trait› Named { }", "found `trait`", "Write `interface`"),
    ("‹Node› Person { }", "found `Node`", "lower case"),
    ("‹nodes› Person { }", "found `nodes`", "Did you mean 'node'?"),
    ("‹enum› Color { red }", "found `enum`", "where it is used"),
    ("node P {}‹,› node Q {}", "found `,`", "Nothing separates declarations"),
    ("node P {}‹;›", "found `;`", "Nothing separates declarations"),
    ('node P {} ‹@›description("x")', "found `@`", "before its body"),
    ("‹}›", "found `}`", "no bracket left"),
    ("‹#› x", "found `#`", "Comments start with `//`"),
    ("‹`›``pg", "found", "Remove the Markdown fence"),
    ("node ‹person› { }", "`person` is not a name for a type", "Write Person."),
    ("node ‹Per-son› { }", "`Per-son` is not a name", "capital letter"),
    ("node ‹Größe› { }", "`Größe` is not a name", "A to Z"),
    ('node ‹"Person"› { }', "Expected the name of a node", "without quotes"),
    ("node ‹{› }", "Expected the name of a node", "capital letter"),
    ("node Person‹›", "Expected `implements` or `{`", "node Person {}"),
    ("node P ‹extends› Q { }", "found `extends`", "node P implements"),
    ("node P ‹:› Q { }", "found `:`", "node P implements"),
    ("node P implements ‹{› }", "name of an interface", "capital letter"),
    ("node P implements I ‹J› { }", "found `J`", "Put a comma"),
    ("node P implements I ‹@›open { }", "found `@`", "before `implements`"),
    ("interface I ‹@unique›(a) { a: I32 }", "is a constraint", "Put @unique after"),
    ("interface I ‹@range›(a, 0..) { }", "is a constraint", "Put it into the nodes"),
    ("interface I ‹@card›(0..1) { }", "@card is for edges only", "the number of edges"),
    ("interface I ‹implements› J { }", "found `implements`", "cannot implement another"),
    # Edges.
    ("edge E ‹A› -> B", "Expected `:`", "edge E: From -> To"),
    ("edge E‹(›A, B)", "Expected `:`", "edge E: From -> To"),
    ("edge E ‹@›open: A -> B", "Expected `:`", "after the types"),
    ("edge E: A ‹B›", "Expected `->`", "edge E: A -> B"),
    ("edge E: A ‹=›> B", "Expected `->`", "edge E: A -> "),
    ("edge E: A ‹<›- B", "Expected `->`", "from left to right"),
    ("edge E: A -> B @open ‹@card›(0..1)", "@card cannot be here", "right after the target"),
    ("edge E: A -> B @card(0..1) ‹@card›(0..1)", "@card cannot be here", "once"),
    ("edge E: A -> B { ‹@card›(0..1) }", "@card cannot be here", "right after the target"),
    ("node P ‹@card›(0..1) { }", "@card is for edges only", "edge Name: From -> To"),
    ("node P { ‹@card›(0..1) }", "@card is for edges only", "edge Name: From -> To"),
    ("node P { a: I32 ‹@card›(0..1) }", "@card is for edges only", "edge Name: From -> To"),
    ("edge E: A -> B @card(1‹)›", "Expected `..`", "@card(1..1)"),
    ("edge E: A -> B @card(‹..›1)", "Expected a whole number", "@card(0..1)"),
    ("edge E: A -> B @card(0..‹-1›)", "Expected a whole number", "@card(1..*)"),
    ("edge E: A -> B @card(‹x›..1)", "Expected a whole number", "@card(0..1)"),
    ("edge E: A -> B @card(0..‹01›)", "`01` is not a number", "no leading zeros"),
    ("edge E: A -> B @card(0..‹99999999999999999999›)", "too large", "64 bits"),
    ("edge E: A -> B @card(0..‹9223372036854775808›)", "too large", "64 bits"),
    ("edge E: A -> B { ‹@range›(a, 0..1) }", "@range is for nodes only", "@unique and @index"),
    ('edge E: A -> B { ‹@check›(a, "x") }', "@check is for nodes only", "@unique and @index"),
    ("edge E: A -> B { ‹@key›(a) }", "@key is for nodes only", "@unique and @index"),
    # Properties.
    ("node P { a: String‹,› b: I32 }", "found `,`", "Only white space separates properties"),
    ("node P { a: String‹;› b: I32 }", "found `;`", "Only white space separates properties"),
    ("node P { ‹?›a: String }", "found `?`", "after its type"),
    ("node P { a‹?›: String }", "found `?`", "`a: Type?`"),
    ("node P { a: ‹?›String }", "found `?`", "`age: I32?`"),
    ("node P { a: String?‹?› }", "found `?`", "One `?` is enough"),
    ("node P { a: String‹!› }", "found `!`", "required already"),
    ('node P { a: String ‹=› "x" }', "found `=`", "@default"),
    ("node P { a: String ‹|› null }", "found `|`", "`age: I32?`"),
    ("node P { a: String‹[›] }", "found `[`", "[String]"),
    ("node P { a: String‹(›20) }", "found `(`", "no argument"),
    ("node P { a ‹String› }", "Expected `:`", "A colon is missing"),
    ("node P { optional ‹a›: String }", "Expected `:`", "Write nothing before the name"),
    ("node P { ‹A›: String }", "`A` is not a name for a property", "Write a."),
    ("node P { ‹größe›: String }", "`größe` is not a name for a property", "small letter"),
    ('node P { ‹"a"›: String }', 'found "a"', "without quotes"),
    ("node P { ‹-› }", "`-` is not a name for a property", "small letter"),
    ("node P {\n a: String‹›\n", "found the end", "Close the `{` of line 1, column 8"),
    ("node P {\n a: String\nnode ‹Q› { }", "found `Q`", "Close the `{` of line 1, column 8"),
    ("node P { a: String ‹#› x\n}", "found `#`", "Comments start with `//`"),
    ("node P { a:‹\u00a0›String }", "Expected a type", "NO-BREAK SPACE"),
    # Types of values.
    ("node P { a: ‹string› }", "`string` is not a type", "Write String."),
    ("node P { a: ‹int› }", "`int` is not a type", "Write I64."),
    ("node P { a: ‹Int32› }", "`Int32` is not a type", "Write I32."),
    ("node P { a: ‹float› }", "`float` is not a type", "Write F64."),
    ("node P { a: ‹Boolean› }", "`Boolean` is not a type", "Write Bool."),
    ("node P { a: ‹timestamp› }", "`timestamp` is not a type", "Write DateTime."),
    ("node P { a: ‹Strng› }", "`Strng` is not a type", "Did you mean 'String'?"),
    ("node P { a: ‹Person› }", "`Person` is not a type", "edge Name: From -> Person"),
    ("node P { a: ‹List›<String> }", "`List` is not a type", "[String]"),
    ('node P { a: ‹"String"› }', "Expected a type", "without quotes"),
    ("node P { a: ‹}›", "Expected a type", "The types are"),
    ("node P { a: [String‹?›] }", "Expected `]`", "[String]?"),
    ("node P { a: [String‹,› I32] }", "Expected `]`", "one type of items"),
    ("node P { a: [‹[›String]] }", "Expected a scalar", "not lists"),
    ("node P { a: [‹Blob›] }", "no lists of Blob", "A list holds"),
    ("node P { a: [‹enum›(a)] }", "no lists of enum", "A list holds"),
    ("node P { a: [‹Vector›(3)] }", "no lists of Vector", "A list holds"),
    ("node P { a: [‹string›] }", "`string` is not a type", "Write String."),
    ("node P { a: ‹Vector› }", "`Vector` is not a type", "Vector(768)"),
    ("node P { a: Vector(‹-1›) }", "Expected a whole number", "Vector(768)"),
    ("node P { a: Vector(‹1.5›) }", "Expected a whole number", "Vector(768)"),
    ("node P { a: Vector(3‹,› 4) }", "Expected `)`", "one dimension"),
    ("node P { a: Vector(‹007›) }", "`007` is not a number", "no leading zeros"),
    ("node P { a: ‹enum› }", "`enum` is not a type", "enum(open, closed)"),
    ("node P { a: enum(‹)› }", "Expected a value", "at least one"),
    ("node P { a: enum(a,‹)› }", "Expected a value", "Remove the last comma"),
    ("node P { a: enum(a ‹b›) }", "Expected `,`", "A comma is missing"),
    ('node P { a: enum(‹"a"›) }', "Expected a value", "write a."),
    ('node P { a: enum(‹"a b"›) }', "Expected a value", "@check"),
    ("node P { a: enum(‹a.b›) }", "Expected a value", "letters, digits"),
    # Annotations.
    ("node P { a: I32 @‹Note› }", "Expected the name of an annotation", "small letter"),
    ("node P { a: I32 @‹}›", "Expected the name of an annotation", "@name"),
    ("node P { a: I32 @note(‹Bar›) }", "Expected a value", '@note("Bar")'),
    ("node P { a: I32 @note(‹)› }", "Expected a value", "leave out the parentheses"),
    ("node P { a: I32 @note(‹[›1]) }", "Expected a value", "annotations take no lists"),
    ("node P { a: I32 @note(1‹,› 2) }", "Expected `)`", "one value"),
    ("node P { a: I32 @note(‹+5›) }", "`+5` is not a number", "no plus sign"),
    ("node P { a: I32 @note(‹1.5.5›) }", "is not a number", "Numbers look like"),
    ("node P ‹@key›(a) { a: String }", "is a constraint", "into the body: @key"),
    ("edge E: A -> B ‹@unique›(src) { }", "is a constraint", "into the body: @unique"),
    ("edge E: A -> B ‹@range›(x, 0..1)", "is a constraint", "@unique and @index only"),
    # Constraints.
    ("node P { ‹@note›(a) }", "@note is not a constraint", "@key, @unique"),
    ("node P { ‹@uniqe›(a) }", "@uniqe is not a constraint", "Did you mean 'unique'?"),
    ("node P { @key(a) @index ‹}›", "Expected `(`", "@index(property)"),
    ("interface I { a: String ‹@key›(a) }", "properties only", "name: String @key"),
    ("interface I { ‹@range›(a, 0..1) }", "properties only", "nodes that implement"),
    ("node P { @key(‹)› }", "Expected the name of a property", "@key(property)"),
    ("node P { @key(a,‹)› }", "Expected the name of a property", "Remove the last comma"),
    ('node P { @key(‹"a"›) }', "Expected the name of a property", "without quotes"),
    ("node P { @key(‹[›a]) }", "Expected the name of a property", "without brackets"),
    ("node P { @key(a ‹b›) }", "Expected `,`", "A comma is missing"),
    ("node P { @key(a‹?›) }", "Expected `,`", "belongs to their types"),
    ("node P { a: I32 @range(‹0›..1) }", "Expected the name of a property", "@range(a, "),
    ('node P { a: String @check(‹"x"›) }', "Expected the name of a property", "@check(a, "),
    ("node P { @range(a‹)› }", "Expected `,`", "@range(a, 0..100)"),
    ("node P { @range(a, ‹x›..1) }", "Expected a number", "0..100"),
    ("node P { @range(a, 0..‹x›) }", "Expected a number", "0..100"),
    ("node P { @range(a, 0‹,› 5) }", "Expected `..`", "two dots"),
    ("node P { @range(a, ‹0-5›) }", "`0-5` is not a number", "Numbers look like"),
    ("node P { @range(a, ..‹)› }", "Expected a number", "@range(a, 0..100)"),
    ("node P { @range(a, 0..5‹,› 6) }", "Expected `)`", "@range(a, 0..100)"),
    ("node P { @range(a, ..‹1e999›) }", "too large", "64 bits"),
    ("node P { @range(a, ..‹18446744073709551616›) }", "too large", "64 bits"),
    ("node P { @check(a, ‹x›) }", "Expected a pattern", "double quotes"),
    ("node P { @check(a, ‹'›x') }", "Expected a pattern", "double quotes"),
    # Strings and comments.
    ('node P @note(‹"abc) {›', "not closed", 'Close it with "'),
    ('node P @note("a‹\t›") {', "control character (U+0009)", "Write it as \\t"),
    ('node P @note("‹\\d›") {', "`\\d` is not an escape", "\\\\"),
    ('node P @note(‹"\\ud800"›) {', "half of a surrogate pair", "both halves"),
    ("node P {\n  ‹/* x }›", "comment is not closed", "Close it with `*/`"),
]


@cases(("marked", "message", "hint"), REFUSED)
def test_a_text_that_is_no_schema_is_refused_with_the_place_and_what_to_write(
    marked: str, message: str, hint: str
) -> None:
    error = refusal(marked)
    assert message in error.message
    assert hint in error.hint


def test_a_deep_or_long_nonsense_ends_in_an_error_and_not_in_a_crash() -> None:
    for text in ("node P { a: " + "[" * 100_000, "{" * 100_000, "node P { a: Vector(" + "9" * 9999):
        with pytest.raises(SchemaError):
            load(text)


@cases("text", ["‹[›tags]: String", "‹[›tags]: [String]", "‹(›tags): [String]"])
def test_a_name_in_brackets_is_told_where_the_brackets_belong(text: str) -> None:
    assert "`tags: [String]`" in refusal(f"node P {{ {text} }}").hint
