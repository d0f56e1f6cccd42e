"""How long and how deep a command may be."""

import gc
import sys
from collections.abc import Callable

import pytest

from mycel.errors import InvalidSyntax, MycelError, ResourceExhausted
from mycel.kip import ast, format, parse, parser  # noqa: A004  The verb of the stage.
from mycel.kip.lexer import KipTokens
from mycel.model.limits import (
    CAPSULE_BYTES_MAX,
    COMMAND_BYTES_MAX,
    JSON_DEPTH_MAX,
    NESTING_DEPTH_MAX,
)
from tests.cases import cases
from tests.unit.kip.refusals import filtered, refusal, where, with_value


def padded(size: int, character: str = " ") -> str:
    command = "DESCRIBE PRIMER //"
    return command + character * ((size - len(command)) // len(character.encode()))


def test_a_command_may_be_as_long_as_the_limit_in_bytes() -> None:
    assert parse(padded(COMMAND_BYTES_MAX)) == ast.DescribePrimer()
    assert parse(padded(COMMAND_BYTES_MAX, "é")) == ast.DescribePrimer()


@pytest.mark.parametrize("character", [" ", "é", "🍄"])
def test_a_longer_command_is_refused(character: str) -> None:
    with pytest.raises(ResourceExhausted, match="longer than 262144 bytes"):
        parse(padded(COMMAND_BYTES_MAX + 8, character))


def test_a_capsule_may_be_longer_when_that_is_asked_for() -> None:
    text = padded(COMMAND_BYTES_MAX + 8)
    assert parse(text, bytes_max=CAPSULE_BYTES_MAX) == ast.DescribePrimer()
    with pytest.raises(ResourceExhausted):
        parse("DESCRIBE PRIMER", bytes_max=5)


LEAF = '?x {type: "T"}'

# Each makes a command that nests to a depth.
NESTS: dict[str, Callable[[int], str]] = {
    "blocks": lambda depth: where("NOT { " * (depth - 1) + LEAF + " }" * (depth - 1)),
    "patterns": lambda depth: where('(?a, "p", ' * (depth - 1) + "?b" + ")" * (depth - 1)),
    "named patterns": lambda depth: where(
        "?x " + '(?a, "p", ' * (depth - 1) + "?b" + ")" * (depth - 1)
    ),
    "parentheses": lambda depth: filtered("(" * (depth - 2) + "IS_NULL(?x)" + ")" * (depth - 2)),
    "negations": lambda depth: filtered("!" * (depth - 2) + "IS_NULL(?x)"),
    "negated comparisons": lambda depth: filtered("!" * (depth - 2) + "?x.name == 1"),
    "negated parentheses": lambda depth: filtered(
        "!(" * (depth - 2) + "?x.name == 1" + ")" * (depth - 2)
    ),
    "arrays": lambda depth: with_value("[" * (depth - 1) + "]" * (depth - 1)),
    "objects": lambda depth: with_value("{a: " * (depth - 1) + "1" + "}" * (depth - 1)),
    "templates": lambda depth: with_value("[" * (depth - 1) + ":p" + "]" * (depth - 1)),
    "arithmetic": lambda depth: (
        "UPDATE ?x SET ATTRIBUTES {a: "
        + "ADD(1, " * (depth - 1)
        + "1"
        + ")" * (depth - 1)
        + f"}} WHERE {{ {LEAF} }}"
    ),
}


@cases("nest", NESTS.values())
def test_nesting_to_the_limit_is_fine_and_survives_formatting(nest: Callable[[int], str]) -> None:
    tree = parse(nest(NESTING_DEPTH_MAX))
    assert parse(format(tree)) == tree


@cases("nest", NESTS.values())
@cases("depth", [NESTING_DEPTH_MAX + 1, 10_000])
def test_deeper_nesting_is_refused(nest: Callable[[int], str], depth: int) -> None:
    error = refusal(nest(depth))
    assert isinstance(error, ResourceExhausted)
    assert "deeper than 64 levels" in error.message
    assert error.data["line"] == 1


def test_attributes_as_deep_as_the_store_takes_them_can_be_written() -> None:
    assert JSON_DEPTH_MAX <= NESTING_DEPTH_MAX
    parse(with_value("[" * (JSON_DEPTH_MAX - 1) + "]" * (JSON_DEPTH_MAX - 1)))


def test_long_chains_are_not_deep() -> None:
    parse(filtered(" && ".join(["?x.name == 1"] * 2_000)))
    parse(with_value("[" + "1," * 20_000 + "]"))
    parse(with_value("[:p," + "[1]," * 20_000 + "]"))


def test_a_stack_that_is_almost_used_up_is_no_crash() -> None:
    text = with_value("[" * 60 + "]" * 60)

    def descend(levels: int) -> ast.Command:
        return parse(text) if levels == 0 else descend(levels - 1)

    assert isinstance(descend(0), ast.Capsule)
    with pytest.raises(ResourceExhausted, match="the rest of the stack"):
        descend(sys.getrecursionlimit() - 100)


@pytest.mark.parametrize("enabled", [True, False])
def test_a_large_capsule_leaves_the_garbage_collector_as_it_was(enabled: bool) -> None:
    text = padded(COMMAND_BYTES_MAX + 8)
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        parse(text, bytes_max=CAPSULE_BYTES_MAX)
        assert gc.isenabled() is enabled
        with pytest.raises(ResourceExhausted):
            parse(NESTS["arrays"](100) + " " * COMMAND_BYTES_MAX, bytes_max=CAPSULE_BYTES_MAX)
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


LONG = "a" * 100_000


@cases(
    "text",
    [
        LONG,
        f"?{LONG}",
        f"?1{LONG}",
        f'"{LONG}',
        f"FIND(?1{LONG})",
        f"FIND(?x) {LONG}",
        f"FIND(?x) WHERE {{ ?{LONG} }}",
        f"FIND(?x) WHERE {{ ?x.{LONG} }}",
        where(f'?x {{{LONG}: "T"}}'),
        where(f"?x {{type: {LONG}}}"),
        where(f"?x {{type: :1{LONG}}}"),
        where(f'?x {{type: "T"}} FILTER(?x.{LONG})'),
        with_value(f'{{{LONG}: 1, "{LONG}": 2}}'),
        with_value(f"{{1{LONG}: 1}}"),
        with_value("1" * 100_000),
        with_value(f"1.{LONG}"),
        f'DELETE CONCEPT ?{LONG} WHERE {{ ?x {{type: "T"}} }}',
        f"UPDATE ?{LONG} SET ATTRIBUTES {{a: ?x}}",
        f"UPDATE ?x SET ATTRIBUTES {{a: ADD(?{LONG}, 1)}}",
        f'SEARCH CONCEPT "a" MODE "{LONG}"',
        f'SEARCH CONCEPT "a" LIMIT -{"1" * 100_000}',
    ],
)
def test_a_refusal_is_short_however_long_the_command(text: str) -> None:
    error = refusal(text)
    assert len(error.message) < 600
    assert len(error.hint) < 400


@cases(
    "unit", ['"\\', '\\"', '"\\"', '"', "'", "/ ", "?a.", "-", "1.", ":a ", '":a', "(", "!", "\\"]
)
def test_no_text_takes_more_than_linear_time(unit: str) -> None:
    """Quadratic time on 64 KiB would be minutes; this only has to come back."""
    number = COMMAND_BYTES_MAX // 4 // len(unit)
    refusal(unit * number)
    refusal(f"SEARCH CONCEPT {unit * number}")


JUNK = {
    "parentheses": "(",
    "quotes": '"',
    "statements": "UPSERT ",
    "variables": "?a ",
    "open blocks": "UPSERT { CONCEPT { ",
    "open arrays": 'UPSERT { CONCEPT { {type: "T", name: "n"} SET ATTRIBUTES { a: [',
}


def test_a_long_text_that_is_wrong_at_its_beginning_is_not_read_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []

    class Counted(KipTokens):
        def __init__(self, text: str, *, folded: bool = False) -> None:
            read.append(len(text))
            super().__init__(text, folded=folded)

    monkeypatch.setattr(parser, "KipTokens", Counted)
    for name, piece in JUNK.items():
        with pytest.raises(MycelError):
            parse(piece * ((4 << 20) // len(piece)), bytes_max=CAPSULE_BYTES_MAX)
        assert sum(read) <= 2 * parser.BEGINNING_CHARACTERS, name
        read.clear()


def test_an_error_far_from_the_beginning_is_found_at_its_place() -> None:
    block = 'CONCEPT { {type: "T", name: "n"} SET ATTRIBUTES { a: "b" } }\n'
    blocks = block * (4 * parser.BEGINNING_CHARACTERS // len(block))
    assert parse(f"UPSERT {{ {blocks} }}", bytes_max=CAPSULE_BYTES_MAX)
    cut = f'UPSERT {{ CONCEPT {{ {{type: "{"x" * (1 << 20)}"'
    with pytest.raises(InvalidSyntax) as caught:
        parse(cut, bytes_max=CAPSULE_BYTES_MAX)
    assert caught.value.data["column"] > len(cut) - 40
    with pytest.raises(InvalidSyntax) as caught:
        parse(f"UPSERT {{ {blocks} CONCEPT }}", bytes_max=CAPSULE_BYTES_MAX)
    assert caught.value.data["line"] == blocks.count("\n") + 1
