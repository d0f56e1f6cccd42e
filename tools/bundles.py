"""Writes the plugins and bundles for clients: `make bundles`; `--check` only compares.

Names, descriptions, versions, hooks and the skill have one source each: `pyproject.toml`, the
package, and `mycel.clients`. Everything under `plugins/`, `.claude-plugin/`, `server.json` and the
install links of the README are made from them, and committed.
"""

from __future__ import annotations

import base64
import json
import sys
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mycel import __version__
from mycel.clients import skill
from mycel.hooks.client_events import CLIENT_EVENTS, HookClient

ROOT = Path(__file__).parents[1]
PLUGINS = ROOT / "plugins"
SERVER_NAME = "io.github.mycel-graph/mycel"
SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
LINKS = ("<!-- install links -->", "<!-- /install links -->")
TITLE = "Mycel"
HOOK_SECONDS = 20
RECALL = """---
description: What this project's memory knows about something
argument-hint: <question>
---

Search the memory of this project (the tool `search_knowledge` of the server `mycel`, with
`context_tokens` 1500) for: $ARGUMENTS

Answer from what it returns, and name the URIs of the notes that you used. If nothing fits, say so.
"""
REMEMBER = """---
description: Keep something in this project's memory
argument-hint: <what to remember>
---

Write this into the memory of this project with `remember_knowledge` of the server `mycel`:
$ARGUMENTS

One note for one thing, with a title that says it, a fitting type (Decision, Pitfall, Preference or
Note), and relations to the files and concepts that it is about. Never write secrets.
"""


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return dict(table)


def texts() -> dict[Path, str]:
    """The text of every file that is made."""
    about = project()
    description = about["description"]
    author = {"name": about["authors"][0]["name"]}
    plugin = {
        "name": skill.NAME,
        "version": __version__,
        "description": description,
        "author": author,
        "license": about["license"],
        "keywords": about["keywords"],
    }
    server = {"mcpServers": {skill.NAME: {"command": "mycel", "args": ["mcp"]}}}
    claude, codex = PLUGINS / "claude-code", PLUGINS / "codex"
    files: dict[Path, Any] = {
        ROOT / ".claude-plugin/marketplace.json": {
            "name": skill.NAME,
            "owner": author,
            "metadata": {"description": description, "version": __version__},
            "plugins": [
                {
                    "name": skill.NAME,
                    "source": "./plugins/claude-code",
                    "description": description,
                    "version": __version__,
                }
            ],
        },
        claude / ".claude-plugin/plugin.json": plugin,
        claude / ".mcp.json": server,
        claude / "hooks/hooks.json": hooks("claude-code"),
        claude / "skills/mycel/SKILL.md": skill.TEXT,
        claude / "commands/recall.md": RECALL,
        claude / "commands/remember.md": REMEMBER,
        ROOT / ".agents/plugins/marketplace.json": {
            "name": skill.NAME,
            "interface": {"displayName": TITLE},
            "plugins": [
                {
                    "name": skill.NAME,
                    "source": {"source": "local", "path": "./plugins/codex"},
                    "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                    "category": "Productivity",
                }
            ],
        },
        codex / ".codex-plugin/plugin.json": plugin
        | {
            "skills": "./skills/",
            "mcpServers": "./.mcp.json",
            "hooks": "./hooks/hooks.json",
            "interface": {
                "displayName": TITLE,
                "shortDescription": description,
                "longDescription": skill.DESCRIPTION,
                "developerName": author["name"],
                "category": "Productivity",
                "capabilities": ["Read", "Write"],
            },
        },
        codex / ".mcp.json": server,
        codex / "hooks/hooks.json": hooks("codex"),
        codex / "skills/mycel/SKILL.md": skill.TEXT,
        PLUGINS / "claude-desktop/manifest.json": desktop_manifest(about),
        PLUGINS / "claude-desktop/server.py": DESKTOP_SERVER,
        PLUGINS / "claude-desktop/pyproject.toml": desktop_project(about),
        ROOT / "server.json": {
            "$schema": SERVER_SCHEMA,
            "name": SERVER_NAME,
            "title": TITLE,
            "description": description,
            "version": __version__,
            "packages": [
                {
                    "registryType": "pypi",
                    "identifier": about["name"],
                    "version": __version__,
                    "transport": {"type": "stdio"},
                    "runtimeHint": "uvx",
                    "packageArguments": [{"type": "positional", "value": "mcp"}],
                }
            ],
        },
        ROOT / "Containerfile": container(description),
        ROOT / "README.md": readme(),
    }
    return {
        path: value if isinstance(value, str) else json.dumps(value, indent=2) + "\n"
        for path, value in files.items()
    }


