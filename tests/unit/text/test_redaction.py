"""Secrets are replaced, and ordinary text is left alone.

Secrets are made at run time from parts, so that no scanner of secrets finds one in this file.
"""

import random
import string
import sys
from collections.abc import Callable
from pathlib import Path

from mycel.text.redaction import redact

ROOT = Path(__file__).parents[3]
EACH = 10
"""Secrets of each kind."""

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def kinds(chance: random.Random) -> dict[str, Callable[[], tuple[str, str]]]:
    """For each kind a function that makes a secret, and a text with it."""

    def made(alphabet: str, length: int) -> str:
        return "".join(chance.choices(alphabet, k=length))

    def token(before: str, length: int, alphabet: str = LETTERS) -> Callable[[], tuple[str, str]]:
        def make() -> tuple[str, str]:
            secret = before + made(alphabet, length)
            frame = chance.choice(("use {} for it", "{}", '{{"x": "{}"}}', "export X={}\nls"))
            return secret, frame.format(secret)

        return make

    def setting(frame: str, length: int, alphabet: str = LETTERS) -> Callable[[], tuple[str, str]]:
        def make() -> tuple[str, str]:
            secret = "a1" + made(alphabet, length - 4) + "Z9"
            return secret, frame.format(secret)

        return make

    def pem() -> tuple[str, str]:
        body = made(LETTERS, 64)
        kind = chance.choice(("RSA ", "EC ", "OPENSSH ", ""))
        return body, f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"

    def web_token() -> tuple[str, str]:
        secret = ".".join(("eyJ" + made(LETTERS, 20), "eyJ" + made(LETTERS, 40), made(LETTERS, 43)))
        return secret, f"Cookie: session={secret}; path=/"

    def private() -> tuple[str, str]:
        secret = made(string.ascii_lowercase + " ", 30)
        return secret, f"before <private>{secret}</private> after"

    def letters(frame: str, length: int = 24) -> Callable[[], tuple[str, str]]:
        """A secret of letters alone, without a word in it."""

        def make() -> tuple[str, str]:
            lower, upper = string.ascii_lowercase, string.ascii_uppercase
            pairs = zip(made(lower, length), made(upper, length), strict=True)
            secret = "".join("".join(pair) for pair in pairs)[:length]
            return secret, frame.format(secret)

        return make

    def word(frame: str) -> Callable[[], tuple[str, str]]:
        """A password that is a word, in the syntax of a setting."""

        def make() -> tuple[str, str]:
            secret = chance.choice(("sun", "rose", "winter")) + chance.choice(("shine", "garden"))
            return secret, frame.format(secret)

        return make

    return {
        **{
            f"letters {number}": letters(frame)
            for number, frame in enumerate(
                (
                    "SECRET_KEY={}",
                    "DJANGO_SECRET_KEY='{}'",
                    "export API_TOKEN={}",
                    "AWS_SECRET_ACCESS_KEY=x/{}/y",
                    '"SecretAccessKey": "x/{}/y",',
                    "[default]\naws_secret_access_key = {}\n",
                    "stripe:\n  api_key: {}\n",
                    '  "clientSecret": "{}",',
                )
            )
        },
        **{
            f"word {number}": word(frame)
            for number, frame in enumerate(
                (
                    "DB_PASSWORD={}",
                    "DB_PASSWORD={}!",
                    "PGPASSWORD={} psql -h db",
                    "docker run -e POSTGRES_PASSWORD={} postgres",
                    "db:\n  password: {}\n",
                    "[db]\npassword = {}\n",
                    '{{"db_password": "{}"}}',
                    "Server=db;User Id=sa;Password={};",
                    "name=ada&password={}&x=1",
                    "<db.password>{}</db.password>",
                    '<add key="DbPassword" value="{}"/>',
                )
            )
        },
        "aws id": token("AK" + "IA", 16, string.ascii_uppercase + string.digits),
        "aws secret": setting("aws_secret_access_key = {}", 40),
        "github": token("gh" + "p_", 36),
        "github fine": token("github" + "_pat_", 82),
        "gitlab": token("gl" + "pat-", 20),
        "slack": token("xo" + "xb-", 40, string.digits + "-abcdef"),
        "slack hook": token("https://hooks.slack" + ".com/services/T0/B0/", 24),
        "openai": token("s" + "k-proj-", 48),
        "anthropic": token("s" + "k-ant-api03-", 90),
        "google": token("AI" + "za", 35),
        "stripe": token("s" + "k_live_", 24),
        "twilio": token("S" + "K", 32, HEX),
        "sendgrid": token("S" + "G." + "a1B2" * 5 + ".", 43),
        "npm": token("np" + "m_", 36),
        "pypi": token("py" + "pi-", 120),
        "hugging face": token("h" + "f_", 34),
        "digital ocean": token("do" + "p_v1_", 64, HEX),
        "databricks": token("da" + "pi", 32, HEX),
        "telegram": token("123456789:A" + "A", 33),
        "shopify": token("sh" + "pat_", 32, HEX),
        "linear": token("lin" + "_api_", 40),
        "sentry": token("snt" + "rys_", 60),
        "web token": web_token,
        "key block": pem,
        "url": setting("postgres://app:{}@db.internal:5432/shop", 14),
        "bearer": setting("Authorization: Bearer {}", 40),
        "password": setting("DB_PASSWORD={}", 12, LETTERS + "!#%+"),
        "client secret": setting('"client_secret": "{}",', 32),
        "azure": setting("AccountName=x;AccountKey={}==;Suffix=y", 86),
        "private": private,
        "command line": setting("mysql --password {} -u root", 14),
    }


