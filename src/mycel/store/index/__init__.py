"""Indexes that the store derives from elements.

- `slots`        slots of the index of properties
- `write_cache`  values that a writer keeps from one transaction to the next
- `properties`   the index of properties: elements by value
- `link_ends`    predicates that have links at an end
- `lifetimes`    what is archived, and for how long elements hold
- `text`         the full-text index
- `passages`     tables of what search by meaning derives from concepts
- `property_vectors`  tables of the vectors of properties
"""
