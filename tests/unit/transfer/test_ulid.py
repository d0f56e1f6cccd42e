from mycel.transfer.ulid import encoded, ulids


def made(times: list[int], random: int = 0) -> list[str]:
    clock = iter(times)
    factory = ulids(lambda: next(clock), lambda bits: random)
    return [next(factory) for _ in times]


def test_ids_of_one_millisecond_count_upwards() -> None:
    first, second, third = made([5, 5, 5], random=41)
    assert first < second < third
    assert first[:10] == third[:10]


def test_ids_stay_in_order_when_the_clock_goes_back() -> None:
    assert made([9, 3, 10]) == sorted(made([9, 3, 10]))


def test_counting_upwards_never_reaches_the_time() -> None:
    asked = []

    def random(bits: int) -> int:
        asked.append(bits)
        return (1 << bits) - 1

    factory = ulids(lambda: 7, random)
    first, second = next(factory), next(factory)
    assert asked == [79]
    assert first[:10] == second[:10]
    assert first < second


def test_a_number_is_written_in_26_digits_of_base_32() -> None:
    assert encoded((1 << 128) - 1) == "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"
    assert encoded(31) == "0000000000000000000000000Z"
    assert encoded(32) == "00000000000000000000000010"
