package holdgate.custom.migrations_test

import data.holdgate.custom.migrations

test_it_fires if {
	count(migrations.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/migrations/7.sql", "clean": "/srv/app/migrations/7.sql", "access": "write"}]}}
}

test_it_passes_others if {
	count(migrations.decisions) == 0 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/migrations/7.sql", "clean": "/srv/app/migrations/7.sql", "access": "read"}]}}
}

test_it_fires_for_the_folder if {
	count(migrations.decisions) == 1 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/migrations", "clean": "/srv/app/migrations", "access": "write"}]}}
}

test_it_passes_a_name_that_is_longer if {
	count(migrations.decisions) == 0 with input as {"kind": "tool_call", "facts": {"paths": [{"path": "/srv/app/migrations.md", "clean": "/srv/app/migrations.md", "access": "write"}]}}
}
