"""Moments to choose from, through a real server."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import mycel
from tests.adapters.http.conftest import Server


def test_days_follow_the_zone_of_the_reader_and_tags_and_commits_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    ends = []
    with mycel.open(path, actor="ada") as db:
        for name in ("a", "b", "c"):
            mycel.Knowledge(db, workspace="shop").add(name)
            ends.append(db.snapshot().entries)
        db.history.tag("v1")
        commits = list(db.history.log(limit=3))
    server = Server("mycel", "serve", "--json", "--db", path, "--port", "0")
    try:
        server.wait_until_ready()
        told = server.get("/api/moments").json()
        last = told["position"]
        assert [each["name"] for each in told["tags"]] == ["v1"]
        assert {each.seq for each in commits} <= {each["seq"] for each in told["commits"]}
        assert told["days"][0]["seq"] == last
        assert sum(each["changes"] for each in told["days"]) == last
        when = datetime.fromisoformat(told["commits"][0]["time"])
        for zone, offset in [("Z", 0), ("+00:00", 0), ("+14:00", 14), ("-12:00", -12)]:
            days = server.get("/api/moments", params={"zone": zone}).json()["days"]
            day = (when.astimezone(UTC) + timedelta(hours=offset)).date().isoformat()
            assert days[0]["day"] == day, zone
        for zone in ("Berlin", "+1", "+99:00", "+01:60"):
            assert server.get("/api/moments", params={"zone": zone}).status_code == 400, zone
        for entry in (1, *ends):
            commit = server.get("/api/commit", params={"entry": entry}).json()["commit"]
            assert commit["before"] < entry <= commit["seq"]
        assert server.get("/api/commit", params={"entry": last + 1}).status_code == 404
        assert server.get("/api/commit").status_code == 400
    finally:
        server.end()
