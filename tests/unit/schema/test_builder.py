"""From tree to catalog: every rule of the language, kept and broken."""

import pytest

from mycel.errors import SchemaError
from mycel.schema import Catalog, load
from mycel.schema.catalog_json import fnv1a, prop_id, type_id
from mycel.schema.model import (
    Annotation,
    Cardinality,
    Check,
    Index,
    Key,
    NodeType,
    PropertyType,
    Range,
    Unique,
)
from tests.cases import cases
from tests.unit.schema.refusals import refusal


def node(text: str, name: str = "P") -> NodeType:
    return load(text).nodes[name]


# Properties.


def test_properties_stand_in_the_order_of_their_declaration() -> None:
    found = node("node P { b: String a: I32? c: [F64] d: Vector(3)? e: enum(y, x) }")
    assert [(each.name, each.type) for each in found.properties] == [
        ("b", PropertyType("String")),
        ("a", PropertyType("I32", is_nullable=True)),
        ("c", PropertyType("F64", is_list=True)),
        ("d", PropertyType("Vector", is_nullable=True, dimension=3)),
        ("e", PropertyType("String", enum_values=("x", "y"))),
    ]


def test_the_order_of_declarations_means_nothing() -> None:
    declarations = [
        "edge E: P -> Q",
        "node P implements I { a: String }",
        "node Q { }",
        "interface I { b: I32 }",
    ]
    assert load(" ".join(declarations)).ir() == load(" ".join(declarations[::-1])).ir()


# Constraints.


def test_inline_constraints_mean_the_same_as_those_in_the_body() -> None:
    inline = node("node P { a: String @key b: I32? @unique @index }")
    body = node("node P { a: String b: I32? @key(a) @unique(b) @index(b) }")
    assert inline.constraints == (Key(("a",)), Unique(("b",)), Index(("b",)))
    assert body == inline


def test_a_constraint_that_is_written_twice_counts_once() -> None:
    found = node("node P { a: String @unique @unique(a) b: I32 @index(a, b) @index(b, a) }")
    assert found.constraints == (Unique(("a",)), Index(("a", "b")))


def test_a_key_keeps_the_order_of_its_columns() -> None:
    assert node("node P { a: String b: I32 @key(b, a) }").key == ("b", "a")
    assert node("node P { a: String }").key == ()


@cases("type_", ["String", "Bool", "I64", "F64", "Date", "DateTime", "enum(a)"])
def test_scalars_may_be_keys(type_: str) -> None:
    assert node(f"node P {{ a: {type_} @key }}").key == ("a",)


def test_ranges_and_checks_name_a_property_of_the_node_or_its_interfaces() -> None:
    found = node(
        "interface I { a: I32? } node P implements I { b: String"
        ' @range(a, 0..100) @range(a, -5..) @check(b, "^x") }'
    )
    assert found.constraints == (
        Range("a", 0, 100),
        Range("a", -5, None),
        Check("b", "^x"),
    )


def test_a_range_may_hold_a_single_number() -> None:
    assert node("node P { a: F64 @range(a, 1.5..1.5) }").constraints == (Range("a", 1.5, 1.5),)


def test_edges_may_constrain_their_ends() -> None:
    edge = load("node P {} edge E: P -> P { since: Date @unique(src, dst, since) @index(dst) }")
    assert edge.edges["E"].constraints == (Unique(("src", "dst", "since")), Index(("dst",)))


def test_a_vector_takes_an_index_only() -> None:
    assert node("node P { v: Vector(3) @index }").constraints == (Index(("v",)),)


@pytest.mark.parametrize(
    ("text", "cardinality"),
    [("", Cardinality()), ("@card(0..*)", Cardinality()), ("@card(1..3)", Cardinality(1, 3))],
)
def test_without_a_cardinality_any_number_of_edges_may_leave_a_source(
    text: str, cardinality: Cardinality
) -> None:
    assert load(f"node P {{}} edge E: P -> P {text}").edges["E"].cardinality == cardinality


