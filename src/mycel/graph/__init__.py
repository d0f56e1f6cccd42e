"""The edges API: adjacency and bounded traversal over any state, live or past.

Modules:

- `walk`       breadth-first search with hop distances, and the forms in which memories are shown
- `costs`      what a traversal counts in: costs and tokens
- `adjacency`  where a traversal finds neighbours: in the tables, or in memory
- `traversal`  what is near an element by the weights of links, nearest first
- `view`       everything that can be read of one state of the graph
"""
