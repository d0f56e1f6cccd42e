"""Adding, removing and reading single edges (edges and graph; its notes, "Behaviour")."""

from collections.abc import Callable
from typing import Any

import cbor2
import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    InvalidId,
    InvalidValueType,
    MycelError,
    NotFound,
    SelfEdgeError,
    TypeMismatch,
)
from tests.cases import cases
from tests.unit.store.given import START_US, Clock, add_concepts, assert_sound, define, entries

ABSENT = "C:999998"
ZERO = "C:0"


@pytest.fixture
def ends(db: mycel.Graph) -> tuple[str, str]:
    source, target = add_concepts(db, "source", "target")
    return source, target


# ---------------------------------------------------------------------------------------------
# Adding


def test_an_added_edge_is_read_back_with_everything_it_was_given(
    db: mycel.Graph, ends: tuple[str, str], clock: Clock
) -> None:
    now = clock.tick(123_457)
    made = db.add_edge(
        ends[0], "references", ends[1], weight=0.9, data={"page": 7}, created_by="andrew"
    )
    edge = db.get_edge(ends[0], "references", ends[1])
    assert (edge.src, edge.predicate, edge.dst) == (ends[0], "references", ends[1])
    assert edge.id == made
    assert made.endswith(":references")
    assert (edge.type, edge.weight, edge.data) == (3, 0.9, {"page": 7})
    assert (edge.created_by, edge.created_us, edge.version) == ("andrew", now, 1)
    assert edge.created_at.microsecond == 123_457, "times are kept to the microsecond"
    assert not edge.tombstoned
    assert (edge.tombstoned_at, edge.tombstoned_by, edge.tombstoned_reason) == (None, None, None)


