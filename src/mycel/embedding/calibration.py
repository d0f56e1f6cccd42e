"""Calibration of an embedder: the cosines that it gives to answers and to other texts.

A cosine of 0.3 is a close match by one model and noise by another. Each model is measured on 50
texts with a question each (`calibration.tsv`). So the cosines of every model become evidence on one
scale, and a model that tells answers from other texts more clearly weighs more. The measure is
stored with the vectors of the model.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycel.embedding.vectors import unit

EVIDENCE_MAX: Final = 1.5
WEIGHT_MIN: Final = 0.25
WEIGHT_MAX: Final = 3.0
_DISTANCE_MIN: Final = 0.05
"""The least distance of the two means that is used, so that noise is not amplified."""


class Calibration(NamedTuple):
    """Cosines of questions with texts, by one model."""

    other: float
    """The mean cosine with texts that do not answer."""
    answer: float
    """The mean cosine with texts that answer."""
    separation: float
    """The distance of both means, in standard deviations of the cosines with other texts."""

    @property
    def weight(self) -> float:
        """The weight of the model's evidence; 1 for the model inside the package."""
        return min(max(self.separation / SHIPPED.separation, WEIGHT_MIN), WEIGHT_MAX)

    def evidence(self, cosines: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosines as evidence: 0 for those of other texts, the weight for the mean of answers."""
        evidence: NDArray[np.float32] = np.float32(self.weight) * self.shares(cosines)
        return evidence

    def shares(self, cosines: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosines as shares: 0 for those of other texts, 1 for the mean of answers."""
        distance = max(self.answer - self.other, _DISTANCE_MIN)
        shares: NDArray[np.float32] = np.clip(
            (cosines - self.other) / distance, 0, EVIDENCE_MAX
        ).astype(np.float32)
        return shares


SHIPPED: Final = Calibration(0.066, 0.372, 2.82)
"""The model inside the package."""


@cache
def pairs() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Texts, and for each a question in other words."""
    lines = Path(__file__).with_name("calibration.tsv").read_text("utf-8").splitlines()
    texts, questions = zip(*(line.split("\t") for line in lines), strict=True)
    return texts, questions


def calibration_of(texts: NDArray[np.float32], questions: NDArray[np.float32]) -> Calibration:
    """The calibration of a model, from its vectors of the texts and questions of `pairs`."""
    cosines = unit(questions) @ unit(texts).T
    others = cosines[~np.eye(len(cosines), dtype=bool)]
    other, answer = float(others.mean()), float(np.diag(cosines).mean())
    return Calibration(other, answer, (answer - other) / max(float(others.std()), 1e-6))
