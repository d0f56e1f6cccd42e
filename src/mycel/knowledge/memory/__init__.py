"""The graph as the memory server of the Model Context Protocol's project sees it.

That server keeps entities (a name, a type, observations) and relations between them in a file of
JSON Lines. Here they are concepts and propositions like all others, so that whoever comes from
there loses nothing and may go on from here.

- `entities`     what entities and relations are, and which concepts and predicates they become
- `memory_server`        everything that can be done with them
- `file_import`    a file of that server, into the graph
"""
