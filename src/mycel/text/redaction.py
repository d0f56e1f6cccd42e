"""Redaction: secrets in a text are replaced by a mark before the text is stored.

`redact` is the only entrance, for hooks and imports alike. A secret is a text with the form of a
secret (the token of a service, a private key, a password in a URL), the value of a setting whose
name says that it is secret, or a text between `<private>` and `</private>`.

Patterns run in RE2, which takes linear time on any text. Most texts have no secret, which a set of
all patterns finds out in one pass. A value of a setting is kept if its form is not that of a
secret: a name of a variable, a placeholder, a word of a language.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

_TOKEN: Final = r"[A-Za-z0-9_\-]"
_VALUE: Final = r"[^\s\"'`,;<>(){}\[\]]"
_FORMS: Final[dict[str, str]] = {
    "private": r"(?is)<private>.*?(?:</private>|\z)",
    "private key": r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r".*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)",
    "age key": r"AGE-SECRET-KEY-1[0-9A-Z]{50,}",
    "AWS key id": r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ABIA|ACCA)[A-Z0-9]{16}\b",
    "GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{22,}",
    "GitLab token": rf"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-{_TOKEN}{{16,}}",
    "Slack token": r"\bx(?:ox[abeoprs]|app)-[A-Za-z0-9\-]{10,}",
    "Slack webhook": r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9_/]{20,}",
    "Discord webhook": rf"discord(?:app)?\.com/api/webhooks/[0-9]{{15,}}/{_TOKEN}{{30,}}",
    "API key": rf"\bsk-(?:ant-|proj-|svcacct-|admin-|or-v1-|lf-)?{_TOKEN}{{20,}}",
    "Google key": rf"\bAIza{_TOKEN}{{35}}|\bGOCSPX-{_TOKEN}{{20,}}|\bya29\.{_TOKEN}{{20,}}",
    "Stripe key": r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{20,}",
    "Twilio key": r"\b(?:SK|AC)[0-9a-f]{32}\b",
    "SendGrid key": rf"\bSG\.{_TOKEN}{{16,}}\.{_TOKEN}{{16,}}",
    "Mailgun key": r"\bkey-[0-9a-f]{32}\b",
    "package token": rf"\bnpm_[A-Za-z0-9]{{36}}|\bpypi-{_TOKEN}{{40,}}|\brubygems_[0-9a-f]{{40,}}"
    rf"|\bdckr_pat_{_TOKEN}{{20,}}|\bcio[A-Za-z0-9]{{32}}\b",
    "model hub token": r"\bhf_[A-Za-z0-9]{30,}|\bgsk_[A-Za-z0-9]{40,}|\br8_[A-Za-z0-9]{30,}"
    r"|\bxai-[A-Za-z0-9]{40,}|\bpplx-[A-Za-z0-9]{40,}",
    "cloud token": rf"\bdo[oprt]_v1_[a-f0-9]{{60,}}|\bdapi[a-f0-9]{{32}}|\bhv[sbr]\.{_TOKEN}{{24,}}"
    rf"|\bpscale_(?:tkn|pw|oauth)_{_TOKEN}{{30,}}|\bdop_v1_[a-f0-9]{{60,}}|\bsbp_[a-f0-9]{{40}}",
    "service token": rf"\blin_api_[A-Za-z0-9]{{32,}}|\bntn_[A-Za-z0-9]{{40,}}"
    rf"|\bsecret_[A-Za-z0-9]{{40,}}|\bpat[A-Za-z0-9]{{14}}\.[a-f0-9]{{60,}}|\bfigd_{_TOKEN}{{30,}}"
    rf"|\bsntry[su]_{_TOKEN}{{30,}}|\bgl(?:sa|c)_[A-Za-z0-9_+/=]{{30,}}|\bphc_[A-Za-z0-9]{{30,}}"
    rf"|\bNRAK-[A-Z0-9]{{27}}|\bsq0[a-z]{{3}}-{_TOKEN}{{22,}}|\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{{32}}"
    rf"|\bATATT{_TOKEN}{{40,}}|\bCFPAT-{_TOKEN}{{40,}}|\bdop_{_TOKEN}{{60,}}",
    "bot token": rf"\b[0-9]{{8,10}}:AA{_TOKEN}{{32,}}|\b[MNO][A-Za-z0-9]{{23,25}}\.{_TOKEN}{{6}}\."
    rf"{_TOKEN}{{27,}}",
    "JSON web token": rf"\beyJ{_TOKEN}{{8,}}\.eyJ{_TOKEN}{{8,}}\.{_TOKEN}{{8,}}",
    "Azure key": r"(?i)\b(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{40,}={0,2}"
    r"|[?&]sig=[A-Za-z0-9%+/]{30,}",
}
"""The forms of secrets by their kinds; the whole match is replaced."""

_PASSWORD_WORDS: Final = (
    r"passw(?:or)?d|passwort|passphrase|passcode|kennwort|mot de passe|\bmdp\b|contrase(?:ñ|n)a"
    r"|\bclave\b|\bsenha|palavra-passe|wachtwoord|\bhas[łl]o\b|парол[ьяюем]|lösenord|adgangskode"
    r"|salasana|\bheslo|jelszó|şifre|密码|密碼|パスワード|비밀번호|\bpwd|\bpw\b|_pass|_pw"
)
"""The word for a password in English and sixteen other languages."""
_IS: Final = (
    r"(?::=|=>|->|→|=|:|：|\b(?:is|ist|lautet|est|es|jest|er|to)\b(?:\s(?:now|jetzt|nun)\b)?"
    r"|\b(?:(?:has\s|was\s)?(?:been\s)?(?:changed|set|reset|updated)\sto"
    r"|(?:wurde\s)?(?:geändert|gesetzt)\s(?:auf|zu)"
    r"|(?:wurde|jetzt|nun)\s(?:auf|zu)|now)\b|\s(?:é|è)\s|は)"
)
_NAME: Final = (
    r"[A-Za-z0-9_.\-]{0,60}(?i:pass|pwd|pw|passwort|kennwort|secret|token|key|credential)"
    r"[A-Za-z0-9_.\-]{0,40}"
)
"""The name of a setting that may be secret; `_strength` judges its words."""

_VALUES: Final[dict[str, str]] = {
    "password in a URL": r"(?i)\b[a-z][a-z0-9+.\-]{1,20}://[^\s:/@\"'<>]{0,100}:([^\s/@\"'<>]{3,200})@",
    "authorization": r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/\-]{16,}=*)",
    "command line": r"(?i)\s--?(?:(?:auth|access|api|http|proxy|db|root|admin|client|user|registry)"
    r"-)?(?:password|passwd|passphrase|requirepass|token|secret|api-?key)(?:\s+|=)[\"']?([^\s\"']{6,})"
    r"|\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[\s=]+[\"']?[^\s:\"']{1,100}:([^\s\"']{3,})"
    r"|(?-i:\b(?:mysql|mariadb)[a-z\-]{0,20}(?:\s[^\n|;&]{0,200}?)?\s-p[\"']?([^\s\"'`]{3,200}))"
    r"|(?-i:\bsshpass\s{1,4}-p\s{0,4}[\"']?([^\s\"'`]{3,200}))"
    r"|(?-i:\b(?:login|mongo(?:sh|dump|restore|export|import)?)\s(?:[^\n|;&]{0,200}?\s)?-p"
    r"[\s=]{1,4}[\"']?([^\s\"'`-][^\s\"'`]{2,200}))"
    r"|(?-i:\bredis-cli\s(?:[^\n|;&]{0,200}?\s)?-a\s{1,4}[\"']?([^\s\"'`]{3,200}))"
    r"|(?-i:\bldap[a-z]{3,10}\s(?:[^\n|;&]{0,200}?\s)?-w\s{0,4}[\"']?([^\s\"'`]{3,200}))"
    r"|(?-i:\bpass:([^\s\"'`]{4,200}))",
    "cookie": r"(?i)\b(?:set-)?cookie:[ \t]{0,4}([^\s\"'=;]{1,100}=[^\s\"';]{8,}(?:;[^\r\n\"']*)?)",
    "variable": r"(?m)(?:^|[\s;\"'`])[A-Z0-9_]{0,60}(?:PASS|PWD|PW|SECRET|TOKEN|KEY|CREDENTIAL)"
    r"[A-Z0-9_]{0,40}="
    rf"(?:\"([^\"\n]{{4,500}})|'([^'\n]{{4,500}})|([^\s\"'`]{{4,500}}))"
    rf"|[;?&]{_NAME}=([^\s\"'`;&]{{4,500}})",
    "line": rf"(?m)^[ \t]{{0,40}}(?:-\s)?(?:export\s|set\s|ENV\s|ARG\s)?{_NAME}"
    r"[ \t]{0,4}[:=][ \t]{0,4}([^\s\"'`]{4,500})[ \t]{0,4}\r?$",
    "quoted": rf"{_NAME}\\?[\"'`]?\]?[ \t]{{0,4}}(?::=|=>|=|:)[ \t]{{0,4}}"
    rf"(?:\\?\"([^\"\\\n]{{4,500}})\\?\""
    rf"|'([^'\n]{{4,500}})'|`([^`\n]{{4,500}})`)",
    "element": rf"<(?:[A-Za-z0-9_.\-]{{1,40}}:)?{_NAME}>\s{{0,4}}(?:<!\[CDATA\[)?"
    rf"([^<>\s]{{3,500}}?)(?:\]\]>)?\s{{0,4}}</"
    rf"|(?i:\b(?:name|key|id)=)\"{_NAME}\"\s{{1,4}}(?i:value)=\"([^\"\n]{{3,500}})\"",
    "setting": rf"(?i)(?:{_PASSWORD_WORDS}|secret|token|credential|api[_\-]?key"
    r"|access[_\-]?key|private[_\-]?key|encryption[_\-]?key|signing[_\-]?key|account[_\-]?key"
    r"|service[_\-]?key|auth[_\-]?key|master[_\-]?key|_key_id|\bkey|_key|connection[_\-]?string)"
    rf"[a-z0-9_\-]{{0,30}}[\"'`]?\*{{0,3}}[\s\pZ]{{0,4}}(?:{_IS}|\|)\*{{0,3}}[\s\pZ]{{0,4}}[\"'`*]{{0,3}}"
    rf"({_VALUE}{{4,500}})",
    "secret in a sentence": r"(?i)(?:\b(?:bot|api|access|auth|bearer|refresh|deploy|session|admin"
    rf"|app|service|user|login)[\s_\-]{{1,2}}(?:token|key|secret)|{_PASSWORD_WORDS}"
    rf"|\b(?:user(?:name)?|login)\b[^\n]{{0,60}}?\bpass)[\"'`]?"
    rf"(?:[\s\pZ]{{1,4}}|[\s\pZ]{{0,4}}{_IS}[\s\pZ]{{0,4}})[\"'`]?({_VALUE}{{8,500}})",
}
"""Settings by their kinds. Only the matching group is replaced, if it looks like a secret."""

_PLAIN: Final = re.compile(
    r"(?:[a-z]+|[A-Z]+|[A-Z][a-z]+|[a-z]+(?:[A-Z][a-z]*)+|[A-Z][a-z]+(?:[A-Z][a-z]*)+"
    r"|[A-Za-z]+(?:[._/:-]+[A-Za-z]+)*|[\d.:,_/-]+|[*.x•-]+|[\W_]+)[.:!?]*"
)
"""Values that are no generated secret: words, names of variables, numbers."""
_REFERENCES: Final = (
    "$",
    "%",
    "&",
    "${",
    "{{",
    "env.",
    "os.",
    "process.",
    "self.",
    "config.",
    "http",
)
_NAMED: Final = re.compile(r"[~.]{0,2}/.*|[^(=|]*[(=|].*|https?:.*|[A-Za-z][\w/-]*\.[a-z]\w{0,4}")
"""Words of a sentence that have digits but are no secret: paths, calls, addresses, files."""
_ASSIGNED: Final = frozenset(("variable", "line", "quoted", "element"))
"""Kinds of values that follow their name in the syntax of an assignment."""
_PASSWORD_NAMES: Final = (
    *("password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "pwd", "pw", "pass"),
)
_KEY_NAMES: Final = ("key", "token", "credential", "credentials")
_OF_SECRET_KEYS: Final = re.compile(
    r"api|access|secret|private|encryption|signing|account|service|auth|master|app|session"
    r"|deploy|license|jwt|webhook|shared|subscription|storage|bearer|refresh|bot|personal"
    r"|oauth|hmac|aes|admin|client|registry|security"
)
_OF_OPEN_KEYS: Final = re.compile(
    r"primary|foreign|sort|cache|public|partition|index|start|end|eos|bos|pad|unk|mask"
    r"|stop|next|page|continuation|hot|object|row|group|dedup|route|map|lookup|idempotency"
    r"|max|per|first|last|special|hash|range|natural|join"
)
_OF_A_FILE: Final = re.compile(
    r"(?i)(?:^|[_.\-])(?:file|path|dir|name|id|url|uri|arn|type|length)$"
)
"""Ends of names that describe a secret or its place instead of holding it."""
_QUALIFIERS: Final = re.compile(
    r"old|new|prod|production|staging|stage|dev|test|live|b64|base64|hex|value|current"
)
"""Words after the name of a secret, as in `API_KEY_PROD`."""
_WORDS_OF_NAME: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_OPEN_VALUE: Final = re.compile(
    r"(?i)(?:x{3,}|your|my[-_]|changeme|change[-_]me|insert|replace|example|placeholder|redacted"
    r"|dummy|todo|fixme).*|<.*|\[.*|.*\.\.\.|.*…|[*.•_-]+"
    r"|str|string|text|bytes?|int|integer|number|bool|boolean|true|false|null|none|nil|undefined"
    r"|any|object|unknown|optional|void|final|required|missing|invalid|expired|empty|unset|set|yes"
    r"|no|enabled|disabled|wrong|correct|valid|value|hidden|stored|encrypted|hashed|here|see|same"
    r"|default|auto|input|header|cookie|query|body|bearer|basic|prompt|secrets?|passwords?|tokens?"
    r"|keys?|login|[a-z_][\w.\-]*(?:password|passwd|secret|token|key|pwd)s?"
    r"|(?:password|passwd|secret|token|key|pwd)[-_a-z]*"
    r"|\$?[a-z_][\w.]*(?:\(.*|\[.*\])|(?:os|env|process|self|this|settings|config|secrets|vars"
    r"|args|options|opts|ctx|github|request|req|props|event|data|params|conf|cfg)\..*"
    r"|(?:https?|file|vault|op|arn|ref)[:+].*|[~.]{0,2}/[\w./-]*"
)
"""Values that are no secret: placeholders, types, words about secrets, references and calls."""
_LABEL_NAME: Final = re.compile(r"[A-Za-z0-9_.\-]+(?=[^A-Za-z0-9_.\-]*$)")
_VALUE_ATTRIBUTE: Final = re.compile(r"\"\s+value=\"$", re.IGNORECASE)
_HIDDEN_CHARACTERS: Final = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_WIDE: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
"""The wide forms of ASCII characters, each with its ordinary one."""
_DISGUISE: Final = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff\uff01-\uff5e]")
SHORT_CHARACTERS: Final = 6
_PASSWORDS: Final = re.compile(_PASSWORD_WORDS, re.IGNORECASE)


class Redacted(NamedTuple):
    """A text without its secrets."""

    text: str
    kinds: Counter[str]
    """The secrets that were replaced, counted by kind."""


class _Forms(NamedTuple):
    quick: Any
    """A set of all patterns."""
    tokens: tuple[tuple[str, Any], ...]
    values: tuple[tuple[str, Any], ...]


@cache
def _forms() -> _Forms:
    import re2  # noqa: PLC0415 - few commands need it, and starting should be quick.

    options = re2.Options()
    options.log_errors = False
    quick = re2.Set.SearchSet(options)
    for pattern in (*_FORMS.values(), *_VALUES.values()):
        quick.Add(pattern)
    quick.Compile()
    return _Forms(
        quick,
        tuple((kind, re2.compile(pattern, options=options)) for kind, pattern in _FORMS.items()),
        tuple((kind, re2.compile(pattern, options=options)) for kind, pattern in _VALUES.items()),
    )


def redact(text: str) -> Redacted:
    """The text with a mark such as `[redacted: API key]` for each secret in it.

    >>> redact("the password: tr0ub4dor&3 and then").text
    'the password: [redacted: setting] and then'
    >>> redact("read os.environ['API_KEY'], a token is a word").kinds
    Counter()
    """
    redacted = _redact(text)
    if _DISGUISE.search(redacted.text) is None:
        return redacted
    # Only a line in which a secret is found loses its hidden and wide characters.
    lines = redacted.text.split("\n")
    for number, line in enumerate(lines):
        if _DISGUISE.search(line):
            part = _redact(_HIDDEN_CHARACTERS.sub("", line).translate(_WIDE))
            if part.kinds:
                lines[number] = part.text
                redacted.kinds.update(part.kinds)
    return Redacted("\n".join(lines), redacted.kinds)


def _redact(text: str) -> Redacted:
    forms = _forms()
    kinds: Counter[str] = Counter()
    matching = forms.quick.Match(text)
    if not matching:
        return Redacted(text, kinds)
    for number in sorted(matching):
        if number < len(forms.tokens):
            kind, pattern = forms.tokens[number]
            text, replaced = pattern.subn(f"[redacted: {kind}]", text)
        else:
            kind, pattern = forms.values[number - len(forms.tokens)]
            text, replaced = _without_values(kind, pattern, text)
        kinds["setting" if kind in _ASSIGNED else kind] += replaced
    return Redacted(text, +kinds)


def _without_values(kind: str, pattern: Any, text: str) -> tuple[str, int]:
    parts: list[str] = []
    at = count = 0
    for match in pattern.finditer(text):
        group = next(number for number, value in enumerate(match.groups(), 1) if value is not None)
        value = match.group(group)
        label = match.group(0)[: match.start(group) - match.start(0)]
        if kind == "setting" and not _looks_secret(label, value):
            continue
        if kind == "secret in a sentence" and not _looks_made(value):
            continue
        if kind in _ASSIGNED and not _is_assigned_secret(kind, label, value):
            continue
        if kind == "command line" and (value.startswith(_REFERENCES) or _is_open(value)):
            continue
        if "[redacted" in value or value.startswith("redacted:"):
            continue
        mark = "setting" if kind in _ASSIGNED else kind
        parts += (text[at : match.start(group)], f"[redacted: {mark}]")
        at = match.end(group)
        count += 1
    return "".join((*parts, text[at:])), count


def _looks_secret(label: str, value: str) -> bool:
    """True if the value of a setting may be a secret: neither the name of a secret nor a word."""
    if value.startswith(_REFERENCES):
        return False
    match = _LABEL_NAME.search(label)
    if (
        match is not None
        and _OF_A_FILE.search(match[0])
        and not match[0].lower().endswith("key_id")
    ):
        return False
    if _PASSWORDS.search(label):
        has_quote = label[-1:] in "\"'`"
        if len(value) < SHORT_CHARACTERS and not (has_quote or _is_mixed(value)):
            return False
        is_plain = _PLAIN.fullmatch(value.lstrip("_")) or value.rstrip(".:!?").isalpha()
        return not is_plain or (has_quote and " " not in value and "_" not in value)
    return len(value) >= 12 and not _PLAIN.fullmatch(value.lstrip("_")) and _is_mixed(value)


def _is_assigned_secret(kind: str, label: str, value: str) -> bool:
    """True if a value is assigned to a name that says that it is secret.

    Any value of a variable or an element counts; a value on a line or in quotes has to look like a
    secret. If the name may be harmless (`open`), the value has to look random.
    """
    name = _VALUE_ATTRIBUTE.sub("", label) if kind == "element" else label
    match = _LABEL_NAME.search(name)
    if match is None or value.startswith(_REFERENCES) or _is_open(value):
        return False
    strength = _strength(match[0], is_variable=kind == "variable")
    if strength is None or " " in value.strip():
        return False
    if strength == "open":
        return _is_random(value)
    if kind in ("variable", "element"):
        return True
    is_word = value.rstrip("!.?,").isalpha()
    if kind == "quoted":
        is_long = len(value) >= (SHORT_CHARACTERS if strength == "password" else 12)
        return (
            _is_random(value) or (is_long and not _PLAIN.fullmatch(value)) or (is_word and is_long)
        )
    if not _PLAIN.fullmatch(value):
        return len(value) >= SHORT_CHARACTERS and "_" not in value.strip("_")
    # A word: in a file of settings it is the value, in code a name, in prose a word.
    is_in_code = "=" in label and label[:1].isspace()
    is_prose = match[0][:1].isupper() and not match[0].isupper()
    if _is_random(value):
        return True
    return value.isascii() and is_word and not is_in_code and not is_prose and match[0].isascii()


def _is_open(value: str) -> bool:
    """True for a placeholder, a type, a reference or a call."""
    return any(_OPEN_VALUE.fullmatch(word) for word in (value, value.rstrip(",;)")))


def _strength(name: str, *, is_variable: bool) -> str | None:
    """`password`, `secret` or `open` for a name that says so; None for all other names.

    >>> [_strength(name, is_variable=False) for name in ("dbPassword", "api_key", "sort_key")]
    ['password', 'secret', None]
    """
    words = [word.lower() for word in _WORDS_OF_NAME.findall(name)]
    while len(words) > 1 and _QUALIFIERS.fullmatch(words[-1]):
        words.pop()
    if not words:
        return None
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _PASSWORD_NAMES or last.endswith(("password", "passwd", "passwort")):
        is_alone = last in ("pass", "pw") and not before
        return "open" if is_alone and not is_variable else "password"
    if last.endswith("secret"):
        return "secret"
    for kind in _KEY_NAMES:
        if last.endswith(kind):
            of = last.removesuffix(kind) or before
            if _OF_OPEN_KEYS.fullmatch(of):
                return None
            return "secret" if _OF_SECRET_KEYS.fullmatch(of) or (is_variable and of) else "open"
    return None


def _is_random(value: str) -> bool:
    """True if letters alternate in case, or with digits, more often than in names made of words."""
    if len(value) < 12 or "_" in value or " " in value:
        return False
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in value if c.isalnum()]
    changes = sum(one != other for one, other in pairwise(kinds))
    return changes * 3 >= len(kinds)


def _looks_made(value: str) -> bool:
    """True if a word of a sentence looks like a secret, and not like a path, a name or a date."""
    word = value.rstrip(".:!?")
    return len(word) >= 8 and _is_mixed(word) and not _NAMED.fullmatch(word)


def _is_mixed(value: str) -> bool:
    """True if digits are among letters, as in generated secrets."""
    digits = sum(character.isdigit() for character in value)
    letters = sum(character.isalpha() for character in value)
    return digits >= 2 and letters >= 2
