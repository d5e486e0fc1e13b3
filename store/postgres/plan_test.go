package postgres

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/postgres/pgtest"
)

// The first pairs under a prefix cost the same however many there are.
func TestAScanFollowsTheIndex(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{URL: pgtest.URL(t, t.TempDir()), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Update(t.Context(), func(tx store.Tx) (err error) {
		for i := range 5000 { // in an order that is not that of the keys
			err = errors.Join(err, tx.Set(fmt.Sprintf("p/%04d", i*7919%5000), make([]byte, 200)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `ANALYZE holdgate_pairs`); err != nil {
		t.Fatal(err)
	}
	var changes []string
	rows, err := conn.Query(t.Context(), `EXPLAIN (COSTS OFF) `+changesSince, int64(5), []int64{1, 3})
	if err == nil {
		changes, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if plan := strings.Join(changes, "\n"); err != nil || strings.Count(plan, "Index Scan using holdgate_changes_pkey") != 2 || strings.Count(plan, "Index Cond: (") != 2 {
		t.Errorf("changes are looked for without the index: %v\n%s", err, plan)
	}
	for _, size := range []int{firstPage, maxPage} {
		for name, statement := range map[string]string{"from": scanFromBelow, "after": scanAfterBelow} {
			rows, err := conn.Query(t.Context(), `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) `+statement, []byte("p/1"), []byte{}, maxInline, size, []byte("p0"))
			if err != nil {
				t.Fatal(err)
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			plan := strings.Join(lines, "\n")
			read := regexp.MustCompile(`Index Scan using holdgate_pairs_pkey on holdgate_pairs \(actual rows=(\d+)`).FindStringSubmatch(plan)
			if read == nil {
				t.Errorf("%s, %d: it does not follow the index:\n%s", name, size, plan)
			} else if n, _ := strconv.Atoi(read[1]); n > size+64 { // the sort of equal heads reads ahead
				t.Errorf("%s, %d: it reads more than it wants:\n%s", name, size, plan)
			}
		}
	}
}
