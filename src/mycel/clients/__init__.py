"""Programs that speak MCP: the entry of a graph in their configuration files.

- `programs`      the clients, the form of their files, and the command that starts a server
- `config_files`  writing our entry, and finding entries
- `jsonc`         JSON with comments: parsing it, and changing one member
- `skill`         the short text that tells a model when to use the graph
- `installation`  installs and removes entries, hooks and skill in the clients of a machine
"""
