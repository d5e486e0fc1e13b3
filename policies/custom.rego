package holdgate

# METADATA
# title: What packages of the user say
# description: |
#   A package holdgate.custom.NAME adds to a set, decisions, or gives one
#   decision. Holdgate leaves this file out where there is no such package, for
#   looking for them costs more than most rules.
# custom:
#   risk: low
decisions contains d if some d in custom_decisions

custom_decisions contains d if some d in data.holdgate.custom[_].decisions
custom_decisions contains data.holdgate.custom[_].decision
custom_decisions contains d if some d in data.holdgate.custom.decisions
custom_decisions contains data.holdgate.custom.decision

# METADATA
# title: What packages of the user say of results
# description: They add to a set, results, or give one result, as for calls.
# custom:
#   risk: low
results contains d if some d in custom_results

custom_results contains d if some d in data.holdgate.custom[_].results
custom_results contains data.holdgate.custom[_].result
custom_results contains d if some d in data.holdgate.custom.results
custom_results contains data.holdgate.custom.result
