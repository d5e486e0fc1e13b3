package sdk

// endStarted is for systems with sessions.
func endStarted() {}
