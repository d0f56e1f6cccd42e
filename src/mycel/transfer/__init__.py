"""Rows in and rows out: loading files and tables into the graph, and writing them from it.

Modules, in the order in which data passes through them:

- `formats`     which format a file has
- `streams`     bytes and lines, bounded, that can be read once more if their source can
- `source_rows`        what every source becomes: rows for nodes and rows for edges
- `load_targets`     what rows are loaded into: types of the schema, or types that KIP alone knows
- `jsonl`       lines of JSON, or Python's own dictionaries, to rows
- `delimited`   CSV and TSV to rows
- `columnar`    Arrow and Parquet to rows
- `sources`     whatever a caller hands over, as one of these
- `ulid`        ids for nodes that have no key
- `row_vectors`     what is embedded on the way in
- `row_spool`       rows that wait: edges whose ends are not known yet, rows with vectors made ahead
- `edge_ends`        from keys to the elements that edges join
- `row_writer`     rows to the graph, a chunk at a time, in one of three modes
- `pre_embed`       vectors, made before the transaction begins
- `error_locations` on which line something stands that only the commit could find
- `load_errors`  errors that say where
- `load`     all of it as one transaction
- `graph_rows`   from the graph to rows again
- `tables`      those as Arrow
- `export`   and as files
"""
