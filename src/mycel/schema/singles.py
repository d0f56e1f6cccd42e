"""Numbers of single precision, and the one decimal that stands for each.

Attributes are JSON, whose numbers have double precision; tables of Arrow hold F32 and Vector in
four bytes. So 0.1 would come back from a table as 0.10000000149011612, which is the same single and
another text. What is stored is therefore the shortest decimal that reads as the same single, and
the nearest of these: 0.1 for both, and 0.12345679 for 0.123456789.

Vectors are long, so there is no search through texts. Between two powers of two, singles lie at one
distance. The last decimal place that is worth more than this distance is followed by one that is
worth less. If a single is what its decimal, rounded to the first of the two, reads as, then nothing
shorter is missed, for no two decimals with so few digits mean the same single; otherwise it is
rounded to the second. To round is a product and a quotient. The divisor and the whole number over
it are exact, so the quotient is what reading the text would give. Very large and very small
numbers, whose powers of ten no double holds, are left to the text.
"""

from __future__ import annotations

from array import array
from itertools import compress
from typing import Final

SINGLE_MAX: Final = 3.4028235e38
"""The greatest of them, as it is written."""

_BIAS: Final = 127
_FRACTION_BITS: Final = 23
_EXPONENTS: Final = 256
_DIGITS_MAX: Final = 9
"""So many tell any two singles apart."""
_WHOLE: Final = 1.5 * 2.0**52
"""What is added to this has no room for a fraction: it is rounded, quicker than by `round`."""


def _coarse(exponent: int) -> float:
    """The last power of ten whose parts are larger than the distance of singles; or nan."""
    if exponent == 0:
        return 1.0  # Zero; and what is so small that it is found to be none.
    distance = _FRACTION_BITS + _BIAS - exponent  # As a negative power of two.
    tens = len(str(2**distance)) - 1 if distance > 0 else -1
    return 10.0**tens if 0 <= tens < 22 else float("nan")


_COARSE: Final = [_coarse(each) for each in range(_EXPONENTS)]


def single(number: float) -> float:
    """The shortest decimal for a number, which is not beyond `SINGLE_MAX`.

    >>> single(0.10000000149011612), single(0.123456789), single(-0.0)
    (0.1, 0.12345679, 0.0)
    """
    return singles([number])[0]


def singles(numbers: list[float]) -> list[float]:
    """The shortest decimal for each number."""
    exact = array("f", numbers)
    made = _rounded(exact)
    if array("f", made) == exact:
        return made
    if len(numbers) == 1:
        return [_written(exact[0])]
    return [single(each) for each in numbers]  # One of them is very large, or very small.


def _rounded(exact: array[float]) -> list[float]:
    bits = memoryview(exact).cast("B").cast("I")
    powers = [_COARSE[each >> _FRACTION_BITS & 255] for each in bits]
    pairs = zip(exact, powers, strict=True)
    made = [((each * power + _WHOLE) - _WHOLE) / power for each, power in pairs]
    missed = [each != got for each, got in zip(exact, array("f", made), strict=True)]
    for at in compress(range(len(made)), missed):
        power = powers[at] * 10.0
        made[at] = ((exact[at] * power + _WHOLE) - _WHOLE) / power
    return made


def _written(exact: float) -> float:
    """By way of texts, each with a digit more than the one before."""
    for digits in range(1, _DIGITS_MAX):
        made = float(f"{exact:.{digits}g}")
        if array("f", [made])[0] == exact:
            return made + 0.0  # Which makes 0.0 of -0.0.
    return float(f"{exact:.{_DIGITS_MAX}g}")