# Interfaces.


def test_missing_properties_are_appended_in_the_order_of_implements() -> None:
    found = node(
        "interface B { x: I32 @index shared: String } interface A { y: I32? @unique }"
        " node P implements B, A { own: String shared: String @unique }"
    )
    assert [(each.name, each.inherited_from) for each in found.properties] == [
        ("own", None),
        ("shared", None),
        ("x", "B"),
        ("y", "A"),
    ]
    assert found.constraints == (Unique(("shared",)), Index(("x",)), Unique(("y",)))
    assert found.implements == ("B", "A")


def test_an_inherited_property_keeps_its_annotations_and_has_a_number_of_its_own() -> None:
    catalog = load(
        'interface I { a: I32 @default(5) @note @description("d") @rename_from("z") }'
        " node P implements I { }"
    )
    (inherited,) = catalog.nodes["P"].properties
    (declared,) = catalog.interfaces["I"].properties
    assert inherited.annotations == declared.annotations
    assert inherited.renamed_from == "z"
    assert inherited.prop_id == prop_id("node", "P", "a")
    assert declared.prop_id == prop_id("interface", "I", "a")


def test_what_a_node_says_of_a_property_counts_instead_of_what_its_interface_says() -> None:
    found = node('interface I { a: I32 @index @note("i") } node P implements I { a: I32 @unique }')
    assert found.constraints == (Unique(("a",)),)
    assert found.properties[0].annotations == ()


def test_two_interfaces_may_share_a_property_and_both_their_constraints_hold() -> None:
    found = node(
        "interface I { a: I32 @index } interface J { a: I32 @unique @index }"
        " node P implements I, J { }"
    )
    assert [each.name for each in found.properties] == ["a"]
    assert found.constraints == (Index(("a",)), Unique(("a",)))


def test_the_same_key_from_two_interfaces_is_one_key() -> None:
    found = node(
        "interface I { a: String @key } interface J { a: String @key }"
        " node P implements I, J { @key(a) }"
    )
    assert found.key == ("a",)


# Annotations.


def test_annotations_that_are_not_known_are_kept_as_they_are() -> None:
    found = node('node P @team("x") @team("y") @flag { a: I32 @unit(kg) @unit(2) @x("") }')
    assert found.annotations == (
        Annotation("team", "x"),
        Annotation("team", "y"),
        Annotation("flag"),
    )
    assert found.properties[0].annotations == (
        Annotation("unit", "kg"),
        Annotation("unit", "2"),
        Annotation("x", ""),
    )


def test_the_known_annotations_are_understood() -> None:
    catalog = load(
        'node P @description("Who") @instruction("Ask") @kip("person") @open @rename_from("Q") {'
        ' a: I32 @default(-5) @description("How many") @rename_from(b)'
        ' text: String? v: Vector(3) @embed(text) w: Vector(3)? @embed("text") }'
        ' edge E: P -> P @kip("treats") @open'
    )
    found = catalog.nodes["P"]
    assert (found.kip_name, found.is_open, found.renamed_from) == ("person", True, "Q")
    assert [each.name for each in found.annotations] == [
        "description",
        "instruction",
        "kip",
        "open",
    ]
    count, _, vector, other = found.properties
    assert (count.default, count.description, count.renamed_from) == ("-5", "How many", "b")
    assert vector.embed_source == other.embed_source == "text"
    assert (catalog.edges["E"].kip_name, catalog.edges["E"].is_open) == ("treats", True)


@cases(
    "property_",
    [
        'a: String @default("")',
        'a: String @default("x") @check(a, "^x$")',
        "a: I32 @default(5) @range(a, 5..5)",
        "a: U64 @default(18446744073709551615)",
        "a: F64? @default(-0.5)",
        "a: Bool @default(true)",
        'a: Date @default("2024-02-29")',
        'a: DateTime @default("2024-01-31T12:00:00+01:00")',
        "a: enum(open, closed) @default(open)",
        'a: enum(in-progress) @default("in-progress")',
    ],
)
def test_a_default_fits_its_type_and_constraints(property_: str) -> None:
    assert node(f"node P {{ {property_} }}").properties[0].default is not None


