"""Source lines of symbols in files with characters that look like ends of lines."""

from pathlib import Path

import mycel
from mycel.explorer.explorer import Explorer
from mycel.knowledge.bootstrap import bootstrap
from mycel.knowledge.references import find_references
from mycel.mcp.source_lines import span_of, text_of
from tests.prepared import NEW

SOURCE = (
    'MARKS = "\u2028 \u2029 \x85 \x1c"\r\n\f\r\n\v\r\ndef price(item):\r\n    return item.price\r\n'
    "\f\r\ndef total(items):\r\n    return sum(price(item) for item in items)\r\n"
)


def test_stored_line_numbers_mean_the_same_lines_through_every_door(tmp_path: Path) -> None:
    (tmp_path / "cart.py").write_bytes(SOURCE.encode())
    with NEW.opened() as db:
        knowledge = mycel.Knowledge(db, workspace="w", root=tmp_path)
        bootstrap(knowledge)
        uri = "concept://w/cart.py/price"
        lines = ["def price(item):", "    return item.price"]
        explorer = Explorer(db, knowledge)
        told = explorer.view("source", {"id": uri})
        assert (told["line"], told["lines"], told["text"].split("\n")) == (4, 8, lines)
        head = explorer.view("source", {"id": "file://w/cart.py"})
        assert (head["lines"], head["text"].split("\n")[3:5]) == (8, lines)
        node = knowledge.get(uri)
        span = span_of(node)
        assert span is not None
        assert text_of(knowledge, node, span).split("\n")[1:] == lines
        with db.reading() as reader:
            references = find_references(reader, knowledge, knowledge.uri(uri))
        (user,) = references.symbols[0].users
        (used,) = user.lines
        assert used == (8, "    return sum(price(item) for item in items)")
