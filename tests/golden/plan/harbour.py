"""The graph of the plans: ports, ships, sailors, and buoys that are found by their properties."""

from __future__ import annotations

from pathlib import Path

import mycel
from tests.unit.engine.indexes import define_indexes

HERE = Path(__file__).parent


def harbour() -> mycel.Graph:
    """The graph of the two capsules, with indexes on properties of buoys and of links `marks`."""
    db = mycel.open(":memory:", core_capsules=False)
    for capsule in ("harbour.kip", "buoys.kip"):
        db.apply_capsule((HERE / capsule).read_text(encoding="utf-8"))
    define_indexes(db, "Buoy", code=True, depth=False, is_lit=False)
    define_indexes(db, "marks", since=False)
    return db
