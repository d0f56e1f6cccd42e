"""Hints for several tokens together that come from another language.

The hint repeats the tokens around the failure: `SET born = 1811` becomes
`SET ATTRIBUTES { born: 1811 }`. Every function reads from a place without moving on, and returns a
hint, or None. The functions run only after a command has failed.
"""

from __future__ import annotations

import re

from mycel.kip.keywords import KEYWORDS
from mycel.kip.lexer import KipTokens
from mycel.model.aggregates import AGGREGATES
from mycel.model.names import shorten
from mycel.syntax.tokens import END

_SCALAR = re.compile(r'".*"|[-+]?[0-9.]+|true|false|null', re.ASCII)
_HOPS = re.compile(
    r"\s*+(?P<low>[0-9]*+)\s*+(?P<sign>\+|\*|,|-|:|;|\.{2,3}|to)\s*+(?P<high>[0-9]*+)\*?\s*+",
    re.ASCII,
)
_WALK = re.compile(r"\*\s*+(?=[0-9.])([0-9]*+)\s*+(\.\.)?\s*+([0-9]*+)", re.ASCII)


def scalar(tokens: KipTokens, at: int) -> str:
    """The value at a place as it is written, or an ellipsis if it is longer than a token.

    >>> scalar(KipTokens('{a: "b", c: [1]}'), 3)
    '"b"'
    >>> scalar(KipTokens("{a: :b}"), 3), scalar(KipTokens("{a: [1]}"), 3)
    (':b', '…')
    """
    token = tokens.tokens[at]
    if token == ":" and tokens.tokens[at + 1].isidentifier():
        return f":{shorten(tokens.tokens[at + 1])}"
    return token if len(token) <= 40 and _SCALAR.fullmatch(token) else "…"


def path_from(tokens: KipTokens, at: int) -> str:
    """The first variable or path from a place on, for a hint to use, or `?x`."""
    variables = (token for token in tokens.tokens[at:] if token[0] == "?" and len(token) > 1)
    return shorten(next(variables, "?x"))


# WHERE.


def group(tokens: KipTokens) -> str | None:
    """A hint about SPARQL's braces around a group of clauses; the next token is the brace."""
    first = tokens.tokens[tokens.at + 1]
    if first[0] not in "?(":
        return None
    after = _after_bracket(tokens, tokens.at)
    if tokens.tokens[after].upper() not in {"UNION", "OR", "||", "|"}:
        return "Remove these braces: clauses follow one another, and all of them have to hold."
    clause = "(…)" if first == "(" else f"{shorten(first)} {{…}}"
    return (
        f"Remove the first braces: {clause} UNION {{ … }}. Repeat in each arm the patterns"
        " that both should share."
    )


def junction(tokens: KipTokens) -> str | None:
    """A hint about a word or sign between two clauses; it is the next token."""
    sign, following = tokens.tokens[tokens.at].upper(), tokens.tokens[tokens.at + 1]
    if sign in {"AND", "&&"}:
        return f"Clauses that all have to hold follow one another: leave {sign} out."
    if sign not in {"OR", "||", "|"}:
        return None
    if following == "FILTER":
        return "Conditions are joined inside one filter: FILTER(… || …)."
    pattern = clause(tokens, tokens.at + 1)
    return (
        f"Patterns are alternatives in a block of UNION: write UNION {{ {pattern} }} in the"
        f" place of {sign}, and repeat in it the patterns that both should share."
    )


def clause(tokens: KipTokens, first: int) -> str:
    """The clause at a place as it is written, without braces around it, or an ellipsis."""
    at = first + (tokens.tokens[first][0] == "?")
    if tokens.tokens[at] not in {"{", "("}:
        return "…"
    after = _after_bracket(tokens, at)
    written = tokens.text[tokens.starts[first] : tokens.ends[after - 1]]
    if at == first and written[0] == "{":
        written = written[1:-1].strip()
    return written if len(written) <= 80 else "…"


def concept_in_parentheses(tokens: KipTokens, opened: int) -> str | None:
    """A hint about `?a (type: "T")`, from the place of the parenthesis on."""
    if tokens.tokens[opened + 1] not in {"type", "name"} or tokens.tokens[opened + 2] != ":":
        return None
    after = _after_bracket(tokens, opened)
    inner = tokens.text[tokens.ends[opened] : tokens.starts[after - 1]].strip()
    matcher = f"{{{inner}}}" if len(inner) <= 80 else "{…}"
    before = tokens.tokens[opened - 1]
    if before[0] == "?":
        matcher = f"{shorten(before)} {matcher}"
    elif before not in {",", "("}:
        matcher = f"?x {matcher}"
    return f"A concept is written in braces, a link in parentheses: write {matcher}."


