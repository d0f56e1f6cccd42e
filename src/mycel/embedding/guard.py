"""Limits the time for which callers wait for an embedder.

Calls run one at a time, each in a thread of its own with a time limit, because a model may hang and
a server may be slow. After a failure, every call within `RETRY_S` fails at once with the same
error, unless it is `patient`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from queue import Empty, SimpleQueue
from threading import Condition, Thread
from time import monotonic
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mycel.embedding.embedder import Embedder
from mycel.embedding.vectors import checked_vectors
from mycel.errors import EmbedderFailed
from mycel.model.names import shorten

QUESTION_S: Final = 5.0
"""The time limit for the vector of a question; after it, the answer is made without the vector."""
SEARCH_S: Final = 20.0
"""The time limit for a batch of texts that a search embeds itself."""
BATCH_S: Final = 120.0
RETRY_S: Final = 30.0
STOP_S: Final = 2.0
"""The time to wait for the running call when an embedder is stopped."""

_Answers = SimpleQueue[Any]


class GuardedEmbedder:
    """Another embedder, with limits. Several threads may use it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder: Final = embedder
        self._turn: Final = Condition()
        self._is_busy = False
        self._answers: _Answers = SimpleQueue()
        self._failure: tuple[float, EmbedderFailed] | None = None
        self._is_stopped = False

    @cached_property
    def name(self) -> str:
        name: str = self._call(lambda: self._embedder.name, SEARCH_S)
        return name

    @cached_property
    def dimensions(self) -> int:
        """The number of dimensions of its vectors."""
        dimensions: int = self._call(lambda: self._embedder.dimensions, SEARCH_S)
        return dimensions

    def embed(
        self, texts: Sequence[str], timeout_s: float = BATCH_S, *, patient: bool = False
    ) -> NDArray[np.float32]:
        """A vector for each text, checked. A `patient` call is made even after a failure.

        Raises:
            EmbedderFailed: the embedder failed, now or a moment ago, or takes too long.
        """
        work = partial(checked_vectors, self._embedder, texts)
        vectors: NDArray[np.float32] = self._call(work, timeout_s, patient=patient)
        return vectors

    def stop(self) -> None:
        """Wake waiting callers with an error; from now on nothing is embedded."""
        with self._turn:
            self._is_stopped = True
            self._answers.put(_closed())
            self._turn.notify_all()
            self._turn.wait_for(lambda: not self._is_busy, STOP_S)

    def _call(self, work: Callable[[], Any], timeout_s: float, *, patient: bool = False) -> Any:
        if not patient and self._failure is not None and monotonic() - self._failure[0] < RETRY_S:
            raise self._failure[1]
        with self._turn:
            self._turn.wait_for(lambda: self._is_stopped or not self._is_busy, timeout_s)
            if self._is_stopped:
                raise _closed()
            if self._is_busy:
                raise EmbedderFailed("The embedder is still busy with other texts.")
            self._is_busy = True
            self._answers = answers = _Answers()
        thread = Thread(target=self._run, args=(work, answers), name="mycel-embedder", daemon=True)
        thread.start()
        try:
            answer = answers.get(timeout=timeout_s)
        except Empty:
            answer = EmbedderFailed(f"The embedder did not answer within {timeout_s:g} seconds.")
        if isinstance(answer, EmbedderFailed):
            self._failure = (monotonic(), answer)
            raise answer
        self._failure = None
        return answer

    def _run(self, work: Callable[[], Any], answers: _Answers) -> None:
        """Make the vectors, then pass on the turn, even after the caller has given up."""
        try:
            answers.put(work())
        except EmbedderFailed as error:
            answers.put(error)
        except Exception as error:  # noqa: BLE001 - a name or dimensions of somebody else's code
            message = shorten(str(error), 200)
            answers.put(EmbedderFailed(f"The embedder failed: {type(error).__name__}: {message}."))
        finally:
            with self._turn:
                self._is_busy = False
                self._turn.notify_all()


def _closed() -> EmbedderFailed:
    return EmbedderFailed("The graph was closed.", hint="Open the graph again.")
