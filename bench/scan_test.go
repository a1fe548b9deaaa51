package bench_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/manifest/manifesttest"
	"github.com/iceberg-exporter/iceberg_exporter/storage"
	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

const (
	listed      = 10_000_000
	listedADay  = 10_000
	orphanEvery = 10
	location    = "s3://lake/db/events"
)

// nameOf is the key of a listed object; the keys are in the order of the numbers.
func nameOf(i int) string {
	return fmt.Sprintf("db/events/data/ts_day=%04d/%05d-8f1c6e0a-3b7d-4c52-9a51-7d1f0e2b6c84-00001.parquet", i/listedADay, i%listedADay)
}

// listing answers listings of ten million objects as S3 does, without having them.
type listing struct{ active, most atomic.Int64 }

type listAnswer struct {
	XMLName        xml.Name `xml:"ListBucketResult"`
	Name           string
	IsTruncated    bool
	NextToken      string `xml:"NextContinuationToken,omitempty"`
	Contents       []listObject
	CommonPrefixes []listPrefix
}

type listObject struct {
	Key, LastModified string
	Size              int
}

type listPrefix struct{ Prefix string }

// ServeHTTP implements http.Handler.
func (l *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for n := l.active.Add(1); ; {
		if most := l.most.Load(); n <= most || l.most.CompareAndSwap(most, n) {
			break
		}
	}
	defer l.active.Add(-1)
	q := r.URL.Query()
	prefix, delimiter := q.Get("prefix"), q.Get("delimiter")
	// first returns the number of the first object from a key on.
	first := func(key string) int { return sort.Search(listed, func(i int) bool { return nameOf(i) >= key }) }
	at := first(prefix)
	if after := q.Get("start-after"); after != "" {
		at = max(at, first(after+"\x00"))
	}
	if token := q.Get("continuation-token"); token != "" {
		at, _ = strconv.Atoi(token)
	}
	answer := listAnswer{Name: "lake"}
	for n := 0; at < listed && strings.HasPrefix(nameOf(at), prefix); n++ {
		if n == 1000 {
			answer.IsTruncated, answer.NextToken = true, strconv.Itoa(at)
			break
		}
		key := nameOf(at)
		if end := strings.Index(key[len(prefix):], "/"); delimiter != "" && end >= 0 {
			directory := key[:len(prefix)+end+1]
			answer.CommonPrefixes = append(answer.CommonPrefixes, listPrefix{directory})
			at = first(directory + "\xff")
			continue
		}
		answer.Contents = append(answer.Contents, listObject{Key: key, LastModified: "2026-01-01T00:00:00.000Z", Size: 1000})
		at++
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(answer)
}

type fileEntry struct {
	Status   int32 `avro:"status"`
	DataFile struct {
		Path      string   `avro:"file_path"`
		Partition struct{} `avro:"partition"`
		Rows      int64    `avro:"record_count"`
		Size      int64    `avro:"file_size_in_bytes"`
	} `avro:"data_file"`
}

// addDay adds the files of a day that a table refers to, by a manifest.
func addDay(b *testing.B, schema *avro.Schema, references *storage.References, day int) {
	b.Helper()
	var content bytes.Buffer
	w, err := ocf.NewWriter(&content, schema, ocf.WithBlockBytes(64<<10))
	if err != nil {
		b.Fatal(err)
	}
	e := &fileEntry{Status: 1}
	for i := day * listedADay; i < (day+1)*listedADay; i++ {
		if i%orphanEvery == 0 {
			continue
		}
		e.DataFile.Path = "s3://lake/" + nameOf(i)
		if err := w.Encode(e); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	record, err := manifest.ReadRecord(&content, manifest.File{}, uri.LocationOf(location))
	if err != nil {
		b.Fatal(err)
	}
	references.AddContent(storage.Current, record)
}

// BenchmarkScan lists ten million objects over the S3 protocol and tells what they
// are: nine million live files, and a million orphans.
func BenchmarkScan(b *testing.B) {
	schema, err := avro.Parse(manifesttest.PlainSchema)
	if err != nil {
		b.Fatal(err)
	}
	references := storage.NewReferences()
	for day := range listed / listedADay {
		addDay(b, schema, references, day)
	}
	references.Seal()
	server := &listing{}
	s3 := httptest.NewServer(server)
	defer s3.Close()
	for b.Loop() {
		counter := &fileio.Counter{}
		files := fileio.New(b.Context(), map[string]string{
			"s3.endpoint": s3.URL, "s3.region": "r", "s3.access-key-id": "k", "s3.secret-access-key": "s",
		}, counter)
		runtime.GC()
		stop := watchMemory()
		began := time.Now()
		account := storage.NewAccount(references, storage.Rules{OlderThan: began, Location: location})
		if err := files.Walk(b.Context(), location, func(page []fileio.Info) error { account.Add(page); return nil }); err != nil {
			b.Fatal(err)
		}
		figures, err := account.Figures(nil)
		if err != nil {
			b.Fatal(err)
		}
		seconds := time.Since(began).Seconds()
		b.ReportMetric(stop()/1e6, "peak-MB")
		if live, orphans := figures.Usage[storage.Live].Files, figures.Usage[storage.Orphan].Files; live+orphans != listed || orphans != listed/orphanEvery || *figures.Missing != 0 {
			b.Fatalf("%d live, %d orphans, %d missing", live, orphans, *figures.Missing)
		}
		b.ReportMetric(listed/seconds, "objects/s")
		b.ReportMetric(float64(counter.Requests().Lists), "lists")
		b.ReportMetric(float64(server.most.Load()), "lists-at-once")
		b.ReportMetric(float64(references.Bytes())/(listed-listed/orphanEvery), "bytes/reference")
		if err := files.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
