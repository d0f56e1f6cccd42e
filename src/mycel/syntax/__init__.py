"""Parts that the languages share. They know nothing of a particular language.

Modules, lowest first:

- `source`        a text, places in it, and excerpts with a caret
- `nodes`         classes of the nodes of trees: of commands, queries and schemas
- `diagnostics`   errors that show their place in a text
- `tokens`        a text as tokens
- `token_errors`  errors at tokens, and advice about brackets and characters
- `repetition`    repetition in regular expressions, in little memory
- `strings`       strings as JSON writes them, and the place where one breaks
- `gc_pause`      pausing the collector of cycles for large trees
- `regex`         regular expressions in linear time
"""
