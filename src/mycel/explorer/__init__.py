"""Views of a graph for people, which the explorer shows in a browser, in a chat and in a file.

Every view is a plain JSON value, read through the same readers as in every other door. No module
here uses HTTP or MCP.

Modules, in the order of control flow:

- `open_explorers` the explorers of a server, by branch
- `explorer`       the class with a method for each view, and for each write of the explorer
- `parameters`     checked values of the parameters of a view
- `moments`        the state that a view shows, and elements by id
- `cards`          elements and links in the short form that every view uses
- `census`         counts of the whole graph, kept current from the journal
- `live_counts`    the census and the index of names of the live state
- `folders`        folders of names, and groups of folders small enough to draw
- `name_index`     concepts by the beginnings of words in their names
- `suggestions`    nodes by the beginning of a word
- `overview`       groups of nodes, and the content of a group
- `naming`         the workspace of the graph, and the node that a reader means by a text
- `neighbours`     next neighbours of a node, and the links among nodes that are shown
- `routes`         nodes within a cost of a node, and the cheapest path between two
- `health_view`    the health of the graph, with cards of the nodes
- `details`        one node: content, relations, history, proof; missing concepts
- `source_text`    the lines of a symbol, or the head of a file
- `past`           commits, timeline, differences between moments
- `authors`        nodes and links by the time and the author of their changes
- `edits`          writes, each answered with its commit
- `proposing`      writes of callers who may only propose
- `saved`          views under names, kept in the file of the graph
- `conflicts`      open merges, and decisions about them
- `feed`           commits as they happen
- `snapshot`       a part of a graph that stands alone, and a page with it in one file
- `drawing`        nodes and links as SVG
- `bundle`         the files of the page, which `web/` builds into `assets/`
- `limits`         bounds of an answer
"""
