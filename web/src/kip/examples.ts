/** Examples of KIP for the graph that is open, made of its types, relations and names. Each of them runs on it. */

import type { About, Card } from '../source/types'
import { short } from '../text/format'

export interface Example {
  title: string
  text: string
}

const TYPES_SHOWN = 2
const isOrdinary = (type: string): boolean => !/^(\$|Missing)/.test(type)
const quoted = (text: string): string => JSON.stringify(text)

/** Examples for a graph; `hub` is a node of it with many links. */
export function examplesFor(about: About, hub: Card | null): Example[] {
  const types = ordinaryTypes(about)
  const relation = mostFrequent(about.counts.relations)[0]
  const type = types[0]
  const examples: Example[] = [{ title: 'What this graph knows', text: 'DESCRIBE PRIMER' }]
  for (const each of types.slice(0, TYPES_SHOWN)) examples.push({ title: `Names of type ${each}`, text: namesOf(each) })
  if (type)
    examples.push({ title: `How many of type ${type}`, text: `FIND(COUNT(?c))\nWHERE {\n  ?c {type: ${quoted(type)}}\n}` })
  if (relation) {
    examples.push({
      title: `Pairs with ${relation}`,
      text: `FIND(?a, ?b)\nWHERE {\n  ?link (?a, ${quoted(relation)}, ?b)\n}\nLIMIT 50`,
    })
    examples.push({
      title: `Up to two steps of ${relation}`,
      text: `FIND(?a.name, ?b.name)\nWHERE {\n  (?a, ${quoted(relation)}{1,2}, ?b)\n}\nLIMIT 20`,
    })
  }
  const start = hub && identityOf(hub)
  if (hub && start)
    examples.push({ title: `What is near ${short(hub.name, 30)}`, text: `TRAVERSE FROM ${start} MAX_COST 2 LIMIT 20` })
  examples.push({ title: 'Search by words', text: `SEARCH CONCEPT ${quoted(hub?.name ?? type ?? 'knowledge')} LIMIT 10` })
  if (type && about.time) {
    const find = namesOf(type)
    examples.push({ title: 'The same, in the past', text: find.replace('\nWHERE', `\nAS OF ${quoted(about.time)}\nWHERE`) })
  }
  if (about.writable) examples.push(writing(about))
  return examples
}

/** The types of a graph, the most frequent first, without definitions and what is missing. */
export const ordinaryTypes = ({ counts }: About): string[] => mostFrequent(counts.types).filter(isOrdinary)

const mostFrequent = (counts: Record<string, number>): string[] =>
  Object.keys(counts)
    .filter((name) => counts[name])
    .sort((a, b) => counts[b]! - counts[a]!)

const namesOf = (type: string): string =>
  `FIND(?c.name, ?c.type)\nWHERE {\n  ?c {type: ${quoted(type)}}\n}\nORDER BY ?c.name\nLIMIT 20`

/** The natural key of a concept in KIP; null for links and what is missing. */
function identityOf({ id, type, kind }: Card): string | null {
  if (kind === 'link' || kind === 'missing' || /^kip:[CP]:/.test(id)) return null
  const name = id.startsWith(`kip:${type}/`) ? id.slice(`kip:${type}/`.length) : id
  return `{type: ${quoted(type)}, name: ${quoted(name)}}`
}

/** A command that writes: a concept in the graph's workspace, or a type where concepts have no URIs. */
function writing({ counts, workspace }: About): Example {
  if (counts.types['Concept'] && workspace) {
    return {
      title: 'Write a concept',
      text: `UPSERT {\n  CONCEPT {\n    {type: "Concept", name: ${quoted(`concept://${workspace}/notes/first`)}}\n    SET ATTRIBUTES { content: "Written in the explorer." }\n  }\n}`,
    }
  }
  return {
    title: 'Define a type and write a concept',
    text: 'UPSERT {\n  CONCEPT {\n    {type: "$ConceptType", name: "ExampleNote"}\n    SET ATTRIBUTES { description: "A note, written in the explorer." }\n  }\n  CONCEPT {\n    {type: "ExampleNote", name: "First"}\n    SET ATTRIBUTES { content: "Written in the explorer." }\n  }\n}',
  }
}
