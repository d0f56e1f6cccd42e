"""The page about the grammar and the parser say the same."""

import re
from pathlib import Path

from mycel.kip import format, parse  # noqa: A004  The verb of the stage.
from mycel.kip.keywords import KEYWORDS, STATEMENTS
from mycel.model import limits
from tests.cases import cases

PAGE = (Path(__file__).parents[3] / "docs" / "kip-grammar.md").read_text(encoding="utf-8")
RULES = re.sub(r"\(\*.*?\*\)", "", "\n".join(re.findall(r"```ebnf\n(.*?)```", PAGE, re.DOTALL)))
EXAMPLES = re.findall(r"```kip\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_has_every_keyword_and_no_other() -> None:
    assert set(re.findall(r'"([A-Z_]+)"', RULES)) == KEYWORDS


def test_every_rule_is_defined_once_and_used() -> None:
    defined = re.findall(r"^(\w+)\s*=", RULES, re.MULTILINE)
    assert len(defined) == len(set(defined))
    bare = re.sub(r'"[^"]*"|\?.*?\?', "", RULES)
    used = re.findall(r"\b[a-z_]+\b(?!\s*=)", bare)
    assert set(used) | {"command"} == set(defined)


def test_every_statement_is_a_choice_on_the_page() -> None:
    starts = set(re.findall(r'= "([A-Z]+)"', RULES))
    assert starts >= STATEMENTS - {"EXPLAIN"}


@cases("example", EXAMPLES)
def test_the_examples_parse(example: str) -> None:
    assert format(parse(example))


def test_the_limits_are_those_of_the_parser() -> None:
    table = dict(re.findall(r"\| ([\d,]+(?: [KM]iB)?) \| `(\w+)` \|", PAGE))
    units = {"KiB": 1 << 10, "MiB": 1 << 20}
    assert len(table) == 4
    for shown, name in table.items():
        number, _, unit = shown.replace(",", "").partition(" ")
        assert int(number) * units.get(unit, 1) == getattr(limits, name)
