"""Bounds of what one answer of the explorer holds."""

from __future__ import annotations

from typing import Final

SUGGESTIONS: Final = 8
SUGGESTIONS_MAX: Final = 50
QUESTION_CHARACTERS_MAX: Final = 500
GROUPS_MAX: Final = 60
"""Groups of an overview; the smallest ones beyond are folded into one."""
GROUPS_WANTED: Final = 24
"""An overview by folder divides large folders until it has so many groups."""
SMALL_GRAPH_NODES: Final = 150
"""An overview of so few nodes shows the nodes too."""
GROUP_NODES: Final = 300
GROUP_NODES_MAX: Final = 2_000
NEIGHBOURS: Final = 25
NEIGHBOURS_MAX: Final = 500
REACHED_NODES: Final = 100
REACHED_NODES_MAX: Final = 2_000
REACHED_COST: Final = 1.0
KNOWN_MAX: Final = 5_000
"""Ids of one request."""
LINKS_MAX: Final = 10_000
"""Links of one answer."""
RELATIONS: Final = 100
RELATIONS_MAX: Final = 1_000
VERSIONS: Final = 50
VERSIONS_MAX: Final = 500
MISSING: Final = 50
MISSING_MAX: Final = 500
MISSING_SOURCES: Final = 5
"""The most nodes that are listed as referring to a missing concept."""
FINDINGS: Final = 20
FINDINGS_MAX: Final = 200
BUCKETS: Final = 60
BUCKETS_MAX: Final = 500
CHANGES: Final = 500
CHANGES_MAX: Final = 2_000
DIFFS_AT_ONCE: Final = 2
"""Comparisons that run at the same time: each has all that differs in memory."""
AUTHORS: Final = 50
AUTHORS_MAX: Final = 500
TOUCHED: Final = 300
COMMITS: Final = 20
COMMITS_MAX: Final = 500
MOMENTS_COMMITS: Final = 50
MOMENTS_DAYS: Final = 60
"""Commits and days that a reader may choose from."""
HEAD_LINES: Final = 60
"""Lines of a file that are shown as its head."""
SOURCE_LINES: Final = 400
SOURCE_LINE_CHARACTERS: Final = 500
HITS: Final = 20
HITS_MAX: Final = 100
WORKSPACES_MAX: Final = 50
EVENT_IDS_MAX: Final = 200
"""Elements that one event of the feed names."""
EVENT_BYTES_MAX: Final = 64 << 10
"""The size of one event: a name can have 4 KiB."""
FEED_KEPT: Final = 256
"""Newest events that are kept for streams that fall behind."""
FEED_GAP_COMMITS: Final = 1_000
"""A stream that is further behind gets no single events, and reloads."""
FEED_PAGE_COMMITS: Final = 50
"""Commits of the past that are read at once for a stream."""
FEED_PAGE_BYTES: Final = 1 << 20
"""The size of their events from which on no more are read at once."""
FEED_GAP_BYTES: Final = 8 << 20
"""The same by the size of the events."""
OVERVIEWS_KEPT: Final = 16
"""Answers of `overview` that are kept."""
PAST_CENSUSES: Final = 2
"""Counts of past states that are kept."""
