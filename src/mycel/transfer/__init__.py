"""Loads rows of files and tables into the graph, and exports rows from the graph.

Modules, in the order in which data passes through them:

- `formats`          the format of a file, from the caller or from its name
- `load_errors`      places of errors: file and line
- `streams`          bytes and lines of a file, bounded
- `load_targets`     the types that rows are loaded into, declared or made by KIP
- `source_rows`      rows for nodes and edges, and the base class of sources
- `jsonl`            lines of JSON, or dictionaries of Python, to rows
- `delimited`        CSV and TSV to rows
- `columnar`         Arrow and Parquet to rows
- `sources`          the argument of a caller, as one or several sources
- `ulid`             ids for nodes that have no key
- `row_spool`        edges that wait for their ends
- `edge_ends`        keys to the elements that edges join
- `row_writer`       rows to the graph, a chunk at a time, in one of three modes
- `error_locations`  sources read again, to attach lines to errors
- `load`             a whole load as one transaction
- `graph_rows`       elements of the graph to rows
- `tables`           rows as Arrow
- `export`           rows to files
"""
