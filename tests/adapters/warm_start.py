"""Asks the process of `warm.py` for a child, and behaves as if it were that child.

It imports `_signal` and `_socket`, the C parts of `signal` and `socket`, because these would take
twice as long to load as everything else.
"""

import _signal
import _socket
import os
import sys


def main(address: str, arguments: list[str]) -> None:
    connection = _socket.socket(_socket.AF_UNIX)
    connection.connect(address)
    folder, environment = os.getcwd(), dict(os.environ)  # noqa: PTH109 - pathlib takes long to load
    asked = {"arguments": arguments, "environment": environment, "folder": folder}
    message = ascii(asked).encode()
    streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in range(3))
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)
    connection.sendmsg([len(message).to_bytes(4, "big")], [rights])
    connection.sendall(message)
    for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
        _signal.signal(number, lambda number, _: connection.sendall(bytes([number])))
    for stream in range(3):  # They are the child's now: their other ends see when it ends.
        os.close(stream)
    status = int.from_bytes(connection.recv(2), "big", signed=True)
    if status < 0:
        _signal.signal(-status, _signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
