"""The proposals of a workspace on a server, in the JSON form of its answers."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from mycel.errors import RemoteFailed
from mycel.remote.http_client import HttpClient
from mycel.remote.registry import RemoteEntry
from mycel.store.file.branch_files import MAIN


class ServerProposals:
    """The proposals for the branch that an entry of the registry names."""

    def __init__(self, entry: RemoteEntry) -> None:
        self._client: Final = HttpClient(entry.url, entry.token(), path=entry.path)
        self._branch: Final = entry.branch or MAIN

    def list(self, status: str) -> list[dict[str, Any]]:
        """Proposals of a status, newest first."""
        query = [("branch", self._branch), ("status", status)]
        proposals = self._client.get_json("/proposals", query).get("proposals")
        if not isinstance(proposals, list) or not all(isinstance(p, dict) for p in proposals):
            raise RemoteFailed("The answer of the remote is no list of proposals.")
        return proposals

    def show(self, id_: str) -> dict[str, Any]:
        """One proposal; an open one with its changes to the present state, and its conflicts."""
        return self._client.get_json(
            f"/proposals/{quote(id_, safe='')}", [("branch", self._branch)]
        )

    def review(self, id_: str, action: str, text: str = "", message: str = "") -> dict[str, Any]:
        """Accept, reject, comment or withdraw a proposal.

        Raises:
            VersionConflict: conflicts are in the way of accepting it.
        """
        body = {"action": action, "reason": text, "text": text, "message": message}
        response = self._client.request("POST", _path(id_), body=body | {"branch": self._branch})
        return self._client.json_of(response)

    def close(self) -> None:
        self._client.close()


def _path(id_: str) -> str:
    return f"/proposals/{quote(id_, safe='')}"
