"""Source code as facts: what files define, import, call and link to. No graph, no I/O.

Modules, in the order in which a file passes through them:

- `file_kinds`          detects the language of a file
- `file_analysis`       from bytes to facts; loads tree-sitter for the first source
- `languages`           the list of the languages whose symbols are read
- `language_rules`      the description of a language, a base class
- `python`, `javascript`, `go`, `rust`, `java`, `c_family`  the languages
- `javascript_modules`  imports and exports of JavaScript
- `fact_extraction`     from a syntax tree to facts
- `scopes`              definitions as intervals of a source
- `calls`               calls, variables and fields
- `uses`                names that are used and not called
- `prose_patterns`      comments and strings of a source: forms of several languages
- `comments`            documentation above a definition
- `manifests`           files that are read without a grammar; `documents` reads prose
- `source_facts`        the facts themselves, and their encoding
- `module_paths`        from imports to files: what all languages share
- `relation_values`     relations between files and symbols, and what they depend on
- `name_resolution`     the meaning of a dotted name in a scope of a file
- `receivers`           the targets of a call: by the class of its object, or by name
- `project_relations`   from facts to relations
"""
