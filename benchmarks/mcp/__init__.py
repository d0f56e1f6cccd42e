"""The server of MCP on standard input and output, driven as clients drive it.

- `empty`    a server of the same SDK whose one tool does nothing
- `servers`  starting servers, and talking to them with as little as possible in between
- `calls`    the measures: ready for the first call, a `get` beside an empty call, memory
"""
