"""The words that the editor of the explorer colours and completes are those of the parser."""

import re
from pathlib import Path

from mycel.kip.keywords import KEYWORDS

WORDS = Path(__file__).parents[3] / "web" / "src" / "kip" / "words.ts"


def test_the_editor_completes_exactly_the_words_of_the_language() -> None:
    lists = re.findall(r"= words\(['`](.*?)['`]\)", WORDS.read_text("utf-8"), re.DOTALL)
    offered = [word for each in lists for word in each.split()]
    assert len(lists) == 3
    assert len(offered) == len(set(offered))
    assert set(offered) == KEYWORDS
