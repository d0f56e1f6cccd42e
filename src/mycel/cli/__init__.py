"""The `mycel` command: a thin door to the public API, for people and for scripts.

Modules, in the order in which a call passes through them:

- `app`         the root command and all others under it; `run` is one call, from words to status
- `context`     options that stand before or after any command, and the database they lead to
- `folders`     the folders that databases at home belong to, and the database of a folder
- `parameters`  what people type: JSON, moments, hashes, and elements as ids or as Type:name
- `databases`   init, doctor
- `demo`        demo
- `kip`         kip: one command of the language
- `answers`     what a command of the language gave back, for people
- `shell`       kip without a command: a session on a terminal
- `editing`     what is typed there: is it whole, and what may come next?
- `capsules`    capsule
- `packing`     what an exported capsule needs elsewhere: definitions
- `schema`      schema
- `transfer`    load, export
- `importing`   import: what another program remembers
- `bootstrap`   bootstrap: a folder with its sources
- `concepts`    define, concept, search
- `edges`       edge, find
- `traversal`   traverse
- `history`     log, history, snapshot, purge, scrub
- `proofs`      prove, verify
- `mcp`         mcp: the graph for agents, on stdin and stdout
- `serve`       serve: the graph over HTTP
- `clients`     how programs that speak MCP are told about a graph
- `registering` the files of these programs: our entry in them
- `jsonc`       JSON with comments: reading it, and changing one member
- `labels`      ids with the names that people know
- `output`      tables for people, one JSON object per line for programs
- `failures`    from any exception to one message and an exit status
- `reference`   `docs/cli.md`, written from the commands themselves

Modules here import the engine inside their commands, not at their top: loading it takes longer than
`mycel --help` should. `shell`, `editing` and `packing` are loaded as a whole when they are needed.
"""

from mycel.cli.app import main

__all__ = ["main"]
