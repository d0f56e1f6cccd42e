"""Bulk queries: many elements at once, for layers that read or rewrite whole sets.

- `prefixes`   concepts under a URI prefix, and their links
- `members`    concepts of one type, their links, and changes since a moment
- `citations`  concepts that changed after something linked to them
- `instances`  all elements of one type or predicate, in chunks
"""
