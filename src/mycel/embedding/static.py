"""The static embedder: a table of vectors for pieces of words, and no network to run.

The vector of a text is the mean of the vectors of its pieces, scaled to length one. It takes
microseconds, needs only numpy, and brings "car" near "automobile". The order of words does not
count, and the vocabulary is English.

A text is cut into pieces as the model was trained (WordPiece over BERT's rules): lower case,
accents dropped, words apart from punctuation and from each ideograph, then the longest pieces that
are in the vocabulary. A word that no pieces of the vocabulary make up is left out.

The file, little-endian:

    "MYCV", version u16, dimensions u16, pieces u32, bytes of the vocabulary u32
    the vocabulary, UTF-8, one piece a line
    a scale for each piece, f16
    a vector for each piece, i8
    SHA-256 of everything before
"""

from __future__ import annotations

import hashlib
import re
import struct
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Final

# Only searches by meaning load this module, so numpy is imported at the top.
import numpy as np
from numpy.typing import NDArray

from mycel.embedding.vectors import unit
from mycel.errors import EmbedderFailed

Vectors = NDArray[np.float32]

_FILE: Final = Path(__file__).with_name("potion-base-8M-128.bin")
_NAME: Final = "potion-base-8M-128"
_HEADER: Final = struct.Struct("<4sHHII")
_MAGIC: Final = b"MYCV"
_VERSION: Final = 1
_DIGEST_BYTES: Final = 32

_WORD_CHARACTERS_MAX: Final = 100
"""Longer words are left out: they are hashes or encoded data."""

TEXT_CHARACTERS_MAX: Final = 20_000
"""The rest of a longer text is left out, because a mean over so many words says little."""

_WORDS_REMEMBERED_MAX: Final = 50_000

_LETTERS_MAX: Final = 3
"""A text of only single letters, and at most this many, has the vector zero."""
_KNOWN_SHARE: Final = 2 / 3
"""The share of known words at which the vector of a text is certain."""
_STEM_LETTERS_MIN: Final = 5
"""The least number of letters of a first piece that makes the whole word known."""

_IDEOGRAPHS: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_WORD: Final = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+|[^\w\s]|_")


class _WithoutAccents(dict[int, int | None]):
    """Characters by number, for `str.translate`: None for combining marks, which are dropped."""

    def __missing__(self, code: int) -> int | None:
        self[code] = target = None if unicodedata.category(chr(code)) == "Mn" else code
        return target


_WITHOUT_ACCENTS: Final = _WithoutAccents()


