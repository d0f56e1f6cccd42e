"""Files that were damaged while closed: bits that turned, ends that are missing.

Whatever the damage, either opening fails with a clear error, or `verify` reports it, or nothing of
the content has changed (free pages, unused space).
"""

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import apsw
import pytest

import mycel
from mycel.errors import DatabaseCorrupt, MycelError
from tests.stored_bytes import stored_bytes
from tests.unit.store import shapes
from tests.unit.store.given import dump, raw, text_answers

FLIPS = 50


@pytest.fixture(scope="module", params=["folded", "purged"])
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / f"{request.param}.db"
    shapes.build(request.param, path)
    return path


def content(path: Path) -> object:
    """All rows but those of the text index, and what that answers."""
    rows = {table: rows for table, rows in dump(path).items() if not table.startswith("text_")}
    return rows, text_answers(path)


def outcome(path: Path) -> str:
    """What Mycel makes of a file: it cannot be opened, is reported as damaged, or passes."""
    try:
        db = mycel.open(path, create=False, durability="off")
    except MycelError as error:
        return "refused" if (error.code, bool(error.hint)) == ("KIP_4003", True) else "unclear"
    with db:
        try:
            report = db.verify()
        except Exception as error:  # noqa: BLE001 - that nothing is raised is what is tested
            return f"raised {error!r}"
        return "passed" if report.ok else "reported"


def assert_found_or_harmless(path: Path, expected: object, where: str) -> str:
    """The outcome, which must be one that tells no lies."""
    came = outcome(path)
    assert came in ("refused", "reported", "passed"), f"{where}: {came}"
    if came == "passed":
        assert same_content(path, expected), f"{where}: passed, but something has changed"
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    return came


def places(sound: Path, count: int, random: Random) -> list[int]:
    """Offsets in the file, most of them where it is not empty."""
    content = sound.read_bytes()
    filled = [offset for offset, byte in enumerate(content) if byte]
    return [
        random.choice(filled) if random.random() < 0.8 else random.randrange(len(content))
        for _ in range(count)
    ]


def same_content(path: Path, expected: object) -> bool:
    try:
        return content(path) == expected
    except apsw.Error:
        return False


def check_flips(sound: Path, path: Path, offsets: list[int], random: Random) -> None:
    original, expected = sound.read_bytes(), content(sound)
    outcomes: dict[str, int] = {}
    for offset in offsets:
        damaged = bytearray(original)
        damaged[offset] ^= 1 << random.randrange(8)
        path.write_bytes(damaged)
        came = assert_found_or_harmless(path, expected, f"byte {offset} of {len(original)}")
        outcomes[came] = outcomes.get(came, 0) + 1
    assert outcomes["reported"] > len(offsets) / 3, outcomes


def test_a_turned_bit_anywhere_in_the_file_is_found_or_harmless(sound: Path, path: Path) -> None:
    random = Random(f"flips/{sound.name}")
    check_flips(sound, path, places(sound, FLIPS, random), random)


def check_head(sound: Path, path: Path, offsets: Iterable[int], random: Random) -> None:
    original, expected = sound.read_bytes(), content(sound)
    for offset in offsets:
        damaged = bytearray(original)
        damaged[offset] ^= 1 << random.randrange(8)
        path.write_bytes(damaged)
        assert_found_or_harmless(path, expected, f"byte {offset}")


def test_a_turned_bit_in_the_header_and_the_schema_is_found_or_harmless(
    sound: Path, path: Path
) -> None:
    random = Random(f"header/{sound.name}")
    check_head(sound, path, random.sample(range(100), 8), random)
    check_head(sound, path, random.sample(range(100, 4096), 8), random)


@pytest.mark.soak
def test_any_turned_bit_in_the_header_and_the_schema_is_found_or_harmless(
    sound: Path, path: Path, seed: int
) -> None:
    random = Random(f"header/{sound.name}/{seed}")
    check_head(sound, path, range(100), random)
    check_head(sound, path, random.sample(range(100, 4096), 500), random)


@pytest.mark.soak
def test_many_turned_bits_are_found_or_harmless(sound: Path, path: Path, seed: int) -> None:
    random = Random(f"soak/{sound.name}/{seed}")
    check_flips(sound, path, places(sound, 5_000, random), random)


