package integration

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestS3(t *testing.T) {
	server := startS3(t)
	directory := scratch(t)
	lake, hadoopSpelling := server.catalog(directory, "lake", "s3"), server.catalog(directory, "old", "s3a")
	lake.write(t, "sales.orders", 3, arguments{"partitioned": true})
	// Characters that a URL must escape, in the keys of the files.
	lake.write(t, "sales.two words", 1, nil)
	lake.do(t, "overwrite", "sales.two words", nil)
	hadoopSpelling.write(t, "sales.orders", 2, nil)
	file, location := lake.metadata(t, "sales.orders")
	spell := func(uri, scheme string) string { return scheme + strings.TrimPrefix(uri, "s3") }

	properties := "\n    properties: " + server.yaml(s3Secret)
	x := start(t, `
catalogs:
  - name: sql
    type: sql
    uri: `+lake["uri"]+`
    properties: {sql.catalog_name: lake, `+strings.TrimPrefix(server.yaml(s3Secret), "{")+`
  - name: old
    type: sql
    uri: `+lake["uri"]+properties+`
  - name: hadoop
    type: hadoop
    warehouse: s3://lake/lake`+properties+`
  - name: metadata
    type: metadata`+properties+`
    tables:
      - {name: by.directory, location: '`+location+`'}
      - {name: by.slash, location: '`+location+`/'}
      - {name: by.file, location: '`+file+`'}
      - {name: by.s3a, location: '`+spell(location, "s3a")+`'}
      - {name: by.s3n, location: '`+spell(file, "s3n")+`'}
      - {name: not.there, location: s3://lake/lake/sales/none}
      - {name: no.bucket, location: s3://other/lake/sales/none}
  - name: wrong
    type: metadata
    properties: `+server.yaml("planted-wrong-s3-secret")+`
    tables: [{name: by.directory, location: '`+location+`'}, {name: by.file, location: '`+file+`'}]
`, s3Secret, "planted-wrong-s3-secret")
	want := lake.figures(t, "sales.orders")
	m := x.scrape()
	m.equals(t, "sql", "sales", "orders", want)
	m.equals(t, "sql", "sales", "two words", lake.figures(t, "sales.two words"))
	m.equals(t, "old", "sales", "orders", hadoopSpelling.figures(t, "sales.orders"))
	m.equals(t, "hadoop", "sales", "orders", want)
	m.equals(t, "hadoop", "sales", "two words", lake.figures(t, "sales.two words"))
	for _, name := range []string{"directory", "slash", "file", "s3a", "s3n"} {
		m.equals(t, "metadata", "by", name, want)
	}
	for _, id := range [][3]string{
		{"metadata", "not", "there"}, {"metadata", "no", "bucket"}, {"wrong", "by", "directory"}, {"wrong", "by", "file"},
	} {
		if up := m.up(id[0], id[1], id[2]); up != 0 {
			t.Errorf("iceberg_table_up of %v is %v", id, up)
		}
	}
	if m.catalogUp("wrong") != 0 {
		t.Error("storage that denies everything is up")
	}
	x.get("/config", 200)
	for _, told := range []string{file, location + "/metadata", "s3://lake/lake/sales/none", "check the credentials"} {
		if !strings.Contains(x.log.String(), told) {
			t.Errorf("the log does not tell of %s", told)
		}
	}
}

