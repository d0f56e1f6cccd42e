"""Another embedder for a graph: chosen once for every door, made in the background, and failing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha512
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

import pytest

import mycel
from mycel.embedding import endpoint, guard, static
from mycel.embedding.calibration import (
    SHIPPED,
    WEIGHT_MAX,
    WEIGHT_MIN,
    calibration_of,
    pairs,
)
from mycel.embedding.guard import GuardedEmbedder
from mycel.errors import ConstraintViolation, EmbedderFailed, InvalidValueType
from mycel.search.index import passage_index
from mycel.search.index.setting import SUFFIX
from mycel.store.index.passages import keep_vectors
from tests.prepared import NEW
from tests.unit.embedding.server import Server, serving
from tests.unit.search.valley import fill, names

INSIDE = "This answer uses the embedder inside the package."
CONCEPTS = 14


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(endpoint, "PAUSE_S", 0.001)
    monkeypatch.setattr(guard, "RETRY_S", 0)
    with serving() as server:
        yield server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "valley.db"


def vectors(db: mycel.Graph) -> int:
    with db.reading() as reader:
        (count,) = reader.fetch_one("SELECT count(*) FROM recall_vector")
    return count


def test_a_chosen_embedder_is_used_by_every_process_and_is_no_knowledge(
    server: Server, path: Path
) -> None:
    told: list[tuple[int, int]] = []
    with mycel.open(path) as db, mycel.open(path) as running:
        fill(db)
        names(running, "mill")
        before = db.snapshot()
        status = db.embeddings.use(server.address, report=lambda *done: told.append(done))
        assert status == (server.address, server.address, 5, CONCEPTS, 0, 5 * CONCEPTS, None)
        assert told[-1] == (CONCEPTS, CONCEPTS)
        assert db.snapshot() == before
        assert db.verify(replay=True).problems == ()
        asked = len(server.requests)
        assert names(running, "bee keeping", mode="semantic")[0] == "Piet Maas"
        assert len(server.requests) == asked + 2, "one for the dimensions, one for the question"
    assert Path(f"{path}{SUFFIX}").read_text() == f"{server.address}\n"
    with mycel.open(path) as db:
        assert db.embeddings.status().embedder == server.address
        result = db.execute('SEARCH CONCEPT "bee keeping" MODE "semantic"')
        assert (result.value[0]["name"], result.warnings) == ("Piet Maas", ())
        assert db.embeddings.use("static").embedder == "static"
        assert not Path(f"{path}{SUFFIX}").exists()
        assert vectors(db) == CONCEPTS, "those of the other model are gone"
    assert asked + 4 == len(server.requests), "all vectors were stored"


def test_what_is_written_later_is_embedded_by_the_next_search(server: Server, path: Path) -> None:
    with mycel.open(path) as db:
        fill(db)
        db.embeddings.use(server.address)
        db.write(lambda tx: tx.put_concept("Place", "hive", {"text": "A bee on ice"}))
        assert db.embeddings.status().pending == 1
        assert names(db, "ice for a bee", mode="semantic")[0] == "hive"
        hive = db.get_concept("Place", "hive")
        db.write(lambda tx: tx.update(hive.id, attributes={"text": "a car park"}))
        assert names(db, "car", mode="semantic")[:1] == ["hive"]
        assert names(db, "bee", mode="semantic")[:1] == ["Piet Maas"]


def test_an_embedder_that_does_not_work_is_not_chosen(server: Server, path: Path) -> None:
    with mycel.open(path) as db:
        fill(db)
        server.always = (500, b"", {})
        with pytest.raises(EmbedderFailed, match="answered 500"):
            db.embeddings.use(server.address)
        with pytest.raises(InvalidValueType, match="no embedder called"):
            db.embeddings.use("potion")
        assert db.embeddings.status().embedder == "static"
    with (
        mycel.open(path, embedder="static") as db,
        pytest.raises(ConstraintViolation, match="opened with an embedder"),
    ):
        db.embeddings.use("static")


def test_a_server_that_fails_leaves_right_answers_with_a_warning_until_it_works(
    server: Server, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorter = b'{"data": [{"index": 0, "embedding": [1, 2]}]}'
    nan = b'{"data": [{"index": 0, "embedding": [NaN, 1, 1, 1, 1]}]}'
    with mycel.open(path) as db:
        fill(db)
        db.embeddings.use(server.address)
        for plan, said in (
            ((429, b"", {}), "answered 429"),
            ((500, b"", {}), "answered 500"),
            ((200, b"garbage", {}), "did not answer with one vector"),
            ((200, shorter, {}), "did not make 1 vectors of 5 numbers"),
            ((200, nan, {}), "not finite"),
            ("hang", "did not answer within 0.1 seconds"),
        ):
            server.always = plan
            with monkeypatch.context() as patched:
                patched.setattr(passage_index, "QUESTION_S", 0.1 if plan == "hang" else 60)
                result = db.execute('SEARCH CONCEPT "glacier"')
            assert result.value[0]["name"] == "Mount Corvin"
            assert len(result.warnings) == 1
            assert said in result.warnings[0]
            assert INSIDE in result.warnings[0]
        server.always = None
        server.ended.set()
        result = db.execute('SEARCH CONCEPT "bee keeping" MODE "semantic"')
        assert (result.value[0]["name"], result.warnings) == ("Piet Maas", ())
        assert db.verify().problems == ()


def test_many_texts_are_embedded_in_the_background_while_the_shipped_model_answers(
    server: Server, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_index, "EMBEDDED_AT_ONCE_MAX", 4)
    with mycel.open(path) as db:
        fill(db)
        Path(f"{path}{SUFFIX}").write_text(server.address)
        result = db.execute('SEARCH CONCEPT "ship departures"')
        assert result.value[0]["name"] == "ferry timetable"
        assert result.warnings == (f"Vectors are being made. {INSIDE}",)
        thread = db._search_index.get()._thread
        assert thread is not None
        thread.join()
        assert max(len(each["input"]) for each in server.requests) == 4
        result = db.execute('SEARCH CONCEPT "bee keeping" MODE "semantic"')
        assert (result.value[0]["name"], result.warnings) == ("Piet Maas", ())
        assert db.embeddings.status().pending == 0


def test_embedding_that_was_cut_short_goes_on_where_it_stopped(
    server: Server, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_index, "EMBEDDED_AT_ONCE_MAX", 4)
    with mycel.open(path) as db:
        fill(db)
        server.planned = [None, None, None, (400, b"", {})]
        with pytest.raises(EmbedderFailed, match="answered 400"):
            db.embeddings.use(server.address)
        assert db.embeddings.status().embedded == 8
        Path(f"{path}{SUFFIX}").write_text(server.address)
        server.requests.clear()
        assert db.embeddings.use(server.address).pending == 0
        sent = sum(len(each["input"]) for each in server.requests)
        trials = 1 + 2 * len(pairs()[0])
        assert sent == CONCEPTS - 8 + trials, "those that were missing, and the trials"
        server.requests.clear()
        assert db.embeddings.rebuild().pending == 0
        sent = sum(len(each["input"]) for each in server.requests)
        assert sent == CONCEPTS + trials - 1, "everything is made and measured anew"


def test_vectors_of_what_has_changed_or_gone_meanwhile_are_not_stored(path: Path) -> None:
    with mycel.open(path) as db:
        fill(db)
        maas, graz = db.get_concept("Place", "Piet Maas"), db.get_concept("Place", "Graz")
        with db.reading() as reader:
            seqs = dict(reader.fetch_all("SELECT id, seq FROM concept"))
        made = [(each.number, seqs[each.number], b"\1\2") for each in (maas, graz)]
        db.purge(maas.id, reason="asked for")
        db.write(lambda tx: tx.update(graz.id, attributes={"text": "a town"}))
        db._store.maintain(keep_vectors, "a model", made)
        assert vectors(db) == 0


def test_a_choice_that_nothing_can_be_made_of_is_told_with_every_answer(path: Path) -> None:
    with mycel.open(path) as db:
        fill(db)
        for choice, said in (
            ("potion", "no embedder called 'potion'"),
            ("onnx:/nowhere", "no sentence model in '/nowhere'"),
            ("\0\ufffd" * 3000, "no embedder called"),
        ):
            Path(f"{path}{SUFFIX}").write_text(choice)
            result = db.execute('SEARCH CONCEPT "ship departures"')
            assert result.value[0]["name"] == "ferry timetable"
            assert said in result.warnings[0]
            assert said in str(db.embeddings.status().error)
        Path(f"{path}{SUFFIX}").write_text("")
        assert db.execute('SEARCH CONCEPT "ship departures"').warnings == ()


class Hanging:
    """An embedder that never answers."""

    name, dimensions = "hanging", 2

    def __init__(self) -> None:
        self.never = Event()

    def embed(self, texts: Sequence[str]) -> Any:
        self.never.wait()


def test_an_embedder_that_hangs_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_index, "SEARCH_S", 0.05)
    hanging = Hanging()
    with mycel.open(embedder=hanging) as db:
        fill(db)
        for _ in range(2):  # The second finds the first call still running.
            result = db.execute('SEARCH CONCEPT "ship departures"')
            assert result.value[0]["name"] == "ferry timetable"
            assert "did not answer within 0.05 seconds" in result.warnings[0]
    hanging.never.set()


def test_whoever_waits_for_a_hanging_embedder_goes_on_when_it_is_stopped() -> None:
    hanging = Hanging()
    guarded = GuardedEmbedder(hanging)
    with pytest.raises(EmbedderFailed, match="did not answer within"):
        guarded.embed(["a text"], 0.01)
    failures: SimpleQueue[str] = SimpleQueue()

    def wait() -> None:
        with pytest.raises(EmbedderFailed) as failed:
            guarded.embed(["another text"], 60, patient=True)
        failures.put(failed.value.message)

    waiting = Thread(target=wait)
    waiting.start()
    guarded.stop()
    assert failures.get(timeout=30) == "The graph was closed."
    waiting.join()
    hanging.never.set()


def test_weights_that_are_damaged_leave_an_answer_by_keywords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = tmp_path / "weights.bin"
    content = static._FILE.read_bytes()
    monkeypatch.setattr(static, "_FILE", damaged)
    newer = content[:4] + b"\x02\x00" + content[6:]
    for each in (content[: len(content) // 2], newer, b"", None):
        damaged.unlink(missing_ok=True)
        if each is not None:
            damaged.write_bytes(each)
        static.shipped_model.cache_clear()
        with NEW.opened() as db:
            fill(db)
            result = db.execute('SEARCH CONCEPT "glacier"')
            assert [hit["name"] for hit in result.value] == ["Mount Corvin"]
            assert "by names and words alone" in result.warnings[0]
            assert db.verify().problems == ()
    static.shipped_model.cache_clear()


class Knowing:
    """An embedder that knows which question of the calibration asks for which text."""

    name, dimensions = "knowing", 64

    def __init__(self, clearly: bool) -> None:
        self.clearly = clearly

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        known = [*pairs()[0], *pairs()[1]]
        vectors = []
        for text in texts:
            place = known.index(text) % 50 if text in known else 50 + ("bee" in text.lower())
            vectors.append([float(at == place) + 0.1 * (at % 7) for at in range(64)])
            if not self.clearly:
                vectors[-1] = [hash_ / 255 for hash_ in sha512(text.encode()).digest()]
        return vectors


def test_an_embedder_weighs_by_how_clearly_it_tells_answers_from_other_texts() -> None:
    weights = []
    for clearly in (True, False):
        with mycel.open(embedder=Knowing(clearly)) as db:
            fill(db)
            names(db, "what of bees?")
            with db.reading() as reader:
                measured = db._search_index.get().calibration(reader)
                stored = reader.fetch_one("SELECT other, answer, separation FROM recall_model")
            assert stored == measured
            weights.append(measured.weight)
    assert weights[0] == WEIGHT_MAX
    assert weights[1] == WEIGHT_MIN


def test_the_calibration_of_the_shipped_model_is_what_is_measured() -> None:
    model = static.shipped_model()
    measured = calibration_of(*(model.embed(each) for each in pairs()))
    assert measured == pytest.approx(SHIPPED, abs=0.005)
