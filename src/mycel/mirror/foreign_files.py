"""Files in a mirror's repository that are no documents: a README, pictures, settings of an editor.

They belong to the user. Texts are merged by lines, with `git merge-file`. A binary file that two
sides have changed is a conflict.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from mycel.errors import ConstraintViolation, GitFailed
from mycel.mirror.export import FIXED
from mycel.mirror.folder import SHOWN_MAX
from mycel.mirror.paths import is_document
from mycel.mirror.repository import Repository, TreeChange
from mycel.model.names import name_few


def merge_foreign_files(repository: Repository, ours: str, theirs: str) -> list[TreeChange]:
    """The changes that merge the files of the user in two commits.

    Raises:
        ConstraintViolation: both have changed the same lines, or a binary file.
    """
    base = next(iter(repository.merge_bases(ours, theirs)), "")
    mine = {change.path: change for change in repository.tree_changes(base, ours)}
    tree_changes, contested = [], []
    for change in repository.tree_changes(base, theirs):
        if is_document(change.path) or change.path in _FIXED_PATHS:
            continue
        own = mine.get(change.path)
        if own is None:
            tree_changes.append(change)
        elif own.new != change.new:
            merged = _merged(repository, own, change)
            if merged is None:
                contested.append(change.path)
            else:
                tree_changes.append(change._replace(new=merged))
    if contested:
        raise ConstraintViolation(
            f"{name_few(contested, SHOWN_MAX)} {'was' if len(contested) == 1 else 'were'} changed"
            " here and in the remote; these are no documents of the mirror.",
            hint="Merge with git: `git merge` in the folder of the mirror, settle the files,"
            " commit, and import again.",
            data={"paths": contested},
        )
    return tree_changes


_FIXED_PATHS = {file.path for file in FIXED}


def _merged(repository: Repository, ours: TreeChange, theirs: TreeChange) -> str | None:
    """Merge a file that two sides have changed; returns its object, or None for a conflict."""
    if not (ours.new and theirs.new):
        return None
    contents = list(repository.blobs([blob for blob in (ours.new, ours.old, theirs.new) if blob]))
    if not ours.old:
        contents.insert(1, b"")
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("ours", "base", "theirs")]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        try:
            merged = repository.run("merge-file", "--stdout", *map(str, paths))
        except GitFailed:
            return None
    return repository.write_blob(merged)
