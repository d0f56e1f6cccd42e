"""Execution of commands: parse, bind, rewrite, compile, execute. One module per statement.

Modules, in the order in which a command passes through them:

- `engine`               the entry: chooses the statement and its rules
- `write_defaults`       the default actor and message of writes
- `statements`           the function of each statement
- `write_deadline`       the deadline of a command that writes
- `dry_run`              dry runs of commands
- `plan_cache`           parsed commands, and the plans made for them
- `values`               literals, and parameters in the place of placeholders
- `planner`              plans of parsed commands
- `find`                 FIND, and pages that show one moment
- `empty_result_advice`  hints for a FIND with an empty answer
- `page_cursor`          cursors
- `references`           elements and definitions that must exist, and similar names
- `where_targets`        the elements that the WHERE of a statement binds
- `upsert`, `batch`      UPSERT, and its puts in bulk
- `delete`               DELETE
- `update`               UPDATE
- `merge`                MERGE
- `archive`              ARCHIVE and RESTORE
- `supersede`            SUPERSEDE
- `stance`               SUPPORT and CHALLENGE
- `retention`            SET RETENTION
- `metadata_warnings`    warnings about metadata that a command writes
- `guards`               the guards of every graph, in order
- `definition_cache`     definitions as guards use them
- `definition_guard`     the guard of flexible definitions
- `schema_guard`         the guard of what a schema declares
- `declaration_guard`    rules on the definitions that a schema wrote
- `violation_list`       several violations as one error
- `protection_guard`     the guard of the foundation of a graph
- `archived_guard`       the guard that warns about writes to archived elements
- `functional_guard`     the guard of predicates with one value at a time
- `missing_concepts`     placeholders, and the guard that replaces them
- `describe`             DESCRIBE
- `graph_facts`          facts about types, predicates and domains
- `capabilities`         DESCRIBE CAPABILITIES
- `primer`               DESCRIBE PRIMER and DOMAINS, with example commands
- `search`               SEARCH
- `nearest`              NEAREST
- `traverse`             TRAVERSE
- `export`               EXPORT
- `explain`              EXPLAIN
- `seed`                 the content of a new graph
- `outcome`              the outcome of a statement
- `conflict_warnings`    warnings about open conflicts at the elements of a result
- `result`               the result of a command: rows, or the wire form
"""
