from __future__ import annotations

from tests.cases import cases
from tests.unit.knowledge.code.given import facts, resolved


@cases(
    ("path", "text", "package", "expected"),
    [
        (
            "Cargo.toml",
            (
                '[package]\nname = "a"\n[dependencies]\nserde = "1"\nb = { path = "../b" }\n'
                'c = { package = "real-c" }\n[dev-dependencies]\ntokio = "1"\n'
            ),
            "a",
            ["pkg:cargo/serde", "pkg:cargo/b", "pkg:cargo/real-c", "pkg:cargo/tokio"],
        ),
        (
            "package.json",
            '{"name": "@a/b", "dependencies": {"@x/y": "1"}, "devDependencies": {"z": "2"}}',
            "@a/b",
            ["pkg:npm/@x/y", "pkg:npm/z"],
        ),
        (
            "pyproject.toml",
            (
                '[project]\nname = "My_App"\ndependencies = ["Flask_Login>=1,<2"]\n'
                "[project.optional-dependencies]\nx = [\"numpy; python_version > '3'\"]\n"
            ),
            "my-app",
            ["pkg:pypi/flask-login", "pkg:pypi/numpy"],
        ),
        (
            "go.mod",
            "module a.org/b\n\nrequire c.org/d v1.0.0\n\nrequire (\n\te.org/f/v2 v2.1.0 // x\n)\n",
            "a.org/b",
            ["pkg:golang/c.org/d", "pkg:golang/e.org/f/v2"],
        ),
        (
            "pom.xml",
            (
                "<project><parent><groupId>p</groupId><artifactId>q</artifactId></parent>"
                "<artifactId>a</artifactId><dependencies><dependency><groupId>g</groupId>"
                "<artifactId>b</artifactId></dependency></dependencies></project>"
            ),
            "p/a",
            ["pkg:maven/g/b"],
        ),
        ("package.json", "[", "", []),
        ("package.json", '{"dependencies": ["a b"], "name": 1}', "", []),
        ("pyproject.toml", "[project", "", []),
        ("pom.xml", "<dependency>" * 50, "", []),
    ],
)
def test_a_manifest_names_its_package_and_what_it_depends_on(
    path: str, text: str, package: str, expected: list[str]
) -> None:
    found = facts(path, text)
    assert (found.package, list(found.dependencies)) == (package, expected)


def test_a_part_of_a_project_depends_on_other_parts_and_on_packages_outside() -> None:
    found = resolved(
        {
            "a/Cargo.toml": '[package]\nname = "a"\n[dependencies]\nb = { path = "../b" }\n',
            "b/Cargo.toml": '[package]\nname = "b"\n[dependencies]\nserde = "1"\n',
        }
    )
    relations = [
        (path, *relation.target[:2])
        for path, file in found.files.items()
        for relation in file.texts
    ]
    assert relations == [
        ("a/Cargo.toml", "path", "b/Cargo.toml"),
        ("b/Cargo.toml", "package", "pkg:cargo/serde"),
    ]
