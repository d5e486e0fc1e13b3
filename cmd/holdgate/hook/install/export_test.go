package install

// GoesOnAt are the cases in which the agent runs a call all the same on a system.
func (o Options) GoesOnAt(system string) []string { return o.goesOn(system) }