class StaticModel:
    """The table of one file. Safe to use from several threads."""

    def __init__(self, name: str, content: bytes) -> None:
        """Read the table.

        Raises:
            EmbedderFailed: the file is damaged, or made for another version.
        """
        body = memoryview(content)[:-_DIGEST_BYTES]
        if (
            len(body) < _HEADER.size
            or content[:4] != _MAGIC
            or hashlib.sha256(body).digest() != content[-_DIGEST_BYTES:]
        ):
            raise EmbedderFailed(
                f"The weights of the embedder {name!r} are damaged.",
                hint="Install Mycel again; until then search with MODE 'keyword'.",
            )
        _, version, dimensions, count, vocabulary_bytes = _HEADER.unpack_from(body)
        if version != _VERSION:
            raise EmbedderFailed(
                f"The weights of the embedder {name!r} have version {version}; this Mycel reads"
                f" version {_VERSION}.",
                hint="Install Mycel again, so that code and weights are of one release.",
            )
        self.name: Final = name
        self.dimensions: Final[int] = dimensions
        scales_at = _HEADER.size + vocabulary_bytes
        rows_at = scales_at + 2 * count
        pieces = str(body[_HEADER.size : scales_at], "utf-8").split("\n")
        self.pieces: Final = tuple(pieces)
        """The vocabulary: pieces of words by number; "##" begins those inside a word."""
        self._numbers: Final = {piece: number for number, piece in enumerate(pieces)}
        self._scales: Final = np.frombuffer(body[scales_at:rows_at], "<f2").astype(np.float32)
        self._rows: Final = np.frombuffer(body[rows_at:], np.int8).reshape(count, dimensions)
        self._known: Final[dict[str, tuple[int, ...]]] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A vector of length one for each text, in order; zeros for a text that says nothing."""
        return self.embed_tokens([self.token_ids(text) for text in texts])

    def embed_tokens(self, texts: Sequence[Sequence[int] | NDArray[np.integer]]) -> Vectors:
        """The vectors of texts whose pieces are known; zeros for a text of single letters.

        The vector of "c" is near that of many words that begin with it.
        """
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for at, numbers in enumerate(texts):
            if len(numbers) > _LETTERS_MAX or not all(map(self._is_letter, numbers)):
                vectors[at] = self._scales[numbers] @ self._rows[numbers].astype(np.float32)
        return unit(vectors)

    def _is_letter(self, number: int) -> bool:
        """True for a piece of one letter or digit of ASCII."""
        piece = self.pieces[number].removeprefix("##")
        return len(piece) == 1 and piece.isascii()

    def token_ids(self, text: str) -> list[int]:
        """The numbers of the pieces of a text, in order."""
        return [number for word in self._spelt(text) for number in word]

    def certainty(self, text: str) -> float:
        """The certainty of a text's vector, from 0 to 1.

        A word that is not in the vocabulary is put together from pieces, whose vectors belong to
        other words, so the vector of a made-up or foreign word may be near to anything. The
        certainty is 1 if two thirds of the words, each by its weight, are known: they are in the
        vocabulary, or begin with a piece of most of their letters ("authentic" in "authenticate").
        """
        words = [word for word in self._spelt(text) if word]
        if not words:
            return 0.0
        weights = self.token_weights([number for word in words for number in word])
        weights = np.maximum.reduceat(weights, np.cumsum([0, *map(len, words[:-1])]))
        known_weight = weights[[self._is_known(word) for word in words]].sum() / weights.sum()
        return min(float(known_weight) / _KNOWN_SHARE, 1.0)

    def _is_known(self, word: Sequence[int]) -> bool:
        first, *others = (self.pieces[number].removeprefix("##") for number in word)
        return not others or (
            len(first) >= _STEM_LETTERS_MIN and len(first) > sum(map(len, others))
        )

    def token_vectors(self, numbers: Sequence[int] | NDArray[np.integer]) -> Vectors:
        """The vectors of pieces, each of length one."""
        vectors = self._rows[numbers].astype(np.float32)
        vectors /= self._lengths[numbers][:, None]
        return vectors

    def likeness(self, numbers: NDArray[np.integer], to: Sequence[int]) -> Vectors:
        """The cosine of each piece (a row) with each of some others (a column)."""
        rows = self._rows.take(numbers, axis=0).astype(np.float32)
        others = self.token_vectors(to).T.copy()
        cosines = np.empty((len(rows), len(to)), np.float32)
        # Blocks are below the size at which BLAS starts threads, which cost more than they gain.
        block = max(1, 2**18 // others.size)
        for at in range(0, len(rows), block):
            np.matmul(rows[at : at + block], others, out=cosines[at : at + block])
        cosines /= self._lengths[numbers][:, None]
        return cosines

    def token_weights(self, numbers: Sequence[int] | NDArray[np.integer]) -> Vectors:
        """The weight of each piece in the vector of a text: the length of its own vector."""
        weights: Vectors = self._scales[numbers] * self._lengths[numbers]
        return weights

    @cached_property
    def _lengths(self) -> Vectors:
        """The lengths of the rows, without their scales; 1 for a row of zeros."""
        squares = [
            np.einsum("ij,ij->i", *[self._rows[at : at + 4096].astype(np.float32)] * 2)
            for at in range(0, len(self._rows), 4096)
        ]
        lengths: Vectors = np.sqrt(np.concatenate(squares))
        lengths[lengths == 0] = 1
        return lengths

    def _spelt(self, text: str) -> Iterator[tuple[int, ...]]:
        """The numbers of the pieces of each word of a text."""
        text = text[:TEXT_CHARACTERS_MAX].lower()
        if not text.isascii():
            text = unicodedata.normalize("NFD", text).translate(_WITHOUT_ACCENTS)
        cache = self._known
        for word in _WORD.findall(text):
            pieces = cache.get(word)
            yield self._pieces(word) if pieces is None else pieces

    def _pieces(self, word: str) -> tuple[int, ...]:
        """The longest pieces that make up a word, in order; empty if a part has no piece."""
        numbers: list[int] = []
        start = 0
        while start < len(word) <= _WORD_CHARACTERS_MAX:
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._numbers.get(prefix + word[start:end])
                if number is not None:
                    numbers.append(number)
                    start = end
                    break
            else:
                numbers.clear()
                break
        if len(self._known) >= _WORDS_REMEMBERED_MAX:
            self._known.clear()
        self._known[word] = pieces = tuple(numbers)
        return pieces


@cache
def shipped_model() -> StaticModel:
    """The model inside the package, read once per process.

    Raises:
        EmbedderFailed: its file is missing or damaged.
    """
    try:
        content = _FILE.read_bytes()
    except OSError as error:
        raise EmbedderFailed(
            f"The weights of the embedder {_NAME!r} cannot be read: {error.strerror}.",
            hint="Install Mycel again; until then search with MODE 'keyword'.",
        ) from None
    return StaticModel(_NAME, content)
