package holdgate

# METADATA
# title: SQL that is more than a question
# custom:
#   risk: medium
decisions contains d if {
	input.facts.sql
	some kind, about in statements_by_kind
	d := sql_decision(kind, sort(about))
}

# METADATA
# title: The statements that change something, by how grave that is
# custom:
#   risk: low
statements_by_kind[kind] contains statement_text(s) if {
	some s in input.facts.sql
	not s.scratch
	kind := statement_kind(object.get(data.settings.sql, s.verb, "change"), s.where)
	kind != "pass"
}

statement_kind("rows", true) := "change"

statement_kind("rows", false) := "destroy"

statement_kind(kind, _) := kind if kind != "rows"

statement_text(s) := concat(" ", [word |
	some word in array.concat([s.verb, object.get(s, "object", "")], object.get(s, "tables", []))
	word != ""
])

# METADATA
# title: Dropping, truncating, and changing all rows at once
# description: A WHERE that is always true counts as none.
# custom:
#   risk: high
sql_decision("destroy", about) := ask("sql.destroy", "high", "The call drops or empties tables, or changes every row of one.", about)

# METADATA
# title: Changing a database
# description: With a WHERE, or by adding rows.
# custom:
#   risk: medium
sql_decision("change", about) := ask("sql.change", "medium", "The call changes a database.", about)
