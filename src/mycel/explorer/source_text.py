"""Source text of a node: the lines of a symbol, or the head of a file.

A graph has the place of a symbol, not its text. The text is read from the present file on the disk,
if the files of the project may be read.
"""

from __future__ import annotations

from typing import Any, Final

from mycel.errors import ConstraintViolation, MycelError
from mycel.explorer import limits
from mycel.explorer.moments import Scene
from mycel.knowledge.uris import Uri, build, uri_of
from mycel.knowledge.vocabulary import SYMBOL
from mycel.knowledge.workspace_files import split_lines
from mycel.model.elements import Concept
from mycel.model.values import JsonObject

LINE: Final = "line"
END_LINE: Final = "end_line"


def source_text(scene: Scene, id_: str) -> JsonObject:
    """The source of a symbol or file: its path and lines, with `text` or a `reason`.

    Raises:
        ConstraintViolation: the node is neither.
    """
    concept = scene.reader.element(scene.number(id_))
    if not isinstance(concept, Concept):
        raise _no_source(id_)
    uri = scene.knowledge.uri(uri_of(concept.type, concept.name))
    if concept.type == SYMBOL:
        path = uri.path.rpartition("/")[0]
        line, end_line = _lines(concept.attributes)
    elif uri.is_file:
        path, line, end_line = uri.path, 1, limits.HEAD_LINES
    else:
        raise _no_source(id_)
    file = build("file", uri.workspace, path)
    place: dict[str, Any] = {"path": path, "uri": file.text, "line": line}
    try:
        lines = _read(scene, file)
    except MycelError as error:
        return scene.answer(**place, text=None, reason=error.message)
    last = min(end_line, line + limits.SOURCE_LINES - 1)
    excerpt = lines[line - 1 : last]
    if not excerpt:
        reason = f"The file has {len(lines)} lines now: it was changed since it was read."
        return scene.answer(**place, text=None, reason=reason)
    text = "\n".join(source_line[: limits.SOURCE_LINE_CHARACTERS] for source_line in excerpt)
    is_cut = last < min(end_line, len(lines)) or (uri.is_file and len(lines) > last)
    return scene.answer(**place, text=text, lines=len(lines), cut=is_cut)


def _lines(attributes: Any) -> tuple[int, int]:
    line, end_line = attributes.get(LINE), attributes.get(END_LINE)
    first = line if isinstance(line, int) and line > 0 else 1
    return first, end_line if isinstance(end_line, int) and end_line >= first else first


def _read(scene: Scene, file: Uri) -> list[str]:
    """The lines of a file on the disk."""
    if scene.knowledge.root is None:
        raise ConstraintViolation(
            "This server does not read files of the project: start it with --files, in its folder."
        )
    content = scene.knowledge.read_resource(file.text)
    if content.text is None:
        raise ConstraintViolation("The file is no text.", hint="Open it with another program.")
    return split_lines(content.text)


def _no_source(id_: str) -> ConstraintViolation:
    return ConstraintViolation(
        f"{id_} is no symbol and no file: it has no source.", hint="Ask for a symbol or a file."
    )
