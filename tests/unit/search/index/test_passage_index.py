"""What search derives is never knowledge, never stale, and comes back when it is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

import mycel
from mycel.knowledge.node_values import Node
from mycel.search.index import passage_index
from mycel.store.index import passages
from tests.prepared import NEW
from tests.unit.search.valley import PLACES, fill, names, place_type

QUESTIONS = (
    "Where did the engineer who restored the water mill study?",
    "automobile trouble",
    "What did Anna see near the bridge?",
    "honey producers",
    "river Lisk",
)


@pytest.fixture(autouse=True)
def _save_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_index, "SAVED_TOGETHER_MIN", 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "valley.db"


def answers(db: mycel.Graph) -> list[list[tuple[str, float]]]:
    return [
        [(element.id, round(score, 6)) for element, score in db.search(question)]
        for question in QUESTIONS
    ]


def stored(db: mycel.Graph, query: str) -> list[tuple[object, ...]]:
    with db.reading() as reader:
        return list(reader.connection.execute(query))


def test_searching_leaves_roots_history_and_verification_as_they_were(path: Path) -> None:
    with mycel.open(path) as db:
        fill(db)
        before = db.snapshot()
        answers(db)
        assert stored(db, "SELECT count(*) FROM recall_passage") == [(len(PLACES) + 6,)]
        assert db.snapshot() == before
        assert db.verify(replay=True).problems == ()


def test_a_question_in_other_words_finds_what_is_meant() -> None:
    with NEW.opened() as db:
        fill(db)
        for question, meant in (
            ("automobile trouble", "turn-3"),
            ("alpine summit with ice", "Mount Corvin"),
            ("ship departures", "ferry timetable"),
        ):
            assert names(db, question)[0] == meant
            assert meant not in names(db, question, mode="keyword")


def test_a_question_of_made_up_words_finds_nothing() -> None:
    with NEW.opened() as db:
        fill(db)
        for question in (
            "xqzv blorp fnord gribble?",
            "wub wub dakka snorf glimp",
            "zzkrt vreeb gwompf skreel",
            "qwertyuiop asdfghjkl xqzv",
        ):
            for mode in ("hybrid", "semantic"):
                assert db.search(question, element="CONCEPT", mode=mode) == []
        assert db.search("Whose automobile had trouble?", limit=1)[0][1] > 0.2


def test_texts_in_scripts_that_the_model_does_not_know_are_found_by_their_words() -> None:
    with NEW.opened() as db:
        fill(db)
        with db.transaction() as tx:
            tx.put_concept("Place", "箱", {"about": "奶奶在教堂后面养了蜂箱。"})
            tx.put_concept("Place", "Церковь", {"about": "Бабушка держит ульи за церковью."})
        for question, meant in (("蜂箱", "箱"), ("蜂箱 fnord", "箱"), ("где ульи", "Церковь")):
            (best, score), *_ = db.search(question, element="CONCEPT")
            assert getattr(best, "name", "") == meant, question
            assert score > 0.2, question


def test_what_is_stored_gives_the_same_answers_as_what_is_derived_anew(path: Path) -> None:
    with mycel.open(path) as db:
        fill(db)
        first = answers(db)
    with mycel.open(path) as db:
        assert answers(db) == first
        assert db._search_index.get()._unsaved == {}
    with mycel.open(path, readonly=True) as db:
        assert answers(db) == first
    with mycel.open(path) as db:
        db._store._writer.maintain(lambda connection, _: passages.forget(connection), wait=True)
        assert stored(db, "SELECT name FROM sqlite_schema WHERE name LIKE 'recall%'") == []
        assert answers(db) == first


def test_the_next_process_reads_the_corpus_and_derives_only_what_changed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    derived: list[set[int] | None] = []
    with mycel.open(path) as db:
        fill(db)
        first = answers(db)
    made = passage_index.PassageIndex._derived

    def noted(self: passage_index.PassageIndex, reader: Any, numbers: set[int] | None) -> Any:
        derived.append(numbers)
        return made(self, reader, numbers)

    monkeypatch.setattr(passage_index.PassageIndex, "_derived", noted)
    with mycel.open(path) as db:
        assert answers(db) == first
        assert derived == []
        db.write(lambda tx: tx.put_concept("Place", "Graz", {"text": "A city of camels."}))
    with mycel.open(path) as db:
        assert names(db, "camels", mode="semantic")[0] == "Graz"
        assert derived == [{db.get_concept("Place", "Graz").number}]
        db.purge(db.get_concept("Place", "Piet Maas").id, reason="asked for")
    with mycel.open(path) as db:
        assert "Piet Maas" not in names(db, "honey producers")


def test_a_derivation_that_is_cut_short_goes_on_where_it_stopped(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_index, "DERIVED_TOGETHER", 4)
    made, asked = passage_index.PassageIndex._derived, []

    def failing(self: passage_index.PassageIndex, reader: Any, numbers: Any) -> Any:
        asked.append(len(numbers))
        if len(asked) == 3:
            raise MemoryError
        return made(self, reader, numbers)

    monkeypatch.setattr(passage_index.PassageIndex, "_derived", failing)
    with mycel.open(path) as db:
        fill(db)
        with pytest.raises(MemoryError):
            answers(db)
        status = db.embeddings.status()
        assert (status.embedded, status.pending) == (8, len(PLACES) + 6 - 8)
    with mycel.open(path) as db:
        found = answers(db)
    assert sum(asked[3:]) == len(PLACES) + 6 - 8
    with NEW.opened() as db:
        fill(db)
        assert answers(db) == found


def test_portions_that_another_writer_keeps_from_being_stored_are_stored_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_index, "DERIVED_TOGETHER", 4)
    with mycel.open(path) as one, mycel.open(path) as two:
        fill(one)
        with one.transaction() as tx:
            tx.put_concept("Place", "Newtown", {"text": "A desert with camels."})
            first = answers(two)
            assert two.embeddings.status().embedded == 0
        two.search("glacier")
        assert two.embeddings.status().pending == 0
    with mycel.open(path, readonly=True) as db:
        assert names(db, "camel desert", mode="semantic")[0] == "Newtown"
        assert [hits[0][0] for hits in answers(db)] == [hits[0][0] for hits in first]


def test_passages_that_another_thread_drops_from_memory_meanwhile_are_read_from_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mycel.open(path) as db:
        fill(db)
        answers(db)
        recall = db._search_index.get()
        kept = passage_index.PassageColumns(recall._shared())
        # The first look finds them, the next does not.
        looks = iter((kept,))
        looking = property(lambda _: next(looks, None), lambda *_: None)
        monkeypatch.setattr(passage_index.PassageIndex, "_columns", looking, raising=False)
        with db.reading() as reader:
            number = reader.column("SELECT element FROM recall_passage")[0]
            assert [len(each) > 0 for each in recall.pieces(reader, [number])] == [True]


def test_a_graph_that_cannot_be_written_is_searched_without_stored_data(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_index, "DERIVED_TOGETHER", 4)
    with mycel.open(path) as db:
        fill(db)
    with mycel.open(path, readonly=True) as db:
        first = answers(db)
        assert answers(db) == first
        assert db.embeddings.status().embedded == 0
    with mycel.open(path) as db:
        assert answers(db) == first


def test_changes_one_by_one_give_the_same_answers_as_a_corpus_made_anew(path: Path) -> None:
    with mycel.open(path) as db:
        place_type(db)
        for name, text in PLACES.items():
            db.write(lambda tx, name=name, text=text: tx.put_concept("Place", name, {"text": text}))
            answers(db)
        db.write(
            lambda tx: tx.update(
                tx.get_concept("Place", "Graz").id, attributes={"text": "A town on the Mur."}
            )
        )
        answers(db)
        db.write(lambda tx: tx.retire(tx.get_concept("Place", "Mount Corvin").id))
        one_by_one = answers(db)
    with mycel.open(path) as db:
        db._store._writer.maintain(lambda connection, _: passages.forget(connection), wait=True)
        assert answers(db) == one_by_one


@pytest.mark.filterwarnings("error")
def test_a_graph_whose_notes_are_all_gone_is_searched_without_a_warning() -> None:
    known = mycel.Knowledge(mycel.open(), workspace="valley")
    known.add("notes/boats", content="Boats leave every hour.")
    assert known.search("boats that leave")
    known.delete("notes/boats")
    assert not [hit for hit in known.search("boats that leave") if "boats" in hit.uri]


def test_an_event_that_is_no_turn_of_an_episode_is_ranked_like_other_notes() -> None:
    known = mycel.Knowledge(mycel.open(), workspace="valley")
    text = "The ferry stopped at noon, because the engine was too hot."
    for type_name in ("Insight", "Event"):
        known.add(f"{type_name.lower()}s/ferry", name="Ferry stop", content=text, type=type_name)
    hits = known.search("why did the boat not leave after lunch?")
    assert len({round(hit.score, 6) for hit in hits}) == 1
    assert {hit.found.type for hit in hits if isinstance(hit.found, Node)} == {"Insight", "Event"}


def test_an_update_is_found_by_its_new_meaning_and_no_longer_by_the_old() -> None:
    with NEW.opened() as db:
        fill(db)
        assert names(db, "honey producers", mode="semantic")[0] == "Piet Maas"
        maas = db.get_concept("Place", "Piet Maas")
        db.write(
            lambda tx: tx.update(maas.id, attributes={"text": "A pilot of gliders and balloons."})
        )
        assert names(db, "aircraft captain", mode="semantic")[0] == "Piet Maas"
        assert names(db, "honey producers", mode="semantic")[:1] != ["Piet Maas"]
        db.write(lambda tx: tx.retire(maas.id))
        assert "Piet Maas" not in names(db, "aircraft captain")


def test_two_processes_find_what_the_other_wrote_and_never_store_what_is_older(path: Path) -> None:
    with mycel.open(path) as one, mycel.open(path) as two:
        fill(one)
        answers(one)
        answers(two)
        graz = one.get_concept("Place", "Graz")
        one.write(
            lambda tx: tx.update(graz.id, attributes={"text": "A harbour full of sailing ships."})
        )
        with two.reading() as reader:  # It derives from what was there before the next change.
            two._search_index.get().corpus(reader)
            one.write(lambda tx: tx.update(graz.id, attributes={"text": "A desert with camels."}))
            assert names(one, "camel desert", mode="semantic")[0] == "Graz"
        two._search_index.get().save()
        assert names(two, "camel desert", mode="semantic")[0] == "Graz"
        current = stored(one, f"SELECT seq FROM concept WHERE id = {graz.number}")
        assert (
            stored(one, f"SELECT seq FROM recall_passage WHERE element = {graz.number}") == current
        )
    with mycel.open(path) as db:
        assert names(db, "camel desert", mode="semantic")[0] == "Graz"


def test_a_purge_leaves_nothing_derived_behind(path: Path) -> None:
    with mycel.open(path) as db:
        fill(db)
        answers(db)
        maas = db.get_concept("Place", "Piet Maas")
        db.purge(maas.id, reason="asked for")
        for table in ("recall_passage", "recall_vector"):
            assert stored(db, f"SELECT 1 FROM {table} WHERE element = {maas.number}") == []
        assert "Piet Maas" not in names(db, "honey producers")


def test_what_was_derived_before_a_purge_is_not_stored_after_it(path: Path) -> None:
    with mycel.open(path) as one, mycel.open(path) as two:
        fill(one)
        maas = one.get_concept("Place", "Piet Maas")
        with two.reading() as reader:
            two._search_index.get().corpus(reader)
        one.purge(maas.id, reason="asked for")
        two._search_index.get().save()
        for table in ("recall_passage", "recall_vector"):
            assert stored(one, f"SELECT 1 FROM {table} WHERE element = {maas.number}") == []
            assert len(stored(one, f"SELECT 1 FROM {table}")) == len(PLACES) + 5
        assert "Piet Maas" not in names(two, "honey producers")


def test_a_model_that_stores_an_older_state_leaves_newer_passages_of_others(path: Path) -> None:
    with mycel.open(path) as one, mycel.open(path, embedder=Failing([0.6, 0.8])) as two:
        fill(one)
        with two.reading() as reader:
            two._search_index.get().corpus(reader)
        camels = {"text": "A desert with camels."}
        one.write(lambda tx: tx.put_concept("Place", "Newtown", camels))
        assert names(one, "camel desert", mode="semantic")[0] == "Newtown"
        two._search_index.get().save()
        kept = "SELECT 1 FROM recall_passage JOIN concept ON id = element WHERE name = 'Newtown'"
        assert stored(one, kept) == [(1,)]
    with mycel.open(path) as db:
        assert names(db, "camel desert", mode="semantic")[0] == "Newtown"


def test_derived_tables_that_are_damaged_or_lost_are_made_again(path: Path) -> None:
    with mycel.open(path) as db:
        fill(db)
        first = answers(db)
        for damage in (
            "DROP TABLE recall_mark",
            "DROP TABLE recall_passage",
            "DROP TABLE recall_vector",
            "DELETE FROM recall_passage WHERE element % 4 = 0",
            "UPDATE recall_passage SET names = x'010203'",
            "UPDATE recall_passage SET pieces = x'010203'",
            "UPDATE recall_passage SET pieces = x'ffff' WHERE element % 4 = 0",
            "UPDATE recall_passage SET names = x'010203', phrases = x'01' WHERE element % 4 = 0",
            "UPDATE recall_vector SET vector = x'01'",
            "UPDATE recall_vector SET element = element + 1000",
            "DROP TABLE recall_block",
            "DELETE FROM recall_block WHERE block = -1",
            "DELETE FROM recall_block WHERE block >= 0",
            "UPDATE recall_block SET data = substr(data, 1, 100)",
        ):
            change = partial(_execute, damage)
            db._store._writer.maintain(change, wait=True)
            db._search_index.reset()
            assert db.verify().problems == (), damage
            assert answers(db) == first, damage
            assert len(stored(db, "SELECT 1 FROM recall_passage")) == len(PLACES) + 6, damage
        maas = db.get_concept("Place", "Piet Maas")
        derived = f"SELECT 1 FROM recall_passage WHERE element = {maas.number}"
        assert stored(db, derived) == [(1,)]
        db._store._writer.maintain(partial(_execute, "DROP TABLE recall_vector"), wait=True)
        db.purge(maas.id, reason="asked for")
        assert "Piet Maas" not in names(db, "honey producers")
        assert stored(db, derived) == []


def _execute(query: str, connection: apsw.Connection, _: object) -> None:
    connection.execute(query)


def test_a_concept_that_appears_later_is_linked_from_texts_that_mention_it() -> None:
    with NEW.opened() as db:
        place_type(db)
        db.write(
            lambda tx: tx.put_concept(
                "Place", "Alder Mill", {"text": "A water mill, restored by the quiet brothers."}
            )
        )
        assert names(db, "who restored the mill")[0] == "Alder Mill"
        db.write(lambda tx: tx.put_concept("Place", "quiet brothers", {"text": "Two carpenters."}))
        with db.reading() as reader:
            corpus = db._search_index.get().corpus(reader)
        mill = int(corpus.places(corpus.numbers[:1])[0])
        (_, called) = corpus.called(corpus.mentions_of(mill))
        assert db.get_concept("Place", "quiet brothers").number in corpus.numbers[called]


def test_a_hit_that_a_link_speaks_for_says_where_it_is_linked_from() -> None:
    with NEW.opened() as db:
        fill(db)
        db.write(lambda tx: tx.define_predicate("lies_at"))
        mill, river = (db.get_concept("Place", name) for name in ("Alder Mill", "river Lisk"))
        assert mill is not None
        assert river is not None
        db.write(lambda tx: tx.put_proposition(mill.id, "lies_at", river.id))
        reasons = {
            reason
            for question in QUESTIONS
            for hit in db.execute(f'SEARCH CONCEPT "{question}"').value
            for reason in hit["metadata"]["_why"]
        }
        assert "linked" not in reasons
        assert "linked from Alder Mill through lies_at" in reasons


class Failing:
    """An embedder that makes whatever it is told to make."""

    name = "failing"
    dimensions = 2

    def __init__(self, made: object) -> None:
        self.made = made

    def embed(self, texts: Sequence[str]) -> Any:
        if isinstance(self.made, Exception):
            raise self.made
        return [self.made for _ in texts]


def test_an_embedder_that_fails_leaves_an_answer_by_the_shipped_one_and_says_so() -> None:
    made: tuple[object, ...] = (OSError("no route"), [1.0], [float("nan"), 1.0], "vector", None)
    for each in made:
        with mycel.open(embedder=Failing(each)) as db:
            fill(db)
            answer = db.execute('SEARCH CONCEPT "glacier"')
            assert answer.value[0]["name"] == "Mount Corvin"
            assert "failing" in answer.warnings[0]
            assert "uses the embedder inside the package" in answer.warnings[0]
            with pytest.warns(RuntimeWarning, match="embedder inside the package"):
                assert names(db, "ship departures", mode="semantic")[0] == "ferry timetable"
            assert names(db, "glacier", mode="keyword") == ["Mount Corvin"]
            assert db.verify().problems == ()


def test_vectors_of_another_model_are_made_anew_and_those_of_the_first_stay(path: Path) -> None:
    with mycel.open(path) as db:
        fill(db)
        first = answers(db)
    with mycel.open(path, embedder=Failing([0.6, 0.8])) as db:
        assert "Mount Corvin" in names(db, "glacier")
        assert len(stored(db, "SELECT 1 FROM recall_vector WHERE length(vector) = 2")) == 14
    with mycel.open(path) as db:
        assert answers(db) == first


def test_many_pending_elements_are_derived_by_a_thread_while_keywords_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(passage_index, "DERIVED_AT_ONCE_MAX", 3)
    with NEW.opened() as db:
        fill(db)
        answer = db.execute('SEARCH CONCEPT "glacier"')
        assert [hit["name"] for hit in answer.value] == ["Mount Corvin"]
        assert answer.warnings == (
            "Vectors are still being made. This answer goes by names and words alone.",
        )
        thread = db._search_index.get()._thread
        assert thread is not None
        thread.join()
        answer = db.execute('SEARCH CONCEPT "ship departures"')
        assert answer.value[0]["name"] == "ferry timetable"
        assert answer.warnings == ()


def test_questions_that_say_nothing_or_too_much_are_answered() -> None:
    with NEW.opened() as db:
        fill(db)
        for question in (
            "the of and",
            "🦦🦦",
            "\0",
            '" OR NEAR( *',
            "水 mill Мир",
            "mill " * 20_000,
            "?" * 50,
            "a\ud800b",
        ):
            for mode in ("hybrid", "semantic", "keyword"):
                found = db.search(question, mode=mode)
                assert all(0 <= score <= 1 for _, score in found)


KILLED = """
import os, sys
import mycel
from mycel.search.index import passage_index
from mycel.store.index import passages

