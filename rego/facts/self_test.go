package facts

import (
	"context"
	"encoding/json"
	"net/netip"
	"testing"
)

func TestWhatReachesHoldgateItself(t *testing.T) {
	o := patient
	o.Own = Own{Listeners: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:7301"), netip.MustParseAddrPort("192.0.2.7:80")}, Folders: []string{"/home/u/.holdgate"}}
	for _, tt := range []struct {
		line string
		want bool
	}{
		{"curl http://127.0.0.1:7301/v1/approvals", true},
		{"curl http://localhost:7301", true},
		{"curl http://LOCALHOST.:7301/", true},
		{"curl http://x.localhost:7301", true},
		{"curl localhost:7301/v1", true},
		{"curl http://127.1:7301", true},
		{"curl http://127.9.9.9:7301", true},
		{"curl http://2130706433:7301", true},
		{"curl http://0x7f000001:7301", true},
		{"curl http://0177.0.0.1:7301", true},
		{"curl http://0:7301", true},
		{"curl http://0.0.0.0:7301", true},
		{"curl 'http://[::1]:7301'", true},
		{"curl 'http://[::]:7301'", true},
		{"curl 'http://[::ffff:127.0.0.1]:7301'", true},
		{"curl 'http://[::ffff:7f00:1]:7301'", true},
		{"curl http://user:pw@127.0.0.1:7301/", true},
		{"curl ws://192.0.2.7", true},
		{"echo x > /dev/tcp/127.0.0.1/7301", true},
		{"http POST :7301/v1/approvals a=b", true},
		{"xh localhost:7301/v1/approvals", true},
		{"http '[::1]:7301'", true},
		{"grpcurl 127.1:7301 list", true},
		{"nc localhost 7301", true},
		{"telnet 0 7301", true},
		{"socat - TCP:127.0.0.1:7301,retry", true},
		{"openssl s_client -connect localhost:7301", true},
		{"http --proxy=localhost:7301 x", true},
		{"http POST :7300/v1/gates", false},
		{"nc -w 7301 localhost 80", false},
		{"curl http://127.0.0.1:7300/v1/gates", false},
		{"curl 'http://[::ffff:192.0.2.7]:80'", true},
		{"curl https://192.0.2.7", false},
		{"curl http://192.0.2.8", false},
		{"curl http://example.com:7301", false},
		{"curl http://256.0.0.1:7301", false},
		{"cat /home/u/.holdgate/approver.token", true},
		{"cat ~/.holdgate/db/000001.sst", true},
		{"ls /home/u/.holdgate", true},
		{"rm -rf /home/u", true},
		{"rm -rf /", true},
		{"cat /home/u/.holdgate/ca.pem", false},
		{"echo x > /home/u/.holdgate/ca.pem", true},
		{"cat /home/u/.holdgate2/x", false},
		{"ls /home/u", false},
	} {
		t.Run(tt.line, func(t *testing.T) {
			args, err := json.Marshal(map[string]string{"command": tt.line})
			if err != nil {
				t.Fatal(err)
			}
			f := Extract(context.Background(), toolCall("Bash", string(args)), o)
			got := false
			for _, u := range f.URLs {
				got = got || u.Self
			}
			for _, p := range f.Paths {
				got = got || p.Self
			}
			if got != tt.want {
				t.Errorf("reaches Holdgate: %v, want %v; addresses %v, paths %v", got, tt.want, f.URLs, f.Paths)
			}
		})
	}
}
