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
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/holdgate/holdgate/plugins/sdk/page"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// TestOrdinaryMailsInABrowser lays mails out as wide as a phone and as a desk, with fonts
// that are really there: nobody scrolls to read what happens, whether it can be undone and
// who wants it, nor to the link, and nothing is wider than the screen.
func TestOrdinaryMailsInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser is slow")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIPPED: chromium is not here (apt-get install chromium)")
	}
	notices := sdktest.Ordinary()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var i int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &i); err != nil || i >= len(notices) {
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
	}))
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
			if err := chromedp.Do(ctx, chromedp.Navigate(fmt.Sprintf("%s/%d", srv.URL, i))); err != nil {
				t.Fatal(err)
			}
			if dir := os.Getenv("HOLDGATE_PICTURES"); dir != "" {
				shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("mail-%02d-%d.png", i, size[0])), shot, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			wanted, err := json.Marshal([]string{n.Summary, n.Undo, "claude (proven)", "Open the request"})
			if err != nil {
				t.Fatal(err)
			}
			first, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](fmt.Sprintf(`(wanted => {
				const faults = [];
				for (const want of wanted) {
					const flat = s => s.replace(/\s+/g, " ");
					const holds = [...document.querySelectorAll("body *")].filter(e => e.getClientRects().length && flat(e.textContent).includes(flat(want)));
					if (!holds.length) faults.push("says nowhere: " + want);
					else if (holds.every(e => e.getBoundingClientRect().bottom > innerHeight)) faults.push("below the first screen: " + want);
				}
				if (document.documentElement.scrollWidth > innerWidth) faults.push("it is " + document.documentElement.scrollWidth + " wide");
				return faults;
			})(%s)`, wanted)))
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range first {
				t.Errorf("%d wide, %s: %s", size[0], n.Summary, fault)
			}
		}
	}
}
