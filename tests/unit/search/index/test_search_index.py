"""What a search index leaves behind when the process ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mycel.embedding.vectors import library

PROGRAM = """
import sys, threading
import mycel
from mycel.search.index.passage_index import PassageIndex

close = PassageIndex.close

def told(self):
    close(self)
    print("closed with", [t.name for t in threading.enumerate() if t.name.startswith("mycel-")])

PassageIndex.close = told
db = mycel.open(sys.argv[1])
db.search("anything")
"""

FORGOTTEN = """
import gc, threading
import mycel
from mycel.search.index.passage_index import PassageIndex

deriving = threading.Event()

def derive(self):
    deriving.set()
    while not self._stopped:
        threading.Event().wait(0.001)

PassageIndex._derive_all = derive
db = mycel.open()
db._search_index.get()._start()
assert deriving.wait(30)
del db
gc.collect()
for thread in threading.enumerate():
    if thread.name == "mycel-recall":
        thread.join(30)
        print("ended" if not thread.is_alive() else "still deriving")
"""


@pytest.mark.parametrize(
    ("program", "output"), [(PROGRAM, "closed with []\n"), (FORGOTTEN, "ended\n")]
)
def test_a_program_that_never_closes_its_graph_leaves_no_thread_to_the_end(
    program: str, output: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "graph.db"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout) == (0, output), done.stderr


def test_libraries_of_embedders_send_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    library("json", "notes")
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
