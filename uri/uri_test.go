package uri_test

import (
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

func TestPath(t *testing.T) {
	for spelled, want := range map[string]string{
		"file:/a/b":            "/a/b",
		"file:///a/b":          "/a/b",
		"file://host/a/b":      "/a/b",
		"/a/b":                 "/a/b",
		"/a//b/":               "/a/b",
		"./a/b":                "a/b",
		"a/b":                  "a/b",
		"s3://bucket/a/b":      "/a/b",
		"S3A://bucket/a/b":     "/a/b",
		"s3://bucket":          "/",
		"s3://bucket/":         "/",
		"/a/x=1:2/b":           "/a/x=1:2/b",
		"a/x=1:2/b":            "a/x=1:2/b",
		"s3://b/a%20b/c":       "/a%20b/c",
		"abfss://c@a.host/x/y": "/x/y",
		"/a/../b":              "/b",
	} {
		if got := uri.Path(spelled); got != want {
			t.Errorf("Path(%q) = %q, want %q", spelled, got, want)
		}
	}
}

func TestLocal(t *testing.T) {
	for spelled, want := range map[string]string{
		"/a": "/a", "a": "a", "file:/a": "/a", "file:///a": "/a", "file://localhost/a": "/a", "FILE:/a": "/a",
	} {
		if got, local := uri.Local(spelled); got != want || !local {
			t.Errorf("Local(%q) = %q, %v, want %q", spelled, got, local, want)
		}
	}
	for _, remote := range []string{"s3://b/k", "gs://b/k", "http://h/k", "hdfs://n/k"} {
		if _, local := uri.Local(remote); local {
			t.Errorf("Local(%q) is local", remote)
		}
	}
}

func TestParts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{uri.Join("s3://b/t/", "metadata", "x"), "s3://b/t/metadata/x"},
		{uri.Join("/t"), "/t"},
		{uri.Dir("s3://b/t/metadata/x"), "s3://b/t/metadata"},
		{uri.Dir("x"), "."},
		{uri.Base("s3://b/t/metadata/x"), "x"},
		{uri.Base("x"), "x"},
		{uri.Scheme("S3://b"), "s3"},
		{uri.Scheme("/x:y"), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, c := range []struct {
		directory, path, rest string
		below                 bool
	}{
		{"/a/b", "/a/b/c/d", "/c/d", true},
		{"/a/b/", "/a/b/c", "/c", true},
		{"/a/b", "/a/b", "/", true},
		{"/a/b", "/a/bc", "", false},
		{"/a/b", "/x", "", false},
		{"/", "/x", "/x", true},
	} {
		rest, below := uri.Below(c.directory, c.path)
		if rest != c.rest || below != c.below {
			t.Errorf("Below(%q, %q) = %q, %v", c.directory, c.path, rest, below)
		}
	}
}
