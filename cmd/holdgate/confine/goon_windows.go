package confine

import "os"

func goOn(*os.Process) error { return nil }
