package fileio_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
)

// object is how a listing of S3 tells of an object.
func object(key string) string {
	return "<Contents><Key>" + key + "</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>1</Size></Contents>"
}

// walkS3 walks s3://b/t in a store that answers listings with these pages. A page
// tells whether there is another one.
func walkS3(t *testing.T, pages func(token string) string) (keys []string, requests fileio.Requests, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		_, _ = fmt.Fprint(w, pages(r.URL.Query().Get("continuation-token")))
	}))
	defer server.Close()
	counter := &fileio.Counter{}
	storage := fileio.New(t.Context(), map[string]string{
		"s3.endpoint": server.URL, "s3.region": "r", "s3.access-key-id": "k", "s3.secret-access-key": "s",
	}, counter)
	defer storage.Close()
	err = storage.Walk(t.Context(), "s3://b/t", func(files []fileio.Info) error {
		for _, f := range files {
			keys = append(keys, f.URI)
			if f.ModTime.Year() != 2026 || f.Size != 1 {
				t.Errorf("%+v", f)
			}
		}
		return nil
	})
	return keys, counter.Requests(), err
}

func page(next string, objects ...string) string {
	more := ""
	if next != "" {
		more = "<IsTruncated>true</IsTruncated><NextContinuationToken>" + next + "</NextContinuationToken>"
	}
	return "<ListBucketResult><Name>b</Name>" + more + strings.Join(objects, "") + "</ListBucketResult>"
}

func TestWalkS3(t *testing.T) {
	keys, requests, err := walkS3(t, func(token string) string {
		if token == "" {
			return page("2", object("t/"), object("t/a"), object("t/data/p=__0x41__/x"))
		}
		return page("", object("t/data/q//x"), object("t/d/"), object("t/z"))
	})
	want := []string{"s3://b/t/a", "s3://b/t/data/p=__0x41__/x", "s3://b/t/data/q//x", "s3://b/t/z"}
	if !slices.Equal(keys, want) || requests != (fileio.Requests{Lists: 2}) || err != nil {
		t.Errorf("%q, %+v, %v", keys, requests, err)
	}
}

// TestWalkS3Fails: an answer that is no listing ends a walk with an error.
func TestWalkS3Fails(t *testing.T) {
	for name, answers := range map[string][]string{
		"nothing there":        {page("")},
		"the same page again":  {page("2", object("t/a"))},
		"an empty answer":      {page("2", object("t/a")), ""},
		"an answer broken off": {page("2", object("t/a")), page("", object("t/b"))[:80]},
	} {
		t.Setenv("AWS_MAX_ATTEMPTS", "2")
		asked := 0
		_, _, err := walkS3(t, func(token string) string {
			asked++
			if token == "" || len(answers) == 1 {
				return answers[0]
			}
			return answers[1]
		})
		if err == nil || name == "nothing there" && !errors.Is(err, fs.ErrNotExist) || asked > 2500 { // The library fills its pages.
			t.Errorf("%s: %v after %d requests", name, err, asked)
		}
	}
}

// TestWalkS3TriesAgain: a page that comes whole the second time is nothing to tell of.
func TestWalkS3TriesAgain(t *testing.T) {
	tries := 0
	keys, _, err := walkS3(t, func(token string) string {
		if token == "" {
			return page("2", object("t/a"))
		}
		if tries++; tries == 1 {
			return ""
		}
		return page("", object("t/b"))
	})
	if !slices.Equal(keys, []string{"s3://b/t/a", "s3://b/t/b"}) || err != nil {
		t.Errorf("%q, %v", keys, err)
	}
}

// TestWalkPanics: what the library does not bear is a panic of the one who asked.
func TestWalkPanics(t *testing.T) {
	caught := make(chan any, 1)
	go func() {
		defer func() { caught <- recover() }()
		_, _, _ = walkS3(t, func(string) string { return page("", "<Contents><Key>t/x</Key><Size>1</Size></Contents>") })
	}()
	select {
	case value := <-caught:
		if value == nil {
			t.Error("an object without a time is listed")
		}
	case <-time.After(time.Minute):
		t.Error("it hangs")
	}
}
