"""A power cut at the Nth operation: any part of what was not synced is lost, or torn.

With full durability every acknowledged transaction survives. With less, the last ones may be lost,
but only from the end, and the file is sound.
"""

from pathlib import Path
from random import Random

import pytest

import mycel
from mycel.testing import Operation, PowerLossVFS
from tests.faults.workloads import WORKLOADS, Workload, copy_graph, integrity, open_graph
from tests.unit.store.given import FACT, problems

IMAGES, SLOW_IMAGES = 12, 6


class Camera:
    """Takes images of a disk between operations, and notes what had been acknowledged by then."""

    def __init__(self, vfs: PowerLossVFS, folder: Path, every: float, seed: int) -> None:
        self._vfs = vfs
        self._folder = folder
        self._every = every
        self._random = Random(seed)
        self._operations = 0
        self._due = 1.0
        self.acknowledged = 0
        self.images: list[tuple[Path, int]] = []

    def __call__(self, _: Operation) -> None:
        self._operations += 1
        if self._operations >= self._due:
            self._due += self._every
            self.shoot()

    def shoot(self) -> None:
        into = self._folder / f"image {len(self.images)}"
        seed = self._random.randrange(1 << 32)
        self.images.append((self._vfs.power_loss(seed, into), self.acknowledged))


def count_operations(workload: Workload, source: Path, path: Path) -> int:
    copy_graph(source, path)
    with PowerLossVFS() as vfs, vfs.watch():
        with open_graph(path, vfs=vfs.name) as db:
            workload.act(db)
        return vfs.count


def cut_power(name: str, folder: Path, images_max: int | None, seed: int) -> None:
    workload, source, path = WORKLOADS[name], folder / "prepared.db", folder / "graph.db"
    workload.build(source)
    total = count_operations(workload, source, path)
    copy_graph(source, path)
    every = 1.0 if images_max is None else max(1.0, total / images_max)
    with PowerLossVFS() as vfs:
        camera = Camera(vfs, folder, every, seed)
        with vfs.call_at(1, camera, lasting=True):
            with open_graph(path, vfs=vfs.name) as db:
                workload.act(db)
                camera.acknowledged = 1
                camera.shoot()
            camera.shoot()
    assert len(camera.images) > 4
    for image, acknowledged in camera.images:
        done = workload.is_done_in(image)
        assert done or not acknowledged, f"{image}: acknowledged, but lost"


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_power_cut_at_any_operation_leaves_all_or_nothing(tmp_path: Path, name: str) -> None:
    cut_power(name, tmp_path, SLOW_IMAGES if name == "load" else IMAGES, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_power_cut_at_every_operation_leaves_all_or_nothing(
    tmp_path: Path, name: str, seed: int
) -> None:
    for each in range(5):
        folder = tmp_path / str(each)
        folder.mkdir()
        cut_power(name, folder, None, seed * 5 + each)


def written(db: mycel.Graph) -> int:
    """How many of the numbered concepts are there; they must be the first ones."""
    there = [n for n in range(50) if db.get_concept(FACT, f"n{n}") is not None]
    assert there == list(range(len(there))), "a later transaction survived an earlier one"
    return len(there)


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_of_a_row_of_transactions_a_power_cut_loses_only_the_end(
    tmp_path: Path, durability: str
) -> None:
    """Nothing acknowledged is lost with full durability; of "off", nothing is promised."""
    path = tmp_path / "graph.db"
    with open_graph(path) as db:
        db.write(lambda tx: tx.define_type(FACT))
    with PowerLossVFS() as vfs:
        camera = Camera(vfs, tmp_path, every=4.0, seed=3)
        with vfs.call_at(1, camera, lasting=True):
            with open_graph(path, vfs=vfs.name, durability=durability) as db:
                for n in range(12):
                    db.write(lambda tx, n=n: tx.put_concept(FACT, f"n{n}", {"text": f"word {n}"}))
                    camera.acknowledged = n + 1
            camera.shoot()
    assert len(camera.images) > 10
    lost = 0
    for image, acknowledged in camera.images:
        with open_graph(image, durability="off") as db:
            assert problems(db.verify(replay=True)) == []
            survived = written(db)
        lost += max(acknowledged - survived, 0)
        assert integrity(image) == []
        if durability == "full":
            assert survived >= acknowledged
    if durability == "normal":
        assert lost, "the images show what less durability means"
