package source

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// restTransport keeps what a REST catalog answers: its configuration, and the
// tables that are asked for with a context of withAnswer.
type restTransport struct {
	// limit bounds an answer in bytes.
	limit int64

	mu     sync.Mutex
	config restConfig
}

// restConfig is the catalog's configuration for its clients.
type restConfig struct {
	Defaults  map[string]string `json:"defaults"`
	Overrides map[string]string `json:"overrides"`
}

// restAnswer is the answer to loading a table.
type restAnswer struct {
	body []byte
	// partial is whether only some of the snapshots were asked for.
	partial bool
}

type restAnswerKey struct{}

// withAnswer returns a context that keeps the answer to a table being loaded.
func withAnswer(ctx context.Context) (context.Context, *restAnswer) {
	answer := &restAnswer{}
	return context.WithValue(ctx, restAnswerKey{}, answer), answer
}

// properties returns the client's properties between the catalog's defaults and
// the catalog's overrides.
func (t *restTransport) properties(client map[string]string) map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	merged := maps.Clone(t.config.Defaults)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, client)
	maps.Copy(merged, t.config.Overrides)
	return merged
}

// restSession is the transport of one session of the client.
type restSession struct {
	http.RoundTripper
	answers *restTransport
}

// RoundTrip implements http.RoundTripper.
func (s *restSession) RoundTrip(request *http.Request) (*http.Response, error) {
	// The client adds its credentials to every request, redirected ones too.
	if from := request.Response; from != nil && from.Request != nil && (from.Request.URL.Host != request.URL.Host || from.Request.URL.Scheme != request.URL.Scheme) {
		return nil, fmt.Errorf("the catalog redirects to %s://%s, which is not followed: configure that one", request.URL.Scheme, request.URL.Host)
	}
	response, err := s.RoundTripper.RoundTrip(request)
	if err != nil {
		return response, err
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: s.answers.limit}
	if response.StatusCode != http.StatusOK || request.Method != http.MethodGet {
		return response, nil
	}
	answer, _ := request.Context().Value(restAnswerKey{}).(*restAnswer)
	isConfig := strings.HasSuffix(request.URL.Path, "/v1/config")
	if answer == nil && !isConfig {
		return response, nil
	}
	body, err := take(response)
	if err != nil {
		return nil, err
	}
	if isConfig {
		s.answers.mu.Lock()
		defer s.answers.mu.Unlock()
		s.answers.config = restConfig{}
		_ = json.Unmarshal(body, &s.answers.config) // The client tells what is wrong.
		return response, nil
	}
	answer.body, answer.partial = body, request.URL.Query().Get("snapshots") == "refs"
	return response, nil
}

// take reads the body of a response and puts a copy in its place.
func take(response *http.Response) ([]byte, error) {
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

// boundedBody fails, rather than ends, where an answer is larger than it may be.
type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, fmt.Errorf("%w: the catalog's answer is too large; expire snapshots, or raise scrape.max_metadata_size", metadata.ErrUnsupported)
	}
	return n, err
}
