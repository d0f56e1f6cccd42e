var E=t=>t.split(/\s+/),T=E("FIND UPSERT DELETE UPDATE MERGE DESCRIBE SEARCH NEAREST EXPORT TRAVERSE EXPLAIN"),n=E(`WHERE FILTER NOT OPTIONAL UNION ORDER BY ASC DESC LIMIT CURSOR AS OF DISTINCT
  CONCEPT PROPOSITION SET ATTRIBUTES PROPOSITIONS METADATA WITH EXPECT VERSION WEIGHT FROM DETACH INTO
  PRIMER DOMAINS TYPES TYPE CHANGES TO UNDER MODE THRESHOLD ANALYZE DEFINITIONS
  ALONG DIRECTION MAX_COST MAX_TOKENS ACTOR SINCE UNTIL NEAR WORKSPACE KIND`),e=E(`COUNT SUM AVG MIN MAX IN IS_NULL IS_NOT_NULL CONTAINS STARTS_WITH ENDS_WITH REGEX
  ADD MUL CLAMP COALESCE`),I=[{title:"What this graph knows",text:"DESCRIBE PRIMER"},{title:"Concepts and their names",text:`FIND(?c.name, ?c.type)
WHERE {
  ?c {type: "Concept"}
}
ORDER BY ?c.name
LIMIT 20`},{title:"Relations of one kind",text:`FIND(?a, ?b)
WHERE {
  ?link (?a, "depends_on", ?b)
}
LIMIT 50`},{title:"Search by words",text:'SEARCH CONCEPT "login" LIMIT 10'},{title:"The same, in the past",text:`FIND(?c.name)
AS OF "{now}"
WHERE {
  ?c {type: "Concept"}
}
LIMIT 20`},{title:"Write a concept",text:`UPSERT {
  CONCEPT {
    {type: "Concept", name: "concept://notes/first"}
    SET ATTRIBUTES { content: "Written in the explorer." }
  }
}`}];export{T as a,n as b,e as c,I as d};