passage_index.SAVED_TOGETHER_MIN = 1
written = passages.write

def write(*given, **named):
    written(*given, **named)
    os._exit(9)  # All rows and the mark are written, and nothing is committed.

passages.write = write
with mycel.open(sys.argv[1]) as db:
    db.search("automobile trouble")
"""


def test_a_process_that_is_killed_while_it_stores_leaves_nothing_missing_or_stale(
    path: Path,
) -> None:
    with mycel.open(path) as db:
        fill(db)
        first = answers(db)
        graz = db.get_concept("Place", "Graz")
        assert graz is not None
        db.write(lambda tx: tx.update(graz.id, attributes={"text": "A desert with camels."}))
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == 9
    with mycel.open(path) as db:
        assert names(db, "camel desert", mode="semantic")[0] == "Graz"
        assert answers(db) != first
        anew = answers(db)
        db._store._writer.maintain(lambda connection, _: passages.forget(connection), wait=True)
    with mycel.open(path) as db:
        assert answers(db) == anew
        assert db.verify().problems == ()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="There are no forks here.")
def test_a_process_that_is_forked_while_a_thread_derives_searches_on_its_own(path: Path) -> None:
    with mycel.open(path) as db:
        fill(db)
        first = answers(db)
        with db._search_index.get()._lock:
            child = os.fork()
            if not child:
                status = 1
                try:
                    signal.alarm(20)
                    status = 0 if answers(db) == first else 2
                    db.close()
                finally:
                    os._exit(status)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert answers(db) == first
