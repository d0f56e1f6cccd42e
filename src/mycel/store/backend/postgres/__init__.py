"""Graphs in schemas of a PostgreSQL database. The extra `postgres` installs the driver, psycopg 3.

- `address`     the URL of a graph: the database, the workspace, the branch
- `layout`      the tables of a workspace
- `library`     functions that PostgreSQL lacks, in a schema that all workspaces share
- `markers`     parameters as PostgreSQL numbers them
- `patterns`    patterns of RE2 as PostgreSQL writes them
- `views`       the views `nodes` and `relations`
- `text_terms`  the terms of a text
- `text_search` questions to the words of all elements, and BM25
- `text_index`  the words of all elements
- `connection`  a connection, with what a `Connection` offers beside statements
- `notices`     notices of commits, for those who wait for them
- `branches`    branches, schemas beside that of the graph
- `workspaces`  all workspaces of a database
- `location`    the place of a graph, and the settings of its connections
"""
