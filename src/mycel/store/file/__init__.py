"""The SQLite file: tables, connections, and functions that SQLite lacks.

- `layout`       tables, indexes, views, and the number of the format
- `format`       the check of a file's header
- `functions`    functions that every connection has: JSON equality, regular expressions
- `walks`        functions and a table for walks of many hops
- `connections`  opening a connection; SQLite's errors become ours
- `locks`        a lock of the operating system on a file of its own
- `plain_files`  opens regular files, and nothing else
- `rows`         typed rows of a query
- `workspace_databases` the database of the name of a workspace
- `branch_files` files of branches, and the branch that commands use
- `copy`         a consistent copy of a database that others may be writing
- `cache_file`   a cache beside a graph, in a file of its own
- `checkpoints`  moving the write-ahead log into the database, in the background
- `process_memory` freed memory, returned to the operating system
"""
