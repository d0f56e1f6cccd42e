"""A merge into a graph that others write all the time."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import mycel
from mycel.store.write.bulk import ConceptRow


def test_merges_are_committed_while_four_threads_write_without_a_pause(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with mycel.open(path, durability="off", core_capsules=False) as db:
        db.write(lambda tx: tx.define_type("Fact"))
        db.branches.create("draft")
        stop = Event()
        written = [0] * 4

        def write(number: int) -> None:
            while not stop.is_set():
                written[number] += 1
                count = written[number]
                with db.transaction() as tx:
                    tx.put_concept("Fact", f"{number}", {"count": count})

        threads = [Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        try:
            with db.open_branch("draft") as draft:
                for round_ in range(2):
                    rows = [ConceptRow("Fact", f"{round_} {at}", {"x": at}) for at in range(300)]
                    with draft.transaction() as tx:
                        tx.put_concepts(rows)
                    assert db.merge("draft").status == "merged"
                    assert db.get(("Fact", f"{round_} 299")).attributes == {"x": 299}
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        for number, count in enumerate(written):
            assert db.get(("Fact", f"{number}")).attributes == {"count": count}
        assert not db.verify().problems