def test_an_edge_has_full_cost_no_data_and_the_graphs_own_actor_unless_told(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    db.add_edge(ends[0], "references", ends[1])
    edge = db.get_edge(ends[0], "references", ends[1])
    assert (edge.weight, edge.data, edge.metadata, edge.created_by) == (1.0, {}, {}, "tester")


def test_the_edge_is_the_same_record_from_both_ends_and_by_id(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    made = db.add_edge(ends[0], "references", ends[1], weight=0.25, data={"why": "it says so"})
    edge = db.get_edge(ends[0], "references", ends[1])
    assert list(db.edges_out(ends[0])) == [edge]
    assert list(db.edges_in(ends[1])) == [edge]
    assert db.get(made) == edge
    assert list(db.edges_in(ends[0])) == list(db.edges_out(ends[1])) == []


def test_the_same_ends_can_be_joined_both_ways_and_by_several_predicates(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    made = {
        db.add_edge(ends[0], "references", ends[1]),
        db.add_edge(ends[0], "supersedes", ends[1]),
        db.add_edge(ends[1], "references", ends[0]),
    }
    assert len(made) == 3
    assert {edge.id for edge in db.edges_out(ends[0])} | {
        edge.id for edge in db.edges_out(ends[1])
    } == made


def test_adding_is_one_journal_entry_in_one_transaction(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    before = entries(db)
    made = db.add_edge(ends[0], "references", ends[1], created_by="andrew")
    (newest,) = db.history.log(limit=1)
    assert (newest.first_seq, newest.changes, newest.actor) == (before + 1, 1, "andrew")
    assert [version.kind for version in db.history.versions(made)] == ["add_edge"]


def test_an_element_itself_serves_as_well_as_its_id(db: mycel.Graph, ends: tuple[str, str]) -> None:
    source, target = db.get(ends[0]), db.get(ends[1])
    made = db.add_edge(source, "references", target)
    assert db.get_edge(source, "references", ends[1]).id == made
    assert [edge.id for edge in db.edges_out(source)] == [made]
    assert db.find(source).memories[0].id == target.id
    assert db.remove_edge(source, "references", target)


@pytest.mark.parametrize("weight", [0, 0.0, 0.1, 0.25, 1 / 3, 0.9, 0.999999, 1, 1.0])
def test_a_weight_comes_back_as_the_number_it_means_in_32_bits(
    db: mycel.Graph, ends: tuple[str, str], weight: float
) -> None:
    db.add_edge(ends[0], "references", ends[1], weight=weight)
    stored = db.get_edge(ends[0], "references", ends[1]).weight
    assert stored == pytest.approx(weight, rel=1e-6)
    again = db.write(lambda tx: tx.put_proposition(ends[0], "references", ends[1], weight=stored))
    assert db.get(again).version == 1, "what was read can be written back and changes nothing"


@cases(
    ("weight", "error"),
    [
        (-0.1, ConstraintViolation),
        (1.0001, ConstraintViolation),
        (float("nan"), ConstraintViolation),
        (float("inf"), ConstraintViolation),
        (10**400, ConstraintViolation),
        ("0.5", InvalidValueType),
        (True, InvalidValueType),
    ],
)
def test_a_weight_that_is_no_cost_is_refused(
    db: mycel.Graph, ends: tuple[str, str], weight: Any, error: type[MycelError]
) -> None:
    before = db.snapshot()
    with pytest.raises(error):
        db.add_edge(ends[0], "references", ends[1], weight=weight)
    assert db.snapshot() == before


def test_data_can_be_given_as_the_canonical_cbor_of_an_object(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    data = {"fields": ["born", "died"], "n": 3}
    db.add_edge(ends[0], "contradicts", ends[1], data=cbor2.dumps(data, canonical=True))
    assert db.get_edge(ends[0], "contradicts", ends[1]).data == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        cbor2.dumps([1, 2], canonical=True),
        b"\xa2\x61b\x01\x61a\x02",  # Keys out of order.
        b"\xa1\x61a\x18\x01",  # 1 in two bytes.
        cbor2.dumps({"a": 1}, canonical=True) + b"\x00",
        cbor2.dumps({1: 2}, canonical=True),
        b"\xa1\x61a\x42xy",  # A byte string, which JSON does not have.
    ],
)
def test_data_in_other_bytes_is_refused(
    db: mycel.Graph, ends: tuple[str, str], data: bytes
) -> None:
    before = db.snapshot()
    with pytest.raises(InvalidValueType):
        db.add_edge(ends[0], "references", ends[1], data=data)
    assert db.snapshot() == before


# ---------------------------------------------------------------------------------------------
# What is refused, and in which order


@cases(
    "case",
    [
        # An unknown type comes first …
        (ZERO, "unknown", ZERO, TypeMismatch),
        (ABSENT, "unknown", ABSENT, TypeMismatch),
        ("nonsense", "unknown", "nonsense", TypeMismatch),
        # … then a self-edge, whether or not the id could be one …
        ("source", "references", "source", SelfEdgeError),
        (ABSENT, "references", ABSENT, SelfEdgeError),
        (ZERO, "references", ZERO, SelfEdgeError),
        # … then ids: of no element.
        ("nonsense", "references", "target", InvalidId),
        (ZERO, "references", "target", NotFound),
        ("source", "references", ZERO, NotFound),
        ("P:0:references", "references", "target", NotFound),
        (ABSENT, "references", "target", NotFound),
        ("source", "references", ABSENT, NotFound),
        ("source", "references", "P:999999:references", NotFound),
    ],
)
def test_checks_come_in_the_order_of_the_document(
    db: mycel.Graph, ends: tuple[str, str], case: tuple[str, str, str, type[MycelError]]
) -> None:
    src, predicate, dst, error = case
    known = {"source": ends[0], "target": ends[1]}
    before = db.snapshot()
    with pytest.raises(MycelError) as caught:
        db.add_edge(known.get(src, src), predicate, known.get(dst, dst))
    assert type(caught.value) is error
    assert db.snapshot() == before


NO_IDS: list[Any] = [
    *("", "C", "C:", "C:-2", "C:2 ", " C:2", "c:2", "C:2.0", "C:٢", "C:2\n"),
    *("P:1", "P:1:", "P:1:not a name", f"C{'9' * 5000}"),
    *("Fact:source", "\ud800", 2, 2.0, None, True, b"C:2", ["C:2"], object()),
]


@cases(
    "use",
    [
        lambda db, good, bad: db.add_edge(bad, "references", good),
        lambda db, good, bad: db.add_edge(good, "references", bad),
        lambda db, good, bad: db.remove_edge(bad, "references", good),
        lambda db, good, bad: db.get_edge(good, "references", bad),
        lambda db, _good, bad: list(db.edges_out(bad)),
        lambda db, _good, bad: list(db.edges_in(bad)),
        lambda db, _good, bad: db.find(bad),
        lambda db, _good, bad: db.get(bad),
        lambda db, _good, bad: db.history.versions(bad),
        lambda db, _good, bad: db.purge(bad, "why"),
        lambda db, _good, bad: db.write(lambda tx: tx.retire(bad)),
        lambda db, _good, bad: db.write(lambda tx: tx.update(bad, attributes={})),
    ],
    ids=["add_from", "add_to", "remove", "get_edge", "edges_out", "edges_in", "find", "get",
         "history", "purge", "retire", "update"],
)  # fmt: skip
def test_what_is_no_id_is_refused_everywhere(
    db: mycel.Graph, ends: tuple[str, str], use: Callable[[Any, str, object], object]
) -> None:
    before = db.snapshot()
    for bad in NO_IDS:
        with pytest.raises(InvalidId) as caught:
            use(db, ends[0], bad)
        assert len(str(caught.value)) < 500, "the message does not repeat what is too long to read"
    assert db.snapshot() == before


NEVER_GIVEN = ["C:0", "C:3", "C:02", f"C:{2**63}", "P:2:references", "P:0:references"]


def test_an_id_that_was_never_given_out_is_missing_everywhere_and_named_as_it_was_written(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    before = db.snapshot()
    for absent in NEVER_GIVEN:
        uses: list[Callable[[], object]] = [
            lambda absent=absent: db.add_edge(absent, "references", ends[0]),
            lambda absent=absent: db.add_edge(ends[0], "references", absent),
            lambda absent=absent: db.get_edge(ends[0], "references", absent),
            lambda absent=absent: list(db.edges_out(absent)),
            lambda absent=absent: list(db.edges_in(absent)),
            lambda absent=absent: db.find(absent),
            lambda absent=absent: db.traverse(absent),
            lambda absent=absent: db.get(absent),
            lambda absent=absent: db.history.versions(absent),
            lambda absent=absent: db.prove(absent),
            lambda absent=absent: db.purge(absent, "why"),
            lambda absent=absent: db.write(lambda tx: tx.retire(absent)),
            lambda absent=absent: db.write(lambda tx: tx.update(absent, attributes={})),
            lambda absent=absent: db.write(
                lambda tx: tx.put_propositions(
                    [mycel.PropositionRow(absent, "references", ends[0])]
                )
            ),
        ]
        for use in uses:
            with pytest.raises(NotFound) as caught:
                use()
            assert repr(absent) in caught.value.message
    assert db.snapshot() == before


def test_a_predicate_whose_definition_was_removed_cannot_be_used_for_new_edges(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    define(db, predicates=["likes"])
    db.add_edge(ends[0], "likes", ends[1])
    db.remove_edge(ends[0], "likes", ends[1])
    db.write(lambda tx: tx.retire(tx.get_concept("$PropositionType", "likes")))
    with pytest.raises(TypeMismatch):
        db.add_edge(ends[0], "likes", ends[1])
    assert db.get_edge(ends[0], "likes", ends[1]).tombstoned, "the past can still be read"


def test_an_edge_to_a_removed_element_is_refused(db: mycel.Graph, ends: tuple[str, str]) -> None:
    db.write(lambda tx: tx.retire(ends[1]))
    with pytest.raises(NotFound):
        db.add_edge(ends[0], "references", ends[1])


def test_an_unknown_predicate_is_refused_with_the_nearest_known_one(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    with pytest.raises(TypeMismatch) as caught:
        db.add_edge(ends[0], "refrences", ends[1])
    assert "references" in caught.value.hint


# ---------------------------------------------------------------------------------------------
# Adding again


def test_adding_a_live_edge_again_changes_and_journals_nothing(
    db: mycel.Graph, ends: tuple[str, str], clock: Clock
) -> None:
    made = db.add_edge(
        ends[0], "references", ends[1], weight=0.5, data={"page": 7}, created_by="andrew"
    )
    edge, before = db.get(made), db.snapshot()
    clock.tick()
    again = db.add_edge(
        ends[0], "references", ends[1], weight=0.75, data={"page": 8}, created_by="berta"
    )
    assert again == made
    assert db.get_edge(ends[0], "references", ends[1]) == edge
    assert db.snapshot() == before
    assert len(db.history.versions(made)) == 1


def test_adding_a_live_edge_again_in_a_transaction_changes_nothing_either(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    with db.transaction() as tx:
        made = tx.add_edge(ends[0], "references", ends[1], data={"a": 1}, metadata={"m": 1})
        assert tx.add_edge(ends[0], "references", ends[1], data={"b": 2}, metadata={"n": 2}) == made
    edge = db.get(made)
    assert (edge.data, edge.metadata, edge.version) == ({"a": 1}, {"m": 1}, 1)
    assert len(db.history.versions(made)) == 1


def test_an_actor_who_changes_nothing_leaves_no_trace(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    db.add_edge(ends[0], "references", ends[1])
    db.add_edge(ends[0], "references", ends[1], created_by="nobody")
    assert "nobody" not in {entry.actor for entry in db.history.log()}
    assert_sound(db)


# ---------------------------------------------------------------------------------------------
# Removing


def test_a_removed_edge_keeps_what_it_had_and_says_when_by_whom_and_why_it_went(
    db: mycel.Graph, ends: tuple[str, str], clock: Clock
) -> None:
    made = db.add_edge(
        ends[0], "references", ends[1], weight=0.5, data={"page": 7}, created_by="andrew"
    )
    edge = db.get(made)
    now = clock.tick()
    assert db.remove_edge(ends[0], "references", ends[1], reason="superseded", by="auditor")
    removed = db.get_edge(ends[0], "references", ends[1])
    assert removed.tombstoned
    assert (removed.tombstoned_us, removed.tombstoned_by) == (now, "auditor")
    assert removed.tombstoned_reason == "superseded"
    assert (removed.id, removed.weight, removed.data) == (made, 0.5, {"page": 7})
    assert (removed.created_us, removed.created_by) == (edge.created_us, "andrew")


def test_a_removed_edge_is_gone_from_the_live_state(db: mycel.Graph, ends: tuple[str, str]) -> None:
    made = db.add_edge(ends[0], "references", ends[1])
    db.remove_edge(ends[0], "references", ends[1])
    assert list(db.edges_out(ends[0])) == list(db.edges_in(ends[1])) == []
    assert db.find(ends[0]).memories == ()
    with pytest.raises(NotFound):
        db.get(made)


def test_a_removal_is_journaled_as_one_entry(db: mycel.Graph, ends: tuple[str, str]) -> None:
    made = db.add_edge(ends[0], "references", ends[1])
    before = entries(db)
    db.remove_edge(ends[0], "references", ends[1], reason="wrong", by="auditor")
    (newest,) = db.history.log(limit=1)
    assert (newest.first_seq, newest.changes, newest.actor) == (before + 1, 1, "auditor")
    last = db.history.versions(made)[-1]
    assert (last.kind, last.reason, last.transaction.actor) == ("remove_edge", "wrong", "auditor")


@pytest.mark.parametrize(
    ("src", "dst"),
    [("source", "target"), ("source", "source"), (ABSENT, "target"), ("source", ABSENT)],
)
def test_removing_an_edge_that_never_was_does_nothing(
    db: mycel.Graph, ends: tuple[str, str], src: str, dst: str
) -> None:
    known = {"source": ends[0], "target": ends[1]}
    before = db.snapshot()
    assert not db.remove_edge(known.get(src, src), "references", known.get(dst, dst))
    assert db.snapshot() == before


def test_removing_an_edge_twice_keeps_the_first_tombstone(
    db: mycel.Graph, ends: tuple[str, str], clock: Clock
) -> None:
    db.add_edge(ends[0], "references", ends[1])
    db.remove_edge(ends[0], "references", ends[1], reason="first", by="one")
    removed, before = db.get_edge(ends[0], "references", ends[1]), db.snapshot()
    clock.tick()
    assert not db.remove_edge(ends[0], "references", ends[1], reason="second", by="two")
    assert db.get_edge(ends[0], "references", ends[1]) == removed
    assert db.snapshot() == before


def test_removing_by_an_unknown_predicate_is_refused(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    with pytest.raises(TypeMismatch):
        db.remove_edge(ends[0], "unknown", ends[1])


def test_the_other_direction_and_other_predicates_stay(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    db.add_edge(ends[0], "references", ends[1])
    back = db.add_edge(ends[1], "references", ends[0])
    other = db.add_edge(ends[0], "supersedes", ends[1])
    db.remove_edge(ends[0], "references", ends[1])
    assert [edge.id for edge in db.edges_out(ends[1])] == [back]
    assert [edge.id for edge in db.edges_out(ends[0])] == [other]


# ---------------------------------------------------------------------------------------------
# Reviving


def test_adding_a_removed_edge_revives_it_afresh(
    db: mycel.Graph, ends: tuple[str, str], clock: Clock
) -> None:
    made = db.write(
        lambda tx: tx.add_edge(
            ends[0], "references", ends[1], weight=0.5, data={"page": 7}, metadata={"old": 1}
        )
    )
    clock.tick()
    db.remove_edge(ends[0], "references", ends[1], reason="superseded")
    now = clock.tick()
    again = db.add_edge(
        ends[0], "references", ends[1], weight=0.75, data={"line": 1}, created_by="berta"
    )
    edge = db.get_edge(ends[0], "references", ends[1])
    assert again == made == edge.id
    assert (edge.created_us, edge.created_by) == (now, "berta")
    assert (edge.weight, edge.data, edge.metadata) == (0.75, {"line": 1}, {})
    assert not edge.tombstoned
    assert (edge.tombstoned_at, edge.tombstoned_by, edge.tombstoned_reason) == (None, None, None)
    assert list(db.edges_out(ends[0], include_tombstoned=True)) == [edge]


def test_a_revival_is_journaled_as_an_added_edge(db: mycel.Graph, ends: tuple[str, str]) -> None:
    made = db.add_edge(ends[0], "references", ends[1])
    db.remove_edge(ends[0], "references", ends[1])
    db.add_edge(ends[0], "references", ends[1])
    kinds = [version.kind for version in db.history.versions(made)]
    assert kinds == ["add_edge", "remove_edge", "add_edge"]
    assert_sound(db)


def test_an_edge_can_be_removed_and_revived_many_times(
    db: mycel.Graph, ends: tuple[str, str], clock: Clock
) -> None:
    for n in range(5):
        clock.tick()
        made = db.add_edge(ends[0], "references", ends[1], weight=n / 8)
        clock.tick()
        assert db.remove_edge(ends[0], "references", ends[1], reason=str(n))
    weights = [version.element.weight for version in db.history.versions(made) if version.element]
    assert weights == [0, 0, 1 / 8, 1 / 8, 1 / 4, 1 / 4, 3 / 8, 3 / 8, 1 / 2, 1 / 2]
    assert_sound(db)


def test_adding_removing_and_adding_in_one_transaction_leaves_a_live_edge(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    with db.transaction() as tx:
        tx.add_edge(ends[0], "references", ends[1], weight=0.25)
        assert tx.remove_edge(ends[0], "references", ends[1])
        made = tx.add_edge(ends[0], "references", ends[1], weight=0.5)
    assert db.get(made).weight == 0.5
    assert len(db.history.versions(made)) == 3
    assert_sound(db)


# ---------------------------------------------------------------------------------------------
# Reading one edge


def test_an_edge_that_never_was_is_not_found(db: mycel.Graph, ends: tuple[str, str]) -> None:
    db.add_edge(ends[1], "references", ends[0])
    for src, dst in (ends, (ends[0], ABSENT), (ABSENT, ends[0])):
        with pytest.raises(NotFound):
            db.get_edge(src, "references", dst)
    with pytest.raises(TypeMismatch):
        db.get_edge(ends[0], "unknown", ends[1])


def test_an_edge_shows_itself_in_the_wire_form_of_a_link(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    made = db.add_edge(ends[0], "references", ends[1], weight=0.5, data={"page": 7})
    wire = db.get(made).to_dict()
    assert wire == {
        "_type": "PropositionLink",
        "id": made,
        "subject": ends[0],
        "predicate": "references",
        "object": ends[1],
        "weight": 0.5,
        "attributes": {"page": 7},
        "metadata": {"_version": 1, "_updated_at": "2023-11-14T22:13:20.000000Z"},
    }
    assert db.get(made).created_us == START_US


# ---------------------------------------------------------------------------------------------
# Edges about edges


def test_an_edge_can_leave_and_reach_another_edge(db: mycel.Graph, ends: tuple[str, str]) -> None:
    claim = db.add_edge(ends[0], "references", ends[1])
    (witness,) = add_concepts(db, "witness")
    leaving = db.add_edge(claim, "attested_by", witness)
    reaching = db.add_edge(witness, "contradicts", claim)
    assert [edge.id for edge in db.edges_out(claim)] == [leaving]
    assert [edge.id for edge in db.edges_in(claim)] == [reaching]
    edge = db.get(leaving)
    assert (edge.src, edge.dst) == (claim, witness)
    between = db.add_edge(leaving, "corroborates", reaching)
    assert (db.get(between).src, db.get(between).dst) == (leaving, reaching)
    assert_sound(db)


def test_an_edge_about_itself_is_refused(db: mycel.Graph, ends: tuple[str, str]) -> None:
    claim = db.add_edge(ends[0], "references", ends[1])
    with pytest.raises(SelfEdgeError):
        db.add_edge(claim, "references", claim)


def test_an_edge_goes_together_with_the_edges_about_it(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    claim = db.add_edge(ends[0], "references", ends[1])
    (witness,) = add_concepts(db, "witness")
    about = db.add_edge(claim, "attested_by", witness)
    above = db.add_edge(witness, "references", about)
    assert db.remove_edge(ends[0], "references", ends[1], reason="wrong")
    assert list(db.edges_in(witness)) == list(db.edges_out(witness)) == []
    for each in (about, above):
        assert db.history.versions(each)[-1].kind == "remove_edge"
        assert db.history.versions(each)[-1].reason == "wrong"
    assert db.get_edge(claim, "attested_by", witness).tombstoned
    with pytest.raises(NotFound):
        db.add_edge(claim, "attested_by", witness)
    assert_sound(db)


def test_reviving_an_edge_does_not_revive_what_was_said_about_it(
    db: mycel.Graph, ends: tuple[str, str]
) -> None:
    claim = db.add_edge(ends[0], "references", ends[1])
    (witness,) = add_concepts(db, "witness")
    about = db.add_edge(claim, "attested_by", witness)
    db.remove_edge(ends[0], "references", ends[1])
    assert db.add_edge(ends[0], "references", ends[1]) == claim
    assert list(db.edges_out(claim)) == []
    assert db.add_edge(claim, "attested_by", witness) == about
    assert_sound(db)


def test_edges_about_edges_that_speak_of_each_other_go_together(
    db: mycel.Graph,
) -> None:
    """Two ways lead to `joint`: over `second`, and over `remark`, which is about `first`."""
    hub, one, two, three = add_concepts(db, "hub", "one", "two", "three")
    first = db.add_edge(hub, "related_to", one)
    second = db.add_edge(hub, "related_to", two)
    remark = db.add_edge(first, "references", three)
    joint = db.add_edge(second, "references", remark)
    with db.transaction() as tx:
        assert tx.retire(hub) == (1, 4)
    for link in (first, second, remark, joint):
        with pytest.raises(NotFound):
            db.get(link)
    assert_sound(db)
