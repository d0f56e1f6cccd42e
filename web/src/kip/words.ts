/** The words of KIP, for colours and completion. A test compares them with those of the parser. */

const words = (text: string): string[] => text.split(/\s+/)

export const STATEMENTS = words('FIND UPSERT DELETE UPDATE MERGE DESCRIBE SEARCH NEAREST EXPORT TRAVERSE EXPLAIN')

export const CLAUSES = words(`WHERE FILTER NOT OPTIONAL UNION ORDER BY ASC DESC LIMIT CURSOR AS OF DISTINCT
  CONCEPT PROPOSITION SET ATTRIBUTES PROPOSITIONS METADATA WITH EXPECT VERSION WEIGHT FROM DETACH INTO
  PRIMER DOMAINS TYPES TYPE CHANGES TO UNDER MODE THRESHOLD ANALYZE DEFINITIONS
  ALONG DIRECTION MAX_COST MAX_TOKENS ACTOR SINCE UNTIL NEAR WORKSPACE KIND`)

export const FUNCTIONS = words(`COUNT SUM AVG MIN MAX IN IS_NULL IS_NOT_NULL CONTAINS STARTS_WITH ENDS_WITH REGEX
  ADD MUL CLAMP COALESCE`)

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
