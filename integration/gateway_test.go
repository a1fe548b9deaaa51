package integration

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// gateway is a reverse proxy in front of a server. It keeps the requests, and
// can answer them itself.
type gateway struct {
	*httptest.Server
	proxy http.Handler

	mu       sync.Mutex
	requests []*http.Request
	policy   policy
}

// policy looks at a request first. It returns true when it has answered.
type policy func(w http.ResponseWriter, r *http.Request) bool

// newGateway starts a gateway in front of a handler, to the end of the test.
func newGateway(t *testing.T, behind http.Handler) *gateway {
	t.Helper()
	g := &gateway{proxy: behind}
	g.Server = httptest.NewServer(g)
	t.Cleanup(func() {
		g.CloseClientConnections() // Those that hang.
		g.Close()
	})
	return g
}

// proxyTo is a handler that passes requests on.
func proxyTo(t *testing.T, address string) http.Handler {
	t.Helper()
	target, err := url.Parse("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	return httputil.NewSingleHostReverseProxy(target)
}

// ServeHTTP implements http.Handler.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.requests = append(g.requests, r.Clone(r.Context()))
	policy := g.policy
	g.mu.Unlock()
	if policy == nil || !policy(w, r) {
		g.proxy.ServeHTTP(w, r)
	}
}

// obey puts a policy in force; nil lets everything through.
func (g *gateway) obey(p policy) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.policy = p
}

// take returns the requests since it was last asked.
func (g *gateway) take() []*http.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := g.requests
	g.requests = nil
	return taken
}

// paths are the methods and the paths of requests, without what is not to the point.
func paths(requests []*http.Request) []string {
	var all []string
	for _, r := range requests {
		all = append(all, r.Method+" "+r.URL.Path)
	}
	slices.Sort(all)
	return all
}

// deny answers in the form of the REST protocol.
func deny(w http.ResponseWriter, status int, kind, message string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error": {"message": %q, "type": %q, "code": %d}}`, message, kind, status)
	return true
}

// demand lets only requests through that have these headers. Its refusal echoes
// what was sent, as some servers do.
func demand(want map[string]string) policy {
	return func(w http.ResponseWriter, r *http.Request) bool {
		for name, value := range want {
			if have := r.Header.Get(name); have != value {
				return deny(w, http.StatusUnauthorized, "NotAuthorizedException", "the header "+name+" is "+have)
			}
		}
		return false
	}
}

// hang answers nothing until the client gives up.
func hang(_ http.ResponseWriter, r *http.Request) bool {
	<-r.Context().Done()
	return true
}

// only applies a policy to paths that contain a text.
func only(part string, p policy) policy {
	return func(w http.ResponseWriter, r *http.Request) bool {
		return strings.Contains(r.URL.Path, part) && p(w, r)
	}
}

// anyOf applies the first policy that answers.
func anyOf(policies ...policy) policy {
	return func(w http.ResponseWriter, r *http.Request) bool {
		for _, p := range policies {
			if p(w, r) {
				return true
			}
		}
		return false
	}
}

// answerWith passes a request on, and edits the answer.
func answerWith(behind http.Handler, edit func(body []byte) []byte) policy {
	return func(w http.ResponseWriter, r *http.Request) bool {
		recorder := httptest.NewRecorder()
		behind.ServeHTTP(recorder, r)
		maps.Copy(w.Header(), recorder.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(edit(recorder.Body.Bytes()))
		return true
	}
}
