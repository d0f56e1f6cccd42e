"""Detects the language of a file from its name and its first bytes.

`languages` lists the languages whose symbols are read.

Manifests that map names of a project to places (go.mod, Cargo.toml, tsconfig.json) are languages of
their own here, because `file_analysis` reads them.
"""

from __future__ import annotations

import mimetypes
import re
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import Final

BINARY_SNIFF_BYTES: Final = 8 << 10


@dataclass(frozen=True, slots=True)
class FileKind:
    """`language` is for `analyse`; `file_type` is for people: "gomod" is shown as "go"."""

    language: str
    file_type: str
    mime_type: str


def detect(path: str, head: bytes = b"") -> FileKind:
    """The language and media type of a file; `head` has its first bytes, if known.

    >>> detect("src/app.tsx").language
    'tsx'
    >>> detect("bin/run", b"#!/usr/bin/env python3").file_type
    'python'
    """
    name = path.rpartition("/")[2]
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    language = (
        _NAMES.get(name)
        or _NAMES.get(name.lower())
        or _by_pattern(name)
        or _SUFFIXES.get(suffix)
        or _by_shebang(head)
    )
    if suffix == "h" and head and _CPP_HEADER.search(head):
        language = "cpp"
    if language is None:
        language = "binary" if is_binary(head) else "text" if head or suffix == "txt" else "unknown"
    return FileKind(language, _FILE_TYPES.get(language, language), _mime_type(name, language))


def is_binary(source: bytes) -> bool:
    """True if the first bytes include a NUL."""
    return b"\0" in source[:BINARY_SNIFF_BYTES]


def _by_pattern(name: str) -> str | None:
    lowered = name.lower()
    if lowered.startswith(("dockerfile.", "containerfile.")):
        return "dockerfile"
    if re.fullmatch(r"tsconfig\.[\w.-]+\.json", lowered):
        return "tsconfig"
    return None


def _by_shebang(head: bytes) -> str | None:
    if not head.startswith(b"#!"):
        return None
    words = head[2:200].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    programs = [PurePosixPath(word).name for word in words if not word.startswith("-")]
    if programs and programs[0] == "env":
        programs = [word for word in programs[1:] if "=" not in word]
    if not programs:
        return None
    return _PROGRAMS.get(programs[0].rstrip("0123456789."))


def _mime_type(name: str, language: str) -> str:
    mime_type = _MIME_TYPES.get(language)
    if mime_type is not None:
        return mime_type
    # Only the built-in table is used, and not that of the machine, so that results are the same
    # everywhere.
    guess = _mime_table().guess_type(name)[0]
    return guess or ("application/octet-stream" if language in _OPAQUE else "text/plain")


@cache
def _mime_table() -> mimetypes.MimeTypes:
    return mimetypes.MimeTypes()


_OPAQUE: Final = frozenset({"binary", "unknown"})

# Words that occur in a `.h` file of C++ and not of C.
_CPP_HEADER: Final = re.compile(
    rb"^[ \t]*+(?:class\s++\w|namespace\b|template\s*+<|using\s++\w"
    rb"|public:|private:|protected:)",
    re.MULTILINE,
)

