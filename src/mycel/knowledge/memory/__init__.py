"""Entities, observations and relations, as the official MCP memory server has them.

That server keeps them in a file of JSON Lines. Here they are concepts and links like all
others. Modules:

- `entities`       entities and relations, and their concepts and predicates
- `memory_server`  all operations on them
- `file_import`    imports a file of that server
"""
