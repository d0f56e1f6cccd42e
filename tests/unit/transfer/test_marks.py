from mycel.transfer.marks import Marks


def test_only_what_was_added_is_in_it() -> None:
    marks = Marks()
    added = {2, 4, 18, 40_000, 7_000_002}
    for number in added:
        marks.add(number)
    assert {
        number for number in (2, 4, 6, 16, 18, 20, 40_000, 7_000_002, 9_000_000) if number in marks
    } == added


def test_an_empty_one_holds_nothing() -> None:
    assert 2 not in Marks()