def test_a_file_that_was_cut_short_is_found(sound: Path, path: Path) -> None:
    original, random = sound.read_bytes(), Random(4)
    pages = len(original) // 4096
    lengths = [1, 50, 99, 100, 511, 4095, 4096, 8192, (pages // 2) * 4096, (pages - 1) * 4096]
    lengths += [random.randrange(1, len(original)) for _ in range(15)]
    for length in lengths:
        path.write_bytes(original[:length])
        assert outcome(path) in ("refused", "reported"), length
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)


def test_a_page_of_zeros_or_of_noise_is_found_or_harmless(sound: Path, path: Path) -> None:
    original, random, expected = sound.read_bytes(), Random(5), content(sound)
    for page in range(len(original) // 4096):
        damaged = bytearray(original)
        damaged[page * 4096 : (page + 1) * 4096] = (
            random.randbytes(4096) if page % 2 else bytes(4096)
        )
        path.write_bytes(damaged)
        if path.read_bytes() == original:
            continue
        assert_found_or_harmless(path, expected, f"page {page}")


def test_pages_that_changed_places_are_found(sound: Path, path: Path) -> None:
    original, random, expected = sound.read_bytes(), Random(6), content(sound)
    pages = len(original) // 4096
    for _ in range(12):
        one, other = random.sample(range(1, pages), 2)
        damaged = bytearray(original)
        first = damaged[one * 4096 : (one + 1) * 4096]
        damaged[one * 4096 : (one + 1) * 4096] = damaged[other * 4096 : (other + 1) * 4096]
        damaged[other * 4096 : (other + 1) * 4096] = first
        path.write_bytes(damaged)
        assert_found_or_harmless(path, expected, f"pages {one} and {other}")


def test_a_damaged_write_ahead_log_loses_only_its_end(path: Path, tmp_path: Path) -> None:
    """SQLite drops a log's frames from the first damaged one on: what is left is an older state."""
    with mycel.open(path, durability="full") as db:
        seqs = [db.snapshot().entries]
        with db.transaction() as tx:
            tx.define_type("T")
        seqs.append(db.snapshot().entries)
        for n in range(5):
            db.write(lambda tx, n=n: tx.put_concept("T", f"n{n}"))
            seqs.append(db.snapshot().entries)
        image, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    random, found = Random(7), set()
    for n in range(20):
        copy = tmp_path / f"copy{n}.db"
        damaged = bytearray(log)
        damaged[random.randrange(len(log))] ^= 1 << random.randrange(8)
        copy.write_bytes(image)
        Path(f"{copy}-wal").write_bytes(damaged)
        try:
            db = mycel.open(copy, create=False)
        except MycelError:
            found.add(None)
            continue
        with db:
            assert db.verify(replay=True).ok
            assert db.snapshot().entries in seqs
            found.add(db.snapshot().entries)
    assert len(found) > 2, "the damage was in different places"


def test_reading_a_damaged_graph_gives_clear_errors_or_answers(sound: Path, path: Path) -> None:
    """Nothing of SQLite's or Python's own comes out of the API, however broken the file is."""
    with raw(sound) as connection:
        ids = [f"C:{n}" for (n,) in connection.execute("SELECT id FROM concept LIMIT 8 OFFSET 17")]
    original, random = sound.read_bytes(), Random(8)
    refused = 0
    for _ in range(20):
        damaged = bytearray(original)
        for _ in range(6):
            page = random.randrange(1, len(original) // 4096) * 4096
            damaged[page : page + 64] = random.randbytes(64)
        path.write_bytes(damaged)
        try:
            with mycel.open(path, durability="off") as db:
                for ask in (
                    lambda db=db: [db.get(each) for each in ids],
                    lambda db=db: [list(db.edges_out(each)) for each in ids],
                    lambda db=db: [db.find(each, mycel.Follow(max_hops=3)) for each in ids],
                    lambda db=db: [db.history.versions(each) for each in ids],
                    lambda db=db: list(db.history.log()),
                    lambda db=db: db.prove(ids[0]),
                    lambda db=db: db.prove_entry(3),
                    lambda db=db: db.search("words step"),
                    lambda db=db: db.add_edge(ids[0], "references", ids[1]),
                    lambda db=db: db.write(lambda tx: tx.retire(ids[2])),
                ):
                    try:
                        ask()
                    except MycelError:
                        refused += 1
        except MycelError:
            refused += 1
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    assert refused > 10


def test_the_files_used_here_are_closed_and_sound(sound: Path, path: Path) -> None:
    assert not Path(f"{os.fspath(sound)}-wal").exists()
    shutil.copyfile(sound, path)
    assert outcome(path) == "passed"
    assert stored_bytes(path) == stored_bytes(sound)


@pytest.mark.parametrize(
    "damaged",
    [lambda leaves: leaves[::-1], lambda leaves: [leaves[0]] * len(leaves)],
    ids=["out of order", "one key again and again"],
)
def test_who_writes_to_a_damaged_tree_or_proves_with_it_is_told(
    path: Path, damaged: Callable[[list[bytes]], list[bytes]]
) -> None:
    with mycel.open(path, core_capsules=False) as db:
        db.write(lambda tx: tx.define_type("Fact"))
        db.search("fact")  # Folds.
    with raw(path) as connection:
        body = connection.execute("SELECT body FROM concept_tree WHERE page = 1").get
        leaves = [body[at : at + 64] for at in range(1, len(body), 64)]
        connection.execute(
            "UPDATE concept_tree SET body = ? WHERE page = 1",
            (body[:1] + b"".join(damaged(leaves)),),
        )
    with mycel.open(path, core_capsules=False) as db:
        with pytest.raises(DatabaseCorrupt, match="concepts tree"):
            db.write(lambda tx: tx.put_concept("Fact", "one"))
        with pytest.raises(DatabaseCorrupt, match="concepts tree"):
            db.prove(("Fact", "one"))
        assert not db.verify().ok
