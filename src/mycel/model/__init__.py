"""The values that the graph is made of, without input or output.

Modules, in the order in which data passes through them:

- `extras`        packages that are used where they are installed
- `client_names`  the program in whose name a server writes
- `permission`    the author of writes, and the rights of the caller for whom a thread works
- `allowance`     the deadline, cancellation and bytes of the work in a thread
- `limits`        every bound on the input of a caller
- `ids`           `C:12` and `P:13:treats` outside, integers inside
- `names`         rules for the names of types, predicates, concepts and actors
- `json_text`     JSON texts from outside, read so that nothing is lost or changed
- `values`        JSON values: checked on the way in
- `times`         microseconds since the epoch, inside and out
- `periods`       the periods in which an element holds
- `state`         the live state, or a state of the past
- `decisions`     the words for decisions about tasks of upkeep
- `retention`     rules by which elements are let go after a time
- `directions`    the directions in which links are followed
- `aggregates`    the names of the aggregates of a query
- `json_schema`   the common forms of JSON Schemas
- `elements`      `Concept` and `Proposition`, which is also the edge of the edges API
- `cbor`          canonical CBOR, and the fast path for our own records
- `evidence`      sources for and against a link, and the belief that follows
- `records`       the canonical record of each element, its natural key and their hashes
- `commits`       ids of transactions that mean the same in every copy
"""