def hooks(client: HookClient) -> dict[str, Any]:
    """The hooks of a plugin."""
    return {
        "hooks": {
            theirs: [
                {
                    "hooks": [
                        {
                            "type": "command",
                            "command": f"mycel hook {own} --client {client}",
                            "timeout": HOOK_SECONDS,
                        }
                    ]
                }
            ]
            for own, theirs in CLIENT_EVENTS[client].items()
        }
    }


def desktop_manifest(about: dict[str, Any]) -> dict[str, Any]:
    """The manifest of the bundle for Claude Desktop."""
    return {
        "manifest_version": "0.4",
        "name": about["name"],
        "display_name": TITLE,
        "version": __version__,
        "description": about["description"],
        "author": {"name": about["authors"][0]["name"]},
        "license": about["license"],
        "keywords": about["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server.py"],
                "env": {"MYCEL_WORKSPACE": "${user_config.workspace}"},
            },
        },
        "tools_generated": True,
        "prompts_generated": True,
        "user_config": {
            "workspace": {
                "type": "string",
                "title": "Workspace",
                "description": "The name of the graph; it is kept in your home folder",
                "default": "personal",
                "required": True,
            }
        },
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": about["requires-python"]},
        },
    }


DESKTOP_SERVER = '''"""Starts the server of the bundle for Claude Desktop."""

import sys

from mycel.cli import main

sys.exit(main(["mcp"]))
'''


def desktop_project(about: dict[str, Any]) -> str:
    """The project file of that bundle, from which uv installs."""
    return (
        f'[project]\nname = "{about["name"]}-bundle"\nversion = "{__version__}"\n'
        f'requires-python = "{about["requires-python"]}"\n'
        f'dependencies = ["{about["name"]}=={__version__}"]\n'
    )


def container(description: str) -> str:
    """The container file: the server on a graph in a volume."""
    return f"""# {description}. Made by tools/bundles.py.
#   podman build -t mycel . && podman run -i -v mycel:/data mycel
FROM python:3.12-slim
LABEL io.modelcontextprotocol.server.name="{SERVER_NAME}"
COPY . /source
RUN pip install --no-cache-dir /source && rm -rf /source \\
    && useradd --create-home mycel && mkdir /data && chown mycel /data
USER mycel
ENV MYCEL_DB=/data/graph.db
VOLUME /data
ENTRYPOINT ["mycel"]
CMD ["mcp"]
"""


def links() -> str:
    """The links with which Cursor and VS Code install the server."""
    entry = {"command": "mycel", "args": ["mcp", "--root", "${workspaceFolder}"]}
    config = base64.b64encode(json.dumps(entry).encode()).decode()
    cursor = f"cursor://anysphere.cursor-deeplink/mcp/install?name=mycel&config={quote(config)}"
    code = f"vscode:mcp/install?{quote(json.dumps({'name': skill.NAME, 'type': 'stdio', **entry}))}"
    return f"[Add to Cursor]({cursor}) · [Add to VS Code]({code})"


def readme() -> str:
    """The README with the links and the name of the server."""
    text = (ROOT / "README.md").read_text("utf-8")
    start, end = LINKS
    head, _, rest = text.partition(start)
    if not rest:
        raise SystemExit(f"The README has no {start}.")
    name = f"<!-- mcp-name: {SERVER_NAME} -->"
    return f"{head}{start}\n{links()}\n{name}\n{end}{rest.partition(end)[2]}"


def main() -> int:
    """Write the files, or compare them."""
    stale = [path for path, text in texts().items() if not _is(path, text)]
    for path in stale:
        print(f"{path.relative_to(ROOT)} {'is stale' if '--check' in sys.argv else 'written'}")
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts()[path], "utf-8")
    return int(bool(stale) and "--check" in sys.argv)


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text("utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
