"""Rows in and rows out: loading files and tables into the graph, and writing them from it.

Modules, in the order in which data passes through them:

- `formats`     which format a file has
- `streams`     bytes and lines, bounded, that can be read once more if their source can
- `rows`        what every source becomes: rows for nodes and rows for edges
- `targets`     what rows are loaded into: types of the schema, or types that KIP alone knows
- `jsonl`       lines of JSON, or Python's own dictionaries, to rows
- `delimited`   CSV and TSV to rows
- `columnar`    Arrow and Parquet to rows
- `sources`     whatever a caller hands over, as one of these
- `ulid`        ids for nodes that have no key
- `vectors`     what is embedded on the way in
- `spool`       rows that wait: edges whose ends are not known yet, rows with vectors made ahead
- `ends`        from keys to the elements that edges join
- `writing`     rows to the graph, a chunk at a time, in one of three modes
- `ahead`       vectors, made before the transaction begins
- `second_look` on which line something stands that only the commit could find
- `complaints`  errors that say where
- `loading`     all of it as one transaction
- `unloading`   from the graph to rows again
- `tables`      those as Arrow
- `exporting`   and as files
"""
