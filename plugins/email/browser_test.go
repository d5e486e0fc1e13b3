package email

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// TestOrdinaryMailsInABrowser lays mails, and the page that they lead to, out as wide as a
// phone and as a desk, with fonts that are really there: nobody scrolls to read what
// happens, whether it can be undone and who wants it, nor to the link or the answers, and
// nothing is wider than the screen.
func TestOrdinaryMailsInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser is slow")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIPPED: chromium is not here (apt-get install chromium)")
	}
	notices := sdktest.Ordinary()
	c := &Channel{clock: time.Now}
	mux := http.NewServeMux()
	mux.Handle("GET /page/page.css", http.StripPrefix("/page/", http.FileServerFS(files)))
	mux.HandleFunc("GET /page/{i}", func(w http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(r.PathValue("i"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		n := notices[i]
		n.Answers = []string{sdk.Approve, sdk.Deny, sdk.Steer, sdk.Claim}
		v := c.view("code", ticket{address: "ann@example.com"}, record{Notice: n}, "")
		v.WithoutAuthenticatorFor, v.Approve = "", true
		c.draw(w, http.StatusOK, v)
	})
	mux.HandleFunc("GET /mail/{i}", func(w http.ResponseWriter, r *http.Request) {
		i, err := strconv.Atoi(r.PathValue("i"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		l := letter{to: "ann@example.com", subject: subject(notices[i]), lines: page.Of(notices[i], time.Now()), link: "https://approve.example/#x"}
		body, err := l.html()
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(body))
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	alloc, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	defer end()
	ctx, leave := chromedp.NewContext(alloc)
	defer leave()
	ctx, give := context.WithTimeout(ctx, 5*time.Minute) // what a browser never answers is a failure, and does not wait for ever
	defer give()
	for _, size := range [][2]int64{{390, 844}, {1280, 800}} {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(size[0], size[1])); err != nil {
			t.Fatal(err)
		}
		for i, n := range notices {
			for what, more := range map[string][]string{"mail": {"Open the request"}, "page": {"Deny", "Steer", "Approve"}} {
				if err := chromedp.Do(ctx, chromedp.Navigate(fmt.Sprintf("%s/%s/%d", srv.URL, what, i))); err != nil {
					t.Fatal(err)
				}
				if dir := os.Getenv("HOLDGATE_PICTURES"); dir != "" {
					shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%02d-%d.png", what, i, size[0])), shot, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				faults, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](firstScreen(t, append(more, n.Summary, n.Undo, "claude (proven)")...)))
				if err != nil {
					t.Fatal(err)
				}
				for _, fault := range faults {
					t.Errorf("%s, %d wide, %s: %s", what, size[0], n.Summary, fault)
				}
			}
		}
	}
}

// firstScreen is a script whose value says which of the texts nobody reads without
// scrolling, and whether anything is wider than the screen.
func firstScreen(t *testing.T, wanted ...string) string {
	t.Helper()
	list, err := json.Marshal(wanted)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`(wanted => {
		const faults = [];
		for (const want of wanted) {
			const flat = s => s.replace(/\s+/g, " ");
			const holds = [...document.querySelectorAll("body *")].filter(e => e.getClientRects().length && flat(e.textContent).includes(flat(want)));
			if (!holds.length) faults.push("says nowhere: " + want);
			else if (holds.every(e => e.getBoundingClientRect().bottom > innerHeight)) faults.push("below the first screen: " + want);
		}
		if (document.documentElement.scrollWidth > innerWidth) faults.push("it is " + document.documentElement.scrollWidth + " wide");
		return faults;
	})(%s)`, list)
}
