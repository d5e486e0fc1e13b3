package bench

import "testing"

func TestANumberIsFoundWhole(t *testing.T) {
	const name = "http plain, 64 KB, 16 conn, openai"
	for text, want := range map[string]bool{
		"4 KB, 16": false, "64 KB, 16": true, "64 KB, 1": false, "6 conn": false, "16 conn, ": true,
		"KB, 16": true, "openai": true, "open": true, "http plain": true, "": true, "https": false,
	} {
		if got := Matches(name, text); got != want {
			t.Errorf("%q is found in %q: %t", text, name, got)
		}
	}
	if list := matching("4 KB, 16"); len(list) == 0 || list[0].Body != 4<<10 || list[0].Clients != 16 {
		t.Errorf("4 KB, 16 are %+v", list)
	}
}
