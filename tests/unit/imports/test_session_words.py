"""What a session keeps: corrections, decisions, requests, and commands that were mended."""

from mycel.imports.session_words import decision_in, is_correction, is_filler, work_of
from tests.cases import each_case

CORRECTIONS = (
    "No, never cache prices.",
    "No need for mocks here, use the real database.",
    "Stop, das stimmt nicht.",
    "Nein, das ist falsch, nimm stattdessen uv statt pip.",
    "nein, nicht so. Nimm bitte die alte Form.",
    "Wrong file!",
)
NO_CORRECTIONS = (
    "no problem, thanks",
    "No errors any more, great",
    "No worries!",
    "Kein Problem, danke",
    "Note the tests in shop/",
    "Noch ein Test bitte",
    "Neinstein is the name of the module",
)
DECISIONS = (
    "We decided to index prices.",
    "Wir haben uns für Ruff entschieden, nicht Black.",
    "Entschieden: wir nehmen Alembic",
    "From now on all times are UTC.",
)
NO_DECISIONS = ("Shall we look at the cart?", "Der Test ist rot.", "Wir haben drei Fehler.")
FILLER = ("ok next step", "great, bye", "ja, weiter", "Thanks!", "lgtm")
REQUESTS = ("fix the cart", "next: the checkout", "ok, now write tests for login")
SAME_WORK = (
    ("pytest tests/unit", "uv run --frozen pytest -q tests/unit"),
    ("pytest", "sudo python3 -m pytest -x"),
    ("npx jest cart", "CI=1 jest cart"),
    ("make test", "make test ARGS=-x"),
    ("poetry run mypy src", ".venv/bin/mypy src"),
)
OTHER_WORK = (("make test", "make lint"), ("git push", "git pull"), ("ls", "cat ls"))


def test_corrections_decisions_and_requests_are_told_apart() -> None:
    with each_case() as case:
        for tell, right, wrong in (
            (is_correction, CORRECTIONS, NO_CORRECTIONS),
            (decision_in, DECISIONS, NO_DECISIONS),
            (is_filler, FILLER, REQUESTS),
        ):
            for text in (*right, *wrong):
                with case(f"{tell.__name__}: {text}"):
                    assert bool(tell(text)) == (text in right)


def test_a_command_is_mended_by_another_form_of_it() -> None:
    for one, other in SAME_WORK:
        assert work_of(one) == work_of(other)
    for one, other in OTHER_WORK:
        assert work_of(one) != work_of(other)
