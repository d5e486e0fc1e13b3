package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/document"
)

// decisionPath takes decisions.
const decisionPath = "/decision"

// What the listener takes: bytes of a decision, and signatures remembered at a
// time.
const (
	maxDecision = 64 << 10
	maxSeen     = 10_000
)

// An inbox takes signed decisions, each once.
type inbox struct {
	log    *slog.Logger
	secret secret

	mu   sync.Mutex
	seen map[[sha256.Size]byte]time.Time // until when each would pass again
}

func newInbox(log *slog.Logger) *inbox {
	return &inbox{log: log, seen: make(map[[sha256.Size]byte]time.Time)}
}

// problem is an answer that says what is wrong (RFC 9457).
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// handler takes decisions and hands them to answer.
func (b *inbox) handler(answer sdk.Answerer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(decisionPath, func(w http.ResponseWriter, r *http.Request) {
		status, p := b.receive(w, r, answer)
		if p != nil {
			b.log.Info("a decision was refused", "status", p.Status, "detail", p.Detail)
			reply(w, "application/problem+json", p.Status, p)
			return
		}
		reply(w, "application/json", http.StatusOK, map[string]string{"status": status})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, "application/problem+json", http.StatusNotFound, refusal(http.StatusNotFound, "decisions are posted to "+decisionPath))
	})
	return mux
}

// receive checks one decision, from the outside in, and gives it to Holdgate.
func (b *inbox) receive(w http.ResponseWriter, r *http.Request, answer sdk.Answerer) (string, *problem) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return "", refusal(http.StatusMethodNotAllowed, "a decision is posted")
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return "", refusal(http.StatusUnsupportedMediaType, "a decision is application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDecision))
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		return "", refusal(http.StatusRequestEntityTooLarge, "a decision has at most 64 KiB")
	}
	if err != nil {
		return "", refusal(http.StatusBadRequest, "the body ended early")
	}
	headers := r.Header.Values(signatureHeader)
	if len(headers) != 1 {
		return "", refusal(http.StatusUnauthorized, errSignature.Error())
	}
	now := time.Now()
	name, at, err := b.secret.verify(headers[0], body, now)
	if err != nil {
		return "", refusal(http.StatusUnauthorized, err.Error())
	}
	a, err := document.ReadAnswer(body)
	if err != nil {
		return "", refusal(http.StatusBadRequest, err.Error())
	}
	if p := b.remember(name, at.Add(window), now); p != nil {
		return "", p
	}
	return give(r.Context(), a, answer)
}

// remember notes a signature, and refuses one that it has.
func (b *inbox) remember(name [sha256.Size]byte, until, now time.Time) *problem {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n, t := range b.seen {
		if t.Before(now) {
			delete(b.seen, n)
		}
	}
	if _, again := b.seen[name]; again {
		return refusal(http.StatusConflict, "this was sent before; sign anew to send it again")
	}
	if len(b.seen) >= maxSeen {
		return refusal(http.StatusTooManyRequests, "too many decisions; try again in some minutes")
	}
	b.seen[name] = until
	return nil
}

func give(ctx context.Context, a sdk.Answer, answer sdk.Answerer) (string, *problem) {
	status, err := answer(ctx, a)
	if refused, ok := errors.AsType[*sdk.Refused](err); ok {
		return "", refusal(http.StatusConflict, refused.Reason)
	}
	if err != nil {
		return "", refusal(http.StatusServiceUnavailable, "Holdgate cannot take decisions now; try again")
	}
	return status, nil
}

func refusal(status int, detail string) *problem {
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

func reply(w http.ResponseWriter, mediaType string, status int, body any) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // whoever asked may be gone
}
