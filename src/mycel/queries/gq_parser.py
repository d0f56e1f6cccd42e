"""Parses the text of a `.gq` file into declarations of named queries.

The header has tokens of its own. The body is copied up to its closing brace (braces in strings and
comments do not count), and parsed as KIP. Every error names its line.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Final, NoReturn

from mycel.errors import InvalidSyntax, did_you_mean
from mycel.model.names import shorten
from mycel.queries.declaration import (
    NO_DEFAULT,
    PARAMETER_TYPES,
    NamedQuery,
    ParameterType,
    QueryParameter,
)

TEXT_CHARACTERS_MAX: Final = 1 << 20
PARAMETERS_MAX: Final = 50
FORM: Final = 'query name($p: String, $n: I32 = 20) @description("…") { FIND(…) WHERE { … } }'
_TOKEN: Final = re.compile(
    r'\s++|//[^\n]*+|(?P<string>"(?>(?:[^"\\\n]++|\\.)*)")|(?P<number>-?\d++(?:\.\d++)?(?:[eE][-+]?\d++)?)'
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*+)|(?P<mark>[$@(){}\[\]:,=?])"
)
_IN_BODY: Final = re.compile(r'"(?>(?:[^"\\]++|\\.)*)"?|//[^\n]*+|[{}]')
_PARAMETER_TYPES: Final[dict[str, ParameterType]] = {name: name for name in PARAMETER_TYPES}
_WORDS: Final = {"true": True, "false": False, "null": None}


def parse_queries(text: str) -> tuple[NamedQuery, ...]:
    """The declarations of a text.

    >>> query = parse_queries("query one($n: String) { FIND(?c) WHERE { ?c {name: :n} } }")[0]
    >>> query.name, query.parameters[0].type_text
    ('one', 'String')

    Raises:
        InvalidSyntax: the text is no such file; the message names the line.
    """
    if len(text) > TEXT_CHARACTERS_MAX:
        raise InvalidSyntax(
            f"A file of queries has at most {TEXT_CHARACTERS_MAX >> 20} MiB.",
            hint="Split it into several files.",
        )
    return _parse(text)


@lru_cache(256)
def _parse(text: str) -> tuple[NamedQuery, ...]:
    reader = _Reader(text)
    queries: list[NamedQuery] = []
    while not reader.at_end:
        queries.append(reader.query())
    names = [query.name for query in queries]
    for query in queries:
        if names.count(query.name) > 1:
            raise InvalidSyntax(
                f"Line {query.line}: The query {query.name!r} is declared twice.",
                hint="Rename one of them, or remove it.",
            )
    return tuple(queries)


class _Reader:
    """Reads tokens, one after another."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._kind, self._token, self._start = "", "", 0
        self._advance()

    @property
    def at_end(self) -> bool:
        return self._kind == "end"

    def query(self) -> NamedQuery:
        """One declaration."""
        start, line = self._start, self._line
        if self._take("name") != "query":
            self._fail("A declaration begins with `query`", FORM)
        name = self._take("name", "the name of the query")
        parameters: list[QueryParameter] = []
        self._expect("(")
        while self._token != ")":
            if parameters:
                self._expect(",")
            parameters.append(self._parameter())
            if len(parameters) > PARAMETERS_MAX:
                self._fail(f"A query has at most {PARAMETERS_MAX} parameters")
        self._expect(")")
        annotations = self._annotations()
        body, end = self._body()
        names = [parameter.name for parameter in parameters]
        if len(set(names)) < len(names):
            self._fail(f"A parameter of {name!r} is declared twice")
        return NamedQuery(name, tuple(parameters), annotations, body, self._text[start:end], line)

    def _parameter(self) -> QueryParameter:
        self._expect("$", "a parameter such as `$team: String`")
        name = self._take("name", "the name of the parameter")
        self._expect(":", "a type such as `: String`")
        is_list = self._accept("[")
        type_name = self._take("name", f"a type: {', '.join(PARAMETER_TYPES)}")
        if type_name not in _PARAMETER_TYPES:
            close = did_you_mean(type_name, list(PARAMETER_TYPES))
            self._fail(
                f"There is no type {type_name!r} of parameters",
                close or "Types: " + ", ".join(PARAMETER_TYPES),
            )
        if is_list:
            self._expect("]")
        is_optional = self._accept("?")
        default = self._value() if self._accept("=") else NO_DEFAULT
        description = self._annotations().get("description", "")
        return QueryParameter(
            name, _PARAMETER_TYPES[type_name], is_list, is_optional, default, str(description)
        )

    def _annotations(self) -> dict[str, Any]:
        annotations: dict[str, Any] = {}
        while self._accept("@"):
            name = self._take("name", "the name of an annotation")
            value: Any = True
            if self._accept("("):
                value = self._value()
                self._expect(")")
            annotations[name] = value
        return annotations

    def _value(self) -> Any:
        kind, token = self._kind, self._token
        if kind in ("string", "number"):
            self._advance()
            return json.loads(token)
        if kind == "name" and token in _WORDS:
            self._advance()
            return _WORDS[token]
        if self._accept("["):
            values: list[Any] = []
            while not self._accept("]"):
                if values:
                    self._expect(",")
                values.append(self._value())
            return values
        raise self._error("A value is missing", 'It is a "text", a number, a word or a list.')

    def _body(self) -> tuple[str, int]:
        if self._token != "{":
            self._fail("The body is missing", "Write a command of KIP between { and }.")
        start, depth = self._start + 1, 1
        for match in _IN_BODY.finditer(self._text, start):
            depth += {"{": 1, "}": -1}.get(match[0], 0)
            if depth == 0:
                self._at = match.end()
                body = self._text[start : match.start()].strip()
                if not body:
                    self._fail("The body is empty", "Write a command of KIP between { and }.")
                self._advance()
                return body, match.end()
        raise self._error("The body has no end", "A closing } is missing.")

    @property
    def _line(self) -> int:
        return self._text.count("\n", 0, self._start) + 1

    def _advance(self) -> None:
        while self._at < len(self._text):
            match = _TOKEN.match(self._text, self._at)
            self._start = self._at
            if match is None:
                self._fail(f"There is an unexpected character {self._text[self._at]!r}")
            self._at = match.end()
            if match.lastgroup is not None:
                self._kind, self._token = match.lastgroup, match[0]
                return
        self._kind, self._token, self._start = "end", "", len(self._text)

    def _accept(self, mark: str) -> bool:
        is_there = self._kind == "mark" and self._token == mark
        if is_there:
            self._advance()
        return is_there

    def _expect(self, mark: str, expected: str = "") -> None:
        if not self._accept(mark):
            token = self._token or "the end"
            self._fail(f"Expected {expected or repr(mark)}, not {shorten(token)!r}", FORM)

    def _take(self, kind: str, expected: str = "a declaration") -> str:
        token = self._token
        if self._kind != kind:
            self._fail(f"Expected {expected}, not {shorten(token or 'the end')!r}", FORM)
        self._advance()
        return token

    def _error(self, why: str, hint: str = "") -> InvalidSyntax:
        return InvalidSyntax(f"Line {self._line}: {why}.", hint=hint)

    def _fail(self, why: str, hint: str = "") -> NoReturn:
        raise self._error(why, hint)
