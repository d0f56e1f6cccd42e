"""What a search index leaves behind when the process ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mycel.embedding.vectors import library

PROGRAM = """
import sys, threading, time
import mycel
from mycel.search.index.search_index import SearchIndex

close = SearchIndex.close

def told(self):
    close(self)
    print("closed with", [t.name for t in threading.enumerate() if t.name.startswith("mycel-")])

SearchIndex.close = told
db = mycel.open(sys.argv[1])
db.search("anything")
"""


def test_a_program_that_never_closes_its_graph_leaves_no_thread_to_the_end(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "graph.db"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout) == (0, "closed with []\n"), done.stderr


def test_libraries_of_embedders_send_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    library("json", "notes")
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
