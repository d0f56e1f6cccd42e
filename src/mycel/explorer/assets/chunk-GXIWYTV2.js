var E=["FIND","UPSERT","DELETE","UPDATE","DESCRIBE","SEARCH","TRAVERSE","HISTORY","MERGE","EXPLAIN"],t=["ACTOR","ALONG","AND","AS","ASC","ATTRIBUTES","BIND","CHANGES","CONCEPT","CURSOR","DESC","DIRECTION","DISTINCT","DOMAINS","EXISTS","EXPECT","FILTER","FROM","HAVING","INTO","LIMIT","MAX_COST","MAX_TOKENS","METADATA","MODE","NEAR","NOT","OF","OFFSET","OPTIONAL","OR","ORDER","BY","PATH","PRIMER","PROPOSITION","PROPOSITIONS","SET","SINCE","THRESHOLD","TO","TYPE","TYPES","UNDER","UNION","UNTIL","VERSION","WHERE","WITH"],T=["AVG","COALESCE","CONTAINS","COUNT","ENDS_WITH","IN","IS_NOT_NULL","IS_NULL","MAX","MIN","REGEX","STARTS_WITH","SUM"],e=[{title:"What this graph knows",text:"DESCRIBE PRIMER"},{title:"Concepts and their names",text:`FIND(?c.name, ?c.type)
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
}`}];export{E as a,t as b,T as c,e as d};
