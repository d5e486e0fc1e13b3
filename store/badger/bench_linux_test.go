package badger_test

import (
	"testing"

	"github.com/holdgate/holdgate/store/storetest"
)

func BenchmarkPut(b *testing.B) { storetest.Benchmark(b, open) }
