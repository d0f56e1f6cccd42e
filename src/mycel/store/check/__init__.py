"""Checks of a file, and the targets of proofs.

- `proofs`          proofs about the live state and the journal
- `property_audit`  the index of properties against the rows it is derived from
- `replay`          rebuilding the state from the journal alone
- `verify`          the parts of the file against each other
- `changed`         the same for what differs from a copy that was verified
- `installation`    checks of SQLite itself, and of a file before it is opened
"""
