package holdgate

# METADATA
# title: What becomes of what a call has brought
# description: |
#   The entry point for results of MCP servers: input is that of the call, with
#   input.result. It is asked only where data.settings.results says something, or
#   a package of the user's has results. The strictest wins, as for calls.
# entrypoint: true
# custom:
#   risk: low
result := d if d := decision with data.holdgate.decisions as results

# METADATA
# title: Credentials in results are left out
# description: The agent gets the rest of the result.
# custom:
#   risk: high
results contains d if {
	input.result.secrets
	data.settings.results.secrets == "redact"
	d := {"action": "allow", "rule": "results.secrets", "risk": "high", "redact": ["/result/secrets"]}
}

# METADATA
# title: Credentials in results are asked about
# description: The person is not shown them; the agent gets them where the person says yes.
# custom:
#   risk: high
results contains d if {
	input.result.secrets
	data.settings.results.secrets == "ask"
	d := ask("results.secrets", "high", "The result holds credentials, which the agent would see.", secret_kinds)
}

# METADATA
# title: Credentials in results are refused
# description: The agent gets nothing of the result.
# custom:
#   risk: high
results contains d if {
	input.result.secrets
	data.settings.results.secrets == "deny"
	d := refuse("results.secrets", "high", "The result holds credentials.", secret_kinds)
}

# METADATA
# title: Results that could not be searched for credentials
# description: They are very large, or their text is made to take long.
# custom:
#   risk: medium
results contains d if {
	input.result.unread
	data.settings.results.secrets in {"redact", "ask", "deny"}
	d := ask("results.unread", "medium", "The result could not be searched for credentials in full.", [result_title])
}

# METADATA
# title: Results that are too large
# description: Much of something may leave with one call.
# custom:
#   risk: medium
results contains d if {
	input.result.size > data.settings.results.ask_over
	d := ask("results.size", "medium", "The result is larger than the settings let pass unasked.", [result_title])
}

secret_kinds := sort({s.kind | some s in input.result.secrets})

result_title := sprintf("%d bytes of %s", [input.result.size, tool_title]) if {
	input.tool.name
} else := sprintf("%d bytes of %s", [input.result.size, mcp_title])
