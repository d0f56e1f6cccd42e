"""Parts that all commands share.

- `output`       tables for people, one JSON object per line for programs
- `exit_status`  the message and the exit status of an exception
- `context`      global options, and the database that they choose
- `project_graph`  the graph to bootstrap a project into
- `parameters`   types of arguments: JSON, times, hashes, elements
- `progress_bar` a bar while a person waits
- `search_index` makes the index for searches
- `labels`       names of elements for people
- `conflict_warnings`  open conflicts of merges at elements
- `conflict_editor`    a conflict as a file for the user's editor
- `kip_output`   results of KIP commands for people
- `kip_command`  running a KIP command: values of placeholders, execution
"""
