"""The journal and what commits to it: names, entries, Merkle log, state trees, records.

- `registry`     names of types, predicates and actors, interned to integers
- `journal`      entries, the Merkle log over them, and the head
- `purge_entries`  records of purges, and where the past begins
- `marks`        entries about commits: tags, and the parents of merges
- `merges`       tables of merges that are open, and of their choices
- `submissions`  tables of outcomes of submissions, and of proposals
- `saved_views`  the table of views that people have saved under names
- `copied`       tables of a filtered copy: how far it follows its source, and the numbers there
- `trees`        the two state trees on disk
- `topological`  links about links in an order where each follows what it is about
- `audit`        rows turned back into records
- `server_records`  tokens and audit log of a server, in a file of their own
"""
