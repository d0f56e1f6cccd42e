"""The journal, and the log and trees that commit to it: names, entries, trees, records.

- `registry`        names of types, predicates and actors, interned to integers
- `journal`         entries, the Merkle log over them, and the head
- `purge_entries`   records of purges, and where the past begins
- `marks`           entries about commits: tags, and the parents of merges
- `merges`          tables of merges that are open, and of their choices
- `submissions`     tables of outcomes of submissions, and of proposals
- `saved_views`     the table of views that people have saved under names
- `copied`          tables of a filtered copy: its position in the source, and the numbers there
- `trees`           the two state trees on disk
- `topological`     orders links about links: each after its ends
- `audit`           makes records from rows
- `server_records`  tokens and audit log of a server, in a file of their own
"""