def test_nearly_all_of_three_hundred_secrets_of_thirty_kinds_are_replaced(seed: int) -> None:
    missed = []
    count = 0
    forms = kinds(random.Random(seed))
    assert len(forms) >= 30
    for kind, make in forms.items():
        for _ in range(EACH):
            secret, text = make()
            count += 1
            redacted = redact(text)
            if secret in redacted.text or not redacted.kinds:
                missed.append((kind, text))
    assert count >= 300
    assert len(missed) <= count * 0.01, missed


def test_ordinary_lines_are_left_alone() -> None:
    touched = []
    count = 0
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    for path in files:
        if path.name == "redaction.py":
            continue
        # Every third line: the files are of many kinds, and long.
        for line in path.read_text("utf-8").splitlines()[::3]:
            count += 1
            if redact(line).kinds:
                touched.append(line)
    assert count > 30_000
    assert len(touched) < count * 0.001, touched[:20]


def test_words_about_secrets_are_no_secrets() -> None:
    texts = (
        "The password is stored nowhere; the token expires after an hour.",
        "token: str = field(default='')",
        "api_key=os.environ['OPENAI_API_KEY']",
        "password: ${DB_PASSWORD}",
        "secret_key = settings.SECRET_KEY",
        "Set the API key: see https://example.org/keys for how.",
        "key: value, primary_key: id, sort_key=name",
        "sha256: 5749fa4e1027196c0c362cb51e3cd03de55e9841689501cc8b460ddf8c3d81f9",
    )
    assert [text for text in texts if redact(text).kinds] == []


def test_passwords_are_found_in_the_words_of_people() -> None:
    secret = "Zomer" + "2024x"
    frames = (
        *("passwort ist {}", "Passwort: {}", "das Kennwort lautet {}", "mot de passe : {}"),
        *("mot de passe\u00a0: {}", "contraseña: {}", "la contraseña es {}", "clave: {}"),
        *("senha: {}", "a senha é {}", "wachtwoord: {}", "hasło: {}", "hasło to {}", "пароль: {}"),
        *("пароль {}", "密码：{}", "pw = {}", "pw: {}", "use password {} for staging"),
        *("bot token {}", "the api token is {}", "access token: {}", "the API key {}, please"),
        *("mysql -u root -p{} shop", "mysqldump -h db -p'{}' shop"),
    )
    texts = [frame.format(secret) for frame in frames]
    assert [text for text in texts if secret in redact(text).text] == []
    assert "-proot" not in redact("mysql -u ada -proot shop").text


