"""The MCP server on standard input and output, measured through clients.

- `empty`    a server of the same SDK whose one tool does nothing
- `servers`  starts servers, and sends them requests with little overhead
- `calls`    the measures: ready for the first call, a `get` beside an empty call, memory
"""
