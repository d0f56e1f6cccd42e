"""Commitments and proofs: pure functions over bytes, no storage and no clock.

Modules, in the order in which a write passes through them:

- `log`     the append-only log over the journal: inclusion and consistency (RFC 9162)
- `pages`   the content of one page of the sparse tree, and its hash
- `sparse`  the compact sparse tree over the state: membership and absence
- `proofs`  a snapshot of all roots, and proofs that end in its overall root
"""
