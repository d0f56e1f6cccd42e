import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fit, toPlane, toScreen, ZOOM_MAX, ZOOM_MIN, zoomAt } from '../src/graph/camera'
import { crosses, labelBoxes, Occupied } from '../src/graph/labels'
import { Scene } from '../src/graph/scene'
import { walk } from '../src/graph/walk'
import type { Card } from '../src/source/types'
import { count, short, splitUri } from '../src/text/format'
import { lineDiff, withContext } from '../src/text/line-diff'
import { UndoStack } from '../src/undo'

const FRAME = { width: 800, height: 600 }

test('steps are undone and done again, up to a limit, and a new step forgets what was undone', () => {
  const stack = new UndoStack<number>(2)
  for (const state of [0, 1, 2]) stack.push(state)
  assert.equal(stack.undo(3), 2)
  assert.equal(stack.undo(2), 1)
  assert.equal(stack.undo(1), null)
  assert.equal(stack.redo(1), 2)
  stack.push(2)
  assert.equal(stack.canRedo, false)
})

test('a difference has the lines of both texts in order', () => {
  const texts = ['', 'a', 'a\nb\nc', 'b\nc\nd', 'x\na\nx\nc', 'a\n\nb\n']
  for (const before of texts)
    for (const after of texts) {
      const lines = lineDiff(before, after)
      const side = (sign: string) => lines.filter((line) => line.sign !== sign).map((line) => line.text)
      assert.deepEqual(side('+'), before === '' ? [] : before.split('\n'))
      assert.deepEqual(side('-'), after === '' ? [] : after.split('\n'))
    }
  assert.equal(lineDiff('a\nb\nc', 'a\nX\nc').filter((line) => line.sign !== ' ').length, 2)
})

test('lines far from a change are left out, with a gap in their place', () => {
  const before = Array.from({ length: 30 }, (_, n) => `${n}`).join('\n')
  const shown = withContext(lineDiff(before, before.replace('15', 'X')), 2)
  assert.equal(shown.filter((line) => line === null).length, 2)
  assert.equal(shown.filter((line) => line !== null).length, 6)
})

test('a point of the screen is a point of the plane and back, and a zoom keeps it in its place', () => {
  const camera = { x: 30, y: -20, zoom: 1.7 }
  const [px, py] = toPlane(camera, FRAME, 123, 45)
  const [x, y] = toScreen(camera, FRAME, px, py)
  assert.ok(Math.abs(x - 123) < 1e-9 && Math.abs(y - 45) < 1e-9)
  const zoomed = toPlane(zoomAt(camera, FRAME, 123, 45, 2), FRAME, 123, 45)
  assert.ok(Math.abs(zoomed[0] - px) < 1e-9 && Math.abs(zoomed[1] - py) < 1e-9)
  assert.equal(zoomAt(camera, FRAME, 0, 0, 1e9).zoom, ZOOM_MAX)
  assert.equal(zoomAt(camera, FRAME, 0, 0, 1e-9).zoom, ZOOM_MIN)
})

test('the camera that fits shows every point', () => {
  const points = [
    { x: -500, y: 0, reach: 10 },
    { x: 900, y: 700, reach: 30 },
  ]
  const camera = fit(points, FRAME)
  for (const { x, y } of points) {
    const [sx, sy] = toScreen(camera, FRAME, x, y)
    assert.ok(sx >= 0 && sx <= FRAME.width && sy >= 0 && sy <= FRAME.height)
  }
  assert.deepEqual(fit([], FRAME), { x: 0, y: 0, zoom: 1 })
})

test('a label takes the first place that is free', () => {
  const occupied = new Occupied()
  const boxes = labelBoxes(0, 0, 10, 50, 12)
  const first = boxes.find((box) => occupied.free(box))!
  occupied.take(first)
  assert.ok(!occupied.free(first))
  assert.ok(boxes.some((box) => occupied.free(box)))
  assert.ok(crosses({ left: 0, right: 10, top: 0, bottom: 10 }, -5, 5, 15, 5))
  assert.ok(!crosses({ left: 0, right: 10, top: 0, bottom: 10 }, -5, 20, 15, 20))
})

test('arrow keys go to the neighbour in their direction', () => {
  const scene = new Scene()
  const card = (id: string): Card => ({ id, name: id, type: 'Note', kind: 'concept', degree: 1 })
  scene.put(card('middle'), 0, 0)
  scene.put(card('right'), 100, 0)
  scene.put(card('far right'), 60, 0)
  scene.put(card('above'), 0, -100)
  scene.join({ source: 'middle', target: 'right', relation: 'near', weight: 1 })
  assert.equal(walk(scene, 'middle', 'ArrowRight'), 'right', 'a neighbour comes before what is nearer')
  assert.equal(walk(scene, 'middle', 'ArrowUp'), 'above')
  assert.equal(walk(scene, 'middle', 'ArrowDown'), null)
})

test('a link needs both of its ends, and a node says how many of its links are not shown', () => {
  const scene = new Scene()
  scene.put({ id: 'a', name: 'a', type: 'Note', kind: 'concept', degree: 3 }, 0, 0)
  scene.join({ source: 'a', target: 'b', relation: 'near', weight: 1 })
  assert.equal(scene.links.size, 0)
  scene.put({ id: 'b', name: 'b', type: 'Note', kind: 'concept', degree: 1 }, 1, 1)
  scene.join({ source: 'a', target: 'b', relation: 'near', weight: 1 })
  assert.deepEqual([...scene.neighbours('a')], ['b'])
  assert.equal(scene.hidden(scene.nodes.get('a')!), 2)
})

test('texts are shortened, counted and split', () => {
  assert.equal(short('a long text', 7), 'a long…')
  assert.equal(count(1, 'node'), '1 node')
  assert.equal(count(4310, 'node'), '4,310 nodes')
  assert.equal(splitUri('concept://shop/auth/login').join(''), 'concept://shop/auth/login')
})
