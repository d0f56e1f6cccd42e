"""A named query: a header with typed parameters and annotations, and a command of KIP.

query people_of($team: String, $since: Date?, $limit: I32 = 20)
@description("People of a team, newest first.")
@instruction("Use it before assigning work.")
@tool
{ FIND(?p.name) WHERE { (?p, "member_of", {type: "Team", name: :team}) } LIMIT :limit }
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mycel.schema.scalars import SCALARS, Scalar

ParameterType = Literal[
    "String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime", "Json"
]


def _parameter_type(scalar: Scalar) -> ParameterType | None:
    match scalar:
        case "Blob" | "Vector":
            return None
        case _:
            return scalar


PARAMETER_TYPES: Final[tuple[ParameterType, ...]] = (
    *(name for name in map(_parameter_type, SCALARS) if name is not None),
    "Json",
)
"""The scalars except Blob and Vector, and any JSON."""
NO_DEFAULT: Final = object()

DESCRIPTION: Final = "description"
INSTRUCTION: Final = "instruction"
TOOL: Final = "tool"


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """One parameter of a named query."""

    name: str
    type: ParameterType
    is_list: bool = False
    is_optional: bool = False
    """True if null is a value: `Date?`."""
    default: Any = NO_DEFAULT
    description: str = ""

    @property
    def is_required(self) -> bool:
        """True if a call has to give it."""
        return not self.is_optional and self.default is NO_DEFAULT

    @property
    def type_text(self) -> str:
        """The type as a declaration writes it."""
        name = f"[{self.type}]" if self.is_list else self.type
        return f"{name}?" if self.is_optional else name


@dataclass(frozen=True, slots=True)
class NamedQuery:
    name: str
    parameters: tuple[QueryParameter, ...]
    annotations: dict[str, Any]
    body: str
    """A command of KIP; parameters are its placeholders."""
    text: str = field(compare=False)
    """The whole declaration as it was written."""
    line: int = field(default=1, compare=False)

    @property
    def description(self) -> str:
        return str(self.annotations.get(DESCRIPTION, ""))

    @property
    def instruction(self) -> str:
        return str(self.annotations.get(INSTRUCTION, ""))

    @property
    def is_tool(self) -> bool:
        """True if the query is offered to models as a tool of its own."""
        return TOOL in self.annotations
