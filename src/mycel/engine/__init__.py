"""Running commands: parse, bind, rewrite, compile, execute. One module per statement.

Modules, in the order in which a command passes through them:

- `engine`       which statement it is, and under which rules it runs
- `statements`   which function runs which statement
- `dry_run`    a dry run of several commands
- `plan_cache`     commands seen before, and the plans made for them
- `values`       literals, and parameters in the place of placeholders
- `planner`     from a parsed command to a plan
- `find`         FIND, and pages that all show the same moment
- `empty_result_advice`       why a FIND may have found nothing, or only nulls
- `page_cursor`       cursors
- `where_targets`     what the WHERE of a statement binds
- `references`   what a statement refers to: by id, by type and name, by pattern
- `upsert`       UPSERT
- `batch`        many puts of an UPSERT as few
- `delete`       DELETE
- `update`       UPDATE
- `merge`        MERGE
- `metadata_warnings`     warnings about metadata that a command gives
- `guards`       the guards of every graph, in order
- `definition_cache`  definitions as guards read them
- `definition_guard`  the guard of flexible definitions
- `schema_guard`        the guard of what a schema declares
- `declaration_guard`     rules on the definitions that a schema wrote
- `violation_list`   several of its complaints as one error
- `protection_guard`   the guard of what the system stands on
- `missing_concepts`      the guard by which links to what was missing become whole
- `describe`     DESCRIBE
- `graph_facts`        what is told about types, predicates and domains
- `primer`       DESCRIBE PRIMER and DOMAINS
- `example_commands`     commands to begin with, made for this graph
- `search`       SEARCH
- `traverse`     TRAVERSE
- `export`       EXPORT
- `explain`      EXPLAIN
- `bootstrap`    what every new graph begins with
- `outcome`      how a statement ends
- `result`       what the caller gets: rows, or the wire form
"""
