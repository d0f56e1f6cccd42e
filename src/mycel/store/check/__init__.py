"""Checks of a file, and the targets of proofs.

- `proofs`          proofs about the live state and the journal
- `property_audit`  compares the index of properties with its rows
- `replay`          rebuilds the state from the journal alone
- `verify`          compares the parts of a file with each other
- `changed`         the same, for the differences from a verified copy
- `installation`    checks of SQLite itself, and of a file before it is opened
"""
