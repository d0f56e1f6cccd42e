"""Programs that speak MCP: the entry of a graph in their configuration files.

- `programs`      the clients, the form of their files, and the command that starts a server
- `config_files`  writing our entry, and finding entries
- `jsonc`         JSON with comments: parsing it, and changing one member
"""
