"""What elements are called, as search sees it."""

from mycel.text.names import Standing, called, key, parts, segments_asked
from tests.cases import cases


@cases(
    ("name", "segments", "keys"),
    [
        ("Night Loaf", ["Night Loaf"], {"nightloaf"}),
        ("json.dumps", ["json", "dumps"], {"jsondumps", "dumps"}),
        ("std::sort", ["std", "sort"], {"stdsort", "sort"}),
        ("concept://w/auth/login", ["w", "auth", "login"], {"login", "authlogin"}),
        ("concept://w/json/__init__.py/dumps", ["w", "json", "dumps"], {"dumps", "jsondumps"}),
        (
            "concept://w/src/cart.py/Cart.addItem",
            ["w", "src", "cart", "Cart", "addItem"],
            {"additem", "cartadditem"},
        ),
        ("file://w/src/cart.py", ["w", "src", "cart"], {"cart", "cartpy", "srccart"}),
        ("file://w/a%20b.md", ["w", "a b"], {"ab", "abmd", "wab"}),
        ("+++", ["+++"], set()),
        ("v1. of this", ["v1. of this"], {"v1ofthis"}),
    ],
)
def test_a_path_has_segments_and_its_last_ones_are_keys(
    name: str, segments: list[str], keys: set[str]
) -> None:
    found = called(name, {})
    assert list(found.segments) == segments
    assert found.keys() == keys


def test_names_for_people_and_aliases_are_keys_too() -> None:
    found = called("concept://w/a", {"name": "Query Set", "aliases": ["QS", 5], "n": "no name"})
    assert found.keys() == {"a", "wa", "queryset", "qs"}


def test_a_text_that_is_too_long_for_a_name_is_none() -> None:
    long = "(" * 4097
    assert called("x", {"name": long, "aliases": [long, "y"]}).titles == ("x", "y")


def test_names_that_are_no_texts_are_left_aside() -> None:
    for strange in (None, 5, [], {}, "", [None], {"a": 1}):
        assert called("x", {"name": strange, "aliases": strange}).keys() == {"x"}


@cases(
    ("name", "standing"),
    [
        ("Night Loaf", Standing.DEFINITION),
        ("tests/plan", Standing.DEFINITION),
        ("concept://tests/src/cart.py/Cart", Standing.DEFINITION),
        ("concept://w/src/cart.py/Cart.add", Standing.MEMBER),
        ("file://w/src/cart.py", Standing.DEFINITION),
        ("concept://w/tests/cart.py/Cart", Standing.ASIDE),
        ("concept://w/src/test_cart.py/Cart.add", Standing.ASIDE),
        ("file://w/src/cart.spec.ts", Standing.ASIDE),
        ("concept://w/src/cart_pb2.py/Cart", Standing.ASIDE),
        ("file://w/node_modules/cart/cart.js", Standing.ASIDE),
        ("concept://w/src/testdata/home.html/welcome", Standing.ASIDE),
        ("concept://w/src/contest.py/Cart", Standing.DEFINITION),
    ],
)
def test_members_tests_and_generated_files_are_told_from_definitions(
    name: str, standing: Standing
) -> None:
    assert called(name, {}).standing is standing


def test_identifiers_have_parts() -> None:
    assert parts("getHTTPResponse2") == ["get", "http", "response2"]
    assert parts("get_object_or_404") == ["get", "object", "or", "404"]
    assert parts("Größe_der Straße") == ["grösse", "der", "strasse"]
    assert key("get_object_or_404") == key("GetObjectOr404") == key("get object or 404")


def test_only_a_qualified_name_has_several_segments_to_ask_for() -> None:
    assert segments_asked("django.urls.reverse") == ("django", "urls", "reverse")
    assert segments_asked("src/cart.py") == ("src", "cart", "py")
    assert segments_asked("What is urls.reverse?") == ()
