"""Lists of words that the page of the explorer repeats are those of the package."""

import re
from pathlib import Path

from mycel.kip.keywords import KEYWORDS
from mycel.schema.merge_policies import GENERAL_WORDS

WEB = Path(__file__).parents[3] / "web" / "src"


def test_the_editor_completes_exactly_the_words_of_the_language() -> None:
    text = (WEB / "kip" / "words.ts").read_text("utf-8")
    lists = re.findall(r"= words\(['`](.*?)['`]\)", text, re.DOTALL)
    offered = [word for each in lists for word in each.split()]
    assert len(lists) == 3
    assert len(offered) == len(set(offered))
    assert set(offered) == KEYWORDS


def test_the_form_of_a_merge_offers_exactly_the_words_that_fit_every_value() -> None:
    text = (WEB / "source" / "types.ts").read_text("utf-8")
    (words,) = re.findall(r"MERGE_POLICIES = \[(.*?)\] as const", text)
    assert sorted(re.findall(r"'(\w+)'", words)) == sorted(GENERAL_WORDS)
