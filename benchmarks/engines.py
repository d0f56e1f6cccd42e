"""Asks the questions of `finds` to other embedded graph and column databases.

Ladybug (the successor of Kùzu, Cypher), Oxigraph (SPARQL) and DuckDB (SQL) each get a file with the
same graph in a form that suits them: names are keys or indexed, year and importance are columns,
and each predicate has a table of links where the engine needs that. Attributes of links are left
out, which favours them. Commands are prepared where the engine can prepare them.

Every answer is compared with that of Mycel before the timing. SQLite is SQL by hand through `apsw`
on Mycel's own tables, in the fastest of the forms of `handwritten`.

The engines are no dependencies; an engine that is not installed is skipped.
`pip install ladybug pyoxigraph duckdb pyarrow` installs them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import orjson

from benchmarks.databases import Databases, say
from benchmarks.graphs import PREDICATES, Graph, graph_of
from benchmarks.kip.finds import (
    PREDICATE,
    QUESTIONS,
    Question,
    any_concepts,
    comparable,
    fastest,
    ours,
    side_by_side,
)
from benchmarks.kip.handwritten import YEAR, Answer, Base
from benchmarks.report import Line, Measure, Skipped
from benchmarks.timing import Summary

INPUTS: Final = 60
POINT, HOP, TWO, PATH = (QUESTIONS[at] for at in (0, 1, 3, 4))

Engine = Callable[[Graph, Path], dict[Question, Answer]]
"""Loads a graph into a new folder, and answers questions about it."""


def measure(databases: Databases) -> Iterator[Line]:
    for pair in databases.pairs():
        base = Base(pair.ours)
        inputs = any_concepts(pair, base)[:INPUTS]
        with pair.opened() as (db, _):
            contenders: dict[str, dict[Question, Answer]] = {}
            for name, (module, engine) in ENGINES.items():
                say(f"loading {pair.size}, {name}")
                try:
                    version = importlib.import_module(module).__version__
                except ImportError:
                    yield Skipped(f"{name}, {pair.size}", f"{module} is not installed")
                    continue
                folder = databases.folder / f"{pair.size}-{module}"
                folder.mkdir()
                start = perf_counter()
                contenders[f"{name} {version}"] = engine(graph_of(pair.size), folder)
                took = Summary.of([perf_counter() - start])
                yield Measure(f"{name}: load", pair.size, "s", took)
            for question in (POINT, HOP, TWO, PATH):
                say(f"{question.name}: {pair.size}, all engines")
                yield from _question(question, pair.size, db, base, contenders, inputs)
        base.close()


def _question(
    question: Question,
    size: str,
    db: Any,
    base: Base,
    contenders: dict[str, dict[Question, Answer]],
    inputs: list[Any],
) -> Iterator[Line]:
    mycel = ours(db, {type_name: question.text(type_name) for type_name, _ in inputs})
    forms = {form.name: form.on(base, question.predicate) for form in question.forms}
    answers = {name: each[question] for name, each in contenders.items()}
    for type_name, name in inputs:
        expected = _plain(mycel(type_name, name), question)
        for engine, answer in answers.items():
            if _plain(answer(type_name, name), question) != expected:
                raise ValueError(f"{question.name} of {name!r}: {engine} gives another answer.")
    answers = {"SQLite, SQL by hand": forms[fastest(forms, inputs)], **answers}
    took, *others = side_by_side([mycel, *answers.values()], inputs)
    for engine, other in zip(answers, others, strict=True):
        yield Measure(question.name, size, "s", took, other, note=f"beside {engine}")


def _plain(result: Any, question: Question) -> Any:
    """Results in one order, with only the fields of a node that every engine stores."""
    if question is POINT:
        return [(node["type"], node["name"], node["attributes"]) for node in result]
    # Rows of equal importance may come in any order.
    return comparable(result, question._replace(is_sorted=False))


def _node(rows: list[Any]) -> list[dict[str, Any]]:
    return [
        {"type": kind, "name": name, "attributes": orjson.loads(attributes)}
        for kind, name, attributes in rows
    ]


def _columns(rows: list[Any]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[], []]


def _cells(rows: list[Any]) -> list[Any]:
    return [row[0] for row in rows]


def _concepts(graph: Graph) -> Any:
    """The concepts as a table of Arrow."""
    arrow = importlib.import_module("pyarrow")
    nodes = list(graph.nodes())
    return arrow.table(
        {
            "id": list(range(len(nodes))),
            "type": [node.type for node in nodes],
            "name": [node.name for node in nodes],
            "year": [node.attributes["year"] for node in nodes],
            "importance": [node.attributes["importance"] for node in nodes],
            "attributes": [orjson.dumps(node.attributes).decode() for node in nodes],
        }
    )


def _links(graph: Graph) -> dict[str, Any]:
    """The ends of the links of each predicate, as a table of Arrow."""
    arrow = importlib.import_module("pyarrow")
    ends: dict[str, tuple[list[int], list[int]]] = {each: ([], []) for each in PREDICATES}
    for link in graph.links():
        subjects, objects = ends[link.predicate]
        subjects.append(link.subject)
        objects.append(link.object)
    return {
        name: arrow.table({"subject": each[0], "object": each[1]}) for name, each in ends.items()
    }


def _ladybug(graph: Graph, folder: Path) -> dict[Question, Answer]:
    engine = importlib.import_module("ladybug")
    parquet = importlib.import_module("pyarrow.parquet")
    connection = engine.Connection(engine.Database(str(folder / "graph")))
    run = connection.execute
    run(
        "CREATE NODE TABLE Concept(id INT64, type STRING, name STRING, year INT64,"
        " importance DOUBLE, attributes STRING, PRIMARY KEY(name))"
    )
    concepts = _concepts(graph)
    names = concepts["name"]
    parquet.write_table(concepts, folder / "concepts.parquet")
    run(f"COPY Concept FROM '{folder / 'concepts.parquet'}'")
    for predicate, table in _links(graph).items():
        file = folder / f"{predicate}.parquet"
        columns = [names.take(table[column]) for column in ("subject", "object")]
        parquet.write_table(table.from_arrays(columns, ["from", "to"]), file)
        run(f"CREATE REL TABLE {predicate}(FROM Concept TO Concept)")
        run(f"COPY {predicate} FROM '{file}'")
    start = "MATCH (a:Concept {name: $name})"

    def answer(command: str, finish: Callable[[list[Any]], Any]) -> Answer:
        prepared = connection.prepare(command.replace("PREDICATE", PREDICATE), {"name": ""})
        return lambda _type, name: finish(run(prepared, {"name": name}).get_all())

    return {
        POINT: answer(f"{start} RETURN a.type, a.name, a.attributes", _node),
        HOP: answer(
            f"{start}-[:PREDICATE]->(b) WHERE b.year > {YEAR} RETURN b.name, b.year"
            " ORDER BY b.importance DESC, b.id LIMIT 20",
            _columns,
        ),
        TWO: answer(
            f"{start}-[:PREDICATE]->(b)-[:PREDICATE]->(c)"
            " WHERE NOT EXISTS { MATCH (a)-[:PREDICATE]->(c) } RETURN c.name",
            _cells,
        ),
        PATH: answer(f"{start}-[:PREDICATE*1..3]->(b) RETURN DISTINCT b.name", _cells),
    }


def _oxigraph(graph: Graph, folder: Path) -> dict[Question, Answer]:
    engine = importlib.import_module("pyoxigraph")
    file = folder / "graph.nt"
    with file.open("w", encoding="utf-8") as lines:
        for at, node in enumerate(graph.nodes()):
            text = orjson.dumps(orjson.dumps(node.attributes).decode()).decode()
            lines.write(f'<c:{at}> <a:type> "{node.type}" .\n<c:{at}> <a:name> "{node.name}" .\n')
            for key in ("year", "importance"):
                kind = "integer" if key == "year" else "double"
                number = f'"{node.attributes[key]}"^^<http://www.w3.org/2001/XMLSchema#{kind}>'
                lines.write(f"<c:{at}> <a:{key}> {number} .\n")
            lines.write(f"<c:{at}> <a:attributes> {text} .\n")
        for link in graph.links():
            lines.write(f"<c:{link.subject}> <p:{link.predicate}> <c:{link.object}> .\n")
    store = engine.Store(str(folder / "store"))
    store.bulk_load(path=str(file), format=engine.RdfFormat.N_TRIPLES)
    store.optimize()
    link = f"<p:{PREDICATE}>"

    def answer(command: str, finish: Callable[[list[Any]], Any]) -> Answer:
        def asked(_type: str, name: str) -> Any:
            found = store.query(command.replace("?given", f'"{name}"'))
            return finish([[cell.value for cell in solution] for solution in found])

        return asked

    def years(rows: list[Any]) -> Any:
        return _columns([(name, int(year)) for name, year in rows])

    start = "WHERE { ?a <a:name> ?given . "
    return {
        POINT: answer(
            f"SELECT ?t ?n ?all {start}?a <a:name> ?n . ?a <a:type> ?t . ?a <a:attributes> ?all }}",
            _node,
        ),
        HOP: answer(
            f"SELECT ?n ?y {start}?a {link} ?b . ?b <a:year> ?y . ?b <a:name> ?n ."
            f" ?b <a:importance> ?i FILTER(?y > {YEAR}) }} ORDER BY DESC(?i) LIMIT 20",
            years,
        ),
        TWO: answer(
            f"SELECT ?n {start}?a {link} ?b . ?b {link} ?c"
            f" FILTER NOT EXISTS {{ ?a {link} ?c }} ?c <a:name> ?n }}",
            _cells,
        ),
        PATH: answer(
            f"SELECT DISTINCT ?n {start}?a {link}/{link}?/{link}? ?b . ?b <a:name> ?n }}", _cells
        ),
    }


def _duckdb(graph: Graph, folder: Path) -> dict[Question, Answer]:
    engine = importlib.import_module("duckdb")
    connection = engine.connect(str(folder / "graph.db"))
    run = connection.execute
    connection.register("concepts", _concepts(graph))
    run("CREATE TABLE concept AS SELECT * FROM concepts")
    run("CREATE TABLE link (subject BIGINT, predicate VARCHAR, object BIGINT)")
    for predicate, table in _links(graph).items():
        connection.register("links", table)
        run("INSERT INTO link SELECT subject, ?, object FROM links", [predicate])
        connection.unregister("links")
    run("CREATE UNIQUE INDEX concept_name ON concept(name)")
    run("CREATE UNIQUE INDEX concept_id ON concept(id)")
    run("CREATE INDEX link_subject ON link(subject)")
    link = f"predicate = '{PREDICATE}'"

    def answer(command: str, finish: Callable[[list[Any]], Any]) -> Answer:
        return lambda _type, name: finish(run(command, [name]).fetchall())

    start = "FROM concept a JOIN link p ON p.subject = a.id AND p." + link
    return {
        POINT: answer("SELECT type, name, attributes FROM concept WHERE name = ?", _node),
        HOP: answer(
            f"SELECT b.name, b.year {start} JOIN concept b ON b.id = p.object"
            f" WHERE a.name = ? AND b.year > {YEAR} ORDER BY b.importance DESC, b.id LIMIT 20",
            _columns,
        ),
        TWO: answer(
            f"SELECT c.name {start} JOIN link q ON q.subject = p.object AND q.{link}"
            " JOIN concept c ON c.id = q.object WHERE a.name = ? AND NOT EXISTS"
            f" (SELECT 1 FROM link r WHERE r.subject = a.id AND r.{link} AND r.object = c.id)",
            _cells,
        ),
        PATH: answer(
            "WITH RECURSIVE walk(id, hops) AS (SELECT id, 0 FROM concept WHERE name = ?"
            f" UNION SELECT p.object, hops + 1 FROM walk JOIN link p ON p.subject = walk.id"
            f" AND p.{link} WHERE hops < 3) SELECT DISTINCT c.name FROM walk"
            " JOIN concept c ON c.id = walk.id WHERE hops > 0",
            _cells,
        ),
    }


ENGINES: Final[dict[str, tuple[str, Engine]]] = {
    "Ladybug": ("ladybug", _ladybug),
    "Oxigraph": ("pyoxigraph", _oxigraph),
    "DuckDB": ("duckdb", _duckdb),
}
