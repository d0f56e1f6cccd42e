"""Files, the layout of a database, and rows.

- `layout`       tables, indexes, views, and the number of the format
- `locks`        a lock of the operating system on a file of its own
- `plain_files`  opens regular files, and nothing else
- `rows`         typed rows of a query
- `workspace_databases` the database of the name of a workspace
- `branch_files` files of branches, and the branch that commands use
- `use_counts`   how often elements were read, beside a graph
- `cache_file`   a cache beside a graph, in a file of its own
- `foreign_tables` tables of a file of another program, read-only
- `process_memory` freed memory, returned to the operating system
"""
