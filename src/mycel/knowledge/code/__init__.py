"""Source code as facts: what files define, import, call and link to. No graph, no I/O.

Modules, in the order in which a file passes through them:

- `languages`  which language a file is in, and whether it is test code
- `file_analysis`   from bytes to facts; loads tree-sitter when the first source comes
- `language_rules`     what the engine must know about a language
- `python`, `javascript`, `go`, `rust`, `java`, `c_family`  the languages
- `javascript_modules`  imports and exports of JavaScript
- `fact_extraction`    the engine: from a syntax tree to facts
- `scopes`     definitions as intervals of a source
- `calls`      calls, variables and fields
- `comments`   documentation above a definition
- `markdown`, `manifests`  what is read without a grammar
- `source_facts`      the facts themselves, and how they are stored
- `module_paths`     where the modules of a project are, by the rules of each language
- `edge_values`      relations between files and symbols, and what they depend on
- `name_resolution`      what a dotted name means in a place of a file
- `receivers`  what a call means: the class of its object, or candidates by name
- `project_edges`    from files to edges
"""

from mycel.knowledge.code.edge_values import (
    FileEdge,
    FileEdges,
    Place,
    Resolved,
    SymbolEdge,
    affected,
    outline,
)
from mycel.knowledge.code.file_analysis import LANGUAGES, analyse, missing_extra
from mycel.knowledge.code.languages import Kind, detect, is_binary
from mycel.knowledge.code.project_edges import Project, resolve
from mycel.knowledge.code.source_facts import Call, FileFacts, Import, Link, Symbol, decode, encode
from mycel.search.names import is_test_path

__all__ = [
    "LANGUAGES",
    "Call",
    "FileEdge",
    "FileEdges",
    "FileFacts",
    "Import",
    "Kind",
    "Link",
    "Place",
    "Project",
    "Resolved",
    "Symbol",
    "SymbolEdge",
    "affected",
    "analyse",
    "decode",
    "detect",
    "encode",
    "is_binary",
    "is_test_path",
    "missing_extra",
    "outline",
    "resolve",
]