_SUFFIXES_OF: Final = {
    "python": "py pyi pyw", "javascript": "js mjs cjs jsx", "typescript": "ts mts cts",
    "tsx": "tsx", "go": "go", "rust": "rs", "java": "java", "c": "c h",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp tpp inl", "markdown": "md markdown mdown mkd mdx",
    "restructuredtext": "rst", "asciidoc": "adoc asciidoc",
    "json": "json jsonc json5 geojson webmanifest", "jsonl": "jsonl ndjson", "yaml": "yaml yml",
    "toml": "toml", "ini": "ini cfg conf properties editorconfig",
    "xml": "xml xsd xsl xslt plist csproj props targets", "html": "html htm xhtml", "css": "css",
    "scss": "scss sass", "less": "less", "vue": "vue", "svelte": "svelte", "astro": "astro",
    "shell": "sh bash zsh fish ksh", "powershell": "ps1 psm1 psd1", "batch": "bat cmd",
    "sql": "sql", "ruby": "rb rake gemspec", "php": "php phtml", "kotlin": "kt kts",
    "swift": "swift", "csharp": "cs csx", "fsharp": "fs fsi fsx", "visualbasic": "vb",
    "scala": "scala sc", "groovy": "groovy gradle", "clojure": "clj cljs cljc edn", "dart": "dart",
    "lua": "lua", "perl": "pl pm", "r": "r", "julia": "jl", "haskell": "hs lhs", "ocaml": "ml mli",
    "elixir": "ex exs", "erlang": "erl hrl", "elm": "elm", "zig": "zig", "nim": "nim",
    "crystal": "cr", "d": "d", "objective-c": "m mm", "assembly": "asm s",
    "fortran": "f f90 f95 f03", "pascal": "pas", "lisp": "lisp cl el", "scheme": "scm ss rkt",
    "solidity": "sol", "cuda": "cu cuh", "glsl": "glsl vert frag", "verilog": "v sv",
    "vhdl": "vhd vhdl", "protobuf": "proto", "graphql": "graphql gql", "thrift": "thrift",
    "terraform": "tf tfvars hcl", "nix": "nix", "cmake": "cmake", "make": "mk mak",
    "dockerfile": "dockerfile", "jupyter": "ipynb", "latex": "tex sty bib", "csv": "csv tsv",
    "diff": "diff patch", "svg": "svg", "text": "txt text log", "kip": "kip",
    "image": "png jpg jpeg gif webp ico bmp tiff avif", "audio": "mp3 wav flac ogg m4a",
    "video": "mp4 mov webm mkv avi", "font": "woff woff2 ttf otf eot",
    "archive": "zip tar gz tgz bz2 xz 7z rar jar whl", "pdf": "pdf",
    "database": "db sqlite sqlite3",
    "binary": "so dll dylib exe o a lib class pyc pyd wasm bin dat",
}  # fmt: skip
_NAMES_OF: Final = {
    "gomod": "go.mod",
    "cargo": "Cargo.toml",
    "tsconfig": "tsconfig.json jsconfig.json",
    "npm": "package.json",
    "pyproject": "pyproject.toml",
    "pom": "pom.xml",
    "make": "makefile gnumakefile justfile",
    "dockerfile": "dockerfile containerfile",
    "cmake": "cmakelists.txt",
    "ruby": "gemfile rakefile vagrantfile podfile brewfile",
    "groovy": "jenkinsfile",
    "python": "sconstruct sconscript",
    "starlark": "build.bazel workspace",
    "yaml": "procfile",
    "toml": "pipfile poetry.lock cargo.lock",
    "text": "yarn.lock go.sum license readme changelog notice",
    "gitignore": ".gitignore .dockerignore",
    "ini": ".gitattributes .editorconfig .env",
    "shell": ".bashrc .profile .zshrc",
}
_PROGRAMS_OF: Final = {
    "python": "python pypy",
    "javascript": "node nodejs",
    "typescript": "deno bun ts-node",
    "shell": "sh bash zsh dash ksh fish",
    "ruby": "ruby",
    "perl": "perl",
    "php": "php",
    "lua": "lua",
    "r": "Rscript",
    "awk": "awk",
    "make": "make",
}
# Media types that the standard library lacks, or that differ between its versions.
_LANGUAGES_OF: Final = {
    "text/x-python": "python",
    "text/javascript": "javascript",
    "text/x-typescript": "typescript tsx",
    "text/x-go": "go gomod",
    "text/x-rust": "rust",
    "text/x-java": "java",
    "text/x-c": "c",
    "text/x-c++": "cpp",
    "text/markdown": "markdown",
    "application/json": "json tsconfig jupyter npm",
    "application/x-ndjson": "jsonl",
    "application/yaml": "yaml",
    "application/toml": "toml cargo pyproject",
    "text/x-shellscript": "shell",
    "application/sql": "sql",
    "text/html": "html",
    "text/css": "css",
    "application/xml": "xml pom",
    "image/svg+xml": "svg",
    "application/pdf": "pdf",
    "text/plain": "text",
}


def _by_word(words_of: dict[str, str]) -> dict[str, str]:
    return {word: key for key, words in words_of.items() for word in words.split()}


_SUFFIXES: Final = _by_word(_SUFFIXES_OF)
_NAMES: Final = _by_word(_NAMES_OF)
_PROGRAMS: Final = _by_word(_PROGRAMS_OF)
_MIME_TYPES: Final = _by_word(_LANGUAGES_OF)
_FILE_TYPES: Final = {
    "gomod": "go", "cargo": "toml", "tsconfig": "json", "tsx": "typescript",
    "npm": "json", "pyproject": "toml", "pom": "xml",
}  # fmt: skip