def test_passwords_are_found_in_markup_in_commands_and_in_disguise() -> None:
    secret = "Zomer" + "2024!x9Q"
    frames = (
        *("**Password:** `{}`", "**Password**: {}", "| password | {} |", "<password>{}</password>"),
        *("sshpass -p {} ssh db", "sshpass -p '{}' ssh db", "docker login -u me -p {}"),
        *("redis-cli -a {} ping", "redis-cli -h db -a {}", "openssl enc -passin pass:{}"),
        *(
            "Cookie: session={}; path=/",
            "pass\u200bword: {}",
            "\uff30\uff21\uff33\uff33 word\uff1a{}",
        ),
        *("das DB-Passwort ist jetzt {}", "Passwort geändert auf {}", "password changed to {}"),
        *("user admin and pass {}", "password → {}", "curl --http-password {} db"),
    )
    texts = [frame.replace("\uff33 word", "\uff33\uff37\uff2f\uff32\uff24") for frame in frames]
    texts = [text.format(secret) for text in texts]
    assert [text for text in texts if secret in redact(text).text] == []
    assert redact(f"no\u200btes\npass\u200bword: {secret}").text.startswith("no\u200btes\n")


def test_ordinary_assignments_are_left_alone() -> None:
    texts = (
        *("password = get_password()", "password: str", "  password: string;", "token: str"),
        *("DB_PASSWORD=${DB_PASSWORD}", "API_KEY=<your key>", "API_TOKEN=your-token-here"),
        *("SECRET_KEY=os.environ['SECRET_KEY']", "PASSWORD=getpass.getpass()", "key: value"),
        *("connect(user=user, password=password)", "PRIMARY_KEY=customer", "sort_key: created"),
        *('{"key": "Enter", "token": "word"}', '"password": "The password of the user"'),
        *("Password: required", "password: required", "Secret: everybody knows it", "token = None"),
        *("MAX_TOKENS=4096", "PASSWORD_FILE=/run/secrets/db", "KEY_ID=customer", "Token: expired"),
        *("    password = entered", "for key in keys: print(key)", "<password>string</password>"),
        *(
            "--token TOKEN",
            "--password $DB_PASSWORD",
            "docker run -p 8080:80 web",
            "mkdir -p some/dir",
        ),
        *("| password | string | of the user |", "serve(MYCEL_TOKEN=TOKEN)", "Cookie: a=b"),
    )
    assert [text for text in texts if redact(text).kinds] == []


def operations(text: str) -> int:
    """The calls of functions, in Python and in C, that redacting a text takes."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    profile = sys.getprofile()
    sys.setprofile(count)
    try:
        redact(text)
    finally:
        sys.setprofile(profile)
    return calls


def test_long_lines_of_beginnings_take_linear_time() -> None:
    """Its searches are linear by their engine; what is done with each match is counted here."""
    redact("password: Zomer2024!")  # The patterns are compiled once.
    for part in (
        *("password", "KEY=", 'secret: "', "<token>", "| pass ", "pass user ", "cookie: a="),
        *("password: Zomer2024! ", "API_KEY=q8Zr4Tw9Lm2X\n", "\u200bpassword=Zomer2024!\n"),
    ):
        once, four_times = (operations(part * (size // len(part))) for size in (3_000, 12_000))
        assert four_times <= 4.5 * once + 500, part


def test_words_after_those_for_a_password_are_left_alone() -> None:
    texts = (
        "mysql -u root -p shop",
        "mysql -P3306 -h db",
        "Passwort: siehe unten",
        "das Passwort ist falsch",
        "пароль: неверный",
        "clave: valor",
        "mot de passe : obligatoire",
        "the password field2 is hidden",
        "password hashing with argon2id and SHA-256",
        "the password docs/auth2024.md",
        "an access token expires_in 3600 seconds",
        "the access token introspection of RFC7662",
    )
    assert [text for text in texts if redact(text).kinds] == []


def test_redacting_twice_changes_nothing_more(seed: int) -> None:
    for make in kinds(random.Random(seed)).values():
        once = redact(make()[1]).text
        assert redact(once).text == once
