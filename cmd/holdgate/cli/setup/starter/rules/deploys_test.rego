package holdgate.custom.deploys_test

import data.holdgate.custom.deploys

test_deploys_are_held if {
	some d in deploys.decisions with input as {"facts": {"commands": [{"program": "deployctl", "argv": ["deployctl", "up"]}]}}
	d.action == "hold"
}

test_others_are_not if {
	count(deploys.decisions) == 0 with input as {"facts": {"commands": [{"program": "ls", "argv": ["ls"]}]}}
}