def test_one_kip_name_may_be_that_of_a_node_and_of_an_edge() -> None:
    assert load('node P @kip("x") {} edge E: P -> P @kip("x")')


# Numbers.


def test_types_and_properties_are_numbered_by_hashes_of_their_names() -> None:
    catalog = load("interface I {} node P { a: I32 } edge E: P -> P { a: I32 }")
    assert catalog.interfaces["I"].type_id == type_id("interface", "I") == fnv1a("interface:I")
    assert catalog.nodes["P"].type_id == fnv1a("node:P")
    assert catalog.nodes["P"].properties[0].prop_id == fnv1a("node:P:a")
    assert catalog.edges["E"].properties[0].prop_id == fnv1a("edge:E:a")


def test_names_whose_hashes_collide_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mycel.schema.builder.type_id", lambda kind, name: 7)
    with pytest.raises(SchemaError, match="Q and P have the same number") as caught:
        load("node P {} node Q {}")
    assert caught.value.data["column"] == 16
    assert "rename" in caught.value.hint


def test_properties_whose_hashes_collide_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mycel.schema.declaration_bodies.prop_id", lambda *_: 7)
    with pytest.raises(SchemaError, match="b and a have the same number"):
        load("node P { a: I32 b: I32 }")
    with pytest.raises(SchemaError, match="b and a have the same number"):
        load("interface I { b: I32 } node P implements I { a: I32 }")
    assert isinstance(load("node P { a: I32 } node Q { a: I32 }"), Catalog)


# What is refused.

