"""The Arrow schema of a type: the columns of its rows.

A node has `id` and then its properties, an edge `id`, `src` and `dst` and then its properties, in
the order of their declaration. pyarrow is an extra; it is imported on first use.
"""

from __future__ import annotations

from typing import Any

from mycel.model.extras import extra
from mycel.schema.model import ENDS, EdgeType, InstanceType, PropertyType
from mycel.schema.scalars import SCALARS


def arrow_schema(instance_type: InstanceType) -> Any:
    """The `pyarrow.Schema` of a type's rows."""
    pa = pyarrow()
    names = ("id", *ENDS) if isinstance(instance_type, EdgeType) else ("id",)
    fields = [pa.field(name, pa.utf8(), nullable=False) for name in names]
    fields += [
        pa.field(
            property_.name, arrow_type(pa, property_.type), nullable=property_.type.is_nullable
        )
        for property_ in instance_type.properties
    ]
    return pa.schema(fields)


def arrow_type(pa: Any, type_: PropertyType) -> Any:
    """The type of one column; `pa` is pyarrow."""
    if type_.scalar == "Vector":
        return pa.list_(pa.field("item", pa.float32()), type_.dimension)
    scalar = getattr(pa, SCALARS[type_.scalar].arrow)()
    return pa.list_(pa.field("item", scalar)) if type_.is_list else scalar


def pyarrow() -> Any:
    """The module; raises NotFound if it is not installed."""
    return extra("pyarrow", "arrow")
