"""The model of a disk with a volatile cache, and the files that a power cut could leave.

`Disk` is told of every change to a file, every sync and every change to a directory. It keeps all
versions of each sector, length and name since the last sync. From these, `after_power_loss` draws
one state that a power cut could leave. The model keeps whole files in memory, touches no file on
disk, and knows nothing of SQLite.
"""

import itertools
from pathlib import Path
from random import Random
from typing import ClassVar


class Inode:
    """A file's content, with the former content of parts that changed since the last sync."""

    SECTOR_SIZE: ClassVar[int] = 512

    def __init__(self, content: bytes = b"") -> None:
        self.data = bytearray(content)
        # All lengths, and all contents of each sector, since the last sync: the synced one first,
        # without the present one.
        self.past_lengths: list[int] = []
        self.past_sectors: dict[int, list[bytes]] = {}

    def sync(self) -> None:
        self.past_lengths.clear()
        self.past_sectors.clear()

    def write(self, offset: int, data: bytes) -> None:
        end = offset + len(data)
        self._remember(offset, end)
        if offset > len(self.data):
            self.data.extend(bytes(offset - len(self.data)))
        self.data[offset:end] = data

    def truncate(self, length: int) -> None:
        self._remember(length, len(self.data))
        del self.data[length:]
        self.data.extend(bytes(length - len(self.data)))

    def _remember(self, start: int, end: int) -> None:
        self.past_lengths.append(len(self.data))
        size = self.SECTOR_SIZE
        for sector in range(start // size, -(-end // size)):
            self.past_sectors.setdefault(sector, []).append(self._sector(sector))

    def _sector(self, sector: int) -> bytes:
        """The present content. Truncated bytes stay until they are overwritten."""
        start = sector * self.SECTOR_SIZE
        content = bytes(self.data[start : start + self.SECTOR_SIZE])
        past = self.past_sectors.get(sector) or [bytes(self.SECTOR_SIZE)]
        return content + past[-1][len(content) :]

    def after_power_loss(self, random: Random) -> bytes:
        """The readable content: the content of the last sync with any part of later writes."""
        lengths = [*self.past_lengths, len(self.data)]
        # With one fixed probability the extremes (all kept, all lost) would never be seen.
        share = random.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        length = lengths[-1] if random.random() < share else random.choice(lengths)
        content = bytearray(self.data.ljust(max(lengths), b"\0"))
        for sector, past in sorted(self.past_sectors.items()):
            start = sector * self.SECTOR_SIZE
            now = self._sector(sector)
            content[start : start + self.SECTOR_SIZE] = (
                now
                if random.random() < share
                else self._survivor(random, [*past, now], lengths[0] - start)
            )
        return bytes(content[:length])

    def _survivor(self, random: Random, versions: list[bytes], old_size: int) -> bytes:
        """A sector that did not arrive as a whole; its first `old_size` bytes were in the file."""
        match random.randrange(4):
            case 0:
                # A file may grow before its new blocks are written; until then they hold old data
                # of the disk.
                old = versions[0][: max(old_size, 0)]
                return old + random.randbytes(self.SECTOR_SIZE - len(old))
            case 1:
                # Torn at a byte, from either end.
                before, after = random.choice(list(itertools.pairwise(versions)))
                cut = random.randrange(1, self.SECTOR_SIZE)
                first, second = random.sample((before, after), 2)
                return first[:cut] + second[cut:]
            case _:
                return random.choice(versions[:-1])


class Disk:
    """The files that each path names, now and since its directory was last synced."""

    def __init__(self) -> None:
        self.names: dict[str, list[Inode | None]] = {}

    def find(self, path: str) -> Inode | None:
        return self.names[path][-1] if path in self.names else None

    def adopt(self, path: str, content: bytes) -> Inode:
        """Register a file that was written outside of this disk, as durable."""
        inode = Inode(content)
        self.names[path] = [inode]
        return inode

    def create(self, path: str) -> Inode:
        inode = Inode()
        self.names.setdefault(path, [None]).append(inode)
        return inode

    def delete(self, path: str) -> None:
        self.names[path].append(None)

    def sync_directory_of(self, path: str) -> None:
        directory = Path(path).parent
        for name, inodes in self.names.items():
            if Path(name).parent == directory:
                del inodes[:-1]

    def after_power_loss(self, random: Random) -> dict[str, bytes]:
        files = {}
        # Sorted by name, not by path: the same seed means the same in another directory.
        for path, inodes in sorted(self.names.items(), key=lambda item: Path(item[0]).name):
            inode = random.choice(inodes)
            if inode is not None:
                files[path] = inode.after_power_loss(random)
        return files