REFUSED = [
    # Names of types.
    ("node P {} node ‹P› {}", "already a node P", "rename"),
    ("interface P {} node ‹P› {}", "already an interface P", "rename"),
    ("node P {} edge ‹P›: P -> P", "already a node P", "rename"),
    ("interface I {} interface ‹I› {}", "already an interface I", "rename"),
    ("node P {} edge Ab: P -> P edge ‹AB›: P -> P", "Ab and AB differ only in the case", "rename"),
    ('node P @kip("Q") {} node ‹Q› {}', "P and Q are both called 'Q'", "@kip"),
    ('interface I {} node ‹P› @kip("I") {}', "I and P are both called 'I'", "@kip"),
    (
        'node P {} edge A: P -> P @kip("x") edge ‹B›: P -> P @kip("x")',
        "A and B are both called 'x'",
        "@kip",
    ),
    # Ends and interfaces.
    ("node Person {} edge E: Person -> ‹Persn›", "no node Persn", "Did you mean 'Person'?"),
    ("edge E: ‹A› -> B", "no node A", "node A {}"),
    ("interface I {} node P implements I {} edge E: ‹I› -> P", "is an interface", "it: P."),
    ("interface Named {} node P implements ‹Namd› {}", "no interface Namd", "'Named'?"),
    ("node Q {} node P implements ‹Q› {}", "no interface Q", "interface Q {}"),
    ("interface I {} node P implements I, ‹I› {}", "named twice", "once"),
    (
        "interface I { a: String } node P implements I { ‹a: String?› }",
        "P.a is String?, but I demands String",
        "`a: String`",
    ),
    (
        "interface I { a: enum(x) } node P implements I { ‹a: enum(x, y)› }",
        "but I demands enum(x)",
        "leave the property to the interface",
    ),
    (
        "interface I { a: String } interface J { a: I32 } node P implements I, ‹J› {}",
        "I and J disagree about a: String there, I32 here",
        "same type",
    ),
    # Properties.
    ("node P { a: I32 ‹a›: I32 }", "has the property a already", "Rename"),
    ("node P { ‹id›: String }", "id is a column", "another name"),
    ("interface I { ‹id›: String }", "id is a column", "another name"),
    ("node P {} edge E: P -> P { ‹src›: String }", "src is a column", "another name"),
    ("node P {} edge E: P -> P { ‹dst›: String }", "dst is a column", "another name"),
    ("node P { a: ‹Vector(0)› }", "cannot have 0 dimensions", "1 to 2147483647"),
    ("node P { a: ‹Vector(2147483648)› }", "2147483648 dimensions", "1 to 2147483647"),
    ("node P { a: enum(x, y, ‹x›) }", "the value x twice", "once"),
    # Keys.
    ("node P { a: String? ‹@key› }", "may be absent", "Remove the `?`"),
    ("node P { a: [String] ‹@key› }", "P.a, which is a list", "no @key"),
    ("node P { a: Blob @key(‹a›) }", "P.a, which is a Blob", "no @key"),
    ("node P { a: Vector(3) ‹@key› }", "P.a, which is a Vector", "@index only"),
    ("node P { a: String @key b: I32 ‹@key› }", "two keys: (a) and (b)", "@key(a, b)"),
    ("node P { a: String @key ‹@key(a)› }", "two keys: (a) and (a)", "one @key"),
    ("node P { a: String @key(a, ‹a›) }", "names a twice", "once"),
    ("node P {} edge E: P -> P { a: I32 ‹@key› }", "@key is for nodes only", "@unique"),
    ("interface I { a: I32 @key b: I32 ‹@key› }", "I has two keys", "one @key"),
    (
        "interface I { a: I32 @key } node ‹P› implements I { b: I32 @key }",
        "two keys: (b) and (a) of I",
        "one @key",
    ),
    (
        "interface I { a: I32 @key } interface J { b: I32 @key } node ‹P› implements I, J {}",
        "two keys: (a) of I and (b) of J",
        "one @key",
    ),
    # Unique and index.
    ("node P { nmae: String @unique(‹name›) }", "no property 'name'", "Did you mean 'nmae'?"),
    ("node P { xyz: I32 @index(‹a›) }", "no property 'a'", "It has: xyz."),
    ("node P { @unique(‹src›) }", "no property 'src'", "Only edges"),
    ("node P { @unique(‹id›) }", "no property 'id'", "always unique and indexed"),
    ("node P {} edge E: P -> P { @unique(src, ‹dts›) }", "no property 'dts'", "'dst'?"),
    ("node P { a: Blob ‹@unique› }", "P.a, which is a Blob", "no @key"),
    ("node P { a: [I32] ‹@index› }", "P.a, which is a list", "no @key"),
    ("node P { a: Vector(3) ‹@unique› }", "P.a, which is a Vector", "@index only"),
    # Ranges and checks.
    ("node P { a: String @range(‹a›, 0..1) }", "P.a is String", "I32, I64"),
    ("node P { a: [I32] @range(‹a›, 0..1) }", "P.a is [I32]", "I32, I64"),
    ("node P { a: Date @range(‹a›, 0..1) }", "P.a is Date", "I32, I64"),
    ("node P { a: I32 ‹@range(a, 5..1)› }", "The range 5..1 is empty", "@range(a, 1..5)"),
    ("node P { a: I32 @range(‹b›, 0..1) }", "no property 'b'", "It has: a."),
    ("node P { a: I32 ‹@range› }", "@range needs arguments", "@range(a, 0..100)"),
    ("node P { a: String ‹@check› }", "@check needs arguments", '@check(a, "pattern")'),
    ('node P { a: I32 @check(‹a›, "x") }', "P.a is I32", "@range"),
    ('node P { a: enum(x) @check(‹a›, "x") }', "P.a is enum(x)", "An enum lists its values"),
    ('node P { a: [String] @check(‹a›, "x") }', "P.a is [String]", "@range"),
    ('node P { a: String @check(a, ‹"("›) }', "cannot use the pattern '('", "RE2"),
    ('node P { a: String @check(a, ‹"(?=x)"›) }', "cannot use the pattern", "look-around"),
    # Cardinalities.
    ("node P {} edge E: P -> P ‹@card(2..1)›", "2, is above the maximum, 1", "@card(1..2)"),
    ("node P {} edge E: P -> P ‹@card(0..0)›", "The maximum of @card is 0", "at least 1"),
    # Texts.
    ('node P ‹@description("")› {}', "text of @description is empty", "@description("),
    ('node P ‹@description("  ")› {}', "text of @description is empty", "@description("),
    ("node P ‹@description› {}", "@description needs a value", "@description("),
    ('node P @description("a") ‹@description("b")› {}', "twice", "once"),
    ('node P { a: I32 ‹@description("")› }', "text of @description is empty", "@description("),
    ('node P @instruction("a") ‹@instruction("b")› {}', "twice", "once"),
    ('node P ‹@instruction("")› {}', "text of @instruction is empty", "@instruction("),
    ('node P { a: I32 ‹@instruction("x")› }', "not for properties", "@description"),
    ('node P { a: I32 ‹@rename_from("")› }', "text of @rename_from is empty", "@rename_from("),
    ("node P ‹@rename_from› {}", "@rename_from needs a value", "@rename_from("),
    ('node P @rename_from("A") ‹@rename_from("B")› {}', "twice", "once"),
    # Names for KIP, and open types.
    ('node P ‹@kip("a b")› {}', "'a b' is not a name", "letters, digits"),
    ('node P ‹@kip("$ConceptType")› {}', "is not a name", "letters, digits"),
    ('node P ‹@kip("")› {}', "text of @kip is empty", "@kip("),
    ('node P @kip("a") ‹@kip("b")› {}', "twice", "once"),
    ('node P { a: I32 ‹@kip("a")› }', "not for properties", "name of the node"),
    ("node P ‹@open(true)› {}", "@open takes no value", "@open."),
    ("node P @open ‹@open› {}", "twice", "once"),
    ("node P { a: I32 ‹@open› }", "not for properties", "name of the node"),
    # Defaults.
    ("node P ‹@default(5)› {}", "not for types", "after the type of a property"),
    ("node P { a: I32 ‹@default› }", "@default needs a value", "@default(0)"),
    ("node P { a: I32 @default(1) ‹@default(2)› }", "twice", "once"),
    ('node P { a: I32 ‹@default("x")› }', "of P.a must be I32", "a value of I32"),
    ("node P { a: I32 ‹@default(2147483648)› }", "of P.a must be I32", "a value of I32"),
    ("node P { a: Bool ‹@default(yes)› }", "of P.a must be Bool", "a value of Bool"),
    ('node P { a: Date ‹@default("2023-02-29")› }', "of P.a must be Date", "a value of Date"),
    ("node P { a: enum(x, y) ‹@default(z)› }", "must be enum(x, y)", "a value of enum(x, y)"),
    ("node P { a: I32 ‹@default(5)› @range(a, 10..) }", "@range(a, 10..)", "Change the default"),
    ("node P { a: I32 ‹@default(5)› @range(a, ..1) }", "@range(a, ..1)", "Change the default"),
    (
        'node P { a: String ‹@default("5")› @check(a, "^[a-z]$") }',
        'does not satisfy @check(a, "^[a-z]$")',
        "Change the default",
    ),
    (
        "interface I { a: I32 @default(5) } node P implements ‹I› { @range(a, 10..) }",
        "@range(a, 10..)",
        "Change the default",
    ),
    ('node P { a: [String] ‹@default("x")› }', "@default is not for lists", "a: [String]"),
    ('node P { a: Blob ‹@default("eA==")› }', "@default is not for Blob", "a: Blob"),
    ('node P { a: Vector(1) ‹@default("[1]")› }', "@default is not for Vector", "a: Vector(1)"),
    ('node P { a: String ‹@default("x")› @key(a) }', "part of the key", "names each instance"),
    # Embeddings.
    ("node P { a: String ‹@embed(a)› }", "for a Vector", "Vector(768) @embed"),
    ('node P { v: Vector(3) ‹@embed(a, model=" ")› a: String }', "model of @embed is", "leave it"),
    ("node P { v: Vector(3) ‹@embed› a: String }", "@embed needs a value", "@embed(source)"),
    ("node P { v: Vector(3) ‹@embed(txt)› text: String }", "does not have", "'text'?"),
    ("node P { v: Vector(3) ‹@embed(a)› a: I32 b: String }", "which is I32", "property: b."),
    ("node P { v: Vector(3) ‹@embed(a)› a: [String] }", "which is [String]", "String property"),
    ("node P { v: Vector(3) ‹@embed(a)› a: enum(x) }", "which is enum(x)", "String property"),
    ("node P { v: Vector(3) @embed(a) ‹@embed(a)› a: String }", "twice", "once"),
    ("interface I { v: Vector(3) ‹@embed(a)› }", "which I does not have", "String property"),
    ("node P ‹@embed(a)› { a: String }", "not for types", "after the type of a property"),
    # Policies of merges.
    ('node P { a: String ‹@merge("max")› }', "is for numbers, Date and", "one of newest, ask."),
    ('node P { a: [I32] ‹@merge("counter")› }', "a is [I32]", "one of set, newest, ask."),
    ('node P { a: Vector(3) ‹@merge("set")› }', "is for lists", "one of newest, ask."),
    ('node P { a: Date? ‹@merge("counter")› }', "is for numbers,", "one of max, min, newest, ask."),
    ('node P { a: I32 ‹@merge("mxa")› }', "'mxa' is not a policy", "'max'?"),
    ("node P { a: I32 ‹@merge› }", "@merge needs a value", '@merge("newest")'),
    ('node P { a: I32 @merge("max") ‹@merge("min")› }', "twice", "once"),
    ('node P ‹@merge("ask")› { a: String }', "not for types", "after the type of a property"),
    ('node P { a: I32 ‹@merge("max")› @key(a) }', "part of the key", "never differs"),
    (
        'interface I { a: I32 @merge("max") } node P implements ‹I› { @key(a) }',
        "P.a is part of the key",
        "never differs",
    ),
    ("node P { a: String @unique ‹@unique› }", "twice", "once"),
]


