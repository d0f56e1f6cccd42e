"""Answers `mycel hook EVENT` by a warm process, over its socket.

Loading the engine takes longer than a prompt may wait, so this imports only parts of the standard
library that are quick to load. Without a warm process, `run` returns None and the whole command
answers.
"""

import os
import sys

EVENTS = ("session-start", "prompt", "pre-compact", "stop", "session-end")
INPUT_BYTES_MAX = 8 << 20
ANSWER_BYTES_MAX = 1 << 20
CONNECT_SECONDS = 0.25
ANSWER_SECONDS = {"prompt": 4.0}
"""The time to wait for an answer. It covers a first prompt that loads the model; an answer without
a warm process would take even longer."""
ANSWER_SECONDS_DEFAULT = 20.0
_FAR = ("MYCEL_BRANCH", "MYCEL_WORKSPACE", "MYCEL_ACTOR", "MYCEL_MESSAGE")
"""Variables of one shell. A warm process answers for all shells, so it does not know them."""
OFF_VARIABLE = "MYCEL_HOOKS"
"""`MYCEL_HOOKS=off` switches off the hooks of this environment, also those of a warm process."""
_OFF = ("off", "0", "false")


def run(words: list[str]) -> int | None:
    """The exit status of a hook that a warm process has answered; None if it did not."""
    event, *options = words
    if event not in EVENTS:
        return None
    client, db = "claude-code", os.environ.get("MYCEL_DB", "")
    while options:
        name = options.pop(0)
        if name == "--client" and options:
            client = options.pop(0)
        elif name == "--db" and options:
            db = options.pop(0)
        else:
            return None
    if sys.stdin is None or sys.stdin.isatty():
        return None
    if is_off():
        sys.stdin.buffer.read(INPUT_BYTES_MAX)  # Some clients fail if their input is not read.
        return 0
    if sys.platform == "win32" or is_far():
        return None
    payload = sys.stdin.buffer.read(INPUT_BYTES_MAX)
    answer = ask(event, client, db, payload)
    if answer is None:
        # The ordinary command reads the input again.
        import io  # noqa: PLC0415 - only without a warm process.

        sys.stdin = io.TextIOWrapper(io.BytesIO(payload), encoding="utf-8", errors="replace")
        return None
    if answer:
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    return 0


def is_off(variable: str = OFF_VARIABLE) -> bool:
    """True if a variable of this environment says off."""
    return os.environ.get(variable, "").lower() in _OFF


def is_far() -> bool:
    """True if this environment has variables that a warm process does not know."""
    return any(map(os.environ.get, _FAR))


def ask(event: str, client: str, db: str, payload: bytes) -> bytes | None:
    """The answer of a warm process; None if there is none."""
    from mycel.hooks.addresses import sockets_for  # noqa: PLC0415 - only for events of hooks.

    folder = folder_in(payload) or os.getcwd()  # noqa: PTH109 - pathlib takes time to load.
    for address in sockets_for(folder, db):
        import socket  # noqa: PLC0415 - only if there is one.

        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(CONNECT_SECONDS)
                connection.connect(address)
                connection.settimeout(ANSWER_SECONDS.get(event, ANSWER_SECONDS_DEFAULT))
                head = f"{event} {client} {len(payload)}\n".encode()
                connection.sendall(head + payload)
                connection.shutdown(socket.SHUT_WR)
                answer = b""
                while len(answer) <= ANSWER_BYTES_MAX and (part := connection.recv(1 << 16)):
                    answer += part
        except OSError:
            continue
        status, line_feed, text = answer.partition(b"\n")
        if status == b"ok" and line_feed:
            return text
    return None


def folder_in(payload: bytes) -> str:
    """The working folder that the client names; empty if it names none."""
    import json  # noqa: PLC0415 - quick, and only here.

    try:
        event = json.loads(payload)
    except ValueError:
        return ""
    if not isinstance(event, dict):
        return ""
    folders = event.get("workspace_roots")
    first = folders[0] if isinstance(folders, list) and folders else ""
    folder = event.get("cwd") or first
    return folder if isinstance(folder, str) and os.path.isabs(folder) else ""  # noqa: PTH117
