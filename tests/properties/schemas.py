"""Strategies for schemas that keep every rule of the language.

`schema_trees()` makes trees, `schema_texts()` their texts and `catalogs()` their catalogs. A name
of a property has one type throughout a schema, so nodes and interfaces never disagree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from mycel.schema import Catalog, ast, format, load  # noqa: A004  The verb of the stage.
from mycel.schema.model import PropertyType
from mycel.schema.scalars import NUMERIC

# Words.

type_names = st.from_regex(r"[A-Z][A-Za-z0-9_]{0,6}", fullmatch=True)
property_names = st.one_of(
    st.from_regex(r"[a-z_][A-Za-z0-9_]{0,6}", fullmatch=True),
    st.sampled_from(["node", "edge", "interface", "enum", "key", "implements", "name", "type"]),
).filter(lambda name: name not in {"id", "src", "dst"})
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
sentences = texts.filter(str.strip)
patterns = st.sampled_from(["^a", "[0-9]+", r"^\d{3}-\w*$", 'say "x"', ".", "(?i)größe"])
whole_numbers = st.integers(-(1 << 31), (1 << 31) - 1)
reals = st.floats(allow_nan=False, allow_infinity=False)

# Types of values.

enum_values = st.lists(
    st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True), min_size=1, max_size=4, unique=True
)
scalars = st.sampled_from(
    ["String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime"]
)
value_types: st.SearchStrategy[PropertyType] = st.one_of(
    st.builds(PropertyType, scalars, st.booleans(), st.booleans()),
    st.builds(PropertyType, st.just("Blob"), st.booleans()),
    st.builds(
        PropertyType,
        st.just("Vector"),
        st.booleans(),
        dimension=st.integers(1, 8) | st.just((1 << 31) - 1),
    ),
    st.builds(PropertyType, st.just("String"), st.booleans(), enum_values=enum_values.map(tuple)),
)

_DEFAULTS: dict[str, st.SearchStrategy[ast.AnnotationValue]] = {
    "String": st.builds(ast.AnnotationValue, texts, st.just(True)),
    "Bool": st.sampled_from(["true", "false"]).map(lambda each: ast.AnnotationValue(each, False)),
    "Date": st.dates().map(lambda each: ast.AnnotationValue(each.isoformat(), True)),
    "DateTime": st.just(ast.AnnotationValue("2024-01-31T12:00:00Z", True)),
    "U32": st.integers(0, 9).map(lambda each: ast.AnnotationValue(str(each), False)),
    "U64": st.just(ast.AnnotationValue("18446744073709551615", False)),
    "F32": st.sampled_from(["-0.5", "1e-3", "2"]).map(
        lambda each: ast.AnnotationValue(each, False)
    ),
    "F64": st.sampled_from(["-0.5", "1e300", "2"]).map(
        lambda each: ast.AnnotationValue(each, False)
    ),
}
_DEFAULTS["I32"] = _DEFAULTS["I64"] = st.integers(-9, 9).map(
    lambda each: ast.AnnotationValue(str(each), False)
)


def is_scalar(type_: PropertyType) -> bool:
    """True if the type is neither a list nor a blob nor a vector."""
    return type_.scalar not in ("Blob", "Vector") and not type_.is_list


def is_plain(type_: PropertyType, *names: str) -> bool:
    """True if the type is one of these scalars, and no list."""
    is_other = type_.is_list or type_.enum_values is not None
    return not is_other and type_.scalar in names


# Annotations.

custom_annotations = st.builds(
    ast.AnnotationDeclaration,
    st.sampled_from(["note", "unit", "x1", "_private"]),
    st.none()
    | st.builds(ast.AnnotationValue, texts, st.just(True))
    | st.sampled_from(["5", "-0.25", "1e9", "true", "word"]).map(
        lambda each: ast.AnnotationValue(each, False)
    ),
)


def _text(name: str, text: str) -> ast.AnnotationDeclaration:
    return ast.AnnotationDeclaration(name, ast.AnnotationValue(text, True))


@st.composite
def type_annotations(
    draw: st.DrawFn, kip_name: str | None
) -> tuple[ast.AnnotationDeclaration, ...]:
    """Annotations of a node or an edge; without a name for KIP, of an interface."""
    found = draw(st.lists(custom_annotations, max_size=2))
    for name in ("description", "instruction", "rename_from"):
        if draw(st.booleans()):
            found.append(_text(name, draw(sentences)))
    if kip_name is not None and draw(st.booleans()):
        found.append(ast.AnnotationDeclaration("open"))
    if kip_name is not None and draw(st.booleans()):
        found.append(_text("kip", kip_name))
    return tuple(draw(st.permutations(found)))


@st.composite
def _property(
    draw: st.DrawFn, name: str, type_: PropertyType, sources: list[str], *, is_key: bool
) -> ast.PropertyDeclaration:
    found = draw(st.lists(custom_annotations, max_size=1))
    for text in ("description", "rename_from"):
        if draw(st.booleans()):
            found.append(_text(text, draw(sentences)))
    if is_key:
        found.append(ast.AnnotationDeclaration("key"))
    if is_scalar(type_):
        found += [
            ast.AnnotationDeclaration(each) for each in draw(st.sets(st.sampled_from(_INLINE)))
        ]
    if type_.scalar == "Vector" and draw(st.booleans()):
        found.append(ast.AnnotationDeclaration("index"))
    if type_.scalar == "Vector" and sources and draw(st.booleans()):
        source = draw(st.sampled_from(sources))
        models = st.sampled_from(("m", 'a "b"')).map(lambda each: ast.AnnotationValue(each, True))
        model = draw(st.none() | models)
        found.append(
            ast.AnnotationDeclaration(
                "embed", ast.AnnotationValue(source, draw(st.booleans())), model
            )
        )
    if is_scalar(type_) and not is_key and draw(st.booleans()):
        found.append(ast.AnnotationDeclaration("default", draw(_default(type_))))
    return ast.PropertyDeclaration(ast.Name(name), type_, tuple(draw(st.permutations(found))))


_INLINE = ("unique", "index")


def _default(type_: PropertyType) -> st.SearchStrategy[ast.AnnotationValue]:
    if type_.enum_values is not None:
        return st.sampled_from(type_.enum_values).map(lambda each: ast.AnnotationValue(each, True))
    return _DEFAULTS[type_.scalar]


# Bodies.

_Pool = dict[str, PropertyType]


@st.composite
def _properties(
    draw: st.DrawFn, pool: _Pool, inherited: Iterable[str] = (), key: str | None = None
) -> tuple[ast.PropertyDeclaration, ...]:
    """Some properties of the pool; `key` is one of them, and has `@key` behind it."""
    names = draw(st.lists(st.sampled_from(sorted(pool)), max_size=4, unique=True)) if pool else []
    if key is not None and key not in names:
        names.append(key)
    sources = [each for each in {*names, *inherited} if is_plain(pool[each], "String")]
    return tuple(
        draw(_property(each, pool[each], sorted(sources), is_key=each == key)) for each in names
    )


@st.composite
def _constraints(
    draw: st.DrawFn,
    pool: _Pool,
    properties: Iterable[ast.PropertyDeclaration],
    *,
    edge: bool = False,
) -> list[ast.Member]:
    """Constraints of a body over these properties, which are its own and those it inherits."""
    properties = list(properties)
    defaulted = {
        each.name.text for each in properties if any(a.name == "default" for a in each.annotations)
    }
    names = {each.name.text for each in properties}
    columns = sorted(each for each in names if is_scalar(pool[each])) + ["src", "dst"] * edge
    found: list[ast.Member] = []
    for kind in ("unique", "index") if columns else ():
        if draw(st.booleans()):
            chosen = draw(st.lists(st.sampled_from(columns), min_size=1, unique=True))
            found.append(ast.Columns(kind, tuple(map(ast.Name, chosen))))
    if edge:
        return found
    for name in sorted(names - defaulted):
        if is_plain(pool[name], *NUMERIC) and draw(st.booleans()):
            found.append(draw(_range(name)))
        elif is_plain(pool[name], "String") and draw(st.booleans()):
            found.append(
                ast.CheckDeclaration(ast.Name(name), ast.AnnotationValue(draw(patterns), True))
            )
    return found


@st.composite
def _range(draw: st.DrawFn, name: str) -> ast.RangeDeclaration:
    low, high = sorted(draw(st.tuples(whole_numbers | reals, whole_numbers | reals)))
    match draw(st.integers(0, 2)):
        case 0:
            return ast.RangeDeclaration(ast.Name(name), low, None)
        case 1:
            return ast.RangeDeclaration(ast.Name(name), None, high)
    return ast.RangeDeclaration(ast.Name(name), low, high)


# Declarations.


@st.composite
def _node(
    draw: st.DrawFn, name: str, number: int, pool: _Pool, interfaces: list[ast.InterfaceDeclaration]
) -> ast.NodeDeclaration:
    chosen = draw(st.lists(st.sampled_from(interfaces), unique_by=id)) if interfaces else []
    inherited = {each.name.text: each for interface in chosen for each in interface.members}
    keys = [each for each in pool if is_scalar(pool[each]) and not pool[each].is_nullable]
    has_key = any(a.name == "key" for each in inherited.values() for a in each.annotations)
    key = draw(st.none() | st.sampled_from(sorted(keys))) if keys and not has_key else None
    own = draw(_properties(pool, inherited, key))
    declared = {**inherited, **{each.name.text: each for each in own}}
    # Of two interfaces with one property, the first one's annotations count: none may be forgotten.
    both = [*declared.values(), *(each for other in chosen for each in other.members)]
    members: list[ast.Member] = [*own, *draw(_constraints(pool, both))]
    return ast.NodeDeclaration(
        ast.Name(name),
        draw(type_annotations(f"kip_{number}")),
        tuple(each.name for each in chosen),
        tuple(draw(st.permutations(members))),
    )


@st.composite
def _edge(
    draw: st.DrawFn, name: str, number: int, pool: _Pool, nodes: list[str]
) -> ast.EdgeDeclaration:
    ends = st.sampled_from(nodes)
    card = None
    if draw(st.booleans()):
        low = draw(st.integers(0, 3))
        card = ast.Card(low, draw(st.none() | st.integers(max(low, 1), 9)))
    own = draw(_properties(pool))
    members: list[ast.Member] = [*own, *draw(_constraints(pool, own, edge=True))]
    return ast.EdgeDeclaration(
        ast.Name(name),
        ast.Name(draw(ends)),
        ast.Name(draw(ends)),
        card,
        draw(type_annotations(f"kip_{number}")),
        tuple(draw(st.permutations(members))),
    )


@st.composite
def schema_trees(draw: st.DrawFn) -> ast.SchemaDocument:
    """Trees of schemas that `load` accepts."""
    pool: _Pool = draw(st.dictionaries(property_names, value_types, max_size=6))
    names = iter(draw(st.lists(type_names, max_size=6, unique_by=str.casefold)))
    kinds = draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    interfaces = []
    keys = [each for each in pool if is_scalar(pool[each]) and not pool[each].is_nullable]
    for name, _ in zip(names, range(kinds[0]), strict=False):
        # One key among all interfaces, or a node could get two.
        key = draw(st.none() | st.sampled_from(sorted(keys))) if keys and not interfaces else None
        annotations, properties = draw(type_annotations(None)), draw(_properties(pool, (), key))
        interfaces.append(ast.InterfaceDeclaration(ast.Name(name), annotations, properties))
    nodes = [
        draw(_node(name, number, pool, interfaces))
        for number, name in zip(range(kinds[1]), names, strict=False)
    ]
    ends = [each.name.text for each in nodes]
    edges: list[Any] = [
        draw(_edge(name, number, pool, ends)) for number, name in enumerate(names if ends else ())
    ]
    return ast.SchemaDocument(tuple(draw(st.permutations([*interfaces, *nodes, *edges]))))


def schema_texts() -> st.SearchStrategy[str]:
    """Texts of schemas that `load` accepts."""
    return schema_trees().map(format)


def catalogs() -> st.SearchStrategy[Catalog]:
    """Catalogs of random schemas."""
    return schema_texts().map(load)
