package integration

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

const (
	s3Region        = "eu-north-7"
	s3Key           = "reader-key-id"
	s3Secret secret = "planted-s3-secret-key"
	s3Bucket        = "lake"
)

// s3Server is an S3 server with a bucket, behind a gateway.
type s3Server struct {
	*gateway
	backend *s3mem.Backend
	// objects answers without a look at signatures.
	objects http.Handler
	clock   *slowClock
	// planted are the states of objects that no writer of tables put there.
	planted map[string]string
}

// slowClock dates objects back.
type slowClock struct {
	gofakes3.TimeSource
	behind atomic.Int64
}

func (c *slowClock) Now() time.Time {
	return c.TimeSource.Now().Add(-time.Duration(c.behind.Load()))
}

// startS3 runs an S3 server that checks signatures, and that the exporter does
// nothing but read.
func startS3(t *testing.T) *s3Server {
	t.Helper()
	clock := &slowClock{TimeSource: gofakes3.DefaultTimeSource()}
	backend := s3mem.New(s3mem.WithTimeSource(clock))
	if err := backend.CreateBucket(s3Bucket); err != nil {
		t.Fatal(err)
	}
	objects := gofakes3.New(backend, gofakes3.WithTimeSkewLimit(0)).Server()
	gateway := newGateway(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fromExporter(r) && r.Method != http.MethodGet && r.Method != http.MethodHead {
			t.Errorf("the exporter sent %s %s", r.Method, r.URL)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if !signed(r) {
			// Real servers echo what they were sent.
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does not match: " +
				r.Header.Get("Authorization") + "</Message></Error>"))
			return
		}
		objects.ServeHTTP(w, r)
	}))
	return &s3Server{gateway: gateway, backend: backend, objects: objects, clock: clock, planted: map[string]string{}}
}

// fromExporter reports whether a request is the exporter's: the writer uses
// another library.
func fromExporter(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("User-Agent"), "aws-sdk-go-v2/")
}

// isListing reports whether a request is a listing of the exporter's.
func isListing(r *http.Request) bool {
	return fromExporter(r) && r.Method == http.MethodGet && r.URL.Query().Has("list-type")
}

// listing applies a policy to the exporter's listings below a table's location.
func listing(table string, p policy) policy {
	return func(w http.ResponseWriter, r *http.Request) bool {
		return isListing(r) && strings.Contains(r.URL.Query().Get("prefix"), "/"+table+"/") && p(w, r)
	}
}

// laterPage applies a policy to all pages of a listing but the first.
func laterPage(p policy) policy {
	return func(w http.ResponseWriter, r *http.Request) bool {
		return r.URL.Query().Has("continuation-token") && p(w, r)
	}
}

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$`)

// signed reports whether a request has the signature of the server's only key,
// by the rules of AWS Signature Version 4.
func signed(r *http.Request) bool {
	match := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if match == nil || match[1] != s3Key {
		return false
	}
	scope, names, signature := match[2], match[3], match[4]
	canonical := []string{r.Method, r.URL.EscapedPath(), strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20")}
	for name := range strings.SplitSeq(names, ";") {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		canonical = append(canonical, name+":"+strings.TrimSpace(value))
	}
	canonical = append(canonical, "", names, r.Header.Get("X-Amz-Content-Sha256"))
	digest := sha256.Sum256([]byte(strings.Join(canonical, "\n")))
	key := []byte("AWS4" + string(s3Secret))
	for _, part := range append(strings.Split(scope, "/"), fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", r.Header.Get("X-Amz-Date"), scope, digest)) {
		code := hmac.New(sha256.New, key)
		code.Write([]byte(part))
		key = code.Sum(nil)
	}
	return hex.EncodeToString(key) == signature
}

// properties are those that iceberg-go and PyIceberg reach the server with.
func (s *s3Server) properties() map[string]string {
	return map[string]string{
		"s3.endpoint": s.URL, "s3.region": s3Region,
		"s3.access-key-id": s3Key, "s3.secret-access-key": string(s3Secret),
	}
}

// yaml is the properties in the exporter's configuration, with this secret.
func (s *s3Server) yaml(secret secret) string {
	return "{s3.endpoint: '" + s.URL + "', s3.region: " + s3Region + ", s3.access-key-id: " + s3Key +
		", s3.secret-access-key: " + string(secret) + "}"
}

// catalog is a SQLite catalog whose warehouse lies in the bucket.
func (s *s3Server) catalog(directory, name, scheme string) pyCatalog {
	c := sqliteCatalog(directory, name)
	maps.Copy(c, s.properties())
	c["warehouse"] = scheme + "://" + s3Bucket + "/" + name
	return c
}
