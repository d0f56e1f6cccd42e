"""A concept becomes the text that is compared with questions by meaning."""

from __future__ import annotations

from mycel.search.index.passages import passage_of


def test_the_end_of_a_path_that_repeats_the_name_is_said_once() -> None:
    passage = passage_of(
        "Pitfall",
        "concept://shop/pitfalls/carts-are-merged-twice",
        {"name": "Carts are merged twice", "content": "Log in only once."},
    )
    assert passage.text == "Carts are merged twice\nLog in only once."
    assert passage.names == ("Carts are merged twice", "carts-are-merged-twice")


def test_a_section_has_the_words_of_the_path_of_its_document() -> None:
    attributes = {"name": "Example", "heading": "Example", "content": "Pay again.", "_bootstrap": 1}
    uri = "concept://shop/docs/refunds.md/example"
    passage = passage_of("Section", uri, attributes)
    assert (passage.subject, passage.text) == ("docs refunds", "Example\nPay again.")
    del attributes["_bootstrap"]
    assert passage_of("Section", uri, attributes).subject == ""
