package command

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdgate/holdgate/approvals/client"
)

func TestSidecarsThatListenAreNamedWhereTheirTokenCanBeRead(t *testing.T) {
	t.Parallel()
	mine, gone := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(mine, client.TokenName), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := filepath.Join(t.TempDir(), "unix")
	socket := func(flags, path string) string {
		return "0000000000000000: 00000002 00000000 " + flags + " 0001 01 123 " + path + "\n"
	}
	text := "Num       RefCount Protocol Flags    Type St Inode Path\n" +
		socket("00000000", filepath.Join(gone, client.SocketName)) + // a connection
		socket("00010000", filepath.Join(gone, client.SocketName)) + // no token that this user can read
		socket("00010000", filepath.Join(mine, "other.sock")) + socket("00010000", "@abstract") + socket("00010000", "") +
		socket("00010000", filepath.Join(mine, client.SocketName)) + socket("00010000", filepath.Join(mine, client.SocketName))
	if err := os.WriteFile(table, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := listening(table); !slices.Equal(got, []string{mine}) {
		t.Errorf("these listen: %q, want %q", got, mine)
	}
	if got := listening(filepath.Join(mine, "nothing")); got != nil {
		t.Errorf("without a table there are %q", got)
	}
}
