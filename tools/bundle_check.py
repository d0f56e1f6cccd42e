"""Checks the plugins with the clients' own tools, in an empty home folder: `make bundlecheck`.

The tools are npm packages: @anthropic-ai/claude-code, @anthropic-ai/mcpb and @openai/codex. A tool
that is not on the PATH is left out, with a message.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLUGINS = ROOT / "plugins"


def steps(folder: Path) -> list[list[str]]:
    """The commands, in their order."""
    desktop = PLUGINS / "claude-desktop"
    return [
        ["claude", "plugin", "validate", str(ROOT)],
        ["claude", "plugin", "validate", str(PLUGINS / "claude-code")],
        ["claude", "plugin", "marketplace", "add", str(ROOT)],
        ["claude", "plugin", "install", "mycel@mycel"],
        ["claude", "plugin", "list"],
        ["codex", "plugin", "marketplace", "add", str(ROOT)],
        ["codex", "plugin", "add", "mycel@mycel"],
        ["codex", "mcp", "list"],
        ["mcpb", "validate", str(desktop / "manifest.json")],
        ["mcpb", "pack", str(desktop), str(folder / "mycel.mcpb")],
    ]


def main() -> int:
    """Run all commands; the status is 1 if one failed."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="mycel-bundles-") as home:
        environment = os.environ | {"HOME": home, "CODEX_HOME": f"{home}/.codex"}
        Path(home, ".codex").mkdir()
        for command in steps(Path(home)):
            if shutil.which(command[0]) is None:
                print(f"left out, {command[0]} is not installed: {' '.join(command)}")
                continue
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False, timeout=120
            )
            print(f"{'ok' if done.returncode == 0 else 'FAILED'}: {' '.join(command)}")
            if done.returncode:
                print(done.stdout, done.stderr, sep="\n")
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
