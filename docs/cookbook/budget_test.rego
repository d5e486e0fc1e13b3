package holdgate.custom.budget_test

import data.holdgate.custom.budget

test_it_fires if {
	count(budget.decisions) == 1 with input as {"kind": "model_request", "usage": {"cost": 25}}
}

test_it_passes_others if {
	count(budget.decisions) == 0 with input as {"kind": "model_request", "usage": {"cost": 3}}
}
