"""KIP: the language in which agents ask and tell (`parse`, `format`). Knows no catalog and no SQL.

Modules, in the order in which a command passes through them:

- `ast`         what a command says
- `lexer`       text to tokens
- `foreign_words`     words and signs that KIP does not have, and what it says instead
- `foreign_idioms`      what several tokens say in another language, and the same in KIP
- `syntax_errors`  what is wrong with a command, and what to write instead
- `trailing_clauses`     what follows a complete command and belongs to another statement
- `values`      variables, placeholders, numbers, strings, JSON values
- `patterns`    concept matchers and link patterns
- `conditions`  what FILTER tests
- `where`       blocks of clauses
- `kql`         FIND
- `upsert`      UPSERT
- `kml`         DELETE, UPDATE, MERGE
- `meta`        DESCRIBE, SEARCH, EXPORT, TRAVERSE
- `parser`      tokens to tree: `parse`
- `facts`       what can be told about a command from its tree alone
- `fragments`   parts of a tree to text
- `formatter`   tree to text: `format`
"""

from mycel.kip.formatter import format_command as format  # noqa: A004  The verb of this stage.
from mycel.kip.parser import is_write, parse

__all__ = ["format", "is_write", "parse"]
