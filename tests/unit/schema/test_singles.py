"""Numbers of single precision: the one decimal that stands for each."""

import struct
from random import Random

import numpy

from mycel.schema.property_values import SINGLE_MAX, singles


def any_singles(count: int) -> list[float]:
    """Of every magnitude there is, and of both signs."""
    random = Random(7)
    drawn = [struct.unpack("f", struct.pack("I", random.getrandbits(32)))[0] for _ in range(count)]
    return [each for each in drawn if abs(each) <= SINGLE_MAX]  # And no nan.


def test_the_decimal_means_the_same_single_and_is_the_shortest_that_does() -> None:
    drawn = any_singles(20_000)
    assert singles(drawn) == [float(str(numpy.float32(number))) for number in drawn]


def test_a_decimal_of_seven_digits_stays_what_it_is() -> None:
    random = Random(8)
    for digits in range(8):
        numbers = [round(random.uniform(0.0, 1.0), digits) for _ in range(500)]
        assert singles(numbers) == numbers


def test_powers_of_two_whose_neighbours_lie_closer_below_come_back() -> None:
    powers = [2.0**exponent for exponent in range(-149, 128)]
    made = singles(powers)
    assert [float(numpy.float32(each)) for each in made] == powers
    assert singles(made) == made


def test_many_at_once_get_what_each_gets_alone() -> None:
    usual = [each * 1e-3 for each in range(-500, 500)]
    for numbers in (usual, [*usual, 1e30, 1e-42], any_singles(1000)):
        assert singles(numbers) == [singles([each])[0] for each in numbers]


def test_the_ends_of_the_range() -> None:
    assert singles([float(numpy.finfo(numpy.float32).max)]) == [SINGLE_MAX]
    assert singles([-SINGLE_MAX, 1e-45]) == [-SINGLE_MAX, 1e-45]
    assert [str(each) for each in singles([-0.0, -1e-60, 0.0])] == ["0.0", "0.0", "0.0"]
