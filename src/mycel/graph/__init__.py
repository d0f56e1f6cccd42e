"""The edges API: adjacency and bounded traversal over any state, live or past.

Modules:

- `walk`  breadth-first search with hop distances, and the forms in which memories are shown
- `view`  everything that can be read of one state of the graph
"""
