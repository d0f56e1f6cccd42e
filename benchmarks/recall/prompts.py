"""False alarms of the prompt hook: `python -m benchmarks.recall.prompts`.

Facts are asked for in their own words, and notes about a code base in other words. False alarms are
notes shown for requests that are about nothing in the graph: everyday requests, and questions about
the other code bases, which share much of the vocabulary.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mycel
from mycel.hooks.prompt_notes import notes_for
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.node_values import NewNode

HERE = Path(__file__).parent
REQUESTS = """\
continue
yes please
fix the failing tests
can you write a haiku about spring
run the linter and fix everything
commit this with a good message
what time is it in Tokyo
thanks, looks good
rename the variable to something clearer
explain this regular expression to me
make the button blue
add a docstring to that function
why does this not compile
open a pull request
undo the last change
write unit tests for the new class
translate this paragraph into French
what is the capital of Peru
please refactor this into smaller functions
delete the unused imports
show me the diff
how do I exit vim
now do the same for the other file
print the first ten primes
the page looks broken on mobile
go ahead
use a dataclass instead
can you make it faster
what does this error mean: segmentation fault
summarize the meeting notes in three bullets
bump the version and tag a release
set up a docker compose with redis and postgres
convert this script from bash to python
why is my laptop fan so loud
draft an email to the landlord about the heating
install the dependencies
is there a simpler way to write this loop
generate a random password
what's the weather like tomorrow
check whether the server is running on port 8080
"""


def main() -> None:
    """Print the share of prompts for which a note is shown."""
    facts = [line.split("\t") for line in (HERE / "facts.tsv").read_text("utf-8").splitlines()]
    notes = {path.stem: _notes(path) for path in sorted((HERE / "notes").glob("*.jsonl"))}
    requests = REQUESTS.splitlines()
    shares: dict[str, list[bool]] = {}
    with mycel.open() as db:
        known = Knowledge(db, workspace="facts")
        known.remember(
            NewNode(f"{n}", name, text, "Note") for n, (name, text, *_) in enumerate(facts)
        )
        for number, (_, _, own_words, other_words) in enumerate(facts):
            for label, question in (("own words", own_words), ("other words", other_words)):
                shown = notes_for(known, question, ()).uris
                hit = f"concept://facts/{number}" in shown
                shares.setdefault(f"facts in {label}, shown", []).append(hit)
        shares["everyday requests, false alarms"] = [bool(_shown(known, r)) for r in requests]
    for name, rows in notes.items():
        with mycel.open() as db:
            known = Knowledge(db, workspace="notes")
            known.remember(NewNode(r["id"], r["name"], r["text"], r["type"]) for r in rows)
            for row in rows:
                hit = f"concept://notes/{row['id']}" in _shown(known, row["question"])
                shares.setdefault("notes in other words, shown", []).append(hit)
            others = [row["question"] for other in notes if other != name for row in notes[other]]
            foreign = [bool(_shown(known, question)) for question in others]
            shares.setdefault("questions about other code, false alarms", []).extend(foreign)
            shares["everyday requests, false alarms"] += [bool(_shown(known, r)) for r in requests]
    for label, hits in shares.items():
        print(f"{label:45} {sum(hits) / len(hits):6.1%} of {len(hits)}")


def _shown(known: Knowledge, prompt: str) -> tuple[str, ...]:
    return notes_for(known, prompt, ()).uris


def _notes(path: Path) -> list[dict[str, Any]]:
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return [row for row in rows if row["set"] == "notes"]


if __name__ == "__main__":
    main()