def _after_bracket(tokens: KipTokens, opened: int) -> int:
    """The place after the bracket that closes the one at a place, or the end."""
    depth = 0
    for at in range(opened, len(tokens.tokens)):
        token = tokens.tokens[at]
        if token in {"{", "(", "["}:
            depth += 1
        elif token in {"}", ")", "]"}:
            depth -= 1
        if depth == 0:
            return at + 1
        if token == END:
            break
    return len(tokens.tokens) - 1


def subscript(tokens: KipTokens) -> str | None:
    """A hint about `?c["born"]` in the place of a variable; the next token is the bracket."""
    at = tokens.at
    base = tokens.tokens[at - 1] if at else ""
    if tokens.tokens[at] != "[" or base[:1] != "?" or tokens.ends[at - 1] != tokens.starts[at]:
        return None
    return f"Write {shorten(base)} here; paths are for FIND, FILTER, ORDER BY and UPDATE."


def matcher_value(tokens: KipTokens, opened: int, *, exact: bool) -> str:
    """A hint about a key that a matcher does not have; it is the next token."""
    at = tokens.at
    part, key = "attributes", tokens.tokens[at].strip('"')
    if key in {"attributes", "metadata"}:
        part = key
        at += 3 if tokens.tokens[at + 1] == ":" and tokens.tokens[at + 2] == "{" else 2
        key = tokens.tokens[at].strip('"')
    key = shorten(key) if key.isidentifier() else "key"
    value = scalar(tokens, at + 2) if tokens.tokens[at + 1] == ":" else "…"
    if exact:
        form = "SET ATTRIBUTES" if part == "attributes" else "} WITH METADATA"
        return f"Other values are set in the block of the concept: {form} {{ {key}: {value} }}."
    before = tokens.tokens[opened - 1]
    if before[0] == "?":
        name = shorten(before)
        return f"Other values are tested with FILTER({name}.{part}.{key} == {value})."
    return (
        "Other values are tested with a filter: put ?x in the place of this matcher and write "
        f'?x {{type: "…"}} FILTER(?x.{part}.{key} == {value}).'
    )


def matcher_choice(tokens: KipTokens, opened: int, key: str) -> str | None:
    """A hint about a variable or several values after a key of a matcher.

    The next token is the value.
    """
    token, before = tokens.tokens[tokens.at], tokens.tokens[opened - 1]
    name = shorten(before) if before[0] == "?" and len(before) > 1 else "?x"
    if token[0] == "?":
        return (
            f"A matcher takes a text, not a variable: the {key} of the element in {name} is"
            f" {name}.{key}, in FIND and FILTER. Leave the key out, and describe the element"
            " by another key or by a link."
        )
    if token == "|":
        tokens_of_list = [tokens.at - 1, *range(tokens.at + 1, len(tokens.tokens), 2)]
        ends = {"}", ",", END}
    elif token == "[":
        tokens_of_list = list(range(tokens.at + 1, len(tokens.tokens), 2))
        ends = {"]", END}
    else:
        return None
    names = []
    for at in tokens_of_list[:4]:
        names.append(scalar(tokens, at))
        if tokens.tokens[at + 1] in ends:
            break
    first, *others = [f"{name} {{{key}: {candidate}}}" for candidate in names]
    united = " ".join((first, *(f"UNION {{ {other} }}" for other in others)))
    return f"A matcher takes one {key}: write {united}, or FILTER(IN({name}.{key}, […]))."


def triple(tokens: KipTokens, name: str) -> str | None:
    """A hint about SPARQL's `?d treats ?s` or `?d a :Drug`, or Cypher's `?d:Drug`.

    The next token is the one after the variable.
    """
    texts, at = tokens.tokens, tokens.at
    if texts[at] == ":" and texts[at + 1].isidentifier() and texts[at + 2][0] != "?":
        return f'Write {name} {{type: "{shorten(texts[at + 1])}"}}.'
    word = texts[at + 1] if texts[at] == ":" else texts[at].strip('"')
    if not word or word in KEYWORDS or not (word[0].isalpha() or word[0] == "_"):
        return None
    at += 2 if texts[at] == ":" else 1
    of_type = texts[at + 1] if texts[at] == ":" else texts[at].strip('"')
    if word.lower() in {"a", "is", "isa", "type", "instanceof"} and of_type.isidentifier():
        return f'Write {name} {{type: "{shorten(of_type)}"}}.'
    target = shorten(texts[at]) if texts[at][0] == "?" and len(texts[at]) > 1 else "…"
    return f'A link is written ({name}, "{shorten(word)}", {target}).'


