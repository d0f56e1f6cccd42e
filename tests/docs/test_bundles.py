"""Plugins and bundles are those that `tools/bundles.py` makes, and say the same of the package."""

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import mycel
from mycel.clients import skill
from mycel.knowledge.documents.front_matter import read_front_matter

ROOT = Path(__file__).parents[2]


def test_the_committed_files_are_those_that_are_made() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "bundles.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_every_file_has_the_version_of_the_package() -> None:
    names = (
        "plugins/claude-code/.claude-plugin/plugin.json",
        "plugins/codex/.codex-plugin/plugin.json",
        "plugins/claude-desktop/manifest.json",
        "server.json",
    )
    versions = {json.loads((ROOT / name).read_text())["version"] for name in names}
    assert versions == {mycel.__version__}


def test_the_links_of_the_readme_start_the_server() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    wanted = ["mcp", "--root", "${workspaceFolder}"]
    (cursor,) = re.findall(r"cursor://[^)]+config=([^)]+)\)", text)
    assert json.loads(base64.b64decode(unquote(cursor)))["args"] == wanted
    (code,) = re.findall(r"vscode:mcp/install\?([^)]+)\)", text)
    assert json.loads(unquote(code))["args"] == wanted
    name = json.loads((ROOT / "server.json").read_text())["name"]
    assert f"<!-- mcp-name: {name} -->" in text
    assert f'name="{name}"' in (ROOT / "Containerfile").read_text()


def test_the_skill_has_a_front_matter_that_clients_can_read() -> None:
    matter = read_front_matter(skill.TEXT.splitlines())
    assert matter.properties == {"name": skill.NAME, "description": skill.DESCRIPTION}
