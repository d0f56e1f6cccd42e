"""Shows a merge and its conflicts as text, for people and models: base, ours, theirs side by side.

The text of a conflict is made from its JSON (`Conflict.to_dict`). The store keeps the same JSON
while a merge is open.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mycel.engine.conflict_warnings import place
from mycel.model.commits import short
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.history.merge.outcome import Merge

SIDES: Final = ("base", "ours", "theirs")
ABSENT: Final = "(none)"
_CONTEXT_LINES: Final = 2
"""The number of unchanged lines that are shown before and after contested lines."""


class SideRow(NamedTuple):
    """One part of a conflict, in its three versions."""

    name: str
    versions: tuple[str, ...]
    """The versions in base, ours and theirs."""
    contested: bool = True
    """False for a line that is shown only as context."""


def summary(merge: Merge) -> str:
    """The outcome of a merge, as one sentence."""
    names = f"{merge.source} into {merge.into}"
    match merge.status:
        case "up_to_date":
            return f"{merge.into} already has all commits of {merge.source}."
        case "aborted":
            return f"The merge of {names} is given up; nothing changed."
        case "clean":
            return f"{names} merges without conflicts."
        case "merged":
            counts = ", ".join(
                f"{number} {kind}" for kind, number in merge.diff.counts.items() if number
            )
            commit = f", in commit {short(merge.commit)}" if merge.commit else ""
            return f"Merged {names}{commit} ({counts or 'nothing to change'})."
    number = len(merge.unresolved)
    left = count(number, "conflict")
    if not merge.is_open:
        return f"Merging {names} would leave {left}."
    if not number:
        return f"All conflicts of merging {names} are resolved."
    return f"Merging {names} leaves {left} to decide; nothing is committed before that."


def title(conflict: Mapping[str, Any]) -> str:
    """The id, the kind and the place of a conflict, on one line."""
    return f"{conflict['id']} {conflict['kind']}: {place(conflict)}"


def side_rows(conflict: Mapping[str, Any]) -> list[SideRow]:
    """The versions of a conflict: lines of a text, values of an element, or one value."""
    if conflict.get("hunks"):
        return list(_hunk_rows(conflict["hunks"]))
    versions = [conflict.get(side) for side in SIDES]
    elements = [version for version in versions if _is_element(version)]
    if elements and not conflict.get("field"):
        return list(_element_rows(conflict, versions))
    if all(side not in conflict for side in SIDES):
        return []
    texts = (text_of(conflict[side]) if side in conflict else ABSENT for side in SIDES)
    return [SideRow("", tuple(texts))]


def element_lines(conflict: Mapping[str, Any]) -> list[str]:
    """The elements that a conflict about a constraint or definition is about, one line each."""
    return [f"{row.get('label', '')}: {row.get('message', '')}" for row in conflict.get("rows", ())]


def is_text(conflict: Mapping[str, Any]) -> bool:
    """True if every version of the contested value is a text."""
    versions = [conflict[side] for side in SIDES if side in conflict]
    return bool(versions) and all(isinstance(version, str) for version in versions)


def text_of(value: Any) -> str:
    """A value as text: a text unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def plain_lines(conflict: Mapping[str, Any], *, characters_max: int) -> list[str]:
    """A conflict in lines without colour, its versions one below the other; long ones are cut."""
    lines = [title(conflict), f"  {conflict.get('reason', '')}"]
    lines += [f"  - {_cut(line, characters_max)}" for line in element_lines(conflict)]
    rows = [row for row in side_rows(conflict) if row.contested]
    is_in_parts = bool(conflict.get("hunks")) and len(rows) > 1
    for at, row in enumerate(rows, 1):
        if is_in_parts:
            lines.append(f"  contested part {at} of {len(rows)}")
        if row.name:
            lines.append(f"  {row.name}")
        for side, text in zip(SIDES, row.versions, strict=True):
            excerpt = _cut(text, characters_max).replace("\n", "\n    | ")
            lines.append(f"  {side}: {excerpt}")
    if conflict.get("resolution"):
        lines.append(f"  resolved: {resolution_text(conflict['resolution'])}")
    elif conflict.get("suggestion"):
        lines.append(f"  suggestion: {_suggestion_text(conflict)}")
    if conflict.get("hunks") and not conflict.get("resolution"):
        value_form = (
            f"a list of {len(rows)} texts, one for each part" if is_in_parts else "one text"
        )
        lines.append(
            '  To combine the contested lines, choose "lines" with the new lines as the value'
            f' ({value_form}); the other lines of the text stay. A "value" replaces the whole text.'
        )
    return lines


def resolution_text(resolution: Mapping[str, Any]) -> str:
    """A decision as a sentence."""
    choice = str(resolution["choice"])
    if choice not in ("value", "lines"):
        return choice
    return f"{choice} {text_of(resolution.get('value'))}"


def _suggestion_text(conflict: Mapping[str, Any]) -> str:
    """The suggested choice; for one that unites both sides, with its value."""
    choice = str(conflict["suggestion"])
    if choice == "lines" and conflict.get("hunks"):
        parts = [
            "".join((*hunk["ours"], *hunk["theirs"]))
            for hunk in conflict["hunks"]
            if "ours" in hunk
        ]
        return f"lines {json.dumps(parts, ensure_ascii=False)}, those of both sides"
    if choice == "value":
        ours, theirs = conflict["ours"], conflict["theirs"]
        united = [*ours, *(item for item in theirs if item not in ours)]
        return f"value {text_of(united)}, the items of both sides"
    return choice


def _cut(text: str, characters_max: int) -> str:
    if len(text) <= characters_max:
        return text
    return f"{text[:characters_max]}… ({len(text) - characters_max} more characters)"


def _hunk_rows(hunks: Sequence[Mapping[str, Any]]) -> Iterator[SideRow]:
    for at, hunk in enumerate(hunks):
        if "ours" in hunk:
            yield SideRow("", tuple(_joined(hunk[side]) for side in SIDES))
            continue
        lines = hunk.get("same", hunk.get("merged", ()))
        after = lines[:_CONTEXT_LINES] if at else ()
        before = lines[-_CONTEXT_LINES:] if at + 1 < len(hunks) else ()
        part = [*after, *before] if len(lines) > len(after) + len(before) else list(lines)
        if part:
            text = _joined(part)
            yield SideRow("", (text, text, text), contested=False)


def _joined(lines: Sequence[str]) -> str:
    return "".join(lines).removesuffix("\n")


def _is_element(value: Any) -> bool:
    return isinstance(value, dict) and "attributes" in value


def _element_rows(conflict: Mapping[str, Any], versions: Sequence[Any]) -> Iterator[SideRow]:
    """The values in which versions of an element differ."""
    flat = [dict(_flat(version)) if _is_element(version) else {} for version in versions]
    removals = ["" if side in conflict else "(deleted)" for side in SIDES]
    if "base" not in conflict:
        removals[0] = ABSENT
    if any(removals):
        yield SideRow("element", tuple(removal or "(there)" for removal in removals))
    present = [values for values, missing in zip(flat, removals, strict=True) if not missing]
    for key in sorted({key for values in present for key in values}):
        if len({values.get(key) for values in present}) > 1 or len(present) == 1:
            yield SideRow(key, tuple(values.get(key, "") for values in flat))


def _flat(element: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in element.items():
        if key in ("attributes", "metadata") and isinstance(value, Mapping):
            yield from ((f"{key}.{inner}", text_of(member)) for inner, member in value.items())
        else:
            yield key, text_of(value)
