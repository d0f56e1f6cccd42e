"""Starts the server of the bundle for Claude Desktop."""

import sys

from mycel.cli import main

sys.exit(main(["mcp"]))
