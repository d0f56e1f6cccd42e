from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mycel.errors import ResourceExhausted
from mycel.knowledge.source_files import reader_pool
from mycel.knowledge.source_files.reader_pool import ReaderPool

BYTES_MAX = 1 << 20


def lines_of(piece: str, size: int) -> str:
    """A repetition in lines of some 100 characters: longer ones would count as minified."""
    line = piece * (1 + 100 // len(piece)) + "\n"
    return (line * (1 + size // len(line)))[:size]


MINUTES = lines_of("*", 300_000)
"""C that takes tree-sitter minutes."""
GIGABYTES = lines_of("a(", 1_000_000)
"""C that takes tree-sitter 2 GB."""


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[ReaderPool]:
    with closing(ReaderPool(tmp_path, bytes_max=BYTES_MAX)) as pool:
        yield pool


def write(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        (folder / name).write_text(text)
    return list(files)


def test_a_file_that_takes_minutes_or_gigabytes_costs_its_symbols_alone(
    tmp_path: Path, pool: ReaderPool
) -> None:
    paths = write(
        tmp_path,
        {
            "a.py": "def a(): ...\n",
            "minutes.c": MINUTES,
            "b.py": "def b(): ...\n",
            "gigabytes.c": GIGABYTES,
            "c.py": "def c(): ...\n",
        },
    )
    reads = list(pool.read(paths))
    assert [read.path for read in reads] == paths
    facts = [read.facts for read in reads if read.facts is not None]
    assert [symbol.name for each in facts for symbol in each.symbols] == ["a", "b", "c"]
    assert facts[1].note == "reading it takes more than 2 seconds: not analysed"
    assert "160 MiB" in facts[3].note
    assert [(read.size, read.line_count, read.file_type) for read in reads[1:4:2]] == [
        (len(text), text.count("\n") + (not text.endswith("\n")), "c")
        for text in (MINUTES, GIGABYTES)
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_syntax_trees_of_many_files_do_not_add_up(tmp_path: Path, pool: ReaderPool) -> None:
    text = "".join(f"def f{n}():\n    a.b{n}()\n" for n in range(5_000))
    paths = write(tmp_path, {f"f{n}.py": text for n in range(12)})
    reads = list(pool.read(paths))
    assert [read.facts.note for read in reads if read.facts is not None] == [""] * 12
    process = pool._readers[0]._process
    assert process is not None
    status = Path(f"/proc/{process.pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 80_000


def test_a_process_that_dies_is_replaced_and_every_other_file_is_read(
    tmp_path: Path, pool: ReaderPool
) -> None:
    # Enough that some wait in the pipe when it dies.
    paths = write(tmp_path, {f"f{n:03}.py": f"def f{n}(): ...\n" for n in range(300)})
    reading = pool.read(paths)
    found = [next(reading)]
    process = pool._readers[0]._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    found += reading
    assert [read.path for read in found] == paths
    lost = [read.path for read in found if read.facts is None or not read.facts.symbols]
    assert len(lost) <= 1


def test_several_processes_give_the_results_of_one(tmp_path: Path, pool: ReaderPool) -> None:
    paths = write(tmp_path, {f"f{n:03}.py": f"def f{n}(): ...\n" for n in range(250)})
    with closing(ReaderPool(tmp_path, bytes_max=BYTES_MAX, jobs=3)) as several:
        assert list(several.read(paths)) == list(pool.read(paths))
        assert len(several._readers) == 3


def test_a_reading_that_was_left_in_the_middle_does_not_disturb_the_next(
    tmp_path: Path, pool: ReaderPool
) -> None:
    paths = write(tmp_path, {f"f{n}.md": f"[a](b{n}.md)\n" for n in range(9)})
    assert next(pool.read(paths)).path == "f0.md"
    assert [read.path for read in pool.read(paths[5:])] == paths[5:]


def test_names_reach_the_process_whole(tmp_path: Path, pool: ReaderPool) -> None:
    names = ["a\nb.md", 'quote".md', "ü \u2028.md", "x" * 200 + ".md", "-c.md"]
    assert [read.line_count for read in pool.read(write(tmp_path, dict.fromkeys(names, "x")))] == [
        1 for _ in names
    ]
    many = [f"{'d' * 200}{n}" for n in range(400)]  # More than a pipe holds.
    assert {read.problem for read in pool.read(many)} == {"no such file or directory"}


def test_a_python_that_cannot_be_started_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in ("/nowhere/python", "/bin/false"):
        monkeypatch.setattr(reader_pool.sys, "executable", program)
        pool = ReaderPool(tmp_path, bytes_max=BYTES_MAX)
        with pytest.raises(ResourceExhausted, match="cannot be started"):
            list(pool.read(["a.py"]))


REPETITIONS = {
    "c": ["*", "&", "(", "{", "[", "<", "a(", "a*", "#if\n", '"', "'", "/*", "\\", "a,", "(a)",
          "a;", "if(a)", "else ", "a=", "!", "struct a{", "int a(){", "a?a:", "a->", "\n"],
    "cpp": ["A<", "*", "(", "{", "a::", "template<", "a<b>", "[](){", "operator", "~", "A<(", "::"],
    "rs": ["&", "*", "(", "{", "<", "a::", "|", "#[", "r#", "fn a(){", "impl a{", "a!(", "/*"],
    "go": ["*", "(", "{", "[", "<-", "func(", "`", "[]", "map[", "func a(){", "/*"],
    "java": ["(", "{", "<", "a<", "@a ", "@a(", "class a{", "->", '"', "?", "new a(", "a[]"],
    "py": ["(", "{", "[", "a(", "a.", "def a():\n ", "lambda:", "not ", "~", '"""', "@a\n", "f'{"],
    "js": ["(", "{", "[", "=>", "`${", "/a", "<a>", "!", "new ", "class a{", "a?a:", ",", "..."],
    "ts": ["A<", "<", "a|", "keyof ", "a extends b?", "()=>", "as a ", "enum a{", "function a<"],
    "tsx": ["<a", "<a>", "{", "<>"],
    "md": ["> ", "- ", "`", "[", "![", "](", "[a](", "[a]: <", "<http:", "(", "\\", "* > ", "1. ",
           "~~~\n", "|", "[a][", "](<", "[[", "- > 1. ", "\t", "http://"],
    "toml": ["[a]\n", "[[a]]\n", "a=", "{", "[", "a.b.c.d=1\n", '"', "'''", "a={a=", "a=[\n"],
    "json": ["{", "[", '"', "/*", "//", ",", ",\n", "\\", '{"a":', " "],
    "mod": ["module ", "module \n", 'module "', "//"],
}  # fmt: skip
"""Pieces of each language that nest, open something, or fit several rules."""


def hostile(tmp_path: Path, size: int) -> list[str]:
    names = {"toml": "Cargo.toml", "json": "tsconfig.json", "mod": "go.mod"}
    paths = []
    for ending, pieces in REPETITIONS.items():
        for at, piece in enumerate(pieces):
            folder = tmp_path / f"{ending}{at}"
            folder.mkdir()
            file = folder / names.get(ending, f"a.{ending}")
            file.write_text(lines_of(piece, size))
            paths.append(str(file.relative_to(tmp_path)))
    return paths


def test_hostile_repetitions_are_read_or_noted(tmp_path: Path, pool: ReaderPool) -> None:
    for read in pool.read(hostile(tmp_path, 2_000)):
        assert not read.problem, read.path
        assert read.facts is not None, read.path


@pytest.mark.soak
def test_a_megabyte_of_every_hostile_repetition_is_read_or_noted(tmp_path: Path) -> None:
    with closing(ReaderPool(tmp_path, bytes_max=BYTES_MAX, jobs=2)) as pool:
        for read in pool.read(hostile(tmp_path, 1_000_000)):
            assert not read.problem, read.path
