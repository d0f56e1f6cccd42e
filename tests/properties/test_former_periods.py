"""When links hold, against a model of intervals: FOR TIME and AS OF after random writes.

The model keeps the periods of each link as pairs of numbers. It knows the rules as the documents
state them: what a write keeps, what it corrects, and what a new value takes from others.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

import mycel
from tests.prepared import Prepared

NOW = 2050.0
"""The time of the clock in the model: a clock of today is between the years of the writes."""
YEARS = (*range(2000, 2007), *range(2100, 2103))
MOMENTS = (*(year + 0.5 for year in (1999, *YEARS)), 2090.5)
OBJECTS = ("o0", "o1", "o2", "o3")
SUBJECT = ("Person", "ada")

Span = tuple[float, float]
EVER: Span = (-math.inf, math.inf)


def prepare(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_type("Place")
        tx.define_predicate("lives_in", {"functional": True})
        tx.define_predicate("visits")
        tx.put_concept(*SUBJECT)
        for name in OBJECTS:
            tx.put_concept("Place", name)


PREPARED = Prepared(prepare)


class Link(NamedTuple):
    """When a link holds."""

    now: Span
    former: tuple[Span, ...] = ()
    archived: bool = False

    @property
    def spans(self) -> list[Span]:
        return [*self.former, *([self.now] if is_some(self.now) else [])]

    def holds(self, time: float) -> bool:
        return any(begin <= time < end for begin, end in self.spans)


Links = dict[str, Link]


def is_some(span: Span) -> bool:
    return span[0] < span[1]


def meet(one: Span, other: Span) -> bool:
    return is_some((max(one[0], other[0]), min(one[1], other[1])))


def within(one: Span, other: Span) -> bool:
    return other[0] <= one[0] and one[1] <= other[1]


def joined(spans: list[Span]) -> tuple[Span, ...]:
    found: list[Span] = []
    for begin, end in sorted(filter(is_some, spans)):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return tuple(found)


class Model:
    """The links of one predicate."""

    def __init__(self, links: Links, *, is_functional: bool) -> None:
        self.links = dict(links)
        self.is_functional = is_functional
        self.now = NOW

    def write(self, name: str, begin: float | None, end: float | None) -> None:
        """Write a link with a beginning, an end, both or neither."""
        self.now += 1e-6
        old = self.links.get(name)
        if old is None:
            span = (-math.inf if begin is None else begin, math.inf if end is None else end)
            self.links[name] = Link(span)
            self._claim(name, span)
            return
        if begin is None and end is None:
            return
        new = (old.now[0] if begin is None else begin, old.now[1] if end is None else end)
        if new == old.now:
            return
        if end is None and any(since <= new[0] < until for since, until in old.former):
            return
        if begin is None and not is_some(new):
            if any(since < new[1] <= until for since, until in old.former):
                return
        elif end is None and not is_some(new) and is_some(old.now):
            new = (new[0], math.inf)
        if not is_some(old.now) or not is_some(new) or meet(old.now, new):
            self.links[name] = old._replace(now=new)
            if is_some(new) and not any(meet(new, span) for span in old.spans):
                self._claim(name, new)
            elif meet(old.now, new):
                self._correct(name, old.now)
            return
        first, last = sorted((old.now, new))
        former = [span for span in joined([*old.former, first]) if not within(span, last)]
        self.links[name] = old._replace(now=last, former=tuple(former))
        added = [span for span in former if not any(within(span, known) for known in old.spans)]
        if not any(meet(last, known) for known in old.spans):
            added.append(last)
        for span in [*former, last]:
            if any(meet(span, each) for each in added):
                self._claim(name, span)

    def _correct(self, name: str, old: Span) -> None:
        """Correct the period of a link, which was another one, and what others share with it."""
        link = self.links[name]
        if not self.is_functional or link.archived:
            return
        others = {
            other: there.spans
            for other, there in self.links.items()
            if other != name and not there.archived
        }
        new = link.now
        further = None
        begins = [each[0] for spans in others.values() for each in spans]
        over = [begin for begin in begins if new[0] < begin < old[0]]
        if over and new[0] > -math.inf:
            further = (new[0], min(over))
            new = (old[0], new[1])
            self.links[name] = link._replace(now=new, former=joined([*link.former, further]))
        for other, spans in others.items():
            held = [each for third in others if third != other for each in others[third]]
            moved = [self._shared(span, old, new, held) for span in spans]
            there = self.links[other]
            if is_some(there.now):
                self.links[other] = there._replace(now=moved[-1], former=tuple(moved[:-1]))
            else:
                self.links[other] = there._replace(former=tuple(moved))
        if further is not None:
            for span in self.links[name].spans:
                if meet(span, further):
                    self._claim(name, span)

    def _shared(self, span: Span, old: Span, new: Span, held: list[Span]) -> Span:
        begin, end = span
        if end == old[0] and new[0] > -math.inf:
            end = new[0]
        if begin == old[1] and new[1] < math.inf:
            begin = new[1]
        is_free = all(meet(span, each) or not meet((begin, end), each) for each in held)
        return (begin, end) if begin < end and is_free else span

    def _claim(self, name: str, span: Span) -> None:
        """Take a period from the other links."""
        if not self.is_functional or not is_some(span) or self.links[name].archived:
            return
        link = self.links[name]
        begin, end = span
        if begin == -math.inf and end > self.now:
            begin = self.now
        others = {
            other: there
            for other, there in self.links.items()
            if other != name and not there.archived
        }
        begins = [each[0] for there in others.values() for each in there.spans]
        end = min([end, *(each for each in begins if each > begin)])
        has_cut = False
        for other, there in others.items():
            pieces: list[Span] = []
            for since, until in there.spans:
                is_split = end < until and end not in begins
                tail = [(end, until)] if is_split else []
                if since < begin < until:
                    has_cut = True
                    pieces += [(since, begin), *tail]
                elif since == begin and (tail or self._resumes(other, begin, others)):
                    pieces += tail
                else:
                    pieces.append((since, until))
            if pieces != there.spans:
                if is_some(there.now):
                    former, now = pieces[:-1], pieces[-1]
                else:
                    former, now = pieces, there.now
                self.links[other] = there._replace(now=now, former=tuple(former))
        held = (begin if has_cut else span[0], end)
        if span == link.now:
            self.links[name] = link._replace(now=held)
        else:
            former = [held if each == span else each for each in link.former]
            self.links[name] = link._replace(former=tuple(former))

    def _resumes(self, name: str, begin: float, others: Links) -> bool:
        """Whether a value holds from a time on because that of a stand-in ended."""
        ends = {until for _, until in others[name].spans}
        return any(
            until == begin and since in ends
            for other, link in others.items()
            if other != name
            for since, until in link.spans
        )

    def forget_former(self, name: str) -> None:
        if name in self.links:
            self.links[name] = self.links[name]._replace(former=())

    def archive(self, name: str, *, archived: bool) -> None:
        if name in self.links:
            self.links[name] = self.links[name]._replace(archived=archived)

    def fold(self, name: str, into: str) -> None:
        """Let two links be one."""
        one, other = self.links.get(name), self.links.get(into)
        if one is None or name == into:
            return
        del self.links[name]
        if other is None:
            self.links[into] = one
            return
        holds = [each.holds(self.now) and not each.archived for each in (other, one)]
        state = one if holds[1] and not holds[0] else other
        former = [*other.former, *one.former]
        dated = [each for each in (other, one) if each.now != EVER]
        if len(dated) == 2:
            spans = joined([*former, other.now, one.now])
            now, rest = (spans[-1], spans[:-1]) if spans else (other.now, ())
        else:
            first = dated[0] if dated else one
            undated, is_now = (other, holds[0]) if other.now == EVER else (one, holds[1])
            now = first.now
            if is_now and not (first.holds(self.now) and not first.archived):
                assert undated.now == EVER
                now, rest = EVER, joined([*former, *([first.now] if dated else [])])
            else:
                rest = tuple(span for span in joined(former) if not within(span, now))
        self.links[into] = Link(now, tuple(rest), state.archived)

    def holding(self, time: float) -> set[str]:
        return {name for name, link in self.links.items() if not link.archived and link.holds(time)}

    def copy(self) -> Model:
        model = Model(self.links, is_functional=self.is_functional)
        model.now = self.now
        return model

    def merge(self, base: Model, side: Model) -> None:
        """Take over what another branch says about links that both have."""
        for name, theirs in side.links.items():
            ours, old = self.links.get(name), base.links.get(name)
            if ours is None or ours == old:
                self.links[name] = theirs
            elif theirs not in (ours, old):
                self.links[name] = merged(old, ours, theirs)


def merged(old: Link | None, ours: Link, theirs: Link) -> Link:
    before = [] if old is None else old.spans
    if not (ours.former or theirs.former or (old and old.former)) and meet(ours.now, theirs.now):
        ends = []
        for at in range(2):
            was = None if old is None else old.now[at]
            pair = ours.now[at], theirs.now[at]
            ends.append(pair[1] if pair[0] == was else pair[0] if pair[1] == was else min(pair))
        return Link((ends[0], ends[1]))
    bounds = sorted(
        {
            -math.inf,
            math.inf,
            *(at for span in (*before, *ours.spans, *theirs.spans) for at in span),
        }
    )
    pieces = []
    for begin, end in pairwise(bounds):
        time = max(begin, -1e9)
        was, is_ours, is_theirs = (
            any(since <= time < until for since, until in spans)
            for spans in (before, ours.spans, theirs.spans)
        )
        if is_theirs if is_ours == was else is_ours:
            pieces.append((begin, end))
    spans = joined(pieces)
    return Link(spans[-1], spans[:-1])


# Writing to a graph and its model.


def text(year: float) -> str:
    return f"{int(year)}-01-01"


def moment(time: float) -> str:
    return f"{int(time)}-07-01"


def dates(begin: float | None, end: float | None) -> dict[str, str]:
    pairs = (("valid_from", begin), ("valid_until", end))
    return {key: text(year) for key, year in pairs if year is not None}


class Pair:
    """A graph, and the models of its two predicates."""

    def __init__(self, db: mycel.Graph, models: dict[str, Model]) -> None:
        self.db = db
        self.models = models
        self.expected: list[tuple[int, dict[str, dict[float, set[str]]]]] = []

    def write(self, predicate: str, name: str, begin: float | None, end: float | None) -> None:
        self.models[predicate].write(name, begin, end)
        given = dates(begin, end)
        self.db.write(
            lambda tx: tx.put_proposition(SUBJECT, predicate, ("Place", name), None, given)
        )

    def command(self, text: str, predicate: str, name: str) -> None:
        link = f'?l ({{name: "ada"}}, "{predicate}", {{type: "Place", name: "{name}"}})'
        self.db.execute(text.format(where=f"WHERE {{ {link} }}"))

    def forget_former(self, predicate: str, name: str) -> None:
        self.models[predicate].forget_former(name)
        self.command('DELETE METADATA {{"former_periods"}} FROM ?l {where}', predicate, name)

    def archive(self, predicate: str, name: str, *, archived: bool) -> None:
        if name not in self.models[predicate].links:
            return
        self.models[predicate].archive(name, archived=archived)
        self.command(("ARCHIVE" if archived else "RESTORE") + " ?l {where}", predicate, name)

    def fold(self, name: str, into: str) -> None:
        if name == into:
            return
        for model in self.models.values():
            model.fold(name, into)
        ends = {"source": name, "target": into}
        self.db.execute(
            'MERGE CONCEPT ?a INTO ?b WHERE { ?a {type: "Place", name: :source}'
            ' ?b {type: "Place", name: :target} }',
            ends,
        )
        self.db.write(lambda tx: tx.put_concept("Place", name))

    def undo(self, models: dict[str, Model]) -> None:
        """Take the last commit back."""
        commit = next(self.db.history.log(limit=1))
        if any(models[name].links != self.models[name].links for name in models):
            self.db.history.revert(commit.seq)
            self.models = models

    def note(self) -> None:
        """Note what holds at which time in the present state."""
        seq = next(self.db.history.log(limit=1)).seq
        times_of = {
            predicate: {time: model.holding(time) for time in MOMENTS}
            for predicate, model in self.models.items()
        }
        self.expected.append((seq, times_of))

    def check(self, *, past: bool) -> None:
        for at, (seq, predicates) in enumerate(self.expected):
            is_last = at == len(self.expected) - 1
            if not (is_last or past):
                continue
            for predicate, found in predicates.items():
                for time, names in found.items():
                    assert self.holding(predicate, time, None if is_last else seq) == names, (
                        predicate,
                        time,
                        seq,
                        self.models[predicate].links,
                    )

    def holding(self, predicate: str, time: float, seq: int | None) -> set[str]:
        state = "" if seq is None else f"AS OF {seq}"
        command = (
            f'FIND(?o.name) {state} FOR TIME "{moment(time)}"'
            f' WHERE {{ ({{name: "ada"}}, "{predicate}", ?o) }}'
        )
        return {name for (name,) in self.db.execute(command).rows}


names = st.sampled_from(OBJECTS)
predicates = st.sampled_from(("lives_in", "visits"))
ends = st.sampled_from(YEARS) | st.none()
writes = st.tuples(st.just("write"), predicates, names, ends, ends).map(
    lambda step: (
        (*step[:3], *sorted(step[3:])) if None not in step[3:] else step  # type: ignore[type-var]
    )
)
marks = st.tuples(st.sampled_from(("forget_former", "archive", "restore")), predicates, names)
folds = st.tuples(st.just("fold"), names, names)
steps = st.lists(writes | writes | writes | marks | folds | st.just(("undo",)), max_size=14)


def run(pair: Pair, step: tuple[Any, ...], before: dict[str, Model]) -> None:
    match step:
        case ("write", predicate, name, begin, end):
            pair.write(predicate, name, begin, end)
        case ("forget_former", predicate, name):
            pair.forget_former(predicate, name)
        case ("archive" | "restore" as verb, predicate, name):
            pair.archive(predicate, name, archived=verb == "archive")
        case ("fold", name, into):
            pair.fold(name, into)
        case ("undo",):
            pair.undo(before)


def models() -> dict[str, Model]:
    return {
        "lives_in": Model({}, is_functional=True),
        "visits": Model({}, is_functional=False),
    }


@given(steps)
@settings(max_examples=settings.default.max_examples * 2)
def test_a_link_holds_in_all_its_periods_in_every_state(story: list[tuple[Any, ...]]) -> None:
    with PREPARED.opened() as db:
        pair = Pair(db, models())
        before = models()
        for step in story:
            is_undoable = step[0] == "write"
            now = {name: model.copy() for name, model in pair.models.items()}
            run(pair, step, before)
            before = now if is_undoable else {n: m.copy() for n, m in pair.models.items()}
            pair.note()
            pair.check(past=False)
        pair.check(past=True)
        assert not db.verify(replay=True).problems


closed = st.tuples(st.sampled_from(YEARS), st.sampled_from(YEARS)).filter(
    lambda ends: len({*ends}) == 2
)
dated = st.tuples(st.just("write"), predicates, names, closed).map(
    lambda step: (*step[:3], *sorted(step[3]))
)
forgets = st.tuples(st.just("forget_former"), predicates, names)
branch_steps = st.lists(dated | dated | forgets, max_size=6)


@given(st.lists(dated | writes, max_size=5), branch_steps, branch_steps)
@settings(max_examples=settings.default.max_examples * 2)
def test_a_merge_unites_what_two_branches_say_about_periods(
    common: list[tuple[Any, ...]], ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]
) -> None:
    with PREPARED.opened() as db:
        pair = Pair(db, models())
        for step in common:
            run(pair, step, {})
        base = {name: model.copy() for name, model in pair.models.items()}
        db.branches.create("side")
        with db.open_branch("side") as side_db:
            side = Pair(side_db, {name: model.copy() for name, model in base.items()})
            for step in theirs:
                run(side, step, {})
            for step in ours:
                run(pair, step, {})
            assert not db.merge("side").conflicts
        model = pair.models["visits"]
        model.merge(base["visits"], side.models["visits"])
        for time in MOMENTS:
            assert pair.holding("visits", time, None) == model.holding(time), (time, model.links)
        # Both branches may correct dates so that values overlap; what both agree on stays.
        pair_values, side_values = pair.models["lives_in"], side.models["lives_in"]
        for time in MOMENTS:
            found = pair.holding("lives_in", time, None)
            assert found <= pair_values.holding(time) | side_values.holding(time)
        assert not db.verify(replay=True).problems


since = st.sampled_from(YEARS)
batches = st.lists(st.tuples(names, since, since | st.none()), min_size=1, max_size=10).map(
    lambda story: [
        (name, *(sorted((begin, end)) if end is not None else (begin, None)))
        for name, begin, end in story
        if begin != end
    ]
)


@given(batches, st.integers(0, 4), st.sampled_from(("primitives", "upsert")))
@settings(max_examples=settings.default.max_examples * 2)
def test_a_batch_writes_what_single_writes_in_its_order_do(
    story: list[tuple[str, float, float | None]], known: int, door: str
) -> None:
    with PREPARED.opened() as db:
        pair = Pair(db, models())
        for name, begin, end in story[:known]:
            pair.write("lives_in", name, begin, end)
        for name, begin, end in story[known:]:
            pair.models["lives_in"].write(name, begin, end)
        given = [(name, dates(begin, end)) for name, begin, end in story[known:]]
        if door == "upsert" and given:
            blocks = " ".join(
                f'PROPOSITION {{ ({{type: "Person", name: "ada"}}, "lives_in", {{type: "Place",'
                f' name: "{name}"}}) }} WITH METADATA :given{at}'
                for at, (name, _) in enumerate(given)
            )
            parameters = {f"given{at}": metadata for at, (_, metadata) in enumerate(given)}
            db.execute(f"UPSERT {{ {blocks} }}", parameters)
        elif given:
            with db.transaction() as tx:
                for name, metadata in given:
                    tx.put_proposition(SUBJECT, "lives_in", ("Place", name), None, metadata)
        pair.note()
        pair.check(past=False)
        assert not db.verify(replay=True).problems


fresh = st.lists(st.tuples(names, st.booleans()), max_size=3)


@given(st.permutations(range(2000, 2012)), fresh, fresh, fresh)
@settings(max_examples=settings.default.max_examples * 2)
def test_a_functional_predicate_has_one_value_at_a_time_in_all_periods(
    years: list[int],
    common: list[tuple[str, bool]],
    ours: list[tuple[str, bool]],
    theirs: list[tuple[str, bool]],
) -> None:
    """Of values that are new or hold at another time than before; nobody corrects a date."""
    queue = list(years)

    def write(pair: Pair, story: list[tuple[str, bool]]) -> None:
        for name, is_closed in story:
            begin = queue.pop()
            span = (begin, begin + 1 if is_closed else math.inf)
            link = pair.models["lives_in"].links.get(name, Link((0, 0)))
            touches = any(span[0] <= until and since <= span[1] for since, until in link.spans)
            is_extension = not is_closed and begin < link.now[0]
            if not touches and not is_extension:
                pair.write("lives_in", name, begin, begin + 1 if is_closed else None)

    def check(pair: Pair) -> None:
        for year in range(2000, 2013):
            assert len(pair.holding("lives_in", year + 0.5, None)) <= 1, year

    with PREPARED.opened() as db:
        pair = Pair(db, models())
        write(pair, common)
        base = {name: model.copy() for name, model in pair.models.items()}
        db.branches.create("side")
        with db.open_branch("side") as side_db:
            side = Pair(side_db, {name: model.copy() for name, model in base.items()})
            write(pair, ours)
            # Both branches do not make one link each in their own way.
            made = pair.models["lives_in"].links.keys() - base["lives_in"].links.keys()
            write(side, [(name, is_closed) for name, is_closed in theirs if name not in made])
            check(pair)
            check(side)
            db.merge("side")
        check(pair)
        assert [step.asked for step in db.sleep().steps if step.name == "contradictions"] == [0]
