"""Source code as facts: what files define, import, call and link to. No graph, no I/O.

Modules, in the order in which a file passes through them:

- `languages`  which language a file is in, and whether it is test code
- `analysis`   from bytes to facts; loads tree-sitter when the first source comes
- `syntax`     what the engine must know about a language
- `python`, `javascript`, `go`, `rust`, `java`, `c_family`  the languages
- `javascript_modules`  imports and exports of JavaScript
- `extract`    the engine: from a syntax tree to facts
- `scopes`     definitions as intervals of a source
- `calls`      calls, variables and fields
- `comments`   documentation above a definition
- `markdown`, `manifests`  what is read without a grammar
- `facts`      the facts themselves, and how they are stored
- `places`     where the modules of a project are, by the rules of each language
- `edges`      relations between files and symbols, and what they depend on
- `names`      what a dotted name means in a place of a file
- `receivers`  what a call means: the class of its object, or candidates by name
- `resolve`    from files to edges
"""

from mycel.knowledge.code.analysis import LANGUAGES, analyse, missing_extra
from mycel.knowledge.code.edges import (
    FileEdge,
    FileEdges,
    Place,
    Resolved,
    SymbolEdge,
    affected,
    outline,
)
from mycel.knowledge.code.facts import Call, FileFacts, Import, Link, Symbol, decode, encode
from mycel.knowledge.code.languages import Kind, detect, is_binary
from mycel.knowledge.code.resolve import Project, resolve
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
