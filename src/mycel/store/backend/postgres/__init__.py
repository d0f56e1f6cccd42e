"""Graphs in schemas of a PostgreSQL database. The extra `postgres` installs the driver, psycopg 3.

- `address`      the URL of a graph: the database, the workspace, the branch
- `layout`       the tables of a workspace
- `library`      functions that PostgreSQL lacks, in a schema that all workspaces share
- `markers`      numbers parameters as PostgreSQL expects
- `patterns`     translates patterns of RE2
- `views`        the views `nodes` and `relations`
- `text_terms`   the terms of a text, as they are stored
- `text_search`  searches the words of all elements, with BM25
- `text_index`   the words of all elements
- `wire`         statements to a server, and their answers
- `connection`   a connection, with what a `Connection` offers beside statements
- `notices`      notices of commits, for those who wait for them
- `branches`     branches: schemas beside the one of the graph
- `workspaces`   all workspaces of a database
- `location`     the place of a graph, and the settings of its connections
"""
