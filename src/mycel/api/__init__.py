"""The open graph: what `mycel.open` returns.

- `graph_view`     `GraphView`: everything that one state lets you read
- `graph`          `Graph`: the live state, with commands, writes and parts
- `edge_data`      the data of an edge, from an object or CBOR
- `opening`        `open_graph`, which is `mycel.open`
- `open_pool`      graphs that a server keeps open, and closes when nobody uses them
- `open_branches`  the branches that a server keeps open
"""
