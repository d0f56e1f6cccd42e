"""FIND beside SQL written by hand, on the same file and with the same JSON as its result.

First the result of every form of SQL is compared with that of Mycel, and the fastest form becomes
the baseline. Plans are in the cache, as for a command that is sent repeatedly.

Questions about one concept are asked twice. About any concept with such links, mostly the fixed
cost of a command is compared. About hubs, for which the baseline alone takes more than a
millisecond, mostly the SQL that Mycel makes is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from time import perf_counter
from typing import Any, Final, NamedTuple

import mycel
from benchmarks.databases import Databases, Pair, say
from benchmarks.kip import handwritten
from benchmarks.kip.handwritten import YEAR, Answer, Base, Form
from benchmarks.report import Bar, Line, Measure, Skipped
from benchmarks.timing import Block, Contender, Run, Summary, clock_ns, in_blocks, take_turns

PREDICATE: Final = "touches_on"
"""The most frequent predicate."""
RARER: Final = "works_on"

ANY: Final = 400
HUBS: Final = 20
HUBS_MIN: Final = 3
HUB_FROM_S: Final = 1e-3
HUB_CANDIDATES: Final = 150
BLOCKS: Final = 20
SAMPLES: Final = 2000
"""The wanted number of inputs for each question, within `BUDGET_S`."""
BUDGET_S: Final = 4.0
PASSES_MIN: Final = 15
"""The least number of inputs, even beyond the budget: the median of three says little."""

SHORT, LONG = Bar(2), Bar(1.2)
"""Passes for commands below a millisecond, and for slower ones."""

Input = tuple[str, Any]
"""The type and name of a concept, or another input of the question."""


class Question(NamedTuple):
    """A FIND, with the forms of SQL that answer it."""

    name: str
    command: str
    """The command, with the placeholders `TYPE` and `PREDICATE` and the parameter `:name`."""
    forms: tuple[Form, ...]
    bar: Bar | None = None
    """The number of passes; None chooses it by the time of an answer."""
    predicate: str = PREDICATE
    is_sorted: bool = False
    also: tuple[Form, ...] = ()
    has_hubs: bool = True
    has_bar: bool = True

    def text(self, type_name: str) -> str:
        return self.command.replace("TYPE", type_name).replace("PREDICATE", self.predicate)


_ABOUT: Final = '?a {type: "TYPE", name: :name} '
_LATER: Final = f'(?a, "PREDICATE", ?b) FILTER(?b.attributes.year > {YEAR})'
_FIRST: Final = " ORDER BY ?b.attributes.importance DESC LIMIT 20"

QUESTIONS: Final = (
    Question(
        "FIND one concept",
        "FIND(?a) WHERE { " + _ABOUT + "}",
        handwritten.POINT,
        bar=Bar(2.5),
        is_sorted=True,
        has_hubs=False,
    ),
    Question(
        "FIND one hop, filter, first 20",
        "FIND(?b.name, ?b.attributes.year) WHERE { " + _ABOUT + _LATER + " }" + _FIRST,
        handwritten.HOP,
        is_sorted=True,
        also=handwritten.HOP_ALSO,
    ),
    Question(
        "FIND one hop, first 20 as nodes",
        "FIND(?b) WHERE { " + _ABOUT + _LATER + " }" + _FIRST,
        handwritten.HOP_NODES,
        is_sorted=True,
    ),
    Question(
        "FIND two hops with NOT",
        "FIND(?c.name) WHERE { " + _ABOUT + '(?a, "PREDICATE", ?b) (?b, "PREDICATE", ?c)'
        ' NOT { (?a, "PREDICATE", ?c) } }',
        handwritten.TWO,
    ),
    Question(
        "FIND path of 1 to 3 hops",
        "FIND(?b.name) WHERE { " + _ABOUT + '(?a, "PREDICATE"{1,3}, ?b) }',
        handwritten.PATH,
        bar=LONG,
    ),
)
WHOLE: Final = (
    Question(
        "FIND count by element",
        'FIND(?b, COUNT(?a)) WHERE { (?a, "PREDICATE", ?b) }',
        handwritten.GROUP_BY_ELEMENT,
        bar=LONG,
    ),
    Question(
        "FIND count by name",
        'FIND(?b.name, COUNT(?a)) WHERE { (?a, "PREDICATE", ?b) }',
        handwritten.GROUP_BY_NAME,
        bar=LONG,
        also=handwritten.GROUP_BY_NAME_ALSO,
    ),
    Question(
        "FIND first ten names by count",
        'FIND(?b.name, COUNT(?a)) WHERE { (?a, "PREDICATE", ?b) } ORDER BY COUNT(?a) DESC LIMIT 10',
        handwritten.FIRST_BY_NAME,
        bar=LONG,
        is_sorted=True,
        also=handwritten.FIRST_BY_NAME_ALSO,
    ),
    Question(
        "FIND number of triangles",
        'FIND(COUNT(?a)) WHERE { (?a, "PREDICATE", ?b) (?b, "PREDICATE", ?c)'
        ' (?c, "PREDICATE", ?a) }',
        handwritten.TRIANGLE,
        bar=LONG,
        predicate=RARER,
    ),
)


def measure(databases: Databases) -> Iterator[Line]:
    """Time the questions about one concept."""
    for pair in databases.pairs():
        with pair.opened() as (db, _):
            base = Base(pair.ours)
            inputs = any_concepts(pair, base)
            for question in QUESTIONS:
                say(f"{question.name}: {pair.size}")
                yield from measure_question(question, pair.size, db, base, inputs[:ANY])
                if question.has_hubs:
                    yield from _measure_hubs(question, pair, db, base)
            base.close()


def measure_whole(databases: Databases) -> Iterator[Line]:
    """Time the questions about all links of a predicate."""
    for pair in databases.pairs():
        with pair.opened() as (db, _):
            base = Base(pair.ours)
            for question in WHOLE:
                say(f"{question.name}: {pair.size}")
                yield from measure_question(question, pair.size, db, base, [("", "")])
            base.close()


# Inputs.


def any_concepts(pair: Pair, base: Base) -> list[Input]:
    """The sources of links of the predicate, in an order that looks random."""
    found = _by_fan(base)
    pair.rng("find").shuffle(found)
    return found


def _by_fan(base: Base) -> list[Input]:
    """The sources of links of the predicate, those with most links first."""
    rows = base.rows(
        "SELECT c.type, c.name FROM (SELECT subject, count(*) AS n FROM proposition"
        " WHERE predicate = ? GROUP BY subject) g CROSS JOIN concept c ON c.id = g.subject"
        " ORDER BY g.n DESC, c.id",
        (base.predicates[PREDICATE],),
    )
    return [(base.type_names[type_number], name) for type_number, name in rows]


def _measure_hubs(question: Question, pair: Pair, db: mycel.Graph, base: Base) -> Iterator[Line]:
    """Time the questions about concepts for which the baseline takes a millisecond or more."""
    name = f"{question.name}, hubs"
    candidates = _by_fan(base)[:HUB_CANDIDATES] + any_concepts(pair, base)[:HUB_CANDIDATES]
    pair.rng(name).shuffle(candidates)
    answers = [form.on(base, question.predicate) for form in question.forms]
    slow = (
        each
        for each in dict.fromkeys(candidates)
        if all(_once_s(answer, each) > HUB_FROM_S for answer in answers)
    )
    hubs = list(islice(slow, HUBS))
    if len(hubs) < HUBS_MIN:
        yield Skipped(f"{name}, {pair.size}", "no concept takes SQL a millisecond")
        return
    yield from measure_question(question, pair.size, db, base, hubs, hubs=True)


def _once_s(answer: Answer, of: Input) -> float:
    """The seconds of an answer, when it is computed the second time."""
    answer(*of)
    start = perf_counter()
    answer(*of)
    return perf_counter() - start


# Measuring.


def measure_question(
    question: Question,
    size: str,
    db: mycel.Graph,
    base: Base,
    inputs: Sequence[Input],
    *,
    hubs: bool = False,
) -> Iterator[Measure]:
    """Time one question for each of the inputs, beside the fastest form of SQL."""
    name = f"{question.name}, hubs" if hubs else question.name
    texts = {type_name: question.text(type_name) for type_name, _ in inputs}
    forms = {form.name: form.on(base, question.predicate) for form in question.forms}
    also = {form.name: form.on(base, question.predicate) for form in question.also}
    _check(question, db, texts, inputs, forms | also)
    best = fastest(forms, inputs)
    if not hubs:
        form = next(form for form in question.forms if form.name == best)
        also["SQL on one cursor"] = form.on(base.on_one_cursor(), question.predicate)
    mycel_answer = ours(db, texts)
    took, plain = side_by_side([mycel_answer, forms[best]], inputs)
    bar: Bar | None = question.bar or (LONG if hubs or plain.p50 >= HUB_FROM_S else SHORT)
    if not question.has_bar:
        bar = None
    yield Measure(name, size, "s", took, plain, bar, note=f"beside SQL: {best}")
    if also:
        took, *others = side_by_side([mycel_answer, *also.values()], inputs)
        for form, plain in zip(also, others, strict=True):
            yield Measure(name, size, "s", took, plain, note=f"beside {form}")


def side_by_side(answers: Sequence[Answer], inputs: Sequence[Input]) -> list[Summary]:
    """The times of each answer over all inputs, taken in turns."""
    runs, blocks = [_run(each) for each in answers], in_blocks(inputs, BLOCKS)
    return take_turns([Contender(run, blocks) for run in runs], passes=_passes(runs, inputs))


def _passes(runs: Sequence[Run], inputs: Sequence[Input]) -> int:
    took: list[int] = []
    for run in runs:
        run(inputs, took)
    possible = int(BUDGET_S / (sum(took) / 1e9))
    return max(PASSES_MIN, min(possible, SAMPLES // len(inputs)))


def fastest(forms: dict[str, Answer], inputs: Sequence[Input]) -> str:
    """The name of the form with the lowest median."""
    blocks = in_blocks(inputs, BLOCKS)
    took = take_turns([Contender(_run(form), blocks) for form in forms.values()], passes=3)
    return min(zip(forms, took, strict=True), key=_by_median)[0]


def _by_median(one: tuple[str, Summary]) -> float:
    return one[1].p50


def _check(
    question: Question,
    db: mycel.Graph,
    texts: dict[str, str],
    inputs: Sequence[Input],
    forms: dict[str, Answer],
) -> None:
    """Check that all forms give the same answer."""
    for type_name, name in inputs:
        ours = comparable(db.execute(texts[type_name], {"name": name}).value, question)
        for form, answer in forms.items():
            if comparable(answer(type_name, name), question) != ours:
                raise ValueError(f"{question.name} of {name!r}: {form!r} gives another answer.")


def comparable(result: Any, question: Question) -> Any:
    """A result in a fixed order, unless the question asks for an order."""
    if question.is_sorted or not isinstance(result, list):
        return result
    if result and isinstance(result[0], list):
        return sorted(zip(*result, strict=True), key=repr)
    return sorted(result)


def ours(db: mycel.Graph, texts: dict[str, str]) -> Answer:
    """A function with Mycel's answer, with the command for each type."""
    execute = db.execute
    return lambda type_name, name: execute(texts[type_name], {"name": name}).value


def _run(answer: Answer) -> Run:
    """Run a form; answers of all forms are released at the same point."""

    def run(block: Block, took_ns: list[int]) -> None:
        for type_name, name in block:
            start = clock_ns()
            answer(type_name, name)
            took_ns.append(clock_ns() - start)

    return run
