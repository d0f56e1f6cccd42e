"""Every bound on the input of a caller.

Exceeding a bound is `KIP_4002`, unless the value could never be valid: a name that is too long is
`KIP_2002`, an identifier that is too long `KIP_1002`, an integer that is too large `KIP_2003`.
"""

from __future__ import annotations

NAME_BYTES_MAX = 4096
"""A concept's name, in UTF-8. Long enough for any URI in use."""

IDENTIFIER_BYTES_MAX = 255
"""A type's or predicate's name."""

ACTOR_BYTES_MAX = 255
MESSAGE_BYTES_MAX = 4096
REASON_BYTES_MAX = 4096

JSON_DEPTH_MAX = 64
"""Levels of attributes or metadata; the object itself is the first."""

JSON_BYTES_MAX = 1 << 20
"""The attributes of one element as JSON text; its metadata has the same bound."""

KEY_BYTES_MAX = 1024
"""One key in an attribute or metadata object."""

INTEGER_MIN, INTEGER_MAX = -(1 << 63), (1 << 63) - 1
"""Integers of SQLite: numbers of elements, versions, positions of the journal, LIMIT."""

JSON_INTEGER_MAX = (1 << 64) - 1
"""The largest integer in attributes and metadata; the least is `INTEGER_MIN`.

Languages and JSON libraries have integers of 64 bits, signed or unsigned.
"""

HOPS_MAX = 6
"""The maximum number of hops of `find` (edges and graph: MaxHopsCap)."""

FIND_LIMIT_MAX = 1_000_000

TRAVERSE_NODES_MAX = 100_000
"""The maximum number of elements that one traversal returns."""

TRAVERSE_COST_MAX = 1_000_000
"""The maximum cost of a traversal. No path reaches it, because a link costs at most 1."""

TRANSACTION_SAVED_ELEMENTS_MAX = 1 << 17
"""The maximum number of elements whose identity one transaction remembers, to save look-ups."""

COMMAND_BYTES_MAX = 256 << 10
"""The text of one KIP command, in UTF-8."""

CAPSULE_BYTES_MAX = 64 << 20
"""The text of a capsule file, in UTF-8."""

SCHEMA_BYTES_MAX = 4 << 20
"""The text of a schema, in UTF-8."""

SCHEMA_COMMENTS_MAX = 100_000
"""The maximum number of comments of a schema to format: each is put back in its place."""

LINE_BYTES_MAX = 16 << 20
"""The maximum number of bytes of a line of a loaded file, and of one of its cells."""

NESTING_DEPTH_MAX = 64
"""Levels of blocks, patterns and conditions in a command. The levels of a JSON value in it are
counted separately."""

VARIABLES_MAX = 1_000
"""Variables of one command; planning takes time quadratic in their number."""

PATTERN_BYTES_MAX = 8 << 10
"""A regular expression, in UTF-8."""

BATCH_COMMANDS_MAX = 256
"""Commands in one request."""

HOP_BOUND_MAX = 65_535
"""The largest bound on hops that can be written; a larger one is `KIP_1001`."""

RESULT_ROWS_MAX = 1_000_000
"""Rows of one result; LIMIT and CURSOR page through more."""

RESULT_BYTES_MAX = 256 << 20
"""Text in the cells of one result."""

MESSAGE_LINE_BYTES_MAX = 32 << 20
"""One message of MCP on standard input."""

TOOL_ARGUMENT_BYTES_MAX = 4 << 20
"""The arguments of one tool call, as JSON text."""

TOOL_RESULT_TOKENS_MAX = 20_000
"""Estimated tokens of the answer to one tool call. Clients cut answers off at about 25,000."""
