/** Differences between two texts, line by line. */

export interface DiffLine {
  sign: ' ' | '+' | '-'
  text: string
}

/** Beyond this many different lines a text counts as replaced. */
const EDITS_MAX = 1500

/** The lines of both texts in order, with the fewest changes (Myers' algorithm). */
export function lineDiff(before: string, after: string): DiffLine[] {
  const a = before === '' ? [] : before.split('\n')
  const b = after === '' ? [] : after.split('\n')
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const same = (lines: string[]): DiffLine[] => lines.map((text) => ({ sign: ' ', text }))
  return [
    ...same(a.slice(0, head)),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...same(tail ? a.slice(-tail) : []),
  ]
}

function middle(a: string[], b: string[]): DiffLine[] {
  const trace = shortestEdits(a, b)
  if (!trace) return [...a.map((text): DiffLine => ({ sign: '-', text })), ...b.map((text): DiffLine => ({ sign: '+', text }))]
  const lines: DiffLine[] = []
  let [x, y] = [a.length, b.length]
  for (let d = trace.length - 1; d >= 0; d--) {
    const reach = trace[d]!
    const k = x - y
    const down = k === -d || (k !== d && at(reach, k - 1) < at(reach, k + 1))
    const startX = d === 0 ? 0 : down ? at(reach, k + 1) : at(reach, k - 1)
    const startY = d === 0 ? 0 : startX - (down ? k + 1 : k - 1)
    while (x > startX && y > startY && a[x - 1] === b[y - 1]) {
      lines.push({ sign: ' ', text: a[--x]! })
      y--
    }
    if (d === 0) break
    if (down) lines.push({ sign: '+', text: b[--y]! })
    else lines.push({ sign: '-', text: a[--x]! })
  }
  return lines.reverse()
}

const at = (reach: Map<number, number>, k: number): number => reach.get(k) ?? -1

/** The furthest points reached after each number of edits, or null if there are too many. */
function shortestEdits(a: string[], b: string[]): Map<number, number>[] | null {
  const trace: Map<number, number>[] = []
  let reach = new Map<number, number>([[1, 0]])
  for (let d = 0; d <= Math.min(EDITS_MAX, a.length + b.length); d++) {
    trace.push(reach)
    const next = new Map(reach)
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && at(reach, k - 1) < at(reach, k + 1)) ? at(reach, k + 1) : at(reach, k - 1) + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      next.set(k, x)
      if (x >= a.length && x - k >= b.length) return trace
    }
    reach = next
  }
  return null
}

/** The lines that changed, each with up to `around` lines that did not; null stands for a gap. */
export function withContext(lines: DiffLine[], around = 3): (DiffLine | null)[] {
  const keep = new Set<number>()
  lines.forEach((line, i) => {
    if (line.sign === ' ') return
    for (let j = i - around; j <= i + around; j++) keep.add(j)
  })
  const shown: (DiffLine | null)[] = []
  let gap = false
  lines.forEach((line, i) => {
    if (keep.has(i)) shown.push(line)
    else if (!gap) shown.push(null)
    gap = !keep.has(i)
  })
  return shown
}
