from mycel.store.write.bitset import LinkSet, NumberSet


def test_only_what_was_added_is_in_it() -> None:
    marks = NumberSet()
    added = {2, 4, 18, 40_000, 7_000_002}
    for number in added:
        marks.add(number)
    assert {
        number for number in (2, 4, 6, 16, 18, 20, 40_000, 7_000_002, 9_000_000) if number in marks
    } == added


def test_an_empty_one_holds_nothing() -> None:
    assert 2 not in NumberSet()


def test_links_are_gone_through_the_oldest_first() -> None:
    marks = LinkSet()
    for number in (40_001, 3, 17, 15, 1, 7_000_003, 3):
        marks.add(number)
    assert list(marks) == [1, 3, 15, 17, 40_001, 7_000_003]
    assert list(LinkSet()) == []
