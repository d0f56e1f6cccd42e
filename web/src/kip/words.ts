/** The words of KIP, for colours and completion. */

export const STATEMENTS = ['FIND', 'UPSERT', 'DELETE', 'UPDATE', 'DESCRIBE', 'SEARCH', 'TRAVERSE', 'HISTORY', 'MERGE', 'EXPLAIN']

export const CLAUSES = [
  'ACTOR', 'ALONG', 'AND', 'AS', 'ASC', 'ATTRIBUTES', 'BIND', 'CHANGES', 'CONCEPT', 'CURSOR', 'DESC', 'DIRECTION', 'DISTINCT',
  'DOMAINS', 'EXISTS', 'EXPECT', 'FILTER', 'FROM', 'HAVING', 'INTO', 'LIMIT', 'MAX_COST', 'MAX_TOKENS', 'METADATA', 'MODE', 'NEAR',
  'NOT', 'OF', 'OFFSET', 'OPTIONAL', 'OR', 'ORDER', 'BY', 'PATH', 'PRIMER', 'PROPOSITION', 'PROPOSITIONS', 'SET', 'SINCE', 'THRESHOLD',
  'TO', 'TYPE', 'TYPES', 'UNDER', 'UNION', 'UNTIL', 'VERSION', 'WHERE', 'WITH',
]

export const FUNCTIONS = ['AVG', 'COALESCE', 'CONTAINS', 'COUNT', 'ENDS_WITH', 'IN', 'IS_NOT_NULL', 'IS_NULL', 'MAX', 'MIN', 'REGEX', 'STARTS_WITH', 'SUM']

export interface Example {
  title: string
  /** The command; {now} stands for the time of the last commit. */
  text: string
}

export const EXAMPLES: readonly Example[] = [
  { title: 'What this graph knows', text: 'DESCRIBE PRIMER' },
  { title: 'Concepts and their names', text: 'FIND(?c.name, ?c.type)\nWHERE {\n  ?c {type: "Concept"}\n}\nORDER BY ?c.name\nLIMIT 20' },
  { title: 'Relations of one kind', text: 'FIND(?a, ?b)\nWHERE {\n  ?link (?a, "depends_on", ?b)\n}\nLIMIT 50' },
  { title: 'Search by words', text: 'SEARCH CONCEPT "login" LIMIT 10' },
  { title: 'The same, in the past', text: 'FIND(?c.name)\nAS OF "{now}"\nWHERE {\n  ?c {type: "Concept"}\n}\nLIMIT 20' },
  { title: 'Write a concept', text: 'UPSERT {\n  CONCEPT {\n    {type: "Concept", name: "concept://notes/first"}\n    SET ATTRIBUTES { content: "Written in the explorer." }\n  }\n}' },
]