@cases(("marked", "message", "hint"), REFUSED)
def test_a_schema_that_breaks_a_rule_is_refused_with_the_place_and_what_to_write(
    marked: str, message: str, hint: str
) -> None:
    error = refusal(marked)
    assert message in error.message
    assert hint in error.hint


# Files.


def test_errors_say_line_column_and_excerpt() -> None:
    error = refusal("// people\nnode P {\n  a: ‹text›\n}\n")
    assert error.message == (
        "Line 3, column 6: `text` is not a type of values.\n3 |   a: text\n  |      ^^^^"
    )
    assert error.code == "KIP_2002"
    assert set(error.data) == {"line", "column", "excerpt"}


@pytest.mark.parametrize("marked", ["node P { a: ‹text› }", "node P { a: I32 ‹a›: I32 }"])
def test_errors_name_the_file_first(marked: str) -> None:
    error = refusal(marked, file="people.pg")
    column = error.data["column"]
    assert error.message.startswith(f"people.pg, line 1, column {column}: ")
    assert error.data["file"] == "people.pg"
    assert str(error).startswith("KIP_2002 SchemaError: people.pg, line 1")


def test_a_byte_order_mark_does_not_move_the_place_of_an_error() -> None:
    with pytest.raises(SchemaError) as caught:
        load("\ufeffnode P { id: I32 }")
    assert caught.value.data["column"] == 10
    assert caught.value.data["excerpt"].startswith("1 | node P")
