"""Bringing a project into the graph, and finding that nothing has changed.

- `corpus`  a project of 3,000 files, copied from the standard library and what is installed
- `runs`    the measures
- `references` uses of symbols, compared with those that a type-aware tool finds
"""