def arrow(tokens: KipTokens, opened: int) -> str | None:
    """A hint about Cypher's `(?d)-[:treats]->(?s)` and `(d:Drug)`, from the parenthesis on."""
    texts = tokens.tokens
    after = _after_bracket(tokens, opened)
    first = texts[opened + 1]
    subject = first if first[0] == "?" else f"?{first}"
    if texts[opened + 2] == ":" and texts[opened + 3].isidentifier():
        subject_type = f'{shorten(subject)} {{type: "{shorten(texts[opened + 3])}"}}'
    elif texts[opened + 2] == ")":
        subject_type = ""
    else:
        return None
    if not subject[1:].isidentifier():
        return None
    if not tokens.text[tokens.ends[after - 1] :].lstrip().startswith(("-", "<-")):
        return f"Write {subject_type}." if subject_type else None
    walk = texts[after : after + 14]
    at = next((at for at in range(after, len(texts)) if texts[at] == "("), None)
    words = [text.strip('"') for text in texts[after:at] if text[0] == '"' or text.isidentifier()]
    label = words[-1] if words else "…"
    target = "…" if at is None else texts[at + 1]
    target = target if target[0] in "?…" else f"?{target}"
    ends = (target, subject) if walk[0] == "<" else (subject, target)
    link = f'({shorten(ends[0])}, "{shorten(label)}", {shorten(ends[1])})'
    return f"A link is written {f'{subject_type} {link}' if subject_type else link}."


def creation(tokens: KipTokens) -> str | None:
    """A hint about Cypher's `MERGE (d:Drug {name: "x"})`; the next token is the parenthesis."""
    texts, at = tokens.tokens, tokens.at
    if texts[at] != "(":
        return None
    label = texts[at + 3] if texts[at + 2] == ":" else "…"
    inner = texts[at : _after_bracket(tokens, at)]
    name = scalar(tokens, at + inner.index("name") + 2) if "name" in inner else '"…"'
    return (
        "MERGE unites two concepts here. UPSERT creates a concept or changes the existing one:"
        f' UPSERT {{ CONCEPT ?x {{ {{type: "{shorten(label)}", name: {name}}}'
        " SET ATTRIBUTES { … } } }."
    )


# Conditions.


def comparison(tokens: KipTokens, first: int) -> str | None:
    """A hint about a sign or word between two operands; the first operand begins at a place."""
    texts, at = tokens.tokens, tokens.at
    left = shorten(tokens.text[tokens.starts[first] : tokens.ends[at - 1]])
    sign = tokens.text[tokens.starts[at] : tokens.starts[at] + 2]
    word, following = texts[at].upper(), texts[at + 1].upper()
    if sign.startswith(("=~", "~", "!~")):
        pattern = scalar(tokens, at + (1 if sign[0] == "~" else 2))
        return f"Write {'!' if sign[0] == '!' else ''}REGEX({left}, {pattern})."
    if word == "NOT" and following in {"IN", "CONTAINS"}:
        return f"Write !{following}({left}, {scalar(tokens, at + 2)})."
    if word in {"STARTS", "ENDS"} and following == "WITH":
        return f"Write {word}_WITH({left}, {scalar(tokens, at + 2)})."
    if word == "IS" and following in {"NULL", "NOT"}:
        return f"Write {'IS_NULL' if following == 'NULL' else 'IS_NOT_NULL'}({left})."
    return None


def aggregate(tokens: KipTokens) -> str | None:
    """A hint about `COUNT(?s) > 1` in a filter; the next tokens are the function and `(`."""
    function, argument = tokens.tokens[tokens.at].upper(), tokens.tokens[tokens.at + 2]
    if function not in AGGREGATES:
        return None
    call = f"{function}({shorten(argument) if argument[0] == '?' else '?x'})"
    return (
        f"A filter tests one row at a time, and an aggregate needs many. Return it, and sort by it:"
        f" FIND(…, {call}) WHERE {{ … }} ORDER BY {call} DESC; then drop the unwanted rows of"
        " the answer."
    )


# Predicates.


def hops(tokens: KipTokens) -> str | None:
    """A hint about SPARQL's and Cypher's hops; the next token is the sign after the predicate."""
    before, name, token = tokens.tokens[tokens.at - 2 : tokens.at + 1]
    if name == "}":
        return None
    name = f":{shorten(name, 40)}" if before == ":" else shorten(name, 40)
    if token == "/":
        return f"Every step is a pattern of its own: (?a, {name}, ?m) (?m, …, ?b)."
    if token == "?":
        return f"Write the hops in braces: {name}{{0,1}}."
    bounds = "{1,}" if token[0] == "+" else "{0,}"
    if walk := _WALK.match(tokens.text, tokens.starts[tokens.at]):
        bounds = f"{{{walk[1] or 1},{walk[3]}}}" if walk[2] else f"{{{walk[1]}}}"
    return f"Write the hops in braces: {name}{bounds}."


