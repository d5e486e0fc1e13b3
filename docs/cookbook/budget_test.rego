package holdgate.custom.budget_test

import data.holdgate.custom.budget

test_it_fires if {
	count(budget.decisions) == 1 with input as {"kind": "model_request", "usage": {"cost": 25}}
}

test_it_fires_where_nothing_is_known if {
	count(budget.decisions) == 1 with input as {"kind": "model_request", "usage": {"tokens": 9000, "unpriced": 51}}
}

test_it_passes_others if {
	count(budget.decisions) == 0 with input as {"kind": "model_request", "usage": {"cost": 3, "unpriced": 2}}
}
