"""A part of an element as SQL: a value to compare, or a cell of the result.

Whole elements and JSON values leave the statement as JSON text, spliced from the stored texts, so
nothing is parsed and printed again on the way to the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from mycel.ir import query as ir
from mycel.sql import portable
from mycel.sql.dialect import Dialect
from mycel.sql.scope import Bindings, Cell
from mycel.sql.state_tables import StateTables
from mycel.syntax.nodes import node

AccessKind = Literal[
    "text", "number", "large", "json", "element", "true", "false", "null", "document"
]
"""The kind of a value that is not null.

`json`: only the stored document determines the kind; `large`: a number from 2^63 on, as JSON text.
"""

CLASS: Final = (
    "CASE {type} WHEN 'integer' THEN 'n' WHEN 'real' THEN 'n' WHEN 'text' THEN 's'"
    " WHEN 'true' THEN 't' WHEN 'false' THEN 'f' WHEN 'array' THEN 'a' WHEN 'object' THEN 'o' END"
)
"""One letter for each JSON type; integers and floats share a letter."""

_UPDATED_BY: Final = (
    "(SELECT (SELECT a.name FROM actor a WHERE a.id = u.actor) FROM tx u"
    " WHERE u.seq >= {row}.seq AND u.first_seq <= {row}.seq ORDER BY u.seq LIMIT 1)"
)
"""The actor of the transaction whose row closes the entry that wrote the element."""
_BELIEF: Final = (
    "CASE WHEN {row}.metadata LIKE '%%\"evidence\"%%'"
    " OR {row}.metadata LIKE '%%\"confidence\"%%' THEN %s ELSE 'accepted' END"
)
"""The status of a link. The common case, neither evidence nor a confidence, is tested first."""
_METADATA: Final = (
    '\'{{"_version":\' || {row}.version || \',"_updated_at":"\' || %s'
    " || '\"' || CASE {row}.metadata WHEN '{{}}' THEN '}}'"
    " ELSE ',' || substr({row}.metadata, 2) END"
)


@node
class Access:
    """A value in a statement."""

    kind: AccessKind
    value: str
    """The value as SQLite compares it; of an element, its number."""
    type: str = ""
    """SQLite's name of the JSON type, for `json`."""
    text: str = ""
    """The value as JSON text, for `json` and `document`."""
    number: str = ""
    """The value where it is a number, for `json`."""
    string: str = ""
    """The value where it is a text, for `json`."""
    is_constant: bool = False
    is_present: bool = False
    """True if the value is never null."""

    def beside(self, kind: str) -> str:
        """The value in the form in which it is compared with a value of this kind."""
        if self.kind == "json" and kind in ("number", "text"):
            return self.number if kind == "number" else self.string
        return self.value

    def letter(self, dialect: Dialect) -> str:
        """An expression for the class of the value; NULL if it is null."""
        match self.kind:
            case "json":
                return CLASS.format(type=self.type)
            case "text":
                return f"CASE WHEN {self.value} IS NULL THEN NULL ELSE 's' END"
            case "number":
                return f"CASE WHEN {self.value} IS NULL THEN NULL ELSE 'n' END"
            case "large":
                return "'n'"
            case "true":
                return "'t'"
            case "false":
                return "'f'"
            case "document":
                return f"substr({dialect.type_at(self.value)}, 1, 1)"
            case "element":
                return f"CASE WHEN {self.value} IS NULL THEN NULL ELSE 'e' END"
            case "null":
                return "NULL"


@node
class OutputColumn:
    """A cell of the result: JSON text, or a text or number as it is."""

    expression: str
    is_json: bool