def hops_and_alternatives(tokens: KipTokens, first: int) -> str:
    """A hint about `"p"{1,3} | "q"`, with the first predicate at a place."""
    subject = tokens.tokens[first - 2]
    subject = shorten(subject) if subject[0] == "?" else "…"
    names: list[str] = []
    at = start = first
    while tokens.tokens[at] not in {",", ")", END}:
        at = _after_bracket(tokens, at) if tokens.tokens[at] == "{" else at + 1
        if tokens.tokens[at] in {"|", ",", ")", END}:
            names.append(tokens.text[tokens.starts[start] : tokens.ends[at - 1]])
            start = at + 1
    target = tokens.tokens[at + 1] if tokens.tokens[at] == "," else "…"
    target = shorten(target) if target[0] == "?" else "…"
    patterns = [f"({subject}, {shorten(name, 40)}, {target})" for name in names[:3]]
    union = " ".join((patterns[0], *(f"UNION {{ {pattern} }}" for pattern in patterns[1:])))
    along = " | ".join(shorten(name.split("{")[0].strip(), 40) for name in names[:3])
    return (
        f"Hops follow a single predicate: write {union}. To follow several predicates on one"
        " walk, use "
        f"TRAVERSE FROM {{…}} ALONG {along}."
    )


def hop_range(tokens: KipTokens, opened: int) -> str | None:
    """A hint about bounds that are not `{m,n}`, from the place of their brace on."""
    start = tokens.ends[opened]
    inner = tokens.text[start : max(start, tokens.text.find("}", start))]
    match = _HOPS.fullmatch(inner) if len(inner) < 20 else None
    if match is None:
        return None
    low = match["low"] or ("1" if match["sign"] == "+" else "0")
    return f"Hops are {{m}}, {{m,n}} or {{m,}}: write {{{low},{match['high']}}}."


# UPDATE and FIND.


def arithmetic(tokens: KipTokens, first: int) -> str | None:
    """A hint about `?c.attributes.n + 1`, with an operand at a place and the sign after it."""
    left, sign, right = tokens.tokens[first], tokens.tokens[first + 1], _operand(tokens, first + 2)
    is_apart = tokens.ends[first] != tokens.starts[first + 1]
    if left[0] != "?" and not (left[0].isdigit() and is_apart):
        # The operand is no number, or is the start of a date.
        return None
    if left[0] == "?" and (glued := re.fullmatch(r"(\?[\w.]+)-([0-9]+)", left)):
        left, sign, right = glued[1], "-", glued[2]
    elif sign[0] in "+-" and len(sign) > 1:
        sign, right = sign[0], sign[1:]
    left = shorten(left)
    match sign:
        case "+":
            return f"Write ADD({left}, {right})."
        case "-" if right[0] in "?:…":
            return f"Write ADD({left}, MUL({right}, -1))."
        case "-":
            return f"Write ADD({left}, -{right})."
        case "*":
            return f"Write MUL({left}, {right})."
        case "/":
            return f"Multiply by the inverse: MUL({left}, 0.5) halves it."
        case _:
            return None


def _operand(tokens: KipTokens, at: int) -> str:
    token = tokens.tokens[at]
    return shorten(token) if token[0] == "?" and len(token) > 1 else scalar(tokens, at)


def assignment(tokens: KipTokens, target: str) -> str:
    """A hint about `SET born = 1811`; the next token is the word after SET."""
    *parts, key = tokens.tokens[tokens.at].split(".")
    part = "METADATA" if parts[1:] == ["metadata"] else "ATTRIBUTES"
    value = "value"
    if tokens.tokens[tokens.at + 1] in {"=", "==", ":"}:
        value = scalar(tokens, tokens.at + 2)
    key = shorten(key) if key.isidentifier() else "key"
    return f"UPDATE ?{shorten(target)} SET {part} {{ {key}: {value} }} WHERE {{ … }}."


def distinct(tokens: KipTokens) -> str:
    """A hint about DISTINCT outside of an aggregate; it is the next token."""
    path = tokens.tokens[tokens.at + 1]
    path = shorten(path) if path[0] == "?" and len(path) > 1 else "?x.name"
    return (
        "Rows are distinct in all variables of WHERE together, so a single value may repeat. To"
        " get each value "
        f"once, group: FIND({path}, COUNT({path.split('.')[0]})); to count the values, "
        f"COUNT(DISTINCT {path})."
    )
