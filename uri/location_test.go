package uri_test

import (
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		location, file, path string
		place                uri.Place
	}{
		{"s3://b/t", "s3://b/t/data/x", "/t/data/x", uri.Inside},
		{"s3://b/t/", "s3a://b/t//data/x", "/t/data/x", uri.Inside},
		{"s3n://b/t", "S3://B/t/x", "/t/x", uri.Inside},
		{"s3://b/t", "/t/x", "/t/x", uri.Inside},
		{"s3://b/t", "s3:/t/x", "/t/x", uri.Inside},
		{"s3://b/t", "s3://b/t", "/t", uri.Outside},
		{"s3://b/t", "s3://b/tt/x", "/tt/x", uri.Outside},
		{"s3://b/t", "s3://c/u/x", "/u/x", uri.Outside},
		{"s3://b/t", "s3://b/t/../u/x", "/u/x", uri.Outside},
		{"s3://b/t", "s3://c/t/x", "/t/x", uri.Mistaken},
		{"s3://b/t", "gs://b/t/x", "/t/x", uri.Mistaken},
		{"s3://b", "s3://b/x", "/x", uri.Inside},
		{"/t", "file:/t/x", "/t/x", uri.Inside},
		{"/t", "file:///t/x", "/t/x", uri.Inside},
		{"file:///t", "/t/x", "/t/x", uri.Inside},
		{"file:/t", "file://host/t/x", "/t/x", uri.Mistaken},
		{"/t", "hdfs://n/t/x", "/t/x", uri.Mistaken},
		{"t", "./t/x", "t/x", uri.Inside},
		{"/t", "/t/a%20b", "/t/a%20b", uri.Inside},
		{"/t", "/t/a b", "/t/a b", uri.Inside},
	} {
		path, place := uri.LocationOf(c.location).Place(c.file)
		if path != c.path || place != c.place {
			t.Errorf("%s in %s: %q, %v, want %q, %v", c.file, c.location, path, place, c.path, c.place)
		}
	}
}

func TestRoot(t *testing.T) {
	for location, want := range map[string]string{
		"s3a://B/t//u/": "s3://b/t/u/", "/t": "file:///t/", "file:/t": "file:///t/", "s3://b": "s3://b/", "s3://b/": "s3://b/",
	} {
		if got := uri.LocationOf(location).Root(); got != want {
			t.Errorf("Root of %s is %s, want %s", location, got, want)
		}
	}
	for location, want := range map[string]bool{"s3://b": true, "s3://b/": true, "/": true, "file:///": true, "": true, "s3://b/t": false, "/t": false, "t": false} {
		if got := uri.LocationOf(location).IsRoot(); got != want {
			t.Errorf("IsRoot of %q is %v", location, got)
		}
	}
}

func TestRecordedLocation(t *testing.T) {
	for _, c := range []struct {
		location, file string
		place          uri.Place
	}{
		{"/t", "hdfs://n/t/x", uri.Inside}, {"/t", "/u/x", uri.Outside}, {"hdfs://n/t", "s3://n/t/x", uri.Mistaken}, {"hdfs://n/t", "hdfs://m/t/x", uri.Mistaken},
	} {
		if _, place := uri.RecordedLocation(c.location).Place(c.file); place != c.place {
			t.Errorf("%s in %s: %v, want %v", c.file, c.location, place, c.place)
		}
	}
}
