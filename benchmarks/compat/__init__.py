"""`mycel mcp --compat memory`, as a client meets it.

- `servers`    real processes, each with a graph of so many entities
- `latencies`  how long calls take with many entities, beside few
"""
