package holdgate.custom.models_test

import data.holdgate.custom.models

test_it_fires if {
	count(models.decisions) == 1 with input as {"kind": "model_request", "model": {"name": "other"}}
}

test_it_passes_others if {
	count(models.decisions) == 0 with input as {"kind": "model_request", "model": {"name": "claude-haiku-4-5"}}
}
