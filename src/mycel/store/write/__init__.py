"""Writing: the turn of a writer, the transaction, and its primitives.

- `writer`             one writer at a time; group commit
- `transaction_block`  the block of `with db.transaction()`
- `guards`             rules on every write
- `transaction`        the primitives of every change
- `element_content`    attributes and metadata as texts that are stored, merged and indexed
- `creation`           creates elements
- `content_change`     changes attributes, metadata or weight
- `bulk`               the primitives for many rows at once
- `removal`            removing elements, which become tombstones
- `relink`             giving a link another end or predicate
- `move`               giving an element another type or name
- `bitset`             a set of element numbers, one bit each
- `rekey`              gives new natural keys to links whose ends have moved
- `change_summary`     the message of a transaction that was given none
- `ledger`             journal, past versions and keys: shared by the primitives
- `marks`              tags of commits, and parents of merges
- `merges`             the end of an open merge, and its choices
- `journal_copy`       an exact copy of a graph, from the rows of its journal
- `purge`              removing the content of an element for good
- `scrub`              removing the past before a moment for good
"""
