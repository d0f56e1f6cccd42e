"""Runs the blocks of one document in order, in one folder, and compares the stated outputs.

Python blocks share a namespace, bash blocks an environment. An output is stated

- in Python by the comment behind a `print`, or by the lines of comment right below it, one for each
  line that is printed;
- in bash by a `text` block right behind the block.

`...` in a statement stands for anything. In Python the output may be followed by `:`, `,` or `;`
and a remark, as in `print(2 + 2)  # 4: the usual result`.
"""

import ast
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tokenize
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import mycel
from tests.adapters.warm import warm_command
from tests.docs.blocks import Block

BASH = shutil.which("bash")

_PRELUDE = """\
set -euo pipefail
python() { "$DOCS_PYTHON" "$@"; }
if [ -e "$DOCS_EXPORTS" ]; then . "$DOCS_EXPORTS"; fi
"""
_INSTALLING = ("make ", "pip install ", "uv tool ")
"""Lines that need a clone or the network are left out."""
_CODA = '\nexport -p > "$DOCS_EXPORTS"\n'


class Session:
    """A session in which all blocks of a document run."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path = path
        self._folder = folder
        self._printed: dict[int, list[str]] = defaultdict(list)
        self._namespace: dict[str, Any] = {"__name__": "__main__", "print": self._print}
        self._bash_output: str | None = None

    def run(self, block: Block) -> None:
        if block.language == "text" and block.follows_a_block and self._bash_output is not None:
            self._compare_text(block)
        self._bash_output = None
        if not block.runs:
            return
        if block.language == "python":
            self._run_python(block)
        elif block.language == "bash":
            self._run_bash(block)

    def close(self) -> None:
        with ExitStack() as stack:
            for value in self._namespace.values():
                if isinstance(value, mycel.Graph):
                    stack.callback(value.close)
        self._namespace.clear()

    # Python.

    def _run_python(self, block: Block) -> None:
        # Padded, so that tracebacks and `_print` speak of lines of the document.
        source = "\n" * (block.line - 1) + block.source
        self._printed.clear()
        exec(compile(source, str(self._path), "exec"), self._namespace)
        comments = comments_of(source)
        for node in ast.walk(ast.parse(source)):
            if is_print(node):
                self._compare_prints(node, stated_outputs(comments, node.end_lineno))

    def _print(self, *values: object, sep: str = " ") -> None:
        caller = sys._getframe(1)
        if caller.f_code.co_filename == str(self._path):
            self._printed[caller.f_lineno] += sep.join(map(str, values)).split("\n")

    def _compare_prints(self, node: ast.Call, stated: list[str]) -> None:
        if not stated:
            return
        lines = range(node.lineno, node.end_lineno + 1)
        printed = [line for at in lines for line in self._printed.get(at, [])]
        agree = len(stated) == len(printed) and all(map(agrees, stated, printed))
        assert agree, f"{self._path}:{node.lineno} states {stated} but prints {printed}"

    # Bash.

    def _run_bash(self, block: Block) -> None:
        lines = [line for line in block.source.splitlines() if not line.startswith(_INSTALLING)]
        if all(not line.strip() or line.startswith("#") for line in lines):
            return
        assert BASH
        package_folder = str(Path(mycel.__file__).parents[1])
        environment = {
            **os.environ,
            "DOCS_PYTHON": sys.executable,
            "DOCS_EXPORTS": str(self._folder.with_name("exports")),
            "PYTHONPATH": package_folder,
        }
        done = subprocess.run(
            [BASH, "-c", _PRELUDE + _mycel() + "\n".join(lines) + _CODA],
            cwd=self._folder,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        where = f"{self._path}:{block.line}"
        assert done.returncode == 0, f"{where}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, f"{where}\n{done.stderr}"
        self._bash_output = done.stdout

    def _compare_text(self, block: Block) -> None:
        stated = [line.rstrip() for line in block.source.splitlines()]
        printed = [line.rstrip() for line in (self._bash_output or "").splitlines()]
        agree = re.fullmatch(pattern("\n".join(stated)), "\n".join(printed), re.DOTALL)
        shown = "\n".join(printed)
        assert agree, f"{self._path}:{block.line} states another output than\n{shown}"


def _mycel() -> str:
    """The command of the documents, in this process, without the time to load `python -m mycel`."""
    return f'mycel() {{ {shlex.join(warm_command("mycel"))} "$@"; }}\n'


def is_print(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    )


def comments_of(source: str) -> dict[int, tuple[bool, str]]:
    """The comment in each line that has one, and True if nothing else is on the line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]: (token.line.lstrip().startswith("#"), token.string[1:].strip())
        for token in tokens
        if token.type == tokenize.COMMENT
    }


def stated_outputs(comments: dict[int, tuple[bool, str]], line: int) -> list[str]:
    """The outputs that comments state for a `print` that ends in this line."""
    if line in comments:
        return [comments[line][1]]
    stated = []
    while line + 1 in comments and comments[line + 1][0]:
        line += 1
        stated.append(comments[line][1])
    return stated


def agrees(stated: str, printed: str) -> bool:
    return re.fullmatch(pattern(stated), printed) is not None or any(
        re.fullmatch(pattern(stated[: mark.start()]), printed)
        for mark in re.finditer(r"[:,;] ", stated)
    )


def pattern(stated: str) -> str:
    return ".*".join(map(re.escape, stated.split("...")))
