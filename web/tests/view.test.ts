import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCREENS } from '../src/screens'
import { fromFragment, START, toFragment, type View } from '../src/view'

const back = (view: View): View => fromFragment(`#${toFragment(view)}`)

test('the first view has the shortest address', () => {
  assert.equal(toFragment(START), '/graph')
  assert.deepEqual(fromFragment(''), START)
  assert.deepEqual(fromFragment('#/graph'), START)
})

test('every screen comes back from its address', () => {
  for (const [screen] of SCREENS) assert.deepEqual(back({ ...START, screen }), { ...START, screen })
})

test('what a reader chose comes back from the address, whatever its characters', () => {
  for (const text of ['concept://shop/a b', 'Käse & Brot=100%', '*', '%2A', '#?&/', '樫 😀']) {
    const view: View = {
      ...START,
      branch: text,
      group: null,
      ids: [text, `${text}2`],
      less: [text],
      hide: [`type:${text}`],
      selected: text,
      tab: 'history',
      at: 12,
      table: true,
      from: text,
      to: text,
      query: text,
      named: text,
      fields: { limit: text, names: `${text}=1` },
    }
    assert.deepEqual(back(view), view, text)
  }
})

test('an address that somebody has spoilt is the first view', () => {
  for (const fragment of ['#/nowhere', '#/%E0%A4', '#/graph?at=x&n=-1&tab=none', '#/graph?s=%E0%A4%A']) {
    const { screen, at, size, tab } = fromFragment(fragment)
    assert.deepEqual({ screen, at, size, tab }, { screen: 'graph', at: null, size: 0, tab: 'content' }, fragment)
  }
})
