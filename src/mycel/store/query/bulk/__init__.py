"""Bulk queries, which read many elements at once, for layers that rewrite whole sets.

- `prefixes`   concepts under a URI prefix, and their links
- `members`    concepts of one type, their links, and changes since a moment
- `citations`  concepts that changed after they were cited
- `instances`  all elements of one type or predicate, in chunks
"""
