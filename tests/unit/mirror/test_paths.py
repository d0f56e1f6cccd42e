"""Paths of files: one for each URI, on every file system."""

import re
import unicodedata

from mycel.knowledge.uris import parse
from mycel.mirror.paths import PATH_BYTES_MAX, declaration_path, path_of, uri_of_path

TRICKY = [
    "concept://shop",
    "concept://shop/auth",
    "concept://shop/Auth",
    "concept://shop/AUTH",
    "concept://shop/auth.md",
    "concept://shop/auth/login",
    "concept://shop/auth.md/login",
    "concept://shop/a b",
    "concept://shop/a  b",
    "concept://shop/caf\u00e9",
    "concept://shop/cafe\u0301",
    "concept://shop/straße",
    "concept://shop/strasse",
    "concept://shop/\ufb01n",
    "concept://shop/fin",
    "concept://shop/😀/🚀",
    "concept://shop/CON",
    "concept://shop/con",
    "concept://shop/nul.txt",
    "concept://shop/dot.",
    "concept://shop/dot",
    "concept://shop/.git/config",
    "concept://shop/git~1",
    "concept://shop/Auth~8eb3ea",
    "concept://shop/a:b",
    "concept://shop/a*b",
    "concept://shop/50%25%3F",
    "concept://shop/" + "x" * 300,
    "concept://shop/" + "x" * 299 + "y",
    "concept://shop/" + "ö" * 150,
    "concept://shop/" + "/".join(["part"] * 300),
    "concept://other/auth",
    "file://shop/src/a.py",
    "https://example.org/a?b=c&d=e",
    "https://example.org/a",
    "https://example.org/a/",
    "https://example.org//a",
    "https://example.org/A",
    "urn:isbn:1",
    "mailto:ada@example.org",
    "kip:Person/Ada",
    "kip:Person/ada",
    "kip:person/Ada",
    "kip:Person/a/b",
    "kip:Person/a\nb",
    "kip:Person/a_b",
    "kip:Person/" + "n" * 400,
    "kip:Person/" + "n" * 399 + "m",
    "kip:CON/x",
]
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def folded(path: str) -> str:
    """A path as a file system without capitals and with its own normal form sees it."""
    return unicodedata.normalize("NFC", path).casefold()


def test_different_uris_have_different_paths_on_every_file_system() -> None:
    uris = [parse(each, "").text for each in TRICKY]
    paths = {uri: path_of(uri) for uri in uris}
    assert len({folded(path) for path in paths.values()}) == len(set(uris)) == len(TRICKY)
    # No file is where another path needs a folder.
    files = {folded(path) for path in paths.values()}
    folders = {"/".join(folded(each).split("/")[:n]) for each in files for n in range(1, 300)}
    assert not {f for path in files for f in folders if f == path and f"{f}/" in "".join(files)}


def test_paths_can_be_written_everywhere() -> None:
    for uri in TRICKY:
        path = path_of(parse(uri, "").text)
        assert len(path.encode()) <= PATH_BYTES_MAX, uri
        for segment in path.split("/"):
            assert segment not in ("", ".", "..", ".git"), uri
            assert not RESERVED.fullmatch(segment), uri
            assert not re.search(r'[<>:"\\|?*\x00-\x1f]', segment), uri
            assert not segment.endswith((".", " ")), uri


def test_readable_paths_lead_back_to_their_uri() -> None:
    for uri in ("concept://shop", "concept://shop/auth/login", "concept://shop/a%20b/caf\u00e9"):
        assert uri_of_path(path_of(uri)) == uri
    for path in ("concepts/shop/x~123456.md", "concepts/~/a.md", "concepts.md", "x.md"):
        assert uri_of_path(path) is None


def test_declarations_whose_names_differ_in_capitals_have_different_files() -> None:
    names = ("Person", "PERSON")
    paths = {folded(declaration_path(each, is_shared=True)) for each in names}
    assert len(paths) == 2
