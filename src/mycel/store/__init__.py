"""The store: one SQLite file, its tables, and the single way to write to them.

Modules, in the order in which a write passes through them:

- `layout`       the tables and the format
- `connections`  how a connection is opened; SQLite's errors become ours
- `locks`        a lock of the operating system, for what SQLite's do not cover
- `functions`    what SQLite lacks: JSON equality, regular expressions, walks
- `rows`         rows of a query, typed
- `registry`     names of types, predicates and actors, interned to integers
- `reader`       reading elements: the live state, or the state at a moment of the past
- `writer`       one writer at a time; group commit
- `cursors`      what a writer uses again and again on its connection
- `checkpoints`  the log moved into the database, in the background
- `refs`         how a caller names an element
- `guards`       rules on every write, and whom a change concerns
- `transaction`  the primitives of every change
- `contents`     what attributes and metadata become
- `whole`        a step that fails halfway spoils its transaction
- `bulk`         the same primitives for many rows at once
- `removal`      removing elements, which become tombstones
- `relink`       putting a link in another place
- `move`         giving an element another identity
- `marks`        which elements something has touched, a bit each
- `rekey`        links whose keys change because something that they are on has moved
- `memory`       what a writer remembers from one transaction to the next
- `ledger`       what they share: journal, past versions, keys, the closing
- `ended`        what refuses to be used after a transaction has ended
- `journal`      entries, the Merkle log over them, the head
- `trees`        the two state trees on disk
- `text`         the full-text index
- `properties`   the index of properties
- `link_ends`    at which ends links stand, rather than concepts
- `vocabulary`   what is defined now, for those who plan a query
- `statistics`   how many there are, roughly
- `instances`    all elements of one type or predicate, for those who change or check them
- `survey`       what is in the graph, for those who describe it
- `lookup`       what is found by words, names and ends, for those who search
- `holdings`     what stands under names that begin alike, for those who keep it in step
- `members`      concepts of one type and their links, for those who show them whole
- `chronicle`    what happened when: transactions, versions, moments of the past
- `purge`        forgetting for good
- `audit`        rows turned back into records
- `property_audit`  the index of properties against what it is derived from
- `verify`       checking everything against everything
- `replay`       rebuilding the state from the journal alone
- `upgrades`     from the format of an older file to the present one
- `opening`      from a path to an open file, new or old
- `database`     the store as a whole: readers, the writer, closing
"""
