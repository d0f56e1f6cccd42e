"""Asks the process of `warm.py` for a child, and behaves as if it were that child."""

import json
import os
import signal
import socket
import sys


def main(address: str, arguments: list[str]) -> None:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    folder, environment = os.getcwd(), dict(os.environ)  # noqa: PTH109 - pathlib takes long to load
    asked = {"arguments": arguments, "environment": environment, "folder": folder}
    message = json.dumps(asked).encode()
    socket.send_fds(connection, [len(message).to_bytes(4, "big")], [0, 1, 2])
    connection.sendall(message)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: connection.sendall(bytes([number])))
    for stream in range(3):  # They are the child's now: their other ends see when it ends.
        os.close(stream)
    status = int.from_bytes(connection.recv(2), "big", signed=True)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
