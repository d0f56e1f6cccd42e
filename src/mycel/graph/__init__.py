"""The edges API: adjacency and bounded traversal over any state, live or past.

Modules:

- `walk`            breadth-first search by hops, and the forms of its results
- `costs`           the units of a traversal: costs and tokens
- `background`      work in a thread of its own
- `arrays`          all links of one moment in memory
- `adjacency`       sources of neighbours for a traversal: the tables, or arrays
- `validity_order`  neighbours that hold now before others
- `traversal`       the elements near an element by the weights of links, nearest first
- `doubts`          links of a traversal that are contested, rejected or insufficient
- `followed`        the links by which a traversal reached its elements
"""
