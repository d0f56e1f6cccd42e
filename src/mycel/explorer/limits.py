"""Bounds of an answer of the explorer."""

from __future__ import annotations

from typing import Final

SUGGESTIONS: Final = 8
SUGGESTIONS_MAX: Final = 50
QUESTION_CHARACTERS_MAX: Final = 500
GROUPS_MAX: Final = 60
"""The maximum number of groups of an overview; beyond it, the smallest ones are joined into one."""
GROUPS_WANTED: Final = 24
"""The number of groups at which an overview by folder stops dividing large folders."""
SMALL_GRAPH_NODES: Final = 150
"""An overview of at most this many nodes shows the nodes too."""
GROUP_NODES: Final = 300
GROUP_NODES_MAX: Final = 2_000
NEIGHBOURS: Final = 25
NEIGHBOURS_MAX: Final = 500
REACHED_NODES: Final = 100
REACHED_NODES_MAX: Final = 2_000
REACHED_COST: Final = 1.0
KNOWN_MAX: Final = 5_000
"""The maximum number of ids of one request."""
LINKS_MAX: Final = 10_000
"""The maximum number of links of one answer."""
RELATIONS: Final = 100
RELATIONS_MAX: Final = 1_000
VERSIONS: Final = 50
VERSIONS_MAX: Final = 500
MISSING: Final = 50
MISSING_MAX: Final = 500
MISSING_SOURCES: Final = 5
"""The maximum number of nodes that are listed for a missing concept, as the sources of relations to
it."""
FINDINGS: Final = 20
FINDINGS_MAX: Final = 200
BUCKETS: Final = 60
BUCKETS_MAX: Final = 500
CHANGES: Final = 500
CHANGES_MAX: Final = 2_000
DIFFS_AT_ONCE: Final = 2
"""The maximum number of comparisons that run at the same time: each holds all differences in
memory."""
AUTHORS: Final = 50
AUTHORS_MAX: Final = 500
TOUCHED: Final = 300
COMMITS: Final = 20
COMMITS_MAX: Final = 500
MOMENTS_COMMITS: Final = 50
MOMENTS_DAYS: Final = 60
"""The maximum number of commits, and of days, that a reader may choose from."""
HEAD_LINES: Final = 60
"""The number of lines that are shown of a file."""
SOURCE_LINES: Final = 400
SOURCE_LINE_CHARACTERS: Final = 500
HITS: Final = 20
HITS_MAX: Final = 100
WORKSPACES_MAX: Final = 50
EVENT_IDS_MAX: Final = 200
"""The maximum number of elements that one event of the feed names."""
EVENT_BYTES_MAX: Final = 64 << 10
"""The largest size of one event; a single name can have 4 KiB."""
FEED_KEPT: Final = 256
"""The number of newest events that are kept for streams that fall behind."""
FEED_GAP_COMMITS: Final = 1_000
"""A stream that is behind by more commits gets no single events, and has to reload."""
FEED_PAGE_COMMITS: Final = 50
"""The maximum number of past commits that are read at once for a stream."""
FEED_PAGE_BYTES: Final = 1 << 20
"""Reading a page of past commits stops when its events have this size."""
FEED_GAP_BYTES: Final = 8 << 20
"""A stream that is behind by more bytes of events has to reload."""
OVERVIEWS_KEPT: Final = 16
"""The maximum number of answers of `overview` that are kept."""
PAST_CENSUSES: Final = 2
"""The maximum number of censuses of past states that are kept."""
