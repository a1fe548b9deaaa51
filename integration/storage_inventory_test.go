package integration

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
)

// inventory writes a report of the bucket as S3 Inventory does, of a time, with
// some keys that the bucket no longer has, and returns the directory of reports.
func (s *s3Server) inventory(t *testing.T, created time.Time, gone ...string) string {
	t.Helper()
	put := func(key string, content []byte) {
		if _, err := s.backend.PutObject(s3Bucket, key, map[string]string{}, bytes.NewReader(content), int64(len(content)), nil); err != nil {
			t.Fatal(err)
		}
	}
	listed, err := s.backend.ListBucket(s3Bucket, &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	var rows bytes.Buffer
	zipped := gzip.NewWriter(&rows)
	row := func(key string, size int64, at time.Time) {
		fmt.Fprintf(zipped, "%q,%q,%q,%q\n", s3Bucket, url.QueryEscape(key), strconv.FormatInt(size, 10), at.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	for _, object := range listed.Contents {
		row(object.Key, object.Size, object.LastModified.Time)
	}
	for _, key := range gone {
		row(key, 1000, time.Now().Add(-longAgo))
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	const directory = "inventory/lake/daily"
	sum := func(content []byte) string { return fmt.Sprintf("%x", md5.Sum(content)) }
	put(directory+"/data/1.csv.gz", rows.Bytes())
	manifest, err := json.Marshal(map[string]any{
		"sourceBucket": s3Bucket, "destinationBucket": "arn:aws:s3:::" + s3Bucket, "version": "2016-11-30",
		"creationTimestamp": strconv.FormatInt(created.UnixMilli(), 10), "fileFormat": "CSV", "fileSchema": "Bucket, Key, Size, LastModifiedDate",
		"files": []any{map[string]any{"key": directory + "/data/1.csv.gz", "size": rows.Len(), "MD5checksum": sum(rows.Bytes())}},
	})
	if err != nil {
		t.Fatal(err)
	}
	report := directory + "/" + created.UTC().Format("2006-01-02T15-04Z")
	put(report+"/manifest.json", manifest)
	put(report+"/manifest.checksum", []byte(sum(manifest)))
	return "s3://" + s3Bucket + "/" + directory
}

// An inventory takes the place of listings: of what it says, only what is gone
// since must not be believed.
func TestStorageByInventory(t *testing.T) {
	t.Parallel()
	server := startS3(t)
	lake := server.catalog(scratch(t), "lake", "s3")
	lake.write(t, "sales.orders", 3, nil)
	server.plant(t, "lake/sales/orders/data/lost one+1.parquet", 100, longAgo, "orphan")
	server.plant(t, "lake/sales/orders/data/_lost", 100, longAgo, "hidden")
	created := time.Now().Add(-time.Hour).Truncate(time.Minute)
	at := server.inventory(t, created, "lake/sales/orders/data/swept.parquet", "lake/sales/others/x")
	want := server.storage(t, lake, "orders")
	delete(want, "iceberg_table_missing_files")

	server.take() // Those of the writer.
	x := start(t, strings.Replace(server.scans(lake, 2*time.Second), "interval: 2s", "interval: 2s, inventory: '"+at+"'", 1), s3Secret)
	m := x.until(func(m metrics) error {
		if m.table("lake", "sales", "orders")["iceberg_table_orphan_scan_success"] != 1 {
			return fmt.Errorf("no scan has succeeded: %v", m.table("lake", "sales", "orders"))
		}
		return nil
	})
	m.equals(t, "lake", "sales", "orders", want)
	got := m.table("lake", "sales", "orders")
	if _, ok := got["iceberg_table_missing_files"]; ok {
		t.Error("a report cannot tell what is missing now")
	}
	if last := got["iceberg_table_last_orphan_scan_timestamp_seconds"]; last != float64(created.Unix()) {
		t.Errorf("the figures are of %f, want %d", last, created.Unix())
	}
	for _, r := range server.take() {
		if prefix := r.URL.Query().Get("prefix"); r.Method == http.MethodGet && strings.HasPrefix(prefix, "lake/sales/orders/") {
			t.Errorf("%s is listed", prefix)
		}
	}
}
