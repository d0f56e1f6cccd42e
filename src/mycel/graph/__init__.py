"""The edges API: adjacency and bounded traversal over any state, live or past.

Modules:

- `walk`       breadth-first search with hop distances, and the forms in which memories are shown
- `costs`      what a traversal counts in: costs and tokens
- `background` work in a thread of its own
- `arrays`     all links of one moment in memory
- `adjacency`  sources of neighbours for a traversal: the tables, or arrays
- `validity_order`  neighbours that hold now before others
- `traversal`  what is near an element by the weights of links, nearest first
- `doubts`     links of a traversal that their evidence does not make accepted
- `followed`   the links by which a traversal reached its elements
"""
