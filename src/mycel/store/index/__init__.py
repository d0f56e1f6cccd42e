"""Indexes that the store derives from elements.

- `slots`             slots of the index of properties
- `write_cache`       values that a writer keeps from one transaction to the next
- `properties`        the index of properties: elements by value
- `link_ends`         predicates that have links at an end
- `lifetimes`         archived elements, and the times at which elements hold
- `text`              the full-text index
- `passages`          tables of passages and vectors that search derives
- `property_vectors`  tables of the vectors of properties
"""
