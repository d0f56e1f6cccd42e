"""Running commands: parse, bind, rewrite, compile, execute. One module per statement.

Modules, in the order in which a command passes through them:

- `engine`       which statement it is, and under which rules it runs
- `statements`   which function runs which statement
- `rehearsal`    a dry run of several commands
- `prepared`     commands seen before, and the plans made for them
- `values`       literals, and parameters in the place of placeholders
- `planning`     from a parsed command to a plan
- `find`         FIND, and pages that all show the same moment
- `advice`       why a FIND may have found nothing, or only nulls
- `paging`       cursors
- `matching`     what the WHERE of a statement binds
- `references`   what a statement refers to: by id, by type and name, by pattern
- `upsert`       UPSERT
- `batch`        many puts of an UPSERT as few
- `delete`       DELETE
- `update`       UPDATE
- `merge`        MERGE
- `metadata`     warnings about metadata that a command gives
- `guards`       the guards of every graph, in order
- `definitions`  definitions as guards read them
- `constraints`  the guard of flexible definitions
- `typed`        the guard of what a schema declares
- `declared`     rules on the definitions that a schema wrote
- `violations`   several of its complaints as one error
- `protection`   the guard of what the system stands on
- `healing`      the guard by which links to what was missing become whole
- `describe`     DESCRIBE
- `facts`        what is told about types, predicates and domains
- `primer`       DESCRIBE PRIMER and DOMAINS
- `examples`     commands to begin with, made for this graph
- `search`       SEARCH
- `traverse`     TRAVERSE
- `export`       EXPORT
- `explain`      EXPLAIN
- `bootstrap`    what every new graph begins with
- `outcome`      how a statement ends
- `result`       what the caller gets: rows, or the wire form
"""
