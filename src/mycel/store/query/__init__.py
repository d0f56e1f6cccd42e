"""Reading: elements, bulk queries, counts, and history, at any state.

- `refs`        references to elements as callers write them
- `reader`      single elements and adjacency, live or at a moment of the past
- `lookup`      concepts by name, links by their ends and predicates
- `successors`  concepts that supersede others
- `filters`     conditions of a search on elements: path, actor, time, metadata
- `changed_texts`  texts of elements that have changed since a moment, as they were then
- `candidates`  elements that may fit a question, from the text index
- `passages`    what search by meaning derives, as it is stored
- `property_vectors`  vectors of properties, as they are stored
- `weighted_links`  links with weights in whole units, for traversals
- `outline`     all concepts and links in short, and what changed since a moment
- `surroundings`  neighbours of elements, the links among them, and placeholders of missing concepts
- `statements`  running what `sql` has compiled
- `contents`    rows of large parts of a state
- `bulk`        many elements at once: by prefix, by type, by predicate
- `vocabulary`  types and predicates in force, for the planner
- `statistics`  approximate counts, for the planner
- `summary`     exact counts, for descriptions of the graph
- `paths`       parts of the graph by URI
- `commits`     transactions, their ids and tags, and the filters of the log
- `lineage`     the history that two copies of a graph share, and their common ancestors
- `natural_keys`  hashes of natural keys, from elements as they were read
- `alignment`   elements of two copies, matched with each other
- `merges`      merges that are open, and choices of those that are done
- `history`     versions of an element, moments of the past, and elements that were purged
- `origins`     origins of values: the time and actor of the write itself
- `diff`        differences between two states, of one copy or of two
"""
