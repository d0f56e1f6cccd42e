"""KIP, the language of the graph: `parse` and `format`. It knows no catalog and no SQL.

Modules, in the order in which a command passes through them:

- `ast`               the nodes of a command
- `lexer`             text to tokens
- `statements`        the statements by their first words
- `keywords`          words and signs of other languages, and the KIP to write for them
- `foreign_idioms`    hints for several tokens together that come from another language
- `syntax_errors`     the error for an unexpected token, with what to write instead
- `trailing_clauses`  the error for a clause that belongs to another statement
- `values`            variables, placeholders, numbers, strings, JSON values
- `patterns`          concept matchers and link patterns
- `conditions`        the conditions of FILTER
- `where`             blocks of clauses
- `kql`               FIND
- `upsert`            UPSERT
- `kml`               DELETE, UPDATE, MERGE
- `lifecycle`         ARCHIVE, RESTORE, SUPERSEDE, SET RETENTION
- `meta`              DESCRIBE, SEARCH, NEAREST, EXPORT, TRAVERSE
- `parser`            tokens to tree: `parse`
- `long_capsule`      tokens to the tree of a long capsule, a few blocks at a time: `read_capsule`
- `fragments`         parts of a tree to text; all placeholders of a tree
- `formatter`         tree to text: `format`
"""

from mycel.kip.formatter import format_command as format  # noqa: A004  The verb of this stage.
from mycel.kip.parser import is_write, parse

__all__ = ["format", "is_write", "parse"]