@node
class Fields:
    """Reads parts of elements from joined rows, or looks them up by number."""

    sources: StateTables
    bindings: Bindings

    @property
    def _dialect(self) -> Dialect:
        return self.sources.dialect

    @property
    def _metadata(self) -> str:
        """The metadata of a row, with the keys that the engine adds, as JSON text."""
        return _METADATA % self._dialect.time_text("{row}.updated_at")

    def access(self, cell: Cell, path: tuple[str, ...]) -> Access:
        """A part of the element of a cell, to compare."""
        if cell.kind == "predicate":
            return Access("text", self._predicate_name(cell.number))
        match path:
            case ():
                return Access("element", cell.number)
            case ("id",):
                return Access("text", self._outer_id(cell))
            case ("name",):
                return Access("text", self._of_concept(cell, "{row}.name"))
            case ("type",):
                type_name = "(SELECT t.name FROM type t WHERE t.id = {row}.type)"
                return Access("text", self._of_concept(cell, type_name))
            case ("predicate",):
                return Access("text", self._of_link(cell, self._predicate_name("{row}.predicate")))
            case ("subject" | "object" as end,):
                return Access("text", self._of_link(cell, self.element_id(f"{{row}}.{end}")))
            case ("weight",):
                return Access("number", self._of_link(cell, "{row}.weight"))
            case ("belief",):
                return Access(
                    "text", self._of_link(cell, _BELIEF % portable.belief("{row}.metadata"))
                )
            case ("metadata", "_created_at"):
                return Access(
                    "text", self._of_either(cell, self._dialect.time_text("{row}.created_at"))
                )
            case ("metadata", "_created_by"):
                actor = "(SELECT a.name FROM actor a WHERE a.id = {row}.created_by)"
                return Access("text", self._of_either(cell, actor))
            case ("metadata", "_updated_by"):
                return Access("text", self._of_either(cell, _UPDATED_BY))
            case ("metadata", "_version"):
                return Access("number", self._of_either(cell, "{row}.version"))
            case ("metadata", "_updated_at"):
                return Access(
                    "text", self._of_either(cell, self._dialect.time_text("{row}.updated_at"))
                )
            case ("metadata",):
                return self._document(self._of_either(cell, self._metadata), self._dialect.WHOLE)
            case (part, *keys):
                return self._document(
                    self._of_either(cell, f"{{row}}.{part}"), self._json_path(keys)
                )
            case _:
                return Access("null", "NULL")

    def _json_path(self, keys: Sequence[str]) -> str:
        """The path to a value in a document: written out, or bound unless keys are identifiers."""
        plain = self._dialect.plain_path(keys)
        return plain or self.bindings.add(ir.Constant(self._dialect.bound_path(keys), "text"))

    def _document(self, text: str, path: str) -> Access:
        dialect = self._dialect
        return Access(
            "json",
            dialect.value_at(text, path),
            dialect.type_at(text, path),
            dialect.text_at(text, path),
            dialect.number_at(text, path),
            dialect.string_at(text, path),
        )

    def output(self, cell: Cell, path: tuple[str, ...]) -> OutputColumn:
        """A part of the element of a cell, to return."""
        if not path and cell.kind != "predicate":
            return OutputColumn(self._element(cell), is_json=True)
        access = self.access(cell, path)
        if access.kind == "json":
            return OutputColumn(access.text, is_json=True)
        return OutputColumn(access.value, is_json=False)

    def element_id(self, number: str) -> str:
        """The public id of an element."""
        return (
            f"CASE WHEN {number} & 1 = 1 THEN 'P:' || {number} || ':' || (SELECT r.name FROM"
            f" {self.sources.links('y')} JOIN predicate r ON r.id = y.predicate"
            f" WHERE y.id = {number}) ELSE 'C:' || {number} END"
        )

    # A column comes from the joined row, from its concept half, or from a look-up by number.

    def _of_concept(self, cell: Cell, template: str) -> str:
        if cell.kind == "link":
            return "NULL"
        if cell.row is not None:
            return template.format(row=cell.row)
        return self._look_up(self.sources.concepts("x"), cell.number, template)

    def _of_link(self, cell: Cell, template: str) -> str:
        if cell.kind == "concept":
            return "NULL"
        if cell.kind == "link" and cell.row is not None:
            return template.format(row=cell.row)
        return self._look_up(self.sources.links("x"), cell.number, template)

    def _of_either(self, cell: Cell, template: str) -> str:
        if cell.kind != "element":
            if cell.row is not None:
                return template.format(row=cell.row)
            source = self.sources.concepts if cell.kind == "concept" else self.sources.links
            return self._look_up(source("x"), cell.number, template)
        link = self._look_up(self.sources.links("x"), cell.number, template)
        concept = self._of_concept(cell, template)
        return f"CASE WHEN {cell.number} & 1 = 1 THEN {link} ELSE {concept} END"

    @staticmethod
    def _look_up(source: str, number: str, template: str) -> str:
        return f"(SELECT {template.format(row='x')} FROM {source} WHERE x.id = {number})"

    def _outer_id(self, cell: Cell) -> str:
        if cell.kind == "concept":
            return f"'C:' || {cell.number}"
        if cell.kind == "link" and cell.row is not None:
            return (
                f"'P:' || {cell.number} || ':' || {self._predicate_name(cell.row + '.predicate')}"
            )
        return self.element_id(cell.number)

    @staticmethod
    def _predicate_name(number: str) -> str:
        return f"(SELECT r.name FROM predicate r WHERE r.id = {number})"

    def _element(self, cell: Cell) -> str:
        if cell.kind == "concept":
            return self._of_concept(cell, self._concept_json())
        if cell.kind == "link":
            return self._of_link(cell, self._link_json())
        link = self._look_up(self.sources.links("x"), cell.number, self._link_json())
        concept = self._of_concept(cell, self._concept_json())
        return f"CASE WHEN {cell.number} & 1 = 1 THEN {link} ELSE {concept} END"

    def _link_json(self) -> str:
        return (
            '\'{{"_type":"PropositionLink","id":"P:\' || {row}.id || \':\' || '
            + self._predicate_name("{row}.predicate")
            + ' || \'","subject":"\' || '
            + self.element_id("{row}.subject")
            + ' || \'","predicate":"\' || '
            + self._predicate_name("{row}.predicate")
            + ' || \'","object":"\' || '
            + self.element_id("{row}.object")
            + ' || \'","attributes":\' || {row}.attributes || \',"metadata":\' || '
            + self._metadata
            + " || '}}'"
        )

    def _concept_json(self) -> str:
        return (
            '\'{{"_type":"ConceptNode","id":"C:\' || {row}.id || \'","type":"\' ||'
            " (SELECT t.name FROM type t WHERE t.id = {row}.type)"
            f' || \'","name":\' || {self._dialect.quoted("{row}.name")}'
            " || ',\"attributes\":' || {row}.attributes || ',\"metadata\":' || "
            + self._metadata
            + " || '}}'"
        )
