"""Text analysis, judged by what a real FTS5 table finds.

The table is the store's: its definition is taken from there, so that both change together.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

import apsw
import pytest

from mycel.store.backend.sqlite import text_index
from mycel.store.file import layout
from mycel.text.analysis import (
    QUESTION_CHARACTERS_MAX,
    STOP_WORDS,
    TEXT_CHARACTERS_MAX,
    concept_document,
    prepare,
    terms_of,
)
from mycel.text.queries import any_of
from tests.cases import cases


def expression(question: str) -> str:
    """The query in the words of FTS5."""
    return text_index._expression(any_of(terms_of(question)), None)


def found(question: str, documents: Iterable[str]) -> list[str]:
    """The documents that a question finds, best first."""
    documents = list(documents)
    terms = terms_of(question)
    if not terms:
        return []
    definition = re.search(
        r"CREATE VIRTUAL TABLE text USING fts5 \(.*?\);", layout.CREATE, re.DOTALL
    )
    assert definition
    connection = apsw.Connection(":memory:")
    connection.execute(definition[0])
    connection.executemany(
        "INSERT INTO text (rowid, keys, title, body) VALUES (?, ?, ?, ?)",
        [(number, *concept_document(text, {})) for number, text in enumerate(documents)],
    )
    rows = connection.execute(
        "SELECT rowid FROM text WHERE text MATCH ? ORDER BY rank", (expression(question),)
    ).fetchall()
    connection.close()
    return [documents[number] for (number,) in rows]


def finds(question: str, document: str) -> bool:
    return found(question, [document]) == [document]


# ---------------------------------------------------------------------------------------------
# Words


@cases(
    ("question", "document"),
    [
        ("risk", "The risk of bleeding"),
        ("RISK", "the risk"),
        ("risks", "a risk"),
        ("bleeding", "it bleeds"),
        ("cafe", "Café"),
        ("CAFÉ", "cafe"),
        ("naïve", "naive"),
        ("Übermut", "ubermut"),
        ("приве́т", "Привет"),
        ("x1", "vitamin x1"),
        ("42", "the answer is 42."),
        ("aspirin ibuprofen", "ibuprofen only"),
        ("what treats headache?", "Treats: headache"),
        ("snake_case", "a snake"),
        ("kebab-case", "case"),
        ("zebra", "before\0zebra"),
        ("हिन्दी", "हिन्दी भाषा"),
        ("עִבְרִית", "שפה עִבְרִית"),
    ],
)
def test_a_question_finds_a_document_with_one_of_its_words(question: str, document: str) -> None:
    assert finds(question, document)


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("risk", "asterisk"),
        ("ast", "asterisk"),
        ("heart", "liver"),
        ("हिन्दी", "हवा नदी दान"),  # It shares the consonants, not the word.
    ],
)
def test_a_question_does_not_find_a_document_without_its_words(
    question: str, document: str
) -> None:
    assert not finds(question, document)


def test_the_document_with_more_of_the_words_comes_first() -> None:
    documents = ["aspirin", "aspirin for headache", "weather", "headache after rain at night"]
    assert found("aspirin headache", documents)[0] == "aspirin for headache"
    assert "weather" not in found("aspirin headache", documents)


@cases("form", ["NFC", "NFD"])
@cases("other", ["NFC", "NFD"])
@cases("text", ["résumé", "Ångström", "한국어", "ガギグ", "tiếng Việt"])
def test_it_does_not_matter_how_letters_and_marks_were_composed(
    text: str, form: str, other: str
) -> None:
    question, document = unicodedata.normalize(form, text), unicodedata.normalize(other, text)  # type: ignore[arg-type]
    assert finds(question, document)
    assert terms_of(question) == terms_of(document)


# ---------------------------------------------------------------------------------------------
# Stop words


@cases("word", sorted(STOP_WORDS))
def test_stop_words_are_left_out_on_both_sides(word: str) -> None:
    for spelled in (word, word.capitalize()):
        assert terms_of(spelled) == []
        assert prepare(spelled) == ""
        assert prepare(f"{spelled} risk\n{spelled} {spelled} heart {spelled}") == "risk heart"
        # One that clings to punctuation is kept, but no question asks for it.
        assert not finds(f"{spelled}!", f"({spelled}) heart, {spelled}.")
        assert finds("heart", f"({spelled}) heart, {spelled}.")


def test_a_question_of_stop_words_asks_nothing() -> None:
    assert terms_of("Is it of the?") == []
    assert terms_of("the risk of it") == ["risk"]


@cases("word", ["theory", "another", "island", "thesis", "ante", "be2", "x_is"])
def test_a_word_that_only_contains_a_stop_word_stays(word: str) -> None:
    assert finds(word, f"some {word} here")
    assert prepare(word) == word


@cases("word", ["IT", "OR", "US", "WHO", "AND"])
def test_a_word_in_capitals_may_be_a_name_and_is_found_as_one(word: str) -> None:
    assert finds(word, f"the {word} department")
    assert not finds(word, f"the {word.lower() if word.lower() in STOP_WORDS else ''} department")


def test_a_single_capital_letter_is_an_article_all_the_same() -> None:
    assert terms_of("A") == []
    assert terms_of("vitamin A") == ["vitamin"]


# ---------------------------------------------------------------------------------------------
# Chinese, Japanese, Korean


@cases(
    ("document", "part"),
    [
        ("北京大学的学生", "北京大学"),
        ("北京大学的学生", "京大"),
        ("北京大学的学生", "学"),
        ("北京大学的学生", "北京大学的学生"),
        ("東京都に住んでいます", "東京"),
        ("東京都に住んでいます", "京都"),
        ("東京都に住んでいます", "住んで"),
        ("コーヒーを飲む", "コーヒー"),
        ("コーヒーを飲む", "ーヒ"),
        ("ｱｽﾋﾟﾘﾝ", "ｽﾋ"),
        ("時々雨", "々雨"),
        ("서울특별시는 수도이다", "특별시"),
        ("서울특별시는 수도이다", "울특"),
        ("서울특별시는 수도이다", "수도"),
        ("ㄅㄆㄇㄈ", "ㄆㄇ"),
        ("𠮷野家", "𠮷野"),
        ("Python编程入门", "编程"),
        ("Python编程入门", "Python"),
        ("使用Python3编程", "python3"),
        ("维生素B12缺乏", "B12"),
        ("维生素B12缺乏", "B12缺"),
    ],
)
def test_any_part_of_a_run_of_characters_is_found(document: str, part: str) -> None:
    assert part.casefold() in document.casefold()
    assert finds(part, document)


@cases(
    ("document", "question"),
    [
        ("北京大学", "北大"),
        ("北京大学", "京北"),
        ("北京大学", "大学生"),
        ("東京都", "東都"),
        ("東京都", "都京"),
        ("コーヒー", "コヒ"),
        ("서울특별시", "서특"),
        ("서울특별시", "울서"),
        ("한국어", "한어"),
    ],
)
def test_characters_that_do_not_stand_together_are_not_found_together(
    document: str, question: str
) -> None:
    assert set(question) & set(document)
    assert not finds(question, document)


def test_white_space_and_punctuation_between_characters_do_not_count() -> None:
    assert finds("北大", "北，大")
    assert finds("北大", "北\n大")
    assert not finds("北大", "北x大")


def test_parts_of_a_question_that_stand_apart_are_looked_for_apart() -> None:
    assert terms_of("北京 大学") == ["北 京", "大 学"]
    assert found("北京 大学", ["大学", "北京", "大北"]) != []
    assert "大北" not in found("北京 大学", ["大学", "北京", "大北"])


def test_the_document_with_the_characters_is_picked_among_others() -> None:
    documents = ["北京大学", "北大", "东京大学", "学大", "Beijing University"]
    assert sorted(found("京大", documents)) == sorted(["北京大学", "东京大学"])
    assert found("北大", documents) == ["北大"]


# ---------------------------------------------------------------------------------------------
# Questions that look like queries


@cases(
    "question",
    [
        '"',
        '""',
        '"heart',
        'heart"',
        '" OR "',
        '"heart" OR body : *',
        "heart AND NOT lungs",
        "heart OR",
        "NOT heart",
        "NEAR(heart lungs, 2)",
        "body:heart",
        "{body}: heart",
        "-body: heart",
        "^heart",
        "heart*",
        "heart + lungs",
        "(heart",
        "heart)",
        "'heart'; DROP TABLE text; --",
        "heart\\",
        "heart\0lungs",
        "\0",
        "?1 :x @y $z",
        "\ud800 heart",
        "𝐡𝐞𝐚𝐫𝐭 \U0010ffff",
    ],
)
def test_quotes_and_operators_in_a_question_do_nothing(question: str) -> None:
    documents = ["heart", "lungs", "body", "neither"]
    expected = {word for word in re.findall(r"[a-z]+", question) if word in documents}
    assert set(found(question, documents)) == expected


def test_every_term_is_quoted_and_stands_once() -> None:
    assert expression("heart AND heart OR") == '"heart" OR "AND" OR "OR"'
    assert terms_of("a.b:c") == ["b", "c"]


@cases("question", ["", " ", "\n\t", "?!", "...", "_", "*", '""', "🍄", "\u0301"])
def test_a_question_without_words_asks_nothing(question: str) -> None:
    assert terms_of(question) == []


def test_only_the_beginning_of_a_very_long_question_is_looked_at() -> None:
    words = [f"w{number}" for number in range(100_000)]
    assert 0 < len(" ".join(terms_of(" ".join(words)))) <= QUESTION_CHARACTERS_MAX
    assert finds(" ".join(words), "w0")
    assert not finds(" ".join(words), "w99999")
    assert found("漢" * 100_000, ["漢"]) == []


# ---------------------------------------------------------------------------------------------
# Documents


@cases(
    ("name", "attributes", "title", "body"),
    [
        ("Aspirin", {}, "Aspirin", ""),
        ("Aspirin", {"note": "heart", "class": "NSAID"}, "Aspirin", "NSAID heart"),
        ("Aspirin", {"a": {"b": [{"c": "x"}, "y"]}, "t": ("z",)}, "Aspirin", "x y z"),
        ("Aspirin", {"n": 5, "f": 1.5, "b": True, "x": None, "e": [], "o": {}}, "Aspirin", ""),
        ("Aspirin", {"heart": 1}, "Aspirin", ""),
        ("Aspirin", {"aliases": ["ASA"], "name": "Pill"}, "Aspirin Pill ASA", "ASA"),
        ("Aspirin", {"aliases": [["x"]], "name": ["Pill"]}, "Aspirin", "x Pill"),
        ("loadFile", {}, "loadFile load File", ""),
        ("concept://shop/src/a.py/Cart", {"name": "Cart"}, "Cart", "shop/src/a.py/Cart"),
    ],
)
def test_the_names_and_every_text_in_the_attributes_are_indexed(
    name: str, attributes: dict[str, Any], title: str, body: str
) -> None:
    assert concept_document(name, attributes)[1:] == (title, body)


def test_texts_next_to_each_other_do_not_run_together() -> None:
    document = concept_document("heart", {"a": "beat", "b": ["rate", "limit"]})
    assert document.body.split() == ["beat", "rate", "limit"]


def test_a_very_long_text_is_indexed_up_to_a_limit() -> None:
    long = "heart " * TEXT_CHARACTERS_MAX
    document = concept_document("Aspirin", {"a": long, "b": "lungs"})
    assert TEXT_CHARACTERS_MAX - len(" heart") <= len(document.body) <= TEXT_CHARACTERS_MAX
    assert "lungs" not in document.body
    assert document.title == "Aspirin"


def test_plain_text_is_indexed_as_it_is() -> None:
    assert prepare("Heart rate: 60/min_max") == "Heart rate: 60/min_max"
    assert prepare("") == ""
