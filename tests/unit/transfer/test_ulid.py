from mycel.transfer.ulid import encoded, ulids


def test_ids_count_upwards() -> None:
    made = ulids(5, lambda bits: 41)
    first, second, third = next(made), next(made), next(made)
    assert first < second < third
    assert first[:10] == third[:10]


def test_counting_upwards_never_reaches_the_time() -> None:
    asked = []

    def random(bits: int) -> int:
        asked.append(bits)
        return (1 << bits) - 1

    made = ulids(7, random)
    first, second = next(made), next(made)
    assert asked == [79]
    assert first[:10] == second[:10]
    assert first < second


def test_a_number_is_written_in_26_digits_of_base_32() -> None:
    assert encoded((1 << 128) - 1) == "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"
    assert encoded(31) == "0000000000000000000000000Z"
    assert encoded(32) == "00000000000000000000000010"
