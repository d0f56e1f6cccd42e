"""Numbers of single precision, and the decimal that is stored for each.

Attributes are JSON, whose numbers have double precision; tables of Arrow hold F32 and Vector in
four bytes. So 0.1 would come back from a table as 0.10000000149011612, which is the same single and
another text. What is stored is therefore the shortest decimal that reads as the same single, and
the nearest of these: 0.1 for both, and 0.12345679 for 0.123456789.
"""

from __future__ import annotations

from typing import Final

import orjson

SINGLE_MAX: Final = 3.4028235e38
"""The greatest single, as it is written."""


def single(number: float) -> float:
    """The shortest decimal for a number, which is not beyond `SINGLE_MAX`.

    >>> single(0.10000000149011612), single(0.123456789), single(-0.0)
    (0.1, 0.12345679, 0.0)
    """
    return singles([number])[0]


def singles(numbers: list[float]) -> list[float]:
    """The shortest decimal for each number. orjson writes an array of singles that way."""
    import numpy as np  # noqa: PLC0415 - only schemas with F32 or Vector need it

    exact = np.array(numbers, np.float32) + np.float32(0)  # Which makes 0.0 of -0.0.
    decimals: list[float] = orjson.loads(orjson.dumps(exact, option=orjson.OPT_SERIALIZE_NUMPY))
    return decimals
