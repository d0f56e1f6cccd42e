"""Which indexes the constraints of a declared type ask for."""

from __future__ import annotations

from mycel.schema.model import (
    ENDS,
    Index,
    InstanceType,
    Key,
    Unique,
    constraints_of,
)


def slots_of(declared: InstanceType) -> dict[tuple[str, ...], bool]:
    """The columns of each index, and whether it is unique.

    A key and an index are looked up column by column; what is unique is so as a tuple. The ends of
    links have indexes of their own, and vectors are not compared.
    """
    wanted: dict[tuple[str, ...], bool] = {}
    vectors = {each.name for each in declared.properties if each.type.scalar == "Vector"}
    for key in constraints_of(declared, Key):
        wanted |= {(column,): len(key.columns) == 1 for column in key.columns}
    for index in constraints_of(declared, Index):
        for column in index.columns:
            if column not in ENDS and column not in vectors:
                wanted.setdefault((column,), False)
    for unique in constraints_of(declared, Unique):
        wanted[unique.columns] = True
    return wanted
