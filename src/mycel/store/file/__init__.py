"""Files, the layout of a database, and rows.

- `layout`               tables, indexes, views, and the number of the format
- `locks`                a lock of the operating system on a file of its own
- `plain_files`          opens regular files only
- `rows`                 typed rows of a query
- `workspace_databases`  the path of a workspace's database, from its name
- `branch_files`         files of branches, and the branch that commands use
- `use_counts`           counts of reads of elements, in a file beside a graph
- `cache_file`           a cache beside a graph, in a file of its own
- `foreign_tables`       tables of a file of another program, read-only
- `process_memory`       returns freed memory to the operating system
"""
