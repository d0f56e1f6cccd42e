import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conceptIds, findExpressions, tabulate } from '../src/kip/columns'

test('expressions of FIND are split at commas outside of brackets', () => {
  assert.deepEqual(findExpressions('FIND(?a.name, COUNT(?b, ?c), ?d["x,y"]) WHERE {}'), ['?a.name', 'COUNT(?b, ?c)', '?d["x,y"]'])
  assert.deepEqual(findExpressions('FIND() WHERE {}'), [])
  assert.deepEqual(findExpressions('DESCRIBE PRIMER'), [])
})

test('several expressions are columns, and one is a column', () => {
  assert.deepEqual(tabulate('FIND(?a, ?b)', [[1, 2], [3]]), {
    columns: ['?a', '?b'],
    rows: [
      [1, 3],
      [2, undefined],
    ],
  })
  assert.deepEqual(tabulate('FIND(?a)', [1, 2]), { columns: ['?a'], rows: [[1], [2]] })
  assert.deepEqual(tabulate('FIND(?a)', []), { columns: ['?a'], rows: [] })
})

test('nodes are rows with their parts, objects are keys and values, null is nothing', () => {
  const node = { id: 'C:1', type: 'Drug', name: 'Aspirin' }
  assert.deepEqual(tabulate('FIND(?a)', [node]), { columns: ['name', 'type', 'id'], rows: [['Aspirin', 'Drug', 'C:1']] })
  assert.deepEqual(tabulate('DESCRIBE', { a: 1 }), { columns: ['key', 'value'], rows: [['a', 1]] })
  assert.deepEqual(tabulate('DESCRIBE', null).rows, [])
})

test('concepts are found at any depth, by their URI if their name is one', () => {
  const found = conceptIds([
    { type: 'Drug', name: 'Aspirin' },
    { deep: [{ type: 'Note', name: 'concept://shop/a' }] },
    { _type: 'PropositionLink', type: 'x', name: 'y' },
  ])
  assert.deepEqual([...found], ['kip:Drug/Aspirin', 'concept://shop/a'])
})
