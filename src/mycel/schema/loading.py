"""From text to catalog: `load`."""

from __future__ import annotations

from mycel.errors import SchemaError
from mycel.schema.builder import build
from mycel.schema.catalog import Catalog
from mycel.schema.lexer import BYTE_ORDER_MARK
from mycel.schema.parser import parse
from mycel.syntax.diagnostics import shown
from mycel.syntax.gc_pause import collector_paused


def load(text: str, *, file: str | None = None) -> Catalog:
    """The catalog of a schema; `file` is what errors call the text.

    >>> catalog = load("node Drug { name: String @key } edge Treats: Drug -> Drug")
    >>> catalog.ir_hash
    'sha256:...'

    Raises:
        SchemaError: the text breaks a rule of the language; the message says where and which.
        ResourceExhausted: it is longer than 4 MiB.
    """
    try:
        # As long as the tree lives there are many objects, and no cycles among them.
        with collector_paused(True):
            return build(parse(text))
    except SchemaError as error:
        if "span" in error.data:
            shown(error, text.removeprefix(BYTE_ORDER_MARK))
        if file is not None:
            _name_file(error, file)
        raise


def _name_file(error: SchemaError, file: str) -> None:
    message = error.message
    has_place = "line" in error.data
    error.message = (
        f"{file}, {message[0].lower()}{message[1:]}" if has_place else f"{file}: {message}"
    )
    error.args = (error.message,)
    error.data = {"file": file, **error.data}
