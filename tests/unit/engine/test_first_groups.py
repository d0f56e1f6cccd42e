"""The first groups by count: pages are parts of the whole answer, shared names or not."""

from collections import Counter
from itertools import count, product
from pathlib import Path
from random import Random

import mycel

TYPES = ("River", "Town", "Peak")
KEYS = {
    "?o.name": lambda kind, name: (name,),
    "?o.type, ?o.name": lambda kind, name: (kind, name),
    "?o.id": lambda kind, name: (f"{kind} {name}",),
}


def landscape(path: Path) -> tuple[mycel.Graph, Counter[tuple[str, str]]]:
    """Links to forty elements, of which some share their name; counts with many ties."""
    random = Random(7)
    db = mycel.open(path, durability="off", core_capsules=False)
    counted: Counter[tuple[str, str]] = Counter()
    with db.transaction() as tx:
        for name in (*TYPES, "Walker"):
            tx.define_type(name)
        tx.define_predicate("sees")
        walkers = [tx.put_concept("Walker", f"w{at}") for at in range(12)]
        for at in range(30):
            # Two small counts of one name may add up to more than any large one.
            for kind in TYPES[: 3 if at % 5 == 0 else 1]:
                end = tx.put_concept(kind, f"n{at}")
                for walker in random.sample(walkers, random.randrange(1, 8)):
                    tx.put_proposition(walker, "sees", end)
                    counted[kind, f"n{at}"] += 1
    return db, counted


def pages(db: mycel.Graph, command: str, size: int) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    cursor = None
    for _ in count():
        paged = f"{command} LIMIT {size}" + (" CURSOR :cursor" if cursor else "")
        result = db.execute(paged, {"cursor": cursor} if cursor else {})
        rows += result.rows
        cursor = result.next_cursor
        if cursor is None:
            return rows
    raise AssertionError


def test_pages_of_the_first_groups_are_the_whole_answer_in_order(tmp_path: Path) -> None:
    db, counted = landscape(tmp_path / "graph.db")
    with db:
        for (shown, key), type_, order in product(
            KEYS.items(), (None, "River"), ("DESC", "ASC", "DESC, SUM(?s.attributes.x)")
        ):
            typed = "" if type_ is None else f'?o {{type: "{type_}"}}'
            command = (
                f'FIND({shown}, COUNT(?s)) WHERE {{ (?s, "sees", ?o) {typed} }}'
                f" ORDER BY COUNT(?s) {order}"
            )
            cut = "names" if (shown, type_) == ("?o.name", None) else "elements"
            assert f"groups are {cut}" in str(db.explain(f"{command} LIMIT 3")["plan"])
            whole = db.execute(command).rows
            wanted: Counter[tuple[str, ...]] = Counter()
            for (kind, name), links in counted.items():
                if type_ in (None, kind):
                    wanted[key(kind, name)] += links
            assert sorted(row[-1] for row in whole) == sorted(wanted.values())
            if shown != "?o.id":
                assert {tuple(row[:-1]): row[-1] for row in whole} == wanted
            counts = [row[-1] for row in whole]
            assert counts == sorted(counts, reverse="DESC" in order)
            for size in (1, 3, 10, 100):
                assert pages(db, command, size) == whole


def test_later_pages_show_the_moment_of_the_first(tmp_path: Path) -> None:
    db, _ = landscape(tmp_path / "graph.db")
    with db:
        command = 'FIND(?o.name, COUNT(?s)) WHERE { (?s, "sees", ?o) } ORDER BY COUNT(?s) DESC'
        whole = db.execute(command).rows
        first = db.execute(f"{command} LIMIT 4")
        with db.transaction() as tx:
            extra = tx.put_concept("Town", "n1")
            for at in range(12):
                tx.put_proposition(tx.put_concept("Walker", f"w{at}"), "sees", extra)
        rows, cursor = [*first.rows], first.next_cursor
        while cursor is not None:
            page = db.execute(f"{command} LIMIT 4 CURSOR :cursor", cursor=cursor)
            rows += page.rows
            cursor = page.next_cursor
        assert rows == whole
        ((name, links),) = db.execute(f"{command} LIMIT 1").rows
        assert (name, links) == db.execute(command).rows[0]
        assert name == "n1"


def test_concepts_and_links_may_be_counted_together(tmp_path: Path) -> None:
    db, _ = landscape(tmp_path / "graph.db")
    with db:
        with db.transaction() as tx:
            walker = tx.put_concept("Walker", "w0")
            for at in range(20):
                spot = tx.put_concept("Peak", f"spot {at}")
                link = tx.put_proposition(spot, "sees", walker)
                tx.put_proposition(walker, "sees", link)
        command = 'FIND(?o.name, COUNT(?s)) WHERE { (?s, "sees", ?o) } ORDER BY COUNT(?s) DESC'
        whole = db.execute(command).rows
        assert (None, 20) in whole
        for size in (1, 4, 50):
            assert pages(db, command, size) == whole
