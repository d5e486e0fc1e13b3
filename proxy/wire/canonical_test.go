package wire

import "testing"

func TestCanonicalWithoutSortsAndLeavesOut(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"keys are sorted at every depth", `{"b":{"z":1,"a":2},"a":[]}`, `{"a":[],"b":{"a":2,"z":1}}`},
		{"numbers stay as written", `{"n":1.50,"m":1e2,"big":123456789012345678901}`, `{"big":123456789012345678901,"m":1e2,"n":1.50}`},
		{"what is left out is left out at the top only", `{"stream":true,"x":{"stream":false}}`, `{"x":{"stream":false}}`},
		{"an escaped name is the same name", `{"\u0073tream":true,"a":1}`, `{"a":1}`},
		{"nothing left is an empty object", `{"stream":true}`, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := CanonicalWithout([]byte(tt.in), "stream")
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
	if _, err := CanonicalWithout([]byte(`[1]`)); err == nil {
		t.Error("an array has no canonical object form, and no error was returned")
	}
}
