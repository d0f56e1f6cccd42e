"""Counts and names that follow the journal are those that are made afresh."""

import random
from typing import Any

import mycel
from mycel.explorer.census import Census
from mycel.explorer.explorer import Explorer
from mycel.explorer.live_counts import LiveCounts
from tests.prepared import NEW


def told(census: Census, reader: Any) -> dict[str, Any]:
    """Everything that is counted, without groups that are empty."""
    shelves = {
        folder: census.shelves.nodes[number]
        for number, (folder, _) in enumerate(census.shelf_names)
        if census.shelves.nodes[number]
    }
    links = {
        name: +census.links_between(grouping, reader)
        for name, grouping in [("types", census.types), ("domains", census.domains)]
    }
    return {
        "degrees": {n: d for n, d in enumerate(census.degrees) if d},
        "types": +census.types.nodes,
        "domains": +census.domains.nodes,
        "missing": census.missing,
        "missing types": +census.types.missing,
        "relations": +census.relations,
        "nodes": sum(shelves.values()),
        "links": links,
        "shelf links": sum((+census.links_between(census.shelves, reader)).values()),
    }


def test_counts_follow_every_kind_of_change() -> None:
    seed = random.Random(7)
    with NEW.opened() as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        live = LiveCounts(db)
        names = [f"{folder}/{n}" for folder in ("a", "a/b", "c") for n in range(6)]
        db.execute('UPSERT { CONCEPT { {type: "Domain", name: "Work"} } }')

        def change() -> None:
            one, other = seed.sample(names, 2)
            match seed.randrange(7):
                case 0:
                    knowledge.add(one, name=one.upper(), exist_ok=True)
                case 1:
                    knowledge.link(one, "depends_on", other)
                case 2:
                    knowledge.unlink(one, "depends_on", other)
                case 3:
                    knowledge.add(one, exist_ok=True)
                    knowledge.delete(one)
                case 4:
                    knowledge.add(one, exist_ok=True)
                    target = f"{seed.choice('xyz')}/{seed.randrange(10**6)}"
                    knowledge.move(one, target)
                case 5:
                    knowledge.add(one, type="Note", exist_ok=True)
                case _:
                    uri = knowledge.add(one, exist_ok=True).uri
                    link = 'UPSERT { PROPOSITION { ({id: :c}, "belongs_to_domain", {id: :d}) } }'
                    domain = db.execute('FIND(?d.id) WHERE { ?d {type: "Domain", name: "Work"} }')
                    db.execute(link, c=knowledge.get(uri).id, d=domain.value[0])

        for step in range(60):
            for _ in range(seed.randrange(1, 4)):
                change()
            if step == 30:
                db.purge(knowledge.add("p/q", exist_ok=True).id, "for a test")
            with live.counted() as (followed, reader):
                assert told(followed, reader) == told(Census(reader), reader), step


def test_names_are_found_as_they_are_now() -> None:
    with NEW.opened() as db:
        knowledge = mycel.Knowledge(db, workspace="shop")
        explorer = Explorer(db, knowledge)

        def found(typed: str) -> list[str]:
            return [hit["id"] for hit in explorer.view("suggest", {"q": typed})["hits"]]

        knowledge.add("auth/login", name="Sign in")
        assert found("sig") == found("log") == ["concept://shop/auth/login"]
        knowledge.update("auth/login", name="Enter")
        knowledge.move("auth/login", "auth/door")
        assert (found("sig"), found("log")) == ([], [])
        assert found("ent") == found("auth do") == found("doo") == ["concept://shop/auth/door"]
        knowledge.add("auth/HTTPServer_v2")
        assert (
            found("serv") == found("http") == found("v2") == ["concept://shop/auth/HTTPServer_v2"]
        )
        knowledge.delete("auth/door")
        assert found("door") == []
        for hostile in (
            "*",
            "%",
            "'",
            '"',
            "\\",
            "(",
            "\u202e",
            "a" * 400,
            "://",
            "kip:",
            "C:",
            "…",
        ):
            assert isinstance(found(hostile), list)