// An unchanged table costs no content.
func TestS3Requests(t *testing.T) {
	server := startS3(t)
	lake := server.catalog(scratch(t), "lake", "s3")
	lake.write(t, "sales.orders", 3, nil)
	_, location := lake.metadata(t, "sales.orders")
	x := start(t, `
catalogs:
  - {name: sql, type: sql, uri: '`+lake["uri"]+`', properties: `+strings.Replace(server.yaml(s3Secret), "{", "{sql.catalog_name: lake, ", 1)+`}
  - {name: metadata, type: metadata, properties: `+server.yaml(s3Secret)+`, tables: [{name: sales.orders, location: '`+location+`'}]}
`, s3Secret)
	x.scrape()
	server.take()
	x.scrape()
	for _, request := range server.take() {
		if strings.HasSuffix(request.URL.Path, ".avro") || strings.HasSuffix(request.URL.Path, ".json") {
			t.Errorf("an unchanged table cost %s %s", request.Method, request.URL.Path)
		}
	}
	lake.do(t, "append", "sales.orders", nil)
	server.take()
	x.scrape()
	read := map[string]int{}
	for _, request := range server.take() {
		if name, ok := strings.CutSuffix(request.URL.Path, ".avro"); ok && request.Method == http.MethodGet {
			if strings.Contains(name, "/snap-") {
				read["lists"]++
			} else {
				read["manifests"]++
			}
		}
	}
	// Two catalogs have the table, each with credentials of its own.
	if read["lists"] != 2 || read["manifests"] != 2 {
		t.Errorf("after an append each catalog reads one list and one manifest, together they read %v", read)
	}
}

// Between the metadata and its manifest list, every file that the metadata names
// goes: the exporter reads the metadata again, in the same scrape.
func TestExpiryWhileReading(t *testing.T) {
	server := startS3(t)
	lake := server.catalog(scratch(t), "lake", "s3")
	lake.write(t, "sales.orders", 1, nil)
	var before snapshot
	lake.ask(t, "current", "sales.orders", nil, &before)
	asked, released := make(chan struct{}, 10), make(chan struct{})
	list := before.ManifestList[strings.LastIndexByte(before.ManifestList, '/')+1:]
	server.obey(only(list, func(_ http.ResponseWriter, r *http.Request) bool {
		if !fromExporter(r) {
			return false
		}
		asked <- struct{}{}
		select {
		case <-released:
		case <-r.Context().Done():
		}
		return false
	}))
	x := start(t, `catalogs: [{name: lake, type: sql, uri: '`+lake["uri"]+`', properties: `+server.yaml(s3Secret)+`}]`, s3Secret)
	scraped := make(chan metrics, 1)
	go func() {
		m, err := x.scrapeWithin(time.Minute)
		if err != nil {
			t.Error(err)
		}
		scraped <- m
	}()
	select {
	case <-asked:
	case <-time.After(30 * time.Second):
		t.Fatal("the exporter did not read the manifest list")
	}
	lake.do(t, "overwrite", "sales.orders", arguments{"rows": 7})
	var gone []string
	lake.ask(t, "expire", "sales.orders", nil, &gone)
	if !slices.Contains(gone, before.ManifestList) {
		t.Fatalf("%s was not deleted, only %v", before.ManifestList, gone)
	}
	close(released)
	m := <-scraped
	m.equals(t, "lake", "sales", "orders", lake.figures(t, "sales.orders"))
	if failures := m[`iceberg_exporter_refreshes_total{result="failure"}`]; failures != 0 {
		t.Errorf("%v refreshes failed", failures)
	}

	// A file that is gone for good is told by its name, while the figures last.
	lake.do(t, "append", "sales.orders", nil)
	var current snapshot
	lake.ask(t, "current", "sales.orders", nil, &current)
	server.obey(only(current.ManifestList[strings.LastIndexByte(current.ManifestList, '/')+1:], func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
		return true
	}))
	m = x.scrape()
	if m.up("lake", "sales", "orders") != 0 || m.table("lake", "sales", "orders")["iceberg_table_data_files"] == 0 {
		t.Error("the last good figures do not stand in with iceberg_table_up 0")
	}
	if !strings.Contains(x.log.String(), current.ManifestList) {
		t.Errorf("the log does not tell of %s", current.ManifestList)
	}
	server.obey(nil)
	x.scrape().equals(t, "lake", "sales", "orders", lake.figures(t, "sales.orders"))
}
