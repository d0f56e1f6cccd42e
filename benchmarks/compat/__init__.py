"""`mycel mcp --compat memory`, measured through a client.

- `servers`    server processes and the graphs they serve
- `latencies`  calls on 50,000 entities beside calls on 100
- `official`   the same calls on the official memory server, and writes sent at the same time
"""
